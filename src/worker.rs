//! The only code driven by a clock. Any number of instances may run it.

use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio::time::{Duration, Interval, MissedTickBehavior, interval};

use crate::error::Result;
use crate::ids::GameId;
use crate::ladder::presence::Presence;
use crate::ladder::sweep::{self, Sweep};
use crate::ladder::{challenges, queue, ranks};

/// What the worker works with.
#[derive(Debug)]
pub struct Worker {
    /// Connections.
    pub pool: PgPool,
    /// Signs of life to be written.
    pub presence: Presence,
    /// What is due in games.
    pub sweep: Sweep,
    /// Games in which the computer is next.
    pub computers_turn: mpsc::Receiver<GameId>,
}

impl Worker {
    /// Works until it is dropped. Twice a second it does what is due in games; every second it writes signs of life,
    /// folds ranks and pairs those who wait; and every minute it looks for what is over: tables, days on the board,
    /// sessions, tickets, challenges.
    pub async fn run(mut self) {
        let mut due = every(sweep::PERIOD);
        let mut second = every(Duration::from_secs(1));
        let mut minute = every(Duration::from_secs(60));
        let games = async {
            loop {
                tokio::select! {
                    _ = due.tick() => tell("do what is due in games", self.sweep.run().await.map(|_| ())),
                    Some(game_id) = self.computers_turn.recv() => self.sweep.think(game_id),
                }
            }
        };
        let (pool, presence, sweep) = (&self.pool, &self.presence, &self.sweep);
        let rest = async {
            loop {
                tokio::select! {
                    _ = second.tick() => {
                        tell("write signs of life", presence.write(pool).await);
                        tell("fold ranks", ranks::fold(pool).await.map(|_| ()));
                        tell("pair those who wait", queue::pair_all(pool).await);
                    }
                    _ = minute.tick() => {
                        tell("close tables", sweep.close_tables().await);
                        tell("look for what is over", clean_up(pool).await);
                    }
                }
            }
        };
        futures_util::join!(games, rest);
    }
}

fn every(period: Duration) -> Interval {
    let mut interval = interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn tell(what: &str, done: Result<()>) {
    if let Err(error) = done {
        tracing::warn!(error = %error, "could not {what}");
    }
}

async fn clean_up(pool: &PgPool) -> Result<()> {
    while ranks::unlist_lapsed(pool).await? > 0 {}
    while ranks::forget_sessions(pool).await? > 0 {}
    while queue::forget_old(pool).await? > 0 {}
    while challenges::forget_old(pool).await? > 0 {}
    while queue::forget_old(pool).await? > 0 {}
    while challenges::forget_old(pool).await? > 0 {}
    Ok(())
}
