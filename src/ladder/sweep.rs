//! What is due is done: by any instance, each game once, through the same guarded updates as a player's move.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use hasami_engine::Level;
use sqlx::{PgConnection, PgPool};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::due::{Deed, Due};
use super::games;
use super::judge::{Mover, PlayMove};
use super::lane::{self, Court};
use super::replay::Loaded;
use super::settle::{self, Ending, ToEnd};
use crate::error::{Error, Result};
use crate::ids::GameId;
use crate::store;
use crate::store::clocks::{Checked, Clock};

/// Games looked at by one statement.
const CHECKED: i64 = 1000;
/// Games ended by one transaction.
const TOGETHER: usize = 50;
/// Transactions at a time. More would only wait for the same cores, and keep connections from requests.
const PERMITS: usize = 4;
/// For so long a game is left to the instance that has it.
const LEASE: TimeDelta = TimeDelta::seconds(5);
/// Instances beat this often.
const BEAT: TimeDelta = TimeDelta::seconds(2);
/// An instance that beat so long ago may still be there. A shorter outage is not given back.
pub const FRESH: TimeDelta = TimeDelta::seconds(6);
/// How well the computer plays for somebody who is absent,
const STAND_IN: u8 = 5;
/// and where both are, so that games that nobody follows take no time from others.
const STAND_IN_FOR_BOTH: u8 = 2;

/// Rounds of one run at most, so that what else is driven by the clock has its turn.
const ROUNDS: usize = 20;

/// One instance's keeper of time.
#[derive(Debug, Clone)]
pub struct Sweep {
    court: Court,
    /// A connection for beats alone: that an instance is busy must not look as if it were away.
    beats: PgPool,
    instance_id: uuid::Uuid,
    /// Transactions that end games, and games read for the computer.
    permits: Arc<Semaphore>,
    /// Games that are attended to, and whether something was due in them again meanwhile.
    thoughts: Arc<Mutex<HashMap<GameId, bool>>>,
}

impl Sweep {
    /// A keeper that has done nothing yet.
    #[must_use]
    pub fn new(court: Court, beats: PgPool) -> Self {
        let permits = Arc::new(Semaphore::new(PERMITS));
        Self { court, beats, instance_id: uuid::Uuid::now_v7(), permits, thoughts: Arc::default() }
    }

    /// Does what is due. What takes the computer's time goes on afterwards. Nothing where nobody has kept the time: that
    /// is given back first.
    ///
    /// # Errors
    /// The database's.
    pub async fn run(&self) -> Result<()> {
        if !is_fresh(&mut *self.court.pool.acquire().await?).await? {
            return Ok(());
        }
        // Who was seen just now is not absent.
        self.court.presence.write(&self.court.pool).await?;
        let mut others = 0;
        for _ in 0..ROUNDS {
            let checked = store::clocks::find_checked(&mut *self.court.pool.acquire().await?, CHECKED).await?;
            let full = checked.len() as i64 == CHECKED;
            let acted = self.act(checked).await?;
            // Another instance may have been at the same ones; behind them are more.
            others = if acted == 0 { others + 1 } else { 0 };
            if !full || others > 2 {
                break;
            }
        }
        Ok(())
    }

    /// Says that this instance lives. Where none did for a while, nobody could move, and the time is given back.
    ///
    /// # Errors
    /// The database's.
    pub async fn beat(&self) -> Result<()> {
        let (newest, now) = store::clocks::newest_beat(&mut *self.beats.acquire().await?).await?;
        if newest.is_some_and(|beat| now - beat < BEAT) {
            return Ok(());
        }
        let instance_id = self.instance_id;
        store::transaction(&self.beats, move |conn| {
            Box::pin(async move {
                store::clocks::lock_beats(conn).await?;
                let (newest, now) = store::clocks::newest_beat(conn).await?;
                if let Some(beat) = newest
                    && now - beat > FRESH
                {
                    let games = store::clocks::give_back(conn, beat, now).await?;
                    let seconds = (now - beat).num_seconds();
                    tracing::info!(seconds, games, "nobody kept the time: it is given back to running games");
                }
                store::clocks::beat(conn, instance_id, now).await
            })
        })
        .await
    }

