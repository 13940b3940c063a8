//! Who plays: guests, accounts, sessions.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpResponse, delete, get, patch, post};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Auth, Body, Nothing, Params, given};
use super::views::PlayerView;
use crate::error::{Error, Result};
use crate::ladder::players::{self, Profile, Session};
use crate::player::{Password, Username};
use crate::store;
use crate::tokens::{ACCESS_SECONDS, Bearer};

/// A player with fresh tokens.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    /// Who.
    player: PlayerView,
    /// Proves it for `expires_in` seconds: `authorization: Bearer TOKEN`.
    #[schema(example = "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIuLi4ifQ.c2ln")]
    access_token: String,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    token_type: &'static str,
    /// Seconds.
    #[schema(example = 900)]
    expires_in: i64,
    /// Buys the next pair of tokens, once. Keep it: it is all that a guest has to come back with.
    #[schema(example = "Zm9yIGV4YW1wbGUgb25seSwgdGhpcyBpcyBub25l")]
    refresh_token: String,
}

/// A name and a password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "username": "ana", "password": "correct horse battery" }))]
pub struct Credentials {
    /// 3 to 20 ASCII letters, digits, `-` and `_`, a letter first.
    #[schema(min_length = 3, max_length = 20, pattern = "^[A-Za-z][A-Za-z0-9_-]{2,19}$")]
    username: String,
    /// 8 to 128 characters.
    #[schema(min_length = 8, max_length = 128, format = Password)]
    password: String,
}

impl Credentials {
    /// Both as a new player may choose them.
    fn chosen(&self) -> Result<(Username, Password)> {
        let username = Username::choose(&self.username).map_err(|e| Error::field("username", e))?;
        Ok((username, self.password.parse().map_err(|e| Error::field("password", e))?))
    }
}

fn answer(service: &Service, mut status: actix_web::HttpResponseBuilder, session: &Session) -> Result<HttpResponse> {
    let bearer = Bearer { player_id: session.player.player_id, session_id: session.session_id };
    let view = SessionView {
        player: (&session.player).into(),
        access_token: service.tokens.issue(bearer)?,
        token_type: "Bearer",
        expires_in: ACCESS_SECONDS,
        refresh_token: session.refresh_token.reveal(),
    };
    Ok(status.insert_header((header::CACHE_CONTROL, "no-store")).json(view))
}

/// Enter as a guest
///
/// Needs nothing. The refresh token in the answer is all that a guest has to come back with; a name can be claimed later,
/// and games and ratings stay.
#[utoipa::path(
    tag = "identity",
    operation_id = "enter_as_guest",
    request_body = Option<Nothing>,
    responses((status = 201, description = "A new guest, logged in", body = SessionView))
)]
#[post("/v1/guests")]
pub async fn enter_as_guest(service: Data<Service>, _: Body<Nothing>) -> Result<HttpResponse> {
    let session = players::enter_as_guest(&service.pool).await?;
    answer(&service, HttpResponse::Created(), &session)
}

/// Register
///
/// Makes an account with a name and a password. Names are unique without regard to case.
#[utoipa::path(
    tag = "identity",
    operation_id = "register",
    request_body = Credentials,
    responses(
        (status = 201, description = "A new player, logged in", body = SessionView),
        (status = 409, description = "`name_taken`"),
        (status = 422, description = "`invalid_field`: the name or the password is not allowed, `errors` says why")
    )
)]
#[post("/v1/players")]
pub async fn register(service: Data<Service>, body: Body<Credentials>) -> Result<HttpResponse> {
    let (username, password) = body.0.chosen()?;
    let session = players::register(&service.pool, &service.passwords, username, password).await?;
    answer(&service, HttpResponse::Created(), &session)
}

/// Claim a name
///
/// Gives a guest a name and a password. It stays the same player: id, seats, games and ratings are kept.
#[utoipa::path(
    tag = "identity",
    operation_id = "claim",
    request_body = Credentials,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The same player, with a name and fresh tokens", body = SessionView),
        (status = 409, description = "`name_taken`; `already_done` where the player is no guest"),
        (status = 422, description = "`invalid_field`: the name or the password is not allowed, `errors` says why")
    )
)]
#[post("/v1/me/claim")]
pub async fn claim(service: Data<Service>, auth: Auth, body: Body<Credentials>) -> Result<HttpResponse> {
    let (username, password) = body.0.chosen()?;
    let session = players::claim(&service.pool, &service.passwords, auth.player(), username, password).await?;
    answer(&service, HttpResponse::Ok(), &session)
}

