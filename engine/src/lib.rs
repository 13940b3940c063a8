//! The computer player. Knows the rules alone: the same game gives the same move.
//!
//! [`search`] looks at a given number of positions and says what is best, [`choose`] is an opponent of one of eight
//! [`Level`]s.
//!
//! ```
//! use hasami_engine::{Level, Score, choose, search};
//! use hasami_rules::{Game, GameOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let moves = ["d1d5", "e9e5", "a1a2", "i9i8"];
//! let mut game = Game::new(GameOptions::default());
//! for mv in moves {
//!     game.play(mv.parse()?)?;
//! }
//! // e5 stands beside d5.
//! let found = search(&game, 20_000).ok_or("the game goes on")?;
//! assert_eq!(found.best.to_string(), "f1f5");
//! assert!(matches!(found.score, Score::Pieces(worth) if worth > 50));
//!
//! let level = Level::new(3).ok_or("levels are 1 to 8")?;
//! assert_eq!(choose(&game, level), choose(&game, level));
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod bits;
mod captures;
mod chance;
mod eval;
mod level;
mod node;
mod order;
mod root;
#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
mod samples;
mod scene;
mod score;
mod search;
mod table;
mod tree;

pub use level::{Level, choose};
pub use score::Score;
pub use search::{Found, search, search_position};
