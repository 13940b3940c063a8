//! Players as others see them: ratings, ranks, histories, head to head.

use std::collections::BTreeMap;

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use hasami_rules::WinRule;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Params, Viewer, from_path};
use super::views::{self, KindView, PlayerView, ReasonView, StatusView, Timestamp, WinRuleView, points};
use crate::elo;
use crate::error::{Error, Result};
use crate::player::Username;
use crate::store;
use crate::store::listings::Listing;
use crate::store::players::PlayerRow;
use crate::store::ranks::RankedRow;
use crate::store::ratings::LedgerRow;

/// A player's handle.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct PlayerPath {
    /// The player, in any case.
    #[param(example = "ana")]
    username: String,
}

/// The player of a handle.
pub(super) async fn find(service: &Service, name: &str) -> Result<PlayerRow> {
    let username: Username = from_path(name, Error::PlayerNotFound)?;
    store::players::find_by_name(&mut *service.pool.acquire().await?, &username).await?.ok_or(Error::PlayerNotFound)
}

/// A player's state in a ladder.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "rating": 1873, "rating_milli": 1872640, "games": 112, "wins": 70, "draws": 12, "losses": 30, "peak": 1901,
    "provisional": false, "rank": 17
}))]
pub struct RatingView {
    /// Whole points.
    rating: i32,
    /// Thousandths.
    rating_milli: i32,
    /// Rated games.
    games: i32,
    /// Of these won.
    wins: i32,
    /// Of these drawn.
    draws: i32,
    /// Of these lost.
    losses: i32,
    /// The highest rating so far, in whole points.
    peak: i32,
    /// Whether ten rated games are still to be reached, without which the leaderboard lists nobody.
    provisional: bool,
    /// The place on the leaderboard; null for who is not listed: provisional, a guest, or without a rated game in the
    /// last 90 days.
    #[schema(required)]
    rank: Option<i64>,
}

/// A player's page.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlayerPageView {
    /// The id, which never changes.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    id: String,
    /// The handle.
    #[schema(example = "ana")]
    username: String,
    /// The name to show; the handle where no other was chosen.
    #[schema(example = "Ana")]
    display_name: String,
    /// What is behind the player.
    kind: KindView,
    /// When the player came.
    created_at: Timestamp,
    /// By ladder; only those in which the player has begun a rated game.
    #[schema(example = json!({ "capture5": {
        "rating": 1873, "rating_milli": 1872640, "games": 112, "wins": 70, "draws": 12, "losses": 30, "peak": 1901,
        "provisional": false, "rank": 17
    } }))]
    ratings: BTreeMap<&'static str, RatingView>,
}

/// Read a player's page
///
/// Ratings, counts and ranks by ladder.
#[utoipa::path(
    tag = "players",
    operation_id = "get_player",
    params(PlayerPath),
    responses((status = 200, description = "The player", body = PlayerPageView), (status = 404, description = "`player_not_found`"))
)]
#[get("/v1/players/{username}")]
pub async fn get_player(service: Data<Service>, path: Path<String>) -> Result<HttpResponse> {
    let player = find(&service, &path).await?;
    let mut conn = service.pool.acquire().await?;
    let mut ratings = BTreeMap::new();
    for row in store::ranks::of_player(&mut conn, player.player_id).await? {
        ratings.insert(row.ladder.0.as_str(), RatingView::from(&row));
    }
    drop(conn);
    let PlayerView { id, username, display_name, kind } = (&player).into();
    Ok(HttpResponse::Ok().json(PlayerPageView {
        id,
        username,
        display_name,
        kind,
        created_at: Timestamp(player.created_at),
        ratings,
    }))
}

impl From<&RankedRow> for RatingView {
    fn from(row: &RankedRow) -> Self {
        let games = row.wins + row.draws + row.losses;
        Self {
            rating: points(row.rating_milli),
            rating_milli: row.rating_milli,
            games,
            wins: row.wins,
            draws: row.draws,
            losses: row.losses,
            peak: points(row.peak_milli),
            provisional: games < elo::ESTABLISHED_GAMES,
            rank: row.rank,
        }
    }
}

