//! The leaderboard in the course of time: deltas are folded, and who has not played for long leaves.

use sqlx::PgPool;

use super::players::LISTED_DAYS;
use crate::error::Result;
use crate::store;

/// Folds the deltas of the ranks that have come together; how many it were.
///
/// # Errors
/// The database's.
pub async fn fold(pool: &PgPool) -> Result<i64> {
    store::transaction(pool, |conn| Box::pin(store::ranks::fold(conn))).await
}

/// Takes players off the board whose days are over; how many it were.
///
/// # Errors
/// The database's.
pub async fn unlist_lapsed(pool: &PgPool) -> Result<i64> {
    /// Few at a time, so that no ending waits long for one of their rows.
    const LIMIT: i64 = 500;
    store::transaction(pool, |conn| Box::pin(store::ranks::unlist_lapsed(conn, LISTED_DAYS, LIMIT))).await
}

/// Forgets sessions whose time is over; how many it were.
///
/// # Errors
/// The database's.
pub async fn forget_sessions(pool: &PgPool) -> Result<u64> {
    const LIMIT: i64 = 1000;
    store::transaction(pool, |conn| Box::pin(store::sessions::delete_expired(conn, LIMIT))).await
}