    /// Looks at games: how many of them were this instance's to deal with.
    async fn act(&self, checked: Vec<Checked>) -> Result<usize> {
        let (mut later, mut leases, mut over) = (Vec::new(), Vec::new(), HashMap::new());
        for Checked { clock, check_at } in checked {
            let due = Due::of(&clock);
            if due.is_over(&clock) {
                // Whoever moves `check_at` has a game to itself for a while.
                leases.push((clock.game_id, check_at, clock.now + LEASE));
                over.insert(clock.game_id, (clock, due));
            } else {
                later.push((clock.game_id, check_at, due.check_at(&clock)));
            }
        }
        let acted = self.postpone(later).await?.len();
        let own = self.postpone(leases).await?;
        let acted = acted + own.len();
        let mut endings = Vec::new();
        for (clock, due) in own.iter().filter_map(|game_id| over.remove(game_id)) {
            match due.ending() {
                Some(_) => endings.push(clock),
                None => self.attend(clock.game_id),
            }
        }
        self.end_all(endings).await;
        Ok(acted)
    }

    async fn postpone(&self, mut checked: Vec<(GameId, DateTime<Utc>, DateTime<Utc>)>) -> Result<Vec<GameId>> {
        if checked.is_empty() {
            return Ok(Vec::new());
        }
        // In one order on every instance, as moves are written.
        checked.sort_by_key(|c| c.0);
        store::clocks::postpone(&mut *self.court.pool.acquire().await?, &checked).await
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
            let (court, permits) = (self.court.clone(), self.permits.clone());
            parts.spawn(async move {
                let _permit = permits.acquire().await;
                let error = match end(&court, part.clone()).await {
                    Ok(()) => return,
                    // They come up again when the lease is over.
                    Err(Error::Unavailable(why)) => {
                        return tracing::warn!(why, games = part.len(), "what is due in games was not done");
                    }
                    Err(error) => error,
                };
                tracing::warn!(%error, games = part.len(), "what is due in games was not done; each is looked at alone");
                // One game that cannot be settled keeps no other from it.
                for game_id in part {
                    if let Err(error) = end(&court, vec![game_id]).await {
                        tracing::error!(game.id = %game_id, %error, "what is due in a game was not done");
                    }
                }
            });
        }
        while parts.join_next().await.is_some() {}
    }

    /// Does what is due at once in a game, beside everything else.
    pub fn attend(&self, game_id: GameId) {
        let sweep = self.clone();
        tokio::spawn(async move {
            // One thought about a game at a time; a second one comes after it.
            if sweep.thoughts().insert(game_id, true).is_some() {
                return;
            }
            let _done = Thought { sweep: &sweep, game_id };
            while sweep.is_wanted(game_id) {
                let Err(error) = sweep.attend_now(game_id).await else { continue };
                match error {
                    Error::Unavailable(_) | Error::Overloaded => {
                        tracing::warn!(game.id = %game_id, %error, "what is due in a game was not done");
                    }
                    _ => tracing::error!(game.id = %game_id, %error, "what is due in a game was not done"),
                }
                // What woke us may not come again.
                if let Err(error) = sweep.hasten(game_id).await {
                    tracing::warn!(game.id = %game_id, %error, "a game is not looked at as soon as it should be");
                }
            }
        });
    }

    /// Whether something was due since the last look. The answer ends the attention to a game if it is no.
    fn is_wanted(&self, game_id: GameId) -> bool {
        let mut thoughts = self.thoughts();
        match thoughts.get_mut(&game_id) {
            Some(again) if *again => {
                *again = false;
                true
            }
            _ => {
                thoughts.remove(&game_id);
                false
            }
        }
    }

    async fn attend_now(&self, game_id: GameId) -> Result<()> {
        // Who came back just now is not played for.
        self.court.presence.write(&self.court.pool).await?;
        let game = {
            let _permit = self.permits.acquire().await;
            games::load(&mut *self.court.pool.acquire().await?, game_id).await?
        };
        settle_due(&self.court, game).await
    }

    async fn hasten(&self, game_id: GameId) -> Result<()> {
        store::clocks::hasten(&mut *self.court.pool.acquire().await?, game_id).await
    }

    fn thoughts(&self) -> MutexGuard<'_, HashMap<GameId, bool>> {
        self.thoughts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thought under way, which a panic ends too.
