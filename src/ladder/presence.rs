//! Signs of life: kept in memory for a second, then written together, and only where they matter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use hasami_rules::Side;
use sqlx::PgPool;

use super::due;
use crate::error::Result;
use crate::ids::{GameId, PlayerId};
use crate::store;
use crate::store::clocks::{Clock, Seen};
use crate::store::games::{GameRow, GameStatus};

/// Signs of life that are not written yet.
#[derive(Debug, Clone, Default)]
pub struct Presence(Arc<Mutex<HashMap<GameId, Seen>>>);

/// A sign of life that would change when something is due.
#[derive(Debug, Clone, Copy)]
pub struct Sign {
    game_id: GameId,
    side: Side,
    at: DateTime<Utc>,
    /// Whoever gives it had left.
    pub returns: bool,
}

impl Sign {
    /// That of a player who deals with a game, which was read for that; `None` where it changes nothing.
    #[must_use]
    pub fn of(row: &GameRow, player: PlayerId) -> Option<Self> {
        let side = row.side_of(player)?;
        let matters = row.status == GameStatus::Playing && due::heeds_signs_of(&Clock::from(row), side);
        let returns = match side {
            Side::First => row.first_away,
            Side::Second => row.second_away,
        };
        matters.then_some(Self { game_id: row.game_id, side, at: row.now, returns })
    }
}

impl Presence {
    /// Notes a sign of life.
    pub fn note(&self, sign: Sign) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let nobody = Seen { game_id: sign.game_id, first_seen_at: None, second_seen_at: None };
        let game = seen.entry(sign.game_id).or_insert(nobody);
        match sign.side {
            Side::First => game.first_seen_at = game.first_seen_at.max(Some(sign.at)),
            Side::Second => game.second_seen_at = game.second_seen_at.max(Some(sign.at)),
        }
    }

    /// Writes what was noted since the last time.
    ///
    /// # Errors
    /// The database's; what was noted is then forgotten: who lives shows it again.
    pub async fn write(&self, pool: &PgPool) -> Result<()> {
        let noted = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if noted.is_empty() {
            return Ok(());
        }
        let mut seen: Vec<Seen> = noted.into_values().collect();
        seen.sort_by_key(|s| s.game_id);
        let seen = Arc::new(seen);
        store::transaction(pool, move |conn| {
            let seen = seen.clone();
            Box::pin(async move { store::clocks::write_seen(conn, &seen).await })
        })
        .await
    }
}
