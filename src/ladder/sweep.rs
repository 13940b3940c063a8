//! What is due is done: by any instance, each game once, through the same guarded updates as a player's move.

use std::collections::HashSet;
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
use super::settle::{self, ToEnd};
use super::{games, tables};
use crate::error::{Error, Result};
use crate::ids::GameId;
use crate::store;
use crate::store::clocks::{Checked, Clock};

/// Games looked at by one statement.
const CHECKED: i64 = 1000;
/// Games ended by one transaction.
const TOGETHER: usize = 50;
/// Transactions at a time. More would only wait for the same cores, and keep connections from requests.
const ENDINGS: usize = 4;
/// For so long a game is left to the instance that has it.
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
        let mut others = 0;
        loop {
            let checked = store::clocks::find_checked(&mut *self.court.pool.acquire().await?, CHECKED).await?;
            let full = checked.len() as i64 == CHECKED;
            let acted = self.act(checked).await?;
            done += acted;
            // Another instance may have been at the same ones; behind them are more.
            others = if acted == 0 { others + 1 } else { 0 };
            if !full || others > 2 {
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

    /// Looks at games: how many of them were this instance's to deal with.
    async fn act(&self, checked: Vec<Checked>) -> Result<usize> {
        let (later, now): (Vec<Checked>, Vec<Checked>) =
            checked.into_iter().partition(|c| !Due::of(&c.clock).is_over(&c.clock));
        let mut acted = 0;
        if !later.is_empty() {
            let later: Vec<_> =
                later.iter().map(|c| (c.clock.game_id, c.check_at, Due::of(&c.clock).check_at(&c.clock))).collect();
            acted += store::clocks::postpone(&mut *self.court.pool.acquire().await?, &later).await?.len();
        }
        if now.is_empty() {
            return Ok(acted);
        }
        // Whoever moves `check_at` has a game to itself for a while.
        let leases: Vec<_> = now.iter().map(|c| (c.clock.game_id, c.check_at, c.clock.now + LEASE)).collect();
        let own = store::clocks::postpone(&mut *self.court.pool.acquire().await?, &leases).await?;
        let own: HashSet<GameId> = own.into_iter().collect();
        acted += own.len();
        let mut endings = Vec::new();
        for Checked { clock, .. } in now.into_iter().filter(|c| own.contains(&c.clock.game_id)) {
            match Due::of(&clock).ending() {
                Some(_) => endings.push(clock),
                None => self.think(clock.game_id),
            }
        }
        self.end_all(endings).await;
        Ok(acted)
    }

    /// Ends games whose time is over, many in one transaction.
    async fn end_all(&self, mut clocks: Vec<Clock>) {
        let mut parts = JoinSet::new();
        while !clocks.is_empty() {
            // Each rating is read once in a transaction, so a player's second game is for another one.
            let mut players = HashSet::new();
            let mut part = Vec::new();
            clocks.retain(|clock| {
                let fits =
                    part.len() < TOGETHER && [clock.first_id, clock.second_id].iter().all(|p| !players.contains(p));
                if fits {
                    players.extend([clock.first_id, clock.second_id]);
                    part.push(clock.game_id);
                }
                !fits
            });
            let (court, permits) = (self.court.clone(), self.endings.clone());
            parts.spawn(async move {
                let _permit = permits.acquire().await;
                if let Err(error) = end(&court, part.clone()).await {
                    tracing::warn!(%error, games = part.len(), "what is due in games was not done; each is looked at alone");
                    // One game that cannot be settled keeps no other from it.
                    for game_id in part {
                        if let Err(error) = end(&court, vec![game_id]).await {
                            tracing::error!(game.id = %game_id, %error, "what is due in a game was not done");
                        }
                    }
                }
            });
        }
        while parts.join_next().await.is_some() {}
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
        Deed::Abort | Deed::Forfeit => end(court, vec![game.row.game_id]).await,
        Deed::StandIn | Deed::CpuTurn => think(court, game).await,
    }
}

/// Ends games whose time is over, if it still is. No player may be in two of them.
async fn end(court: &Court, game_ids: Vec<GameId>) -> Result<()> {
    store::transaction(&court.pool, move |conn| {
        let game_ids = game_ids.clone();
        Box::pin(async move {
            let mut ends = Vec::new();
            for row in store::games::find_many(conn, &game_ids).await? {
                let clock = Clock::from(&row);
                let due = Due::of(&clock);
                if row.ended_at.is_none()
                    && due.is_over(&clock)
                    && let Some(ending) = due.ending()
                {
                    let loaded = Loaded::new(row)?;
                    ends.push(ToEnd { ply_before: loaded.game.ply(), loaded, ending });
                }
            }
            if !ends.is_empty() {
                settle::finish_many(conn, ends).await?;
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
