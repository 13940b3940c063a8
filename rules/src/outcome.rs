use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::side::Side;

/// Who won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// This side won.
    Win(Side),
    /// Nobody won.
    Draw,
}

impl Outcome {
    /// The side that won, `None` for a draw.
    #[must_use]
    pub const fn winner(self) -> Option<Side> {
        match self {
            Self::Win(side) => Some(side),
            Self::Draw => None,
        }
    }
}

/// How a game ended.
///
/// A [`Game`](crate::Game) produces only the first four. The others are decided away from the board; they are here so
/// that all endings have one vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Termination {
    /// The mover fulfilled the win rule.
    Captures,
    /// The side to move has no legal move, and loses.
    NoMoves,
    /// The same position stood for the fourth time: a draw.
    Repetition,
    /// The last ply of the game was made: a draw.
    MoveLimit,
    /// A player gave up.
    Resignation,
    /// A player did not move in time.
    Timeout,
    /// The players agreed to end the game.
    Agreement,
    /// The game was called off.
    Abort,
}

impl Termination {
    /// All endings.
    pub const ALL: [Self; 8] = [
        Self::Captures,
        Self::NoMoves,
        Self::Repetition,
        Self::MoveLimit,
        Self::Resignation,
        Self::Timeout,
        Self::Agreement,
        Self::Abort,
    ];

    /// The ending as a stable `snake_case` word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Captures => "captures",
            Self::NoMoves => "no_moves",
            Self::Repetition => "repetition",
            Self::MoveLimit => "move_limit",
            Self::Resignation => "resignation",
            Self::Timeout => "timeout",
            Self::Agreement => "agreement",
            Self::Abort => "abort",
        }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Termination {
    type Err = ParseTerminationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|termination| termination.as_str() == text).ok_or(ParseTerminationError)
    }
}

/// The text does not name an ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTerminationError;

impl fmt::Display for ParseTerminationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a way for a game to end")
    }
}

impl Error for ParseTerminationError {}
