//! A stored row becomes a game again.

use chrono::{DateTime, TimeDelta, Utc};
use hasami_rules::{Game, IllegalMove, Move, PlayError, Position, Side, SquareSet};

use super::log::{self, Record};
use crate::error::{Error, Result};
use crate::ids::PlayerId;
use crate::store::games::{GameRow, GameStatus};

/// A game as its row and log say.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The row. Its log is empty: `records` holds what it held.
    pub row: GameRow,
    /// What follows from the moves.
    pub game: Game,
    /// The log, in the order of play.
    pub records: Vec<Record>,
}

/// One ply of a game's history.
#[derive(Debug, Clone)]
pub struct Ply {
    /// Which, 1 for the first.
    pub ply: u16,
    /// Who moved.
    pub side: Side,
    /// The move.
    pub mv: Move,
    /// Where pieces fell.
    pub captured: SquareSet,
    /// Whether the computer moved for the seat.
    pub by_cpu: bool,
    /// The key of the position after it.
    pub position_hash: u64,
    /// When.
    pub at: DateTime<Utc>,
    /// How long it took since the ply before, or since the start.
    pub elapsed_ms: u64,
}

/// What does not fit in a stored game.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// The log is none, or holds a move that cannot be made.
    #[error("{0}")]
    Log(String),
    /// The row tells another number of plies.
    #[error("the log has {log} plies, the row says {row}")]
    Ply {
        /// By the log.
        log: u16,
        /// By the row.
        row: i16,
    },
    /// The row tells another position.
    #[error("it ends at another position than the row says")]
    PositionHash {
        /// By the log.
        log: u64,
        /// By the row.
        row: u64,
    },
    /// The board says that the game is over, the row that it is played.
    #[error("it is over, but the row says that it is played")]
    Status,
}

impl Loaded {
    /// Replays a row's log, and holds the row against it.
    ///
    /// # Errors
    /// `CorruptLog`.
    pub fn new(row: GameRow) -> Result<Self> {
        let game_id = row.game_id;
        Self::check(row).map_err(|corrupt| Error::CorruptLog { game_id, why: corrupt.to_string() })
    }

    /// The same, with what does not fit.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(mut row: GameRow) -> Result<Self, Corrupt> {
        let records = log::unpack(&std::mem::take(&mut row.log)).map_err(|e| Corrupt::Log(e.to_string()))?;
        let game = Game::replay(row.options().game(), records.iter().map(|r| r.mv))
            .map_err(|e| Corrupt::Log(e.to_string()))?;
        if game.ply() != row.ply() {
            return Err(Corrupt::Ply { log: game.ply(), row: row.ply });
        }
        let (log, stored) = (game.position().hash(), row.position_hash.cast_unsigned());
        if log != stored {
            return Err(Corrupt::PositionHash { log, row: stored });
        }
        if row.status == GameStatus::Playing && game.outcome().is_some() {
            return Err(Corrupt::Status);
        }
        Ok(Self { row, game, records })
    }

    /// Makes a move at `now`, cut to milliseconds and never before the ply before, with what follows for time and
    /// offers. Its row of the history.
    ///
    /// # Errors
    /// The move is illegal, or the game is over.
    pub fn play(&mut self, mv: Move, by_cpu: bool, now: DateTime<Utc>) -> Result<Ply> {
        let side = self.game.position().side();
        let captured = self.game.play(mv).map_err(|e| match e {
            PlayError::Illegal(reason) => Error::IllegalMove(reason),
            PlayError::GameOver => Error::GameOver { current_ply: self.game.ply() },
        })?;
        let at = now.max(self.row.ply_at);
        let elapsed_ms = u64::try_from((at - self.row.ply_at).num_milliseconds()).unwrap_or(0);
        let position_hash = self.game.position().hash();
        self.records.push(Record { mv, by_cpu, elapsed_ms });
        self.row.ply += 1;
        self.row.ply_at = at;
        self.row.position_hash = position_hash.cast_signed();
        self.row.deadline_at = self.row.turn_seconds.map(|seconds| at + TimeDelta::seconds(seconds.into()));
        // An offer dies with the next move of who made it.
        self.row.draw_offer = self.row.draw_offer.filter(|offer| offer.0 != side);
        // Without a timer, a seat that the computer moved for stays absent until its player shows a sign of life.
        let away = by_cpu && self.row.turn_seconds.is_none();
        match side {
            Side::First => self.row.first_away = away,
            Side::Second => self.row.second_away = away,
        }
        Ok(Ply { ply: self.game.ply(), side, mv, captured, by_cpu, position_hash, at, elapsed_ms })
    }

    /// The whole history, ply by ply.
    pub fn history(&self) -> impl Iterator<Item = Ply> {
        let mut position = Position::START;
        let mut at = self.row.started_at;
        (1..).zip(&self.records).map(move |(ply, record)| {
            let side = position.side();
            let (next, captured) = position.play_unchecked(record.mv);
            position = next;
            at += TimeDelta::milliseconds(record.elapsed_ms.cast_signed());
            Ply {
                ply,
                side,
                mv: record.mv,
                captured,
                by_cpu: record.by_cpu,
                position_hash: next.hash(),
                at,
                elapsed_ms: record.elapsed_ms,
            }
        })
    }

    /// One ply of the history, if it was made.
    #[must_use]
    pub fn ply(&self, ply: u16) -> Option<Ply> {
        self.history().nth(usize::from(ply).checked_sub(1)?)
    }

    /// The player's side.
    ///
    /// # Errors
    /// `NotSeated`; `GameNotFound` where the game is hidden from those without a seat.
    pub fn side_of(&self, player: PlayerId) -> Result<Side> {
        self.row.side_of(player).ok_or(match self.row.visibility {
            crate::options::Visibility::Public => Error::NotSeated,
            crate::options::Visibility::Unlisted => Error::GameNotFound,
        })
    }

    /// Whether the computer moved for a side.
    #[must_use]
    pub fn stood_in(&self, side: Side) -> bool {
        let first = usize::from(side == Side::Second);
        self.records.iter().skip(first).step_by(2).any(|r| r.by_cpu)
    }
}

/// Why a move of a posted list cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMove {
    /// The text names no two squares.
    Malformed,
    /// The rules forbid it.
    Illegal(IllegalMove),
    /// The game was over before.
    GameOver,
}

impl std::fmt::Display for NoMove {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed => Error::MalformedMove.fmt(f),
            Self::Illegal(reason) => reason.fmt(f),
            Self::GameOver => f.write_str("the game is over before this move"),
        }
    }
}