/// Log in
///
/// Opens a session for whoever knows the password.
#[utoipa::path(
    tag = "identity",
    operation_id = "log_in",
    request_body = Credentials,
    responses((status = 200, description = "Logged in", body = SessionView), (status = 401, description = "`unauthenticated`: name and password do not fit together"))
)]
#[post("/v1/sessions")]
pub async fn log_in(service: Data<Service>, body: Body<Credentials>) -> Result<HttpResponse> {
    const WRONG: Error = Error::Unauthenticated("username and password do not fit together");
    // What nobody can have is as wrong as what somebody else has.
    let (Ok(username), Ok(password)) = (body.0.username.parse::<Username>(), body.0.password.parse::<Password>())
    else {
        return Err(WRONG);
    };
    let session = players::log_in(&service.pool, &service.passwords, &username, password).await?;
    answer(&service, HttpResponse::Ok(), &session)
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "refresh_token": "Zm9yIGV4YW1wbGUgb25seSwgdGhpcyBpcyBub25l" }))]
pub struct Refresh {
    /// The newest one of the session.
    refresh_token: String,
}

/// Refresh the tokens
///
/// Trades a refresh token for a new pair. Each works once; one that comes a second time ends its session, since one
/// of its two holders is a thief. So store the new one before using it, and do not repeat a request whose answer was lost.
#[utoipa::path(
    tag = "identity",
    operation_id = "refresh",
    request_body = Refresh,
    responses((status = 200, description = "Fresh tokens", body = SessionView), (status = 401, description = "`unauthenticated`: the token is unknown, used or expired"))
)]
#[post("/v1/sessions/refresh")]
pub async fn refresh(service: Data<Service>, body: Body<Refresh>) -> Result<HttpResponse> {
    let session = players::refresh(&service.pool, &body.0.refresh_token.parse()?).await?;
    answer(&service, HttpResponse::Ok(), &session)
}

/// Which sessions to end.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogOut {
    /// End all sessions of the player, not only this one.
    #[serde(default)]
    #[param(example = false)]
    all: bool,
}

/// Log out
///
/// Ends this session, or all of them: their refresh tokens die at once, access tokens live out their 15 minutes.
#[utoipa::path(
    tag = "identity",
    operation_id = "log_out",
    params(LogOut),
    security(("bearer" = [])),
    responses((status = 204, description = "Logged out"))
)]
#[delete("/v1/sessions")]
pub async fn log_out(service: Data<Service>, auth: Auth, params: Params<LogOut>) -> Result<HttpResponse> {
    players::log_out(&service.pool, auth.player(), auth.0.session_id, params.0.all).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Who am I
///
/// The player that the access token speaks for.
#[utoipa::path(
    tag = "identity",
    operation_id = "get_me",
    security(("bearer" = [])),
    responses((status = 200, description = "The player", body = PlayerView))
)]
#[get("/v1/me")]
pub async fn get_me(service: Data<Service>, auth: Auth) -> Result<HttpResponse> {
    let player = store::players::find(&mut *service.pool.acquire().await?, auth.player()).await?;
    let player = player.ok_or(Error::Unauthenticated("this player is no more"))?;
    Ok(HttpResponse::Ok().json(PlayerView::from(&player)))
}

/// What a player changes about themselves.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "display_name": "Ana 花" }))]
pub struct ChangeMe {
    /// The name to show, 1 to 40 characters; null goes back to the handle.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 40)]
    display_name: Option<Option<String>>,
    /// Says that a program plays here. Once, and before the first rated game.
    #[schema(nullable = false)]
    bot: Option<bool>,
}

/// Change me
///
/// Changes the display name, or says that the player is a bot.
#[utoipa::path(
    tag = "identity",
    operation_id = "change_me",
    request_body = ChangeMe,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The player", body = PlayerView),
        (status = 403, description = "`forbidden`: a guest cannot be a bot"),
        (status = 409, description = "`too_late`: a rated game was played already"),
        (status = 422, description = "`invalid_field`")
    )
)]
#[patch("/v1/me")]
pub async fn change_me(service: Data<Service>, auth: Auth, body: Body<ChangeMe>) -> Result<HttpResponse> {
    let display_name = match body.0.display_name {
        Some(Some(name)) => Some(Some(name.parse().map_err(|e| Error::field("display_name", e))?)),
        Some(None) => Some(None),
        None => None,
    };
    if body.0.bot == Some(false) {
        return Err(Error::field("bot", "a bot stays one: only true can be said"));
    }
    let profile = Profile { display_name, bot: body.0.bot.is_some() };
    let player = players::change_profile(&service.pool, auth.player(), profile).await?;
    Ok(HttpResponse::Ok().json(PlayerView::from(&player)))
}
