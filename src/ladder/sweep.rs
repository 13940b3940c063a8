//! What is due is done: by any instance, each game once, through the same guarded updates as a player's move.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use hasami_engine::Level;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::due::{Deed, Due};
use super::judge::{Mover, PlayMove};
use super::lane::{self, Court};
use super::replay::Loaded;
use super::settle;
use super::{games, tables};
use crate::error::{Error, Result};
use crate::ids::GameId;
use crate::store;
use crate::store::clocks::{Checked, Clock};

/// Games looked at by one statement.
const CHECKED: i64 = 1000;
/// Endings written at a time. More would only wait for the same cores, and keep connections from requests.
const ENDINGS: usize = 6;
/// For so long a game is left to the instance that lets the computer think about it.
const LEASE: TimeDelta = TimeDelta::seconds(5);
/// Instances beat this often.
const BEAT: TimeDelta = TimeDelta::seconds(2);
/// An instance that beat so long ago may still be there. A shorter outage is not given back.
pub const FRESH: TimeDelta = TimeDelta::seconds(6);
/// How well the computer plays for somebody who is absent.
const STAND_IN: u8 = 5;

/// One instance's keeper of time.
#[derive(Debug, Clone)]
pub struct Sweep {
    court: Court,
    instance_id: uuid::Uuid,
    endings: Arc<Semaphore>,
}

impl Sweep {
    /// A keeper that has done nothing yet.
    #[must_use]
    pub fn new(court: Court) -> Self {
        Self { court, instance_id: uuid::Uuid::now_v7(), endings: Arc::new(Semaphore::new(ENDINGS)) }
    }

    /// Does all that is due; how many games it were. What takes the computer's time goes on afterwards.
    ///
    /// # Errors
    /// The database's.
    pub async fn run(&self) -> Result<usize> {
        self.beat().await?;
        let mut done = 0;
        loop {
            let checked = store::clocks::find_checked(&mut *self.court.pool.acquire().await?, CHECKED).await?;
            let full = checked.len() as i64 == CHECKED;
            let acted = self.act(checked).await?;
            done += acted;
            if !full || acted == 0 {
                return Ok(done);
            }
        }
    }

    /// Says that this instance lives. Where none did for a while, nobody could move, and the time is given back.
    async fn beat(&self) -> Result<()> {
        let (newest, now) = store::clocks::newest_beat(&mut *self.court.pool.acquire().await?).await?;
        if newest.is_some_and(|beat| now - beat < BEAT) {
            return Ok(());
        }
        let instance_id = self.instance_id;
        store::transaction(&self.court.pool, move |conn| {
            Box::pin(async move {
                store::clocks::lock_beats(conn).await?;
                let (newest, now) = store::clocks::newest_beat(conn).await?;
                if let Some(outage) = newest.map(|beat| now - beat)
                    && outage > FRESH
                {
                    let games = store::clocks::give_back(conn, outage).await?;
                    tracing::info!(
                        seconds = outage.num_seconds(),
                        games,
                        "nobody kept the time: it is given back to running games"
                    );
                }
                store::clocks::beat(conn, instance_id, now).await
            })
        })
        .await
    }

    async fn act(&self, checked: Vec<Checked>) -> Result<usize> {
        let mut later = Vec::new();
        let mut thoughts = Vec::new();
        let mut endings = JoinSet::new();
        for Checked { clock, check_at } in checked {
            let due = Due::of(&clock);
            if !due.is_over(&clock) {
                later.push((clock.game_id, check_at, due.check_at(&clock)));
            } else if due.ending().is_some() {
                let (court, permits) = (self.court.clone(), self.endings.clone());
                endings.spawn(async move {
                    let _permit = permits.acquire().await;
                    (clock.game_id, end(&court, clock.game_id).await)
                });
            } else {
                thoughts.push((clock.game_id, check_at, clock.now + LEASE));
            }
        }
        let mut acted = 0;
        if !later.is_empty() {
            let postponed = store::clocks::postpone(&mut *self.court.pool.acquire().await?, &later).await?;
            acted += postponed.len();
        }
        if !thoughts.is_empty() {
            // Whoever moves `check_at` has the game to itself for a while.
            let own = store::clocks::postpone(&mut *self.court.pool.acquire().await?, &thoughts).await?;
            acted += own.len();
            own.into_iter().for_each(|game_id| self.think(game_id));
        }
        while let Some(ended) = endings.join_next().await {
            match ended {
                Ok((_, Ok(()))) => acted += 1,
                // One game that cannot be settled keeps no other from it.
                Ok((game_id, Err(error))) => {
                    tracing::error!(game.id = %game_id, %error, "what is due in a game was not done")
                }
                Err(error) => tracing::error!(%error, "what is due in a game was not done"),
            }
        }
        Ok(acted)
    }

