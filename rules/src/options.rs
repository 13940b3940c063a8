use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::board::PIECES;

/// The number of plies after which every game ends, whatever its own limit.
pub const MAX_PLIES: u16 = 2000;

/// What the two players of a game agree on before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct GameOptions {
    /// How many captures win.
    pub win_rule: WinRule,
    /// The game is drawn when this many plies have been made. Without a limit, or with one above it, [`MAX_PLIES`]
    /// takes its place.
    pub move_limit: Option<u16>,
}

impl GameOptions {
    /// The number of plies after which a game with these options is drawn.
    #[must_use]
    pub fn last_ply(self) -> u16 {
        self.move_limit.map_or(MAX_PLIES, |limit| limit.min(MAX_PLIES))
    }
}

/// How many captures win the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum WinRule {
    /// Five captured pieces or more.
    #[default]
    Capture5,
    /// At least three captured pieces more than the opponent.
    Lead3,
    /// All nine pieces.
    CaptureAll,
}

impl WinRule {
    /// All win rules.
    pub const ALL: [Self; 3] = [Self::Capture5, Self::Lead3, Self::CaptureAll];

    /// `capture5`, `lead3` or `captureall`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capture5 => "capture5",
            Self::Lead3 => "lead3",
            Self::CaptureAll => "captureall",
        }
    }

    /// Whether a side that has captured `own` pieces wins against one that has captured `theirs`.
    #[must_use]
    pub const fn is_won(self, own: u8, theirs: u8) -> bool {
        match self {
            Self::Capture5 => own >= 5,
            Self::Lead3 => own >= theirs + 3,
            Self::CaptureAll => own >= PIECES,
        }
    }
}

impl fmt::Display for WinRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for WinRule {
    type Err = ParseWinRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == text).ok_or(ParseWinRuleError)
    }
}

/// The text does not name a win rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseWinRuleError;

impl fmt::Display for ParseWinRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a win rule: expected `capture5`, `lead3` or `captureall`")
    }
}

impl Error for ParseWinRuleError {}
