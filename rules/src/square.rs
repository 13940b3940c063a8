use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// Squares on a rank, and on a file.
pub(crate) const WIDTH: u8 = 9;

/// One of the 81 squares of the board.
///
/// The text is the file letter `a` to `i` and the rank digit `1` to `9`, always lower case. `a1` is the bottom left
/// corner as the first player sees it. The order is that of the index, which runs along the ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square(u8);

impl Square {
    /// Number of squares.
    pub const COUNT: usize = 81;

    /// All squares in the order of their index.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self(0); Self::COUNT];
        let mut index = 0;
        while index < Self::COUNT as u8 {
            all[index as usize] = Self(index);
            index += 1;
        }
        all
    };

    /// The square with this index: 0 is a1, 1 is b1, 9 is a2, 80 is i9. `None` above 80.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        if index < Self::COUNT as u8 { Some(Self(index)) } else { None }
    }

    /// `rank * 9 + file`, 0 to 80.
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// The file, 0 for `a` to 8 for `i`.
    #[must_use]
    pub const fn file(self) -> u8 {
        self.0 % WIDTH
    }

    /// The rank, 0 for `1` to 8 for `9`.
    #[must_use]
    pub const fn rank(self) -> u8 {
        self.0 / WIDTH
    }

    pub(crate) const fn bit(self) -> u128 {
        1 << self.0
    }

    pub(crate) fn from_ascii(file: u8, rank: u8) -> Option<Self> {
        match (file, rank) {
            (b'a'..=b'i', b'1'..=b'9') => Some(Self((rank - b'1') * WIDTH + file - b'a')),
            _ => None,
        }
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", char::from(b'a' + self.file()), self.rank() + 1)
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Square {
    type Err = ParseSquareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match *text.as_bytes() {
            [file, rank] => Self::from_ascii(file, rank).ok_or(ParseSquareError),
            _ => Err(ParseSquareError),
        }
    }
}

/// The text does not name a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseSquareError;

impl fmt::Display for ParseSquareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a square: expected a file `a` to `i` and a rank `1` to `9`")
    }
}

impl Error for ParseSquareError {}

/// A set of squares. Iterates in the order of the index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SquareSet(pub(crate) u128);

impl SquareSet {
    /// The set without squares.
    pub const EMPTY: Self = Self(0);

    /// One bit a square: bit 0 is a1, bit 80 is i9.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// How many squares are in the set.
    #[must_use]
    pub const fn len(self) -> u8 {
        // At most 81 bits are ever set.
        self.0.count_ones() as u8
    }

    /// Whether the set has no squares.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this square is in the set.
    #[must_use]
    pub const fn contains(self, square: Square) -> bool {
        self.0 & square.bit() != 0
    }
}

impl IntoIterator for SquareSet {
    type Item = Square;
    type IntoIter = Squares;

    fn into_iter(self) -> Squares {
        Squares(self.0)
    }
}

impl fmt::Debug for SquareSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

/// The squares of a [`SquareSet`], lowest index first.
#[derive(Clone, Debug)]
pub struct Squares(u128);

impl Iterator for Squares {
    type Item = Square;

    fn next(&mut self) -> Option<Square> {
        if self.0 == 0 {
            return None;
        }
        let square = Square(self.0.trailing_zeros() as u8);
        self.0 &= self.0 - 1;
        Some(square)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Squares {}
