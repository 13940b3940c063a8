//! Challenges: offers to play to a named player, and the answers.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, delete, get, post};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Auth, Body, Nothing, Params, from_path, given};
use super::players;
use super::tables::options_body;
use super::views::{self, AbsenceView, KindView, OptionsView, Timestamp, VisibilityView, WinRuleView, words};
use crate::error::{Error, Fault, Result};
use crate::ids::{ChallengeId, PlayerId};
use crate::ladder::challenges::{self, Answer};
use crate::options::TableOptions;
use crate::player::PlayerKind;
use crate::store;
use crate::store::challenges::{ChallengeRow, ChallengeStatus, DeclineReason, Listing};

/// A challenge's id.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct ChallengePath {
    /// The challenge.
    #[param(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c15")]
    challenge_id: String,
}

options_body! {
    /// Whom to challenge, and the options of the game to come, each with the default that it has at a table.
    #[schema(example = json!({ "opponent": "ben", "win_rule": "capture5", "rated": true }))]
    pub struct Challenge {
        /// The opponent's username, in any case.
        opponent: String,
        /// Seconds after which the challenge expires: 60 to 604800. Default 86400, a day.
        #[schema(nullable = false, minimum = 60, maximum = 604_800)]
        expires_seconds: Option<i32>,
    }
}

words! {
    /// What became of a challenge: `pending`, no answer yet; `accepted`, the game has begun; `declined`; `cancelled` by
    /// the challenger; `expired`.
    ChallengeStatusView = ChallengeStatus { Pending, Accepted, Declined, Cancelled, Expired }
}
words! {
    /// Why a challenge is declined: `generic`, no reason given; `later`; rather with more time (`too_fast`) or less
    /// (`too_slow`); rather a `rated` game, or a `casual` one; rather another `win_rule`, or other `options`; `no_bots`;
    /// `only_bots`.
    DeclineReasonView =
        DeclineReason { Generic, Later, TooFast, TooSlow, Rated, Casual, WinRule, Options, NoBots, OnlyBots }
}

/// Which way a challenge goes, for whoever looks: to them, or by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectionView {
    /// Somebody challenged you.
    Incoming,
    /// You challenged somebody.
    Outgoing,
}

/// One of the two players of a challenge.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "username": "ana", "kind": "human" }))]
pub struct PartyView {
    /// Who it is.
    username: String,
    /// What is behind the player.
    kind: KindView,
}

impl PartyView {
    fn new(username: &str, kind: PlayerKind) -> Self {
        Self { username: username.to_owned(), kind: kind.into() }
    }
}

/// A challenge.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeView {
    /// The id.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c15")]
    id: String,
    /// What became of it.
    status: ChallengeStatusView,
    /// Which way it goes for you.
    direction: DirectionView,
    /// Who challenges, and will move first.
    challenger: PartyView,
    /// Who is challenged.
    challenged: PartyView,
    /// The ladder: the win rule.
    ladder: WinRuleView,
    /// The options of the game to come.
    options: OptionsView,
    /// Why it was declined; null if it was not.
    #[schema(required)]
    reason: Option<DeclineReasonView>,
    /// When it was made.
    created_at: Timestamp,
    /// When it expires, or would have.
    expires_at: Timestamp,
    /// When it was accepted, declined or cancelled.
    #[schema(required)]
    ended_at: Option<Timestamp>,
    /// The table, once it is accepted.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    table_id: Option<String>,
    /// The table's first game, once it is accepted.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    game_id: Option<String>,
}

impl ChallengeView {
    fn new(row: &ChallengeRow, viewer: PlayerId) -> Self {
        Self {
            id: row.challenge_id.to_string(),
            status: row.status().into(),
            direction: if row.challenger_id == viewer { DirectionView::Outgoing } else { DirectionView::Incoming },
            challenger: PartyView::new(&row.challenger_username, row.challenger_kind),
            challenged: PartyView::new(&row.challenged_username, row.challenged_kind),
            ladder: row.win_rule.0.into(),
            options: row.options().into(),
            reason: row.reason.map(Into::into),
            created_at: Timestamp(row.created_at),
            expires_at: Timestamp(row.expires_at),
            ended_at: row.ended_at.map(Timestamp),
            table_id: row.table_id.map(|id| id.to_string()),
            game_id: row.game_id.map(|id| id.to_string()),
        }
    }
}

