//! What becomes of a posted move: a pure function of the game and the request.

use hasami_rules::{Move, Side};

use super::due::{Deed, Due};
use super::replay::{Loaded, Ply};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId};
use crate::store::clocks::Clock;

/// Who makes a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// A seat's player.
    Player(PlayerId),
    /// The computer, where that is due.
    Cpu,
}

/// A posted move.
#[derive(Debug, Clone, Copy)]
pub struct PlayMove {
    /// In which game.
    pub game_id: GameId,
    /// Who makes it.
    pub by: Mover,
    /// The move.
    pub mv: Move,
    /// The ply that it is meant to become.
    pub ply: u16,
}

/// What is to be done about a posted move.
#[derive(Debug)]
pub enum Decision {
    /// Nothing: the log holds it already, in this row.
    Retry(Loaded, Ply),
    /// Write it; the game, as after the move, goes on.
    Append(Loaded, Ply),
    /// Write it and end the game.
    Finish(Loaded, Ply),
    /// Settle first what was due before it came.
    Overdue(Loaded),
}

/// Judges a move posted for a game that was read just now.
///
/// # Errors
/// Why it is refused, which changes nothing.
pub fn judge(mut loaded: Loaded, request: &PlayMove) -> Result<Decision> {
    let side = match request.by {
        Mover::Player(player) => loaded.side_of(player)?,
        Mover::Cpu => mover(request.ply),
    };
    let current_ply = loaded.game.ply();
    let made = usize::from(request.ply).checked_sub(1).and_then(|i| loaded.records.get(i));
    if made.is_some_and(|r| r.mv == request.mv)
        && mover(request.ply) == side
        && let Some(ply) = loaded.ply(request.ply)
    {
        return Ok(Decision::Retry(loaded, ply));
    }
    if loaded.row.ended_at.is_some() {
        return Err(Error::GameOver { current_ply });
    }
    let clock = Clock::from(&loaded.row);
    let due = Due::of(&clock);
    // Without a timer a player who posts was there in time: a posted move is a sign of life.
    if request.by != Mover::Cpu && due.is_past_deadline(&clock) {
        return Ok(Decision::Overdue(loaded));
    }
    if request.ply != current_ply + 1 {
        return Err(Error::StalePly { current_ply });
    }
    if loaded.game.to_move() != Some(side) {
        return Err(Error::NotYourTurn { current_ply });
    }
    let at = match (request.by, due.deed) {
        (Mover::Player(_), _) | (Mover::Cpu, Deed::CpuTurn) => clock.now,
        (Mover::Cpu, Deed::StandIn) if due.is_over(&clock) => due.at,
        // The player came back while the computer was thinking.
        (Mover::Cpu, _) => return Err(Error::NotYourTurn { current_ply }),
    };
    let ply = loaded.play(request.mv, request.by == Mover::Cpu, at)?;
    Ok(match loaded.game.outcome() {
        None => Decision::Append(loaded, ply),
        Some(_) => Decision::Finish(loaded, ply),
    })
}

/// The side that makes a ply.
#[must_use]
pub fn mover(ply: u16) -> Side {
    if ply % 2 == 1 { Side::First } else { Side::Second }
}
