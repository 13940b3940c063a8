//! Sessions and their refresh tokens, of which only hashes are stored.

use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::{PlayerId, SessionId};

/// SHA-256 of a refresh token.
pub type TokenHash = [u8; 32];

/// Opens a session that ends after `days` without a refresh.
///
/// # Errors
/// The database's.
pub async fn insert(conn: &mut PgConnection, session_id: SessionId, player_id: PlayerId, days: i32) -> Result<()> {
    sqlx::query!(
        "insert into sessions (session_id, player_id, expires_at) values ($1, $2, clock_timestamp() + make_interval(days => $3))",
        session_id.0,
        player_id.0,
        days,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds a session's next refresh token.
///
/// # Errors
/// The database's.
pub async fn insert_token(conn: &mut PgConnection, session_id: SessionId, hash: &TokenHash) -> Result<()> {
    sqlx::query!("insert into refresh_tokens (token_hash, session_id) values ($1, $2)", hash, session_id.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// A refresh token that is known.
#[derive(Debug)]
pub struct TokenRow {
    /// Its session.
    pub session_id: SessionId,
    /// The session's player.
    pub player_id: PlayerId,
    /// Whether it was used before.
    pub used: bool,
}

/// Locks a refresh token of a session that still lives.
///
/// # Errors
/// The database's.
pub async fn lock_token(conn: &mut PgConnection, hash: &TokenHash) -> Result<Option<TokenRow>> {
    Ok(sqlx::query_as!(
        TokenRow,
        r#"
        select session_id as "session_id: SessionId", player_id as "player_id: PlayerId", used_at is not null as "used!"
        from refresh_tokens join sessions using (session_id)
        where token_hash = $1 and expires_at > clock_timestamp()
        for update of refresh_tokens
        "#,
        hash,
    )
    .fetch_optional(conn)
    .await?)
}

/// Marks a token as used, and forgets those of its session that were used more than `days` ago.
///
/// # Errors
/// The database's.
pub async fn use_token(conn: &mut PgConnection, session_id: SessionId, hash: &TokenHash, days: i32) -> Result<()> {
    sqlx::query!(
        "with forgotten as (
             delete from refresh_tokens
             where session_id = $1 and used_at < clock_timestamp() - make_interval(days => $3)
         )
         update refresh_tokens set used_at = clock_timestamp() where token_hash = $2",
        session_id.0,
        hash,
        days,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Lets a session live `days` longer from now.
///
/// # Errors
/// The database's.
pub async fn extend(conn: &mut PgConnection, session_id: SessionId, days: i32) -> Result<()> {
    sqlx::query!(
        "update sessions set expires_at = clock_timestamp() + make_interval(days => $2) where session_id = $1",
        session_id.0,
        days
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends one session with all its tokens.
///
/// # Errors
/// The database's.
pub async fn delete(conn: &mut PgConnection, session_id: SessionId) -> Result<()> {
    sqlx::query!("delete from sessions where session_id = $1", session_id.0).execute(conn).await?;
    Ok(())
}

/// Ends all sessions of a player.
///
/// # Errors
/// The database's.
pub async fn delete_all(conn: &mut PgConnection, player_id: PlayerId) -> Result<()> {
    sqlx::query!("delete from sessions where player_id = $1", player_id.0).execute(conn).await?;
    Ok(())
}

/// Deletes up to `limit` sessions whose time is over; how many it were.
///
/// # Errors
/// The database's.
pub async fn delete_expired(conn: &mut PgConnection, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from sessions where session_id in (
             select session_id from sessions where expires_at < statement_timestamp() order by expires_at limit $1
         )",
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