/// Challenge a player
///
/// Offers a game to a named player, who accepts or declines it until it expires. The challenger counts as who sat first
/// and moves first in the first game. Repeating the request is safe: while a challenge to the same player with the same
/// options waits for its answer, it is answered with 200. A player may have 50 that wait.
#[utoipa::path(
    tag = "pairing",
    operation_id = "challenge",
    request_body = Challenge,
    security(("bearer" = [])),
    responses(
        (status = 201, description = "The challenge", body = ChallengeView, headers(("location" = String, description = "Its address"))),
        (status = 200, description = "The same challenge, which waits already", body = ChallengeView),
        (status = 404, description = "`player_not_found`"),
        (status = 409, description = "`challenge_pending`: one with other options waits; `too_many_challenges`"),
        (status = 422, description = "`invalid_option`, `invalid_field`: `errors` names the option or field and says why; nobody challenges themselves")
    )
)]
#[post("/v1/challenges")]
pub async fn challenge(service: Data<Service>, auth: Auth, body: Body<Challenge>) -> Result<HttpResponse> {
    let options = body.0.apply(TableOptions::default());
    let opponent = players::find(&service, &body.0.opponent).await.map_err(|error| match error {
        Error::PlayerNotFound => Error::NobodyNamed(Fault::field("opponent", error.to_string())),
        error => error,
    })?;
    let expires = body.0.expires_seconds.unwrap_or(challenges::EXPIRES_SECONDS);
    let (row, new) = challenges::challenge(&service.pool, auth.player(), &opponent, options, expires).await?;
    let mut answer = if new { HttpResponse::Created() } else { HttpResponse::Ok() };
    if new {
        answer.insert_header((header::LOCATION, format!("/v1/challenges/{}", row.challenge_id)));
    }
    Ok(answer.json(ChallengeView::new(&row, auth.player())))
}

/// Which challenges to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListChallenges {
    /// Only those to you, or only those by you.
    #[param(example = "incoming", inline)]
    direction: Option<DirectionView>,
    /// Only those of which this became.
    #[param(example = "pending", inline)]
    status: Option<ChallengeStatusView>,
    /// How many, 1 to 100. Default 50.
    #[param(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u8>,
    /// `next` of the page before.
    #[param(example = "Y3Vyc29yIG9mIHRoZSBwYWdlIGJlZm9yZQ")]
    cursor: Option<String>,
}

/// A page of challenges.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengesView {
    /// The challenges, newest first.
    items: Vec<ChallengeView>,
    /// The cursor of the next page; null on the last.
    #[schema(required, example = "Y3Vyc29yIG9mIHRoaXMgcGFnZQ")]
    next: Option<String>,
}

/// List your challenges
///
/// Those to you and those by you, newest first; with `direction=incoming&status=pending` those that wait for your
/// answer. They are listed until a week after their expiry.
#[utoipa::path(
    tag = "pairing",
    operation_id = "list_challenges",
    params(ListChallenges),
    security(("bearer" = [])),
    responses((status = 200, description = "A page of challenges", body = ChallengesView))
)]
#[get("/v1/challenges")]
pub async fn list_challenges(
    service: Data<Service>,
    auth: Auth,
    params: Params<ListChallenges>,
) -> Result<HttpResponse> {
    let params = params.0;
    let limit = views::page_size(params.limit)?;
    let before = views::open_cursor(&service, "challenges", params.cursor.as_deref(), |place| {
        place.parse::<ChallengeId>().ok()
    })?;
    let listing = Listing {
        incoming: params.direction != Some(DirectionView::Outgoing),
        outgoing: params.direction != Some(DirectionView::Incoming),
        status: params.status.map(Into::into),
    };
    let mut conn = service.pool.acquire().await?;
    let mut ids = store::challenges::list(&mut conn, auth.player(), listing, before, limit as i64 + 1).await?;
    let next = views::seal_cursor(&service, "challenges", &mut ids, limit, ChallengeId::to_string);
    let mut rows = store::challenges::find_many(&mut conn, &ids).await?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.challenge_id));
    let items = rows.iter().map(|row| ChallengeView::new(row, auth.player())).collect();
    Ok(HttpResponse::Ok().json(ChallengesView { items, next }))
}