    /// Lets the computer make its ply in a game where it is due, beside everything else.
    pub fn think(&self, game_id: GameId) {
        let court = self.court.clone();
        tokio::spawn(async move {
            let thought = async {
                let game = games::load(&mut *court.pool.acquire().await?, game_id).await?;
                think(&court, game).await
            };
            match thought.await {
                Ok(()) => {}
                // The sweep comes back to it.
                Err(Error::Unavailable(why)) => tracing::warn!(game.id = %game_id, why, "the computer could not move"),
                Err(error) => tracing::error!(game.id = %game_id, %error, "the computer could not move"),
            }
        });
    }

    /// Closes tables that waited a day for their second seat.
    ///
    /// # Errors
    /// The database's.
    pub async fn close_tables(&self) -> Result<()> {
        while tables::close_waiting(&self.court.pool).await? > 0 {}
        Ok(())
    }
}

/// Does what is due in a game that was read, before a move that came too late is judged.
///
/// # Errors
/// The database's.
pub(super) async fn settle(court: &Court, game: Loaded) -> Result<()> {
    // Whether time was lost by nobody's fault is for the keepers to say first.
    let (newest, now) = store::clocks::newest_beat(&mut *court.pool.acquire().await?).await?;
    if newest.is_none_or(|beat| now - beat > FRESH) {
        return Err(Error::Unavailable("no instance has kept the time".to_owned()));
    }
    match Due::of(&Clock::from(&game.row)).deed {
        Deed::Abort | Deed::Forfeit => end(court, game.row.game_id).await,
        Deed::StandIn | Deed::CpuTurn => think(court, game).await,
    }
}

/// Ends a game whose time is over, if it still is.
async fn end(court: &Court, game_id: GameId) -> Result<()> {
    store::transaction(&court.pool, move |conn| {
        Box::pin(async move {
            let game = games::load(conn, game_id).await?;
            let clock = Clock::from(&game.row);
            let due = Due::of(&clock);
            if game.row.ended_at.is_none()
                && due.is_over(&clock)
                && let Some(ending) = due.ending()
            {
                let ply = game.game.ply();
                settle::finish(conn, game, ply, ending).await?;
            }
            Ok(())
        })
    })
    .await
}

/// The computer's ply, if it is due.
async fn think(court: &Court, game: Loaded) -> Result<()> {
    let clock = Clock::from(&game.row);
    let due = Due::of(&clock);
    if game.row.ended_at.is_some() || !due.is_over(&clock) || due.ending().is_some() {
        return Ok(());
    }
    let number = game.row.player(due.side).cpu_level().unwrap_or(STAND_IN);
    let level = Level::new(number).ok_or_else(|| Error::Internal(format!("the computer has no level {number}")))?;
    let ply = game.game.ply() + 1;
    let mv = court.thinker.choose(game.game, level).await?;
    let request = PlayMove { game_id: game.row.game_id, by: Mover::Cpu, mv, ply };
    match lane::play_for_cpu(court, &request).await {
        Ok(_) | Err(Error::NotYourTurn { .. } | Error::StalePly { .. } | Error::GameOver { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// How often the sweep runs where nothing wakes it.
pub const PERIOD: Duration = Duration::from_millis(500);