struct Thought<'a> {
    sweep: &'a Sweep,
    game_id: GameId,
}

impl Drop for Thought<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.sweep.thoughts().remove(&self.game_id);
        }
    }
}

/// Whether some instance keeps the time. If none does, it is given back before anything is done.
async fn is_fresh(conn: &mut PgConnection) -> Result<bool> {
    let (newest, now) = store::clocks::newest_beat(conn).await?;
    Ok(newest.is_some_and(|beat| now - beat <= FRESH))
}

/// Does what is due in a game that was read, before a move that came too late is judged.
///
/// # Errors
/// The database's.
pub(super) async fn settle(court: &Court, game: Loaded) -> Result<()> {
    if is_fresh(&mut *court.pool.acquire().await?).await? {
        settle_due(court, game).await
    } else {
        Err(Error::Unavailable("no instance has kept the time".to_owned()))
    }
}

/// How a turn timer has ended a game that was read, if it has; the game is then as it was read once more.
///
/// # Errors
/// The database's.
pub(super) async fn overdue_ending(conn: &mut PgConnection, game: &mut Loaded) -> Result<Option<Ending>> {
    let ending = |game: &Loaded| {
        let clock = Clock::from(&game.row);
        let due = Due::of(&clock);
        due.ending().filter(|_| game.row.ended_at.is_none() && due.is_past_deadline(&clock))
    };
    if ending(game).is_none() {
        return Ok(None);
    }
    // Time may have been given back since it was read.
    store::clocks::hold_beats(conn).await?;
    *game = games::load(conn, game.row.game_id).await?;
    Ok(if is_fresh(conn).await? { ending(game) } else { None })
}

async fn settle_due(court: &Court, game: Loaded) -> Result<()> {
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
            // What the clock said when the games were read counts only if somebody had kept it until then.
            store::clocks::hold_beats(conn).await?;
            let rows = store::games::find_many(conn, &game_ids).await?;
            if !is_fresh(conn).await? {
                return Ok(());
            }
            let mut ends = Vec::new();
            for row in rows {
                let clock = Clock::from(&row);
                let due = Due::of(&clock);
                if row.ended_at.is_none()
                    && due.is_over(&clock)
                    && let Some(ending) = due.ending()
                {
                    match Loaded::new(row) {
                        Ok(loaded) => ends.push(ToEnd { ply_before: loaded.game.ply(), loaded, ending }),
                        // An alarm, and no reason to keep the others waiting.
                        Err(error) => tracing::error!(%error, "a game cannot be ended"),
                    }
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
    let stand_in = if game.row.first_away && game.row.second_away { STAND_IN_FOR_BOTH } else { STAND_IN };
    let number = game.row.player(due.side).cpu_level().unwrap_or(stand_in);
    let level = Level::new(number).ok_or_else(|| Error::Internal(format!("the computer has no level {number}")))?;
    let ply = game.game.ply() + 1;
    let mv = court.thinker.choose(game.game, level).await?;
    let request = PlayMove { game_id: game.row.game_id, by: Mover::Cpu, mv, ply };
    match lane::play_for_cpu(court, &request).await {
        Ok(()) | Err(Error::NotYourTurn { .. } | Error::StalePly { .. } | Error::GameOver { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// How often the sweep runs where nothing wakes it.
pub const PERIOD: Duration = Duration::from_millis(500);