/// A player in a ladder.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct PlayerLadderPath {
    /// The player, in any case.
    #[param(example = "ana")]
    username: String,
    /// The ladder.
    #[param(example = "capture5", inline)]
    win_rule: WinRuleView,
}

/// A part of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many, 1 to 100. Default 50.
    #[param(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u8>,
    /// `next` of the page before.
    #[param(example = "Y3Vyc29yIG9mIHRoZSBwYWdlIGJlZm9yZQ")]
    cursor: Option<String>,
}

/// A player at the other side.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "username": "ben", "rating_milli": 1480000 }))]
pub struct OpponentView {
    /// The handle.
    username: String,
    /// Thousandths, before the game.
    rating_milli: i32,
}

/// A row of the ledger: what a game made of a rating.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "number": 12, "game_id": "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12", "opponent": { "username": "ben", "rating_milli": 1480000 },
    "score": 1.0, "expected": 0.5287505, "k": 40.0, "before_milli": 1500000, "after_milli": 1518850, "change_milli": 18850,
    "reason": null, "at": "2026-11-30T12:10:00.000Z"
}))]
pub struct LedgerRowView {
    /// Gapless from 1; the order of the ledger.
    number: i32,
    /// The game.
    game_id: String,
    /// Against whom.
    opponent: OpponentView,
    /// 1, 0.5 or 0.
    score: f64,
    /// The score that was expected, 0 to 1.
    expected: f64,
    /// The K-factor used, in points.
    k: f64,
    /// Thousandths.
    before_milli: i32,
    /// Thousandths.
    after_milli: i32,
    /// After minus before.
    change_milli: i32,
    /// The rule beside the formula that changed the number last.
    #[schema(required)]
    reason: Option<ReasonView>,
    /// When the game ended.
    at: Timestamp,
}

impl From<&LedgerRow> for LedgerRowView {
    fn from(row: &LedgerRow) -> Self {
        Self {
            number: row.number,
            game_id: row.game_id.to_string(),
            opponent: OpponentView { username: row.opponent_username.clone(), rating_milli: row.opponent_milli },
            score: row.score,
            expected: row.expected,
            k: row.k,
            before_milli: row.before_milli,
            after_milli: row.after_milli,
            change_milli: row.change_milli,
            reason: row.reason.map(Into::into),
            at: Timestamp(row.at),
        }
    }
}

/// A page of a ledger.
#[derive(Debug, Serialize, ToSchema)]
pub struct LedgerView {
    /// The rows, newest first.
    items: Vec<LedgerRowView>,
    /// The cursor of the next page; null on the last.
    #[schema(required, example = "Y3Vyc29yIG9mIHRoaXMgcGFnZQ")]
    next: Option<String>,
}

/// Read a player's rating history
///
/// One row for each rated game, newest first, with all that is needed to recompute it.
#[utoipa::path(
    tag = "players",
    operation_id = "get_rating_history",
    params(PlayerLadderPath, PageQuery),
    responses(
        (status = 200, description = "A page of the ledger", body = LedgerView),
        (status = 404, description = "`player_not_found`; `not_found`: no such ladder")
    )
)]
#[get("/v1/players/{username}/ratings/{win_rule}/history")]
pub async fn get_rating_history(
    service: Data<Service>,
    path: Path<(String, String)>,
    params: Params<PageQuery>,
) -> Result<HttpResponse> {
    let ladder: WinRule = from_path(&path.1, Error::NotFound)?;
    let limit = views::page_size(params.0.limit)?;
    let player = find(&service, &path.0).await?;
    let list = format!("ledger {} {ladder}", player.player_id);
    let before = views::open_cursor(&service, &list, params.0.cursor.as_deref(), |place| place.parse::<i32>().ok())?;
    let mut conn = service.pool.acquire().await?;
    let mut rows = store::ratings::history(&mut conn, player.player_id, ladder, before, limit as i64 + 1).await?;
    let next = views::seal_cursor(&service, &list, &mut rows, limit, |row| row.number.to_string());
    Ok(HttpResponse::Ok().json(LedgerView { items: rows.iter().map(Into::into).collect(), next }))
}

