//! The rules of Hasami Shogi.
//!
//! Two sides of nine pieces each on a board of nine by nine squares. A piece slides along a rank or a file. Enemy
//! pieces that it encloses in line against another own piece are captured, and so is an enemy in a corner when the
//! squares on both sides of it are taken. A [`Game`] knows its options, all its moves and whether it has ended; a
//! [`Position`] is a small value without history, made to be searched on.
//!
//! ```
//! use hasami_rules::{Game, GameOptions, IllegalMove, PlayError, Side, WinRule};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut game = Game::new(GameOptions {
//!     win_rule: WinRule::Capture5,
//!     move_limit: Some(300),
//! });
//! for mv in ["d1d5", "e9e5", "a1a2", "i9i8"] {
//!     game.play(mv.parse()?)?;
//! }
//! assert_eq!(
//!     game.position().to_string(),
//!     "oooo1ooo1/8o/9/9/3xo4/9/9/x8/1xx1xxxxx first",
//! );
//!
//! // The second player walked in front of d5. A piece on f5 closes the line.
//! let captured = game.play("f1f5".parse()?)?;
//! assert_eq!(captured.into_iter().map(|s| s.to_string()).collect::<Vec<_>>(), ["e5"]);
//! assert_eq!(game.captured_by(Side::First), 1);
//!
//! let blocked = game.play("a9a1".parse()?);
//! assert_eq!(blocked, Err(PlayError::Illegal(IllegalMove::Blocked)));
//! assert_eq!(game.to_move(), Some(Side::Second));
//! assert_eq!(game.ply(), 5);
//! # Ok(())
//! # }
//! ```
//!
//! There is no clock here, no randomness, no input or output: the same moves always give the same game.

#![warn(missing_docs)]

mod board;
mod capture;
mod game;
mod movegen;
mod moves;
mod options;
mod outcome;
mod perft;
mod position;
mod record;
mod side;
mod square;
mod zobrist;

pub use board::{Board, ParseBoardError};
pub use game::{Game, PlayError, ReplayError};
pub use movegen::{IllegalMove, LegalMoves};
pub use moves::{Move, ParseMoveError};
pub use options::{GameOptions, MAX_PLIES, ParseWinRuleError, WinRule};
pub use outcome::{Outcome, ParseTerminationError, Termination};
pub use perft::perft;
pub use position::{ParsePositionError, Position};
pub use side::{ParseSideError, Side};
pub use square::{ParseSquareError, Square, SquareSet, Squares};
