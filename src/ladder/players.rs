//! Players: enter as guest, register, claim a name, log in, refresh, log out; bots of the house.

use sqlx::{PgConnection, PgPool};

use crate::elo;
use crate::error::{Error, Result};
use crate::ids::{PlayerId, SessionId};
use crate::passwords::Passwords;
use crate::player::{DisplayName, Password, PlayerKind, Username};
use crate::store;
use crate::store::players::PlayerRow;
use crate::store::ranks::Delta;
use crate::tokens::RefreshToken;

/// Whole UTC days since the last rated game after which the leaderboard drops a player.
pub const LISTED_DAYS: i32 = 90;
/// Days without a refresh after which a session ends. Long, since a guest has nothing else to come back with.
pub const SESSION_DAYS: i32 = 180;
/// Days for which a used refresh token is remembered, so that its reuse ends the session.
const USED_TOKEN_DAYS: i32 = 30;

/// A player who has just proved to be it.
#[derive(Debug)]
pub struct Session {
    /// Who.
    pub player: PlayerRow,
    /// The login.
    pub session_id: SessionId,
    /// What the next refresh needs.
    pub refresh_token: RefreshToken,
}

/// Lets somebody in without an account.
///
/// # Errors
/// The database's.
pub async fn enter_as_guest(pool: &PgPool) -> Result<Session> {
    let (player_id, random) = (PlayerId::new(), crate::random()?);
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            let player =
                store::players::insert(conn, player_id, PlayerKind::Guest, &Username::guest(random), None).await?;
            open_session(conn, player).await
        })
    })
    .await
}

/// Makes an account.
///
/// # Errors
/// `NameTaken`; `Overloaded` where too many passwords wait for their hash.
pub async fn register(pool: &PgPool, passwords: &Passwords, username: Username, password: Password) -> Result<Session> {
    let hash = passwords.hash(password).await?;
    let player_id = PlayerId::new();
    store::transaction(pool, move |conn| {
        let (username, hash) = (username.clone(), hash.clone());
        Box::pin(async move {
            let player = store::players::insert(conn, player_id, PlayerKind::Human, &username, Some(&hash)).await?;
            open_session(conn, player).await
        })
    })
    .await
}

/// Gives a guest a name and a password: the same player, so the same id, games and ratings. Sessions opened before
/// go on; whoever shares the guest's tokens may still use them until logout with `all`.
///
/// # Errors
/// `NameTaken`; `AlreadyDone` for anybody but a guest.
pub async fn claim(
    pool: &PgPool,
    passwords: &Passwords,
    player_id: PlayerId,
    username: Username,
    password: Password,
) -> Result<Session> {
    let hash = passwords.hash(password).await?;
    store::transaction(pool, move |conn| {
        let (username, hash) = (username.clone(), hash.clone());
        Box::pin(async move {
            let claimed = store::players::claim(conn, player_id, &username, &hash).await?;
            let player = claimed.ok_or(Error::AlreadyDone("only a guest can claim a name; this player has one"))?;
            let listed =
                store::ratings::rename_claimed(conn, player_id, &username, elo::ESTABLISHED_GAMES, LISTED_DAYS).await?;
            let deltas: Vec<Delta> =
                listed.into_iter().map(|(ladder, rating_milli)| Delta { ladder, rating_milli, change: 1 }).collect();
            if !deltas.is_empty() {
                store::ranks::insert_deltas(conn, &deltas).await?;
            }
            open_session(conn, player).await
        })
    })
    .await
}

/// Opens a session for whoever knows the password. Takes the same time whether or not the name is known.
///
/// # Errors
/// `Unauthenticated`; `Overloaded` where too many passwords wait for their hash.
pub async fn log_in(pool: &PgPool, passwords: &Passwords, username: &Username, password: Password) -> Result<Session> {
    let name = username.clone();
    let login = store::transaction(pool, move |conn| {
        let name = name.clone();
        Box::pin(async move { store::players::find_password_hash(conn, &name).await })
    })
    .await?;
    let (player_id, hash) = login.unzip();
    let verified = passwords.verify(password, hash.clone()).await?;
    let (Some(player_id), Some(hash), true) = (player_id, hash, verified.fits) else {
        return Err(Error::Unauthenticated("username and password do not fit together"));
    };
    store::transaction(pool, move |conn| {
        let (hash, rehashed) = (hash.clone(), verified.rehashed.clone());
        Box::pin(async move {
            if let Some(new) = rehashed {
                store::players::rehash(conn, player_id, &hash, &new).await?;
            }
            let player = store::players::find(conn, player_id).await?.ok_or(Error::PlayerNotFound)?;
            open_session(conn, player).await
        })
    })
    .await
}