/// Which games of a player to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlayerGamesQuery {
    /// Only games in this state.
    #[param(example = "finished", inline)]
    status: Option<StatusView>,
    /// Only games of this ladder.
    #[param(example = "capture5", inline)]
    ladder: Option<WinRuleView>,
    /// Only rated, or only casual ones.
    #[param(example = true)]
    rated: Option<bool>,
    /// How many, 1 to 100. Default 50.
    #[param(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u8>,
    /// `next` of the page before.
    #[param(example = "Y3Vyc29yIG9mIHRoZSBwYWdlIGJlZm9yZQ")]
    cursor: Option<String>,
}

/// List a player's games
///
/// Newest first. Unlisted games are shown to their players only.
#[utoipa::path(
    tag = "players",
    operation_id = "list_player_games",
    params(PlayerPath, PlayerGamesQuery),
    security((), ("bearer" = [])),
    responses((status = 200, description = "A page of games", body = super::games::GamesView), (status = 404, description = "`player_not_found`"))
)]
#[get("/v1/players/{username}/games")]
pub async fn list_player_games(
    service: Data<Service>,
    path: Path<String>,
    viewer: Viewer,
    params: Params<PlayerGamesQuery>,
) -> Result<HttpResponse> {
    let params = params.0;
    let listing = Listing {
        viewer: viewer.0,
        player: Some(find(&service, &path).await?.player_id),
        table: None,
        status: params.status.map(Into::into),
        ladder: params.ladder.map(Into::into),
        rated: params.rated,
    };
    super::games::page(&service, listing, params.limit, params.cursor.as_deref()).await
}

/// Two players.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct PairPath {
    /// The player, in any case.
    #[param(example = "ana")]
    username: String,
    /// The other, in any case.
    #[param(example = "ben")]
    other: String,
}

/// What two players made of their rated games against each other in a ladder.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "games": 7, "wins": 4, "draws": 1, "losses": 2, "change_milli": 31200, "last_at": "2026-11-30T12:10:00.000Z"
}))]
pub struct ScoreView {
    /// Rated games.
    games: i64,
    /// Of these won by the first.
    wins: i64,
    /// Of these drawn.
    draws: i64,
    /// Of these lost by the first.
    losses: i64,
    /// What they brought the first, in thousandths.
    change_milli: i64,
    /// When the last one ended.
    last_at: Timestamp,
}

/// Two players head to head.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeadToHeadView {
    /// The first.
    #[schema(example = "ana")]
    player: String,
    /// The other.
    #[schema(example = "ben")]
    opponent: String,
    /// By ladder; only those in which they met.
    #[schema(example = json!({ "capture5": {
        "games": 7, "wins": 4, "draws": 1, "losses": 2, "change_milli": 31200, "last_at": "2026-11-30T12:10:00.000Z"
    } }))]
    ladders: BTreeMap<&'static str, ScoreView>,
}

/// Read two players head to head
///
/// Their rated games against each other, from the first one's side.
#[utoipa::path(
    tag = "players",
    operation_id = "get_head_to_head",
    params(PairPath),
    responses((status = 200, description = "The score", body = HeadToHeadView), (status = 404, description = "`player_not_found`"))
)]
#[get("/v1/players/{username}/vs/{other}")]
pub async fn get_head_to_head(service: Data<Service>, path: Path<(String, String)>) -> Result<HttpResponse> {
    let (player, other) = (find(&service, &path.0).await?, find(&service, &path.1).await?);
    let rows =
        store::ratings::head_to_head(&mut *service.pool.acquire().await?, player.player_id, other.player_id).await?;
    let ladders = rows.into_iter().map(|row| {
        let (wins, draws, losses) = (row.wins, row.draws, row.losses);
        let score = ScoreView {
            games: wins + draws + losses,
            wins,
            draws,
            losses,
            change_milli: row.change_milli,
            last_at: Timestamp(row.last_at),
        };
        (row.ladder.0.as_str(), score)
    });
    Ok(HttpResponse::Ok().json(HeadToHeadView {
        player: player.username,
        opponent: other.username,
        ladders: ladders.collect(),
    }))
}
