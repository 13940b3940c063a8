//! Ladders: who leads, and who is near.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use hasami_rules::WinRule;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Params, from_path};
use super::views::{self, KindView, WinRuleView, points};
use crate::error::{Error, Result};
use crate::player::PlayerKind;
use crate::store;
use crate::store::board::{BoardKey, BoardRow};

/// A ladder.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "win_rule": "capture5", "players": 1200 }))]
pub struct LadderView {
    /// Its win rule, which is its name.
    win_rule: WinRuleView,
    /// How many players its leaderboard lists.
    players: i64,
}

/// All ladders.
#[derive(Debug, Serialize, ToSchema)]
pub struct LaddersView {
    /// One for each win rule.
    items: Vec<LadderView>,
}

/// List ladders
///
/// One for each win rule.
#[utoipa::path(
    tag = "ladder",
    operation_id = "list_ladders",
    responses((status = 200, description = "The ladders", body = LaddersView))
)]
#[get("/v1/ladders")]
pub async fn list_ladders(service: Data<Service>) -> Result<HttpResponse> {
    let counts = store::ranks::count_listed(&mut *service.pool.acquire().await?).await?;
    let players = |rule| counts.iter().find(|c| c.0 == rule).map_or(0, |c| c.1);
    let items = WinRule::ALL.map(|rule| LadderView { win_rule: rule.into(), players: players(rule) }).into();
    Ok(HttpResponse::Ok().json(LaddersView { items }))
}

/// A ladder's name.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct LadderPath {
    /// The ladder.
    #[param(example = "capture5", inline)]
    win_rule: WinRuleView,
}

/// Which part of a leaderboard to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BoardQuery {
    /// Only players of this kind; ranks stay those of the whole board.
    #[param(example = "bot", inline)]
    kind: Option<KindView>,
    /// How many, 1 to 100. Default 50.
    #[param(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u8>,
    /// `next` of the page before.
    #[param(example = "Y3Vyc29yIG9mIHRoZSBwYWdlIGJlZm9yZQ")]
    cursor: Option<String>,
}

/// A player on the board.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "rank": 1, "username": "ana", "kind": "human", "rating": 1873, "rating_milli": 1872640, "games": 112 }))]
pub struct EntryView {
    /// One more than the players strictly above; equal ratings share a rank.
    rank: i64,
    /// The handle.
    username: String,
    /// What is behind the player.
    kind: KindView,
    /// Whole points.
    rating: i32,
    /// Thousandths.
    rating_milli: i32,
    /// Rated games in this ladder.
    games: i32,
}

/// A part of a leaderboard.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoardView {
    /// The ladder.
    ladder: WinRuleView,
    /// The players, best first; those with equal ratings by name.
    items: Vec<EntryView>,
    /// The cursor of the next page; null on the last.
    #[schema(required, example = "Y3Vyc29yIG9mIHRoaXMgcGFnZQ")]
    next: Option<String>,
}

/// Read a leaderboard
///
/// Established players (ten rated games or more), guests apart, with a rated game in the last 90 days. Equal
/// thousandths share a rank.
#[utoipa::path(
    tag = "ladder",
    operation_id = "get_leaderboard",
    params(LadderPath, BoardQuery),
    responses((status = 200, description = "A page of the board", body = BoardView), (status = 404, description = "`not_found`: no such ladder"))
)]
#[get("/v1/ladders/{win_rule}/leaderboard")]
pub async fn get_leaderboard(
    service: Data<Service>,
    path: Path<String>,
    params: Params<BoardQuery>,
) -> Result<HttpResponse> {
    let ladder: WinRule = from_path(&path, Error::NotFound)?;
    let kind: Option<PlayerKind> = params.0.kind.map(Into::into);
    let limit = views::page_size(params.0.limit)?;
    let list = format!("board {ladder} {}", kind.map_or("all", PlayerKind::as_str));
    let after = views::open_cursor(&service, &list, params.0.cursor.as_deref(), read_place)?;
    let mut conn = service.pool.acquire().await?;
    let count = limit as i64 + 1;
    let mut rows = match kind {
        None => store::board::page(&mut conn, ladder, after.as_ref(), count).await?,
        Some(kind) => store::board::page_of_kind(&mut conn, ladder, kind, after.as_ref(), count).await?,
    };
    let next = views::seal_cursor(&service, &list, &mut rows, limit, write_place);
    drop(conn);
    let items = ranked(rows);
    Ok(HttpResponse::Ok().json(BoardView { ladder: ladder.into(), items, next }))
}

fn write_place(row: &BoardRow) -> String {
    format!("{} {}", row.rating_milli, row.username)
}

fn read_place(place: &str) -> Option<BoardKey> {
    let (rating, username) = place.split_once(' ')?;
    Some(BoardKey { rating_milli: rating.parse().ok()?, username: username.to_owned() })
}

/// Gives each row its rank: its own, that of the row before with the same rating, or its place.
fn ranked(rows: Vec<BoardRow>) -> Vec<EntryView> {
    let mut entries: Vec<EntryView> = Vec::with_capacity(rows.len());
    let mut place = 0;
    for row in rows {
        let tied = entries.last().filter(|last| last.rating_milli == row.rating_milli).map(|last| last.rank);
        let rank = row.rank.or(tied).unwrap_or(place);
        if let Some(before) = row.tied_before {
            place = rank + before;
        }
        place += 1;
        entries.push(EntryView {
            rank,
            username: row.username,
            kind: row.kind.into(),
            rating: points(row.rating_milli),
            rating_milli: row.rating_milli,
            games: row.games,
        });
    }
    entries
}

/// A player on a ladder.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct AroundPath {
    /// The ladder.
    #[param(example = "capture5", inline)]
    win_rule: WinRuleView,
    /// The player, in any case.
    #[param(example = "ana")]
    username: String,
}

/// How many neighbours to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AroundQuery {
    /// How many in all, 1 to 100. Default 50.
    #[param(minimum = 1, maximum = 100, example = 11)]
    limit: Option<u8>,
}

/// A player's neighbourhood on a leaderboard.
#[derive(Debug, Serialize, ToSchema)]
pub struct AroundView {
    /// The ladder.
    ladder: WinRuleView,
    /// The players, best first, the one asked for in the middle; fewer where the board ends. Empty where the player
    /// is not on the board: the player's page says why.
    items: Vec<EntryView>,
}

/// Read a leaderboard around a player
///
/// The player with half the neighbours above and half below.
#[utoipa::path(
    tag = "ladder",
    operation_id = "get_leaderboard_around",
    params(AroundPath, AroundQuery),
    responses(
        (status = 200, description = "The neighbourhood", body = AroundView),
        (status = 404, description = "`not_found`: no such ladder; `player_not_found`")
    )
)]
#[get("/v1/ladders/{win_rule}/leaderboard/around/{username}")]
pub async fn get_leaderboard_around(
    service: Data<Service>,
    path: Path<(String, String)>,
    params: Params<AroundQuery>,
) -> Result<HttpResponse> {
    let ladder: WinRule = from_path(&path.0, Error::NotFound)?;
    let limit = views::page_size(params.0.limit)? as i64;
    let player = super::players::find(&service, &path.1).await?;
    let mut conn = service.pool.acquire().await?;
    let rows = store::board::around(&mut conn, ladder, player.player_id, (limit - 1) / 2, limit / 2).await?;
    drop(conn);
    let items = ranked(rows);
    Ok(HttpResponse::Ok().json(AroundView { ladder: ladder.into(), items }))
}
