//! The only code driven by a clock. Any number of instances may run it.

use std::time::Duration;

use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::Result;
use crate::ladder::{challenges, queue, ranks};

/// Works until it is dropped: folds ranks and pairs those who wait every second, and every minute looks for players
/// whose days on the board are over, and for sessions, tickets and challenges that have ended.
pub async fn run(pool: PgPool) {
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut pairing = interval(Duration::from_secs(1));
    pairing.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut minute = interval(Duration::from_secs(60));
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let (what, done) = tokio::select! {
            _ = second.tick() => ("fold ranks", ranks::fold(&pool).await.map(|_| ())),
            _ = pairing.tick() => ("pair those who wait", queue::pair_all(&pool).await),
            _ = minute.tick() => ("look for what is over", clean_up(&pool).await),
        };
        if let Err(error) = done {
            tracing::warn!(error = %error, "could not {what}");
        }
    }
}

async fn clean_up(pool: &PgPool) -> Result<()> {
    while ranks::unlist_lapsed(pool).await? > 0 {}
    while ranks::forget_sessions(pool).await? > 0 {}
    while queue::forget_old(pool).await? > 0 {}
    while challenges::forget_old(pool).await? > 0 {}
    Ok(())
}