/// Read a challenge
///
/// One of your own: for everybody else it is not found.
#[utoipa::path(
    tag = "pairing",
    operation_id = "get_challenge",
    params(ChallengePath),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The challenge", body = ChallengeView),
        (status = 404, description = "`challenge_not_found`")
    )
)]
#[get("/v1/challenges/{challenge_id}")]
pub async fn get_challenge(service: Data<Service>, path: Path<String>, auth: Auth) -> Result<HttpResponse> {
    let challenge_id = from_path(&path, Error::ChallengeNotFound)?;
    let row = challenges::load(&mut *service.pool.acquire().await?, challenge_id, auth.player()).await?;
    Ok(HttpResponse::Ok().json(ChallengeView::new(&row, auth.player())))
}

async fn answer(service: &Service, path: &str, auth: Auth, answer: Answer) -> Result<HttpResponse> {
    let challenge_id = from_path(path, Error::ChallengeNotFound)?;
    let row = challenges::answer(&service.pool, challenge_id, auth.player(), answer).await?;
    Ok(HttpResponse::Ok().json(ChallengeView::new(&row, auth.player())))
}

/// Accept a challenge
///
/// Begins the game: `game_id` in the answer. Accepting again answers the same.
#[utoipa::path(
    tag = "pairing",
    operation_id = "accept_challenge",
    params(ChallengePath),
    request_body = Option<Nothing>,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The challenge, with table and game", body = ChallengeView),
        (status = 403, description = "`forbidden`: only the challenged player accepts"),
        (status = 404, description = "`challenge_not_found`"),
        (status = 409, description = "`challenge_over`: it was declined or cancelled, or has expired")
    )
)]
#[post("/v1/challenges/{challenge_id}/accept")]
pub async fn accept_challenge(
    service: Data<Service>,
    path: Path<String>,
    auth: Auth,
    _: Body<Nothing>,
) -> Result<HttpResponse> {
    answer(&service, &path, auth, Answer::Accept).await
}

/// Why not.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "reason": "later" }))]
pub struct Decline {
    /// The reason, for the challenger to read. Default `generic`.
    #[schema(nullable = false)]
    reason: Option<DeclineReasonView>,
}

/// Decline a challenge
///
/// With a reason from the list. Declining again answers the same, and the first reason stays.
#[utoipa::path(
    tag = "pairing",
    operation_id = "decline_challenge",
    params(ChallengePath),
    request_body = Option<Decline>,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The challenge", body = ChallengeView),
        (status = 403, description = "`forbidden`: only the challenged player declines"),
        (status = 404, description = "`challenge_not_found`"),
        (status = 409, description = "`challenge_over`: it was accepted or cancelled, or has expired")
    )
)]
#[post("/v1/challenges/{challenge_id}/decline")]
pub async fn decline_challenge(
    service: Data<Service>,
    path: Path<String>,
    auth: Auth,
    body: Body<Decline>,
) -> Result<HttpResponse> {
    let reason = body.0.reason.map_or(DeclineReason::Generic, Into::into);
    answer(&service, &path, auth, Answer::Decline(reason)).await
}

/// Cancel a challenge
///
/// Takes it back. After a 200 no game comes of it. Cancelling again answers the same.
#[utoipa::path(
    tag = "pairing",
    operation_id = "cancel_challenge",
    params(ChallengePath),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The challenge", body = ChallengeView),
        (status = 403, description = "`forbidden`: only the challenger cancels"),
        (status = 404, description = "`challenge_not_found`"),
        (status = 409, description = "`challenge_over`: it was accepted or declined, or has expired")
    )
)]
#[delete("/v1/challenges/{challenge_id}")]
pub async fn cancel_challenge(service: Data<Service>, path: Path<String>, auth: Auth) -> Result<HttpResponse> {
    answer(&service, &path, auth, Answer::Cancel).await
}
