//! Players: who they are and what they are called.

use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::ids::PlayerId;
use crate::player::{DisplayName, PlayerKind, Username};

/// A player as others may know them.
#[derive(Debug, Clone)]
pub struct PlayerRow {
    /// Key.
    pub player_id: PlayerId,
    /// What is behind it.
    pub kind: PlayerKind,
    /// The handle.
    pub username: String,
    /// The free text beside it, if there is any.
    pub display_name: Option<String>,
    /// When it came.
    pub created_at: chrono::DateTime<chrono::Utc>,
}

/// Adds a player.
///
/// # Errors
/// `NameTaken`.
pub async fn insert(
    conn: &mut PgConnection,
    player_id: PlayerId,
    kind: PlayerKind,
    username: &Username,
    password_hash: Option<&str>,
) -> Result<PlayerRow> {
    sqlx::query_as!(
        PlayerRow,
        r#"
        insert into players (player_id, kind, username, password_hash)
        values ($1, $2, $3, $4)
        returning player_id as "player_id: PlayerId", kind as "kind: PlayerKind", username, display_name, created_at
        "#,
        player_id.0,
        kind as PlayerKind,
        username.as_str(),
        password_hash,
    )
    .fetch_one(conn)
    .await
    .map_err(name_taken)
}

fn name_taken(error: sqlx::Error) -> Error {
    Error::from(error).on_constraint("players_username_key", Error::NameTaken)
}

/// Makes a guest a human with a name and a password. `None` where the player is no guest.
///
/// # Errors
/// `NameTaken`.
pub async fn claim(
    conn: &mut PgConnection,
    player_id: PlayerId,
    username: &Username,
    password_hash: &str,
) -> Result<Option<PlayerRow>> {
    sqlx::query_as!(
        PlayerRow,
        r#"
        update players set kind = 'human', username = $2, password_hash = $3
        where player_id = $1 and kind = 'guest'
        returning player_id as "player_id: PlayerId", kind as "kind: PlayerKind", username, display_name, created_at
        "#,
        player_id.0,
        username.as_str(),
        password_hash,
    )
    .fetch_optional(conn)
    .await
    .map_err(name_taken)
}

/// One player.
///
/// # Errors
/// The database's.
pub async fn find(conn: &mut PgConnection, player_id: PlayerId) -> Result<Option<PlayerRow>> {
    Ok(sqlx::query_as!(
        PlayerRow,
        r#"
        select player_id as "player_id: PlayerId", kind as "kind: PlayerKind", username, display_name, created_at
        from players where player_id = $1
        "#,
        player_id.0,
    )
    .fetch_optional(conn)
    .await?)
}

/// One player by handle, in any case.
///
/// # Errors
/// The database's.
pub async fn find_by_name(conn: &mut PgConnection, username: &Username) -> Result<Option<PlayerRow>> {
    Ok(sqlx::query_as!(
        PlayerRow,
        r#"
        select player_id as "player_id: PlayerId", kind as "kind: PlayerKind", username, display_name, created_at
        from players where lower(username) = lower($1)
        "#,
        username.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

/// The password hash of a handle's owner; `None` where there is no such owner or they have no password.
///
/// # Errors
/// The database's.
pub async fn find_password_hash(conn: &mut PgConnection, username: &Username) -> Result<Option<(PlayerId, String)>> {
    let row = sqlx::query!(
        r#"
        select player_id as "player_id: PlayerId", password_hash as "password_hash!"
        from players where lower(username) = lower($1) and password_hash is not null
        "#,
        username.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|r| (r.player_id, r.password_hash)))
}

/// Replaces a password hash that still is `old`, by one with today's parameters.
///
/// # Errors
/// The database's.
pub async fn rehash(conn: &mut PgConnection, player_id: PlayerId, old: &str, new: &str) -> Result<()> {
    sqlx::query!(
        "update players set password_hash = $3 where player_id = $1 and password_hash = $2",
        player_id.0,
        old,
        new
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Sets the free text beside the handle.
///
/// # Errors
/// The database's.
pub async fn set_display_name(conn: &mut PgConnection, player_id: PlayerId, name: Option<&DisplayName>) -> Result<()> {
    sqlx::query!(
        "update players set display_name = $2 where player_id = $1",
        player_id.0,
        name.map(DisplayName::as_str)
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes a human a bot.
///
/// # Errors
/// The database's.
pub async fn become_bot(conn: &mut PgConnection, player_id: PlayerId) -> Result<()> {
    sqlx::query!("update players set kind = 'bot' where player_id = $1 and kind = 'human'", player_id.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Adds the computer at a level, if it is not there yet.
///
/// # Errors
/// The database's.
pub async fn ensure_computer(conn: &mut PgConnection, player_id: PlayerId, username: &str) -> Result<()> {
    sqlx::query!(
        "insert into players (player_id, kind, username) values ($1, 'cpu', $2) on conflict (player_id) do nothing",
        player_id.0,
        username,
    )
    .execute(conn)
    .await?;
    Ok(())
}
