use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::square::Square;

/// A slide from one square to another, as text the two squares without a separator: `e1e5`.
///
/// Any two squares make a move; whether it is legal is for the [`Position`](crate::Position) to say. Captures are never
/// part of a move, they follow from the rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// Where the piece stands.
    pub from: Square,
    /// Where it slides to.
    pub to: Square,
}

impl Move {
    /// The move between these squares.
    #[must_use]
    pub const fn new(from: Square, to: Square) -> Self {
        Self { from, to }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from, self.to)
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Move {
    type Err = ParseMoveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [from_file, from_rank, to_file, to_rank] = *text.as_bytes() else {
            return Err(ParseMoveError);
        };
        let from = Square::from_ascii(from_file, from_rank).ok_or(ParseMoveError)?;
        let to = Square::from_ascii(to_file, to_rank).ok_or(ParseMoveError)?;
        Ok(Self { from, to })
    }
}

/// The text does not name two squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseMoveError;

impl fmt::Display for ParseMoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a move: expected two squares, as in `e1e5`")
    }
}

impl Error for ParseMoveError {}
