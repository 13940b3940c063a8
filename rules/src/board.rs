use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::side::Side;
use crate::square::{Square, SquareSet, WIDTH};

/// Pieces that each side starts with, and never exceeds.
pub(crate) const PIECES: u8 = 9;

/// Where the pieces of both sides stand.
///
/// The text has nine ranks separated by `/`, rank 9 first; inside a rank the files run from `a` to `i`. `x` is a piece
/// of [`Side::First`], `o` one of [`Side::Second`], a digit that many empty squares. Each board has exactly one text:
/// two digits in a row are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    pieces: [SquareSet; 2],
}

impl Board {
    /// Nine pieces of the first player on rank 1, nine of the second on rank 9.
    pub const START: Self = Self { pieces: [SquareSet(0x1ff), SquareSet(0x1ff << (8 * WIDTH))] };

    /// The squares that hold a piece of this side.
    #[must_use]
    pub const fn pieces(&self, side: Side) -> SquareSet {
        self.pieces[side as usize]
    }

    /// Whose piece stands on the square, if any.
    #[must_use]
    pub fn piece_at(&self, square: Square) -> Option<Side> {
        Side::ALL.into_iter().find(|&side| self.pieces(side).contains(square))
    }

    /// The squares that hold any piece.
    pub(crate) const fn occupied(&self) -> u128 {
        self.pieces[0].0 | self.pieces[1].0
    }

    /// Puts a piece on the square, or takes it away.
    pub(crate) const fn toggle(&mut self, side: Side, square: Square) {
        self.pieces[side as usize].0 ^= square.bit();
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Eight separators and at most 81 squares.
        let mut text = String::with_capacity(89);
        let mut empty = 0;
        for rank in Square::ALL.chunks(usize::from(WIDTH)).rev() {
            if !text.is_empty() {
                text.push('/');
            }
            for &square in rank {
                let piece = match self.piece_at(square) {
                    None => {
                        empty += 1;
                        continue;
                    }
                    Some(Side::First) => 'x',
                    Some(Side::Second) => 'o',
                };
                push_empty(&mut text, &mut empty);
                text.push(piece);
            }
            push_empty(&mut text, &mut empty);
        }
        f.pad(&text)
    }
}

fn push_empty(text: &mut String, empty: &mut u8) {
    if *empty > 0 {
        text.push(char::from(b'0' + *empty));
        *empty = 0;
    }
}

impl FromStr for Board {
    type Err = ParseBoardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut board = Self { pieces: [SquareSet::EMPTY; 2] };
        let mut ranks = text.split('/');
        for rank in (0..WIDTH).rev() {
            let number = rank + 1;
            let not_nine = ParseBoardError::Squares { rank: number };
            let mut file = 0;
            let mut after_digit = false;
            for symbol in ranks.next().ok_or(ParseBoardError::Ranks)?.chars() {
                let side = match symbol {
                    '1'..='9' if !after_digit => {
                        file += symbol as u8 - b'0';
                        after_digit = true;
                        continue;
                    }
                    'x' => Side::First,
                    'o' => Side::Second,
                    _ => return Err(ParseBoardError::Symbol { rank: number, symbol }),
                };
                if file >= WIDTH {
                    return Err(not_nine);
                }
                let square = Square::from_index(rank * WIDTH + file).ok_or(not_nine)?;
                board.toggle(side, square);
                file += 1;
                after_digit = false;
            }
            if file != WIDTH {
                return Err(not_nine);
            }
        }
        if ranks.next().is_some() {
            return Err(ParseBoardError::Ranks);
        }
        match Side::ALL.into_iter().find(|side| board.pieces(*side).len() > PIECES) {
            Some(side) => Err(ParseBoardError::Pieces(side)),
            None => Ok(board),
        }
    }
}

/// Why a text does not describe a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseBoardError {
    /// There are not nine ranks.
    Ranks,
    /// The rank with this number, 1 to 9, does not have nine squares.
    Squares {
        /// Which.
        rank: u8,
    },
    /// The rank holds what is neither a piece nor a number of empty squares; or a second such number in a row.
    Symbol {
        /// Which.
        rank: u8,
        /// What it holds.
        symbol: char,
    },
    /// The side has more than nine pieces.
    Pieces(Side),
}

impl fmt::Display for ParseBoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranks => f.write_str("expected nine ranks, from rank 9 down, with / between them"),
            Self::Squares { rank } => write!(f, "rank {rank} does not have nine squares"),
            Self::Symbol { rank, symbol } => {
                write!(
                    f,
                    "{symbol:?} in rank {rank}: expected x, o, or one digit for the empty squares up to the next piece"
                )
            }
            Self::Pieces(side) => write!(f, "{side} has more than nine pieces"),
        }
    }
}

impl Error for ParseBoardError {}
