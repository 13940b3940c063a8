//! Everything derived is derived again and compared with what is stored, in one snapshot of the database.
//!
//! Two halves share the ledger. What one game says is checked with the game: score, expected score, change and time
//! of both rows (`game`). What follows from a player's earlier games is checked along the ledger: numbers, chain, K
//! and the sum in `ratings` (`account`). Neither needs more in memory than a page of games or one player's games.

mod account;
mod finding;
mod game;
mod pages;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::TryStreamExt as _;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::store::audit::{self, Counts};
use crate::store::snapshot::Snapshot;
pub(super) use finding::Checks;
pub(super) use finding::stray;
pub use finding::{Mismatch, ledger_key};
use pages::Pages;

/// How far a long work has come.
#[derive(Debug, Default)]
pub struct Progress {
    /// Rows to look at.
    pub total: AtomicI64,
    /// Rows looked at.
    pub done: AtomicI64,
}

impl Progress {
    /// Notes rows that were looked at.
    pub fn add(&self, rows: usize) {
        self.done.fetch_add(i64::try_from(rows).unwrap_or_default(), Ordering::Relaxed);
    }
}

/// Where what was found goes.
#[derive(Debug, Clone)]
pub struct Report {
    /// Each mismatch. Bounded, so that a slow reader slows the search and no heap grows.
    pub mismatches: mpsc::Sender<Mismatch>,
    /// How far it is.
    pub progress: Arc<Progress>,
}

impl Report {
    pub(super) async fn tell(&self, mismatches: Vec<Mismatch>) -> Result<()> {
        for mismatch in mismatches {
            self.mismatches
                .send(mismatch)
                .await
                .map_err(|_| Error::Internal("nobody reads the mismatches any more".to_owned()))?;
        }
        Ok(())
    }
}

/// Checks a whole database with so many connections for games at a time, and a few more; what was looked at.
///
/// # Errors
/// The database cannot be read.
pub async fn verify(options: PgConnectOptions, workers: usize, report: Report) -> Result<Counts> {
    let snapshot = Arc::new(Snapshot::take(options, "hasami-ladder verify").await?);
    let mut conn = snapshot.connect().await?;
    let counts = audit::count(&mut conn).await?;
    let total = counts.games + counts.ledger + counts.ratings + counts.tables;
    report.progress.total.store(total, Ordering::Relaxed);

    let mut tasks = JoinSet::new();
    let pages = Arc::new(Pages::new(snapshot.connect().await?));
    for _ in 0..workers.max(1) {
        tasks.spawn(pages::check_games(snapshot.connect().await?, pages.clone(), report.clone()));
    }
    tasks.spawn(account::check_all(snapshot.connect().await?, snapshot.connect().await?, report.clone()));
    tasks.spawn(pages::check_tables(snapshot.connect().await?, report.clone()));
    let mut owned = 0;
    while let Some(done) = tasks.join_next().await {
        owned += done.map_err(|e| Error::Internal(format!("a check ended: {e}")))??;
    }
    // Each row that belongs to a game was seen with it: most often there are no others, and no need to look for them.
    if owned != counts.ledger {
        let mut strays = audit::strays(&mut conn);
        while let Some(row) = strays.try_next().await? {
            report.tell(vec![stray(&row)]).await?;
        }
    }
    for game_id in audit::unwatched(&mut conn).await? {
        let mut checks = Checks::new("games", game_id.to_string());
        checks.fail("check_at", "null", "an instant: the game runs");
        report.tell(checks.take()).await?;
    }
    check_ranks(&mut conn, &report).await?;
    Ok(counts)
}

async fn check_ranks(conn: &mut sqlx::PgConnection, report: &Report) -> Result<()> {
    for bucket in audit::miscounts(conn).await? {
        let key = format!("{}/{}/{}", bucket.ladder, bucket.level, bucket.bucket);
        // A bucket that is right by itself is spoilt by a delta that should not be there.
        let mut checks = if bucket.counted == bucket.listed {
            let mut checks = Checks::new("rank_deltas", key);
            checks.same("change", bucket.delta, 0);
            checks
        } else {
            let mut checks = Checks::new("rank_buckets", key);
            checks.same("players", bucket.counted, bucket.listed - bucket.delta);
            checks
        };
        report.tell(checks.take()).await?;
    }
    Ok(())
}