/// Adds bots, all of them or none. Nobody can log in as them: they have neither password nor session.
///
/// # Errors
/// `NameTaken`.
pub async fn add_bots(pool: &PgPool, bots: Vec<(Username, DisplayName)>) -> Result<Vec<PlayerId>> {
    let bots: Vec<_> = bots.into_iter().map(|(username, shown)| (PlayerId::new(), username, shown)).collect();
    store::transaction(pool, move |conn| {
        let bots = bots.clone();
        Box::pin(async move {
            for (player_id, username, shown) in &bots {
                store::players::insert(conn, *player_id, PlayerKind::Bot, username, None).await?;
                store::players::set_display_name(conn, *player_id, Some(shown)).await?;
            }
            Ok(bots.into_iter().map(|(player_id, ..)| player_id).collect())
        })
    })
    .await
}

async fn open_session(conn: &mut PgConnection, player: PlayerRow) -> Result<Session> {
    let session_id = SessionId::new();
    let refresh_token = RefreshToken::new()?;
    store::sessions::insert(conn, session_id, player.player_id, SESSION_DAYS).await?;
    store::sessions::insert_token(conn, session_id, &refresh_token.hash()).await?;
    Ok(Session { player, session_id, refresh_token })
}

/// Trades a refresh token for the next one. A token that was used before ends its session: one of two holders is a
/// thief.
///
/// # Errors
/// `Unauthenticated`.
pub async fn refresh(pool: &PgPool, token: &RefreshToken) -> Result<Session> {
    let hash = token.hash();
    let session = store::transaction(pool, move |conn| {
        Box::pin(async move {
            let Some(row) = store::sessions::lock_token(conn, &hash).await? else { return Ok(None) };
            if row.used {
                store::sessions::delete(conn, row.session_id).await?;
                tracing::warn!(player.id = %row.player_id, "a refresh token came twice; its session is ended");
                return Ok(None);
            }
            let refresh_token = RefreshToken::new()?;
            store::sessions::use_token(conn, row.session_id, &hash, USED_TOKEN_DAYS).await?;
            store::sessions::extend(conn, row.session_id, SESSION_DAYS).await?;
            store::sessions::insert_token(conn, row.session_id, &refresh_token.hash()).await?;
            let player = store::players::find(conn, row.player_id).await?.ok_or(Error::PlayerNotFound)?;
            Ok(Some(Session { player, session_id: row.session_id, refresh_token }))
        })
    })
    .await?;
    session.ok_or(Error::Unauthenticated("this refresh token is unknown, used or expired: log in again"))
}

/// Ends a session, or all of the player's.
///
/// # Errors
/// The database's.
pub async fn log_out(pool: &PgPool, player_id: PlayerId, session_id: SessionId, all: bool) -> Result<()> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            if all {
                store::sessions::delete_all(conn, player_id).await
            } else {
                store::sessions::delete(conn, session_id).await
            }
        })
    })
    .await
}

/// What a player changes about themselves.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// A new display name; `Some(None)` takes it away.
    pub display_name: Option<Option<DisplayName>>,
    /// Whether to become a bot.
    pub bot: bool,
}

/// Changes a player's profile. Becoming a bot again changes nothing.
///
/// # Errors
/// `TooLate` for a bot to be after the first rated game, `Forbidden` for a guest.
pub async fn change_profile(pool: &PgPool, player_id: PlayerId, profile: Profile) -> Result<PlayerRow> {
    store::transaction(pool, move |conn| {
        let profile = profile.clone();
        Box::pin(async move {
            let player = store::players::find(conn, player_id).await?.ok_or(Error::PlayerNotFound)?;
            if let Some(name) = &profile.display_name {
                store::players::set_display_name(conn, player_id, name.as_ref()).await?;
            }
            if profile.bot && player.kind != PlayerKind::Bot {
                if player.kind == PlayerKind::Guest {
                    return Err(Error::Forbidden("a guest cannot be a bot: claim a name first"));
                }
                // The player first: a rated game that begins meanwhile copies the new kind, or its copy is found.
                store::players::become_bot(conn, player_id).await?;
                store::ratings::set_bot(conn, player_id).await?;
                if store::ratings::has_ledger(conn, player_id).await? {
                    return Err(Error::TooLate("a player becomes a bot before the first rated game, not after"));
                }
            }
            store::players::find(conn, player_id).await?.ok_or(Error::PlayerNotFound)
        })
    })
    .await
}
