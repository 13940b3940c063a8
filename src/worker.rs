//! The only code driven by a clock. Any number of instances may run it.

use std::future::Future;

use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio::time::{Duration, MissedTickBehavior, interval};

use crate::error::Result;
use crate::ids::GameId;
use crate::ladder::presence::Presence;
use crate::ladder::sweep::{self, Sweep};
use crate::ladder::{challenges, queue, ranks, tables};

/// What the worker works with.
#[derive(Debug)]
pub struct Worker {
    /// Connections.
    pub pool: PgPool,
    /// Signs of life to be written.
    pub presence: Presence,
    /// What is due in games.
    pub sweep: Sweep,
    /// Games in which something is due at once.
    pub due_now: mpsc::Receiver<GameId>,
}

impl Worker {
    /// Works until it is dropped. Every second it beats, writes signs of life, folds ranks and pairs those who wait; twice
    /// a second it does what is due in games; and every minute it looks for what is over: tables, days on the board,
    /// sessions, tickets, challenges. None of these waits for another.
    pub async fn run(mut self) {
        const SECOND: Duration = Duration::from_secs(1);
        const MINUTE: Duration = Duration::from_secs(60);
        let (pool, presence, sweep) = (&self.pool, &self.presence, &self.sweep);
        let wakes = async {
            while let Some(game_id) = self.due_now.recv().await {
                sweep.attend(game_id);
            }
        };
        futures_util::join!(
            every(SECOND, "beat", || sweep.beat()),
            every(SECOND, "write signs of life", || presence.write(pool)),
            every(sweep::PERIOD, "do what is due in games", || sweep.run()),
            every(SECOND, "fold ranks", async || ranks::fold(pool).await.map(|_| ())),
            every(SECOND, "pair those who wait", || queue::pair_all(pool)),
            every(MINUTE, "close tables", || close_tables(pool)),
            every(MINUTE, "look for what is over", || clean_up(pool)),
            wakes,
        );
    }
}

/// Does it again and again, and tells what went wrong.
async fn every<F: Future<Output = Result<()>>>(period: Duration, what: &str, work: impl Fn() -> F) {
    let mut interval = interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if let Err(error) = work().await {
            tracing::warn!(error = %error, "could not {what}");
        }
    }
}

async fn close_tables(pool: &PgPool) -> Result<()> {
    while tables::close_waiting(pool).await? > 0 {}
    Ok(())
}

async fn clean_up(pool: &PgPool) -> Result<()> {
    while ranks::unlist_lapsed(pool).await? > 0 {}
    while ranks::forget_sessions(pool).await? > 0 {}
    while queue::forget_old(pool).await? > 0 {}
    while challenges::forget_old(pool).await? > 0 {}
    Ok(())
}
