//! Ladders: who leads, who is near, and by which arithmetic.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use hasami_rules::WinRule;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Params, from_path};
use super::views::{self, KindView, WinRuleView, points};
use crate::elo::{self, Milli};
use crate::error::{Error, Result};
use crate::ladder::players::LISTED_DAYS;
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

/// The arithmetic of ratings. Points, not thousandths, where nothing else is said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "system": "elo", "start": 1500, "floor": 100, "scale": 400, "max_difference": 400,
    "k": { "new": 40, "new_games": 30, "established": 20, "master": 10, "master_rating": 2400 },
    "provisional_games": 10, "min_plies": 4, "draw_score": 0.5,
    "repeated_pair": { "games": 5, "hours": 24, "factor": 0.5 }, "stand_in_max_change": 0,
    "leaderboard": { "min_games": 10, "max_idle_days": 90, "guests": false }, "text": "…"
}))]
pub struct PolicyView {
    /// Always `elo`.
    system: &'static str,
    /// Everybody's first rating.
    start: i32,
    /// No rating falls below.
    floor: i32,
    /// In E = 1 / (1 + 10^(d / scale)).
    scale: i32,
    /// Rating differences count up to this.
    max_difference: i32,
    /// K-factors.
    k: KView,
    /// Fewer rated games than this are provisional.
    provisional_games: i32,
    /// A shorter game is not rated.
    min_plies: u16,
    /// The score of a draw.
    draw_score: f64,
    /// The damping of repeated pairs.
    repeated_pair: RepeatedPairView,
    /// The most that a side gains for which the computer moved.
    stand_in_max_change: i32,
    /// Who is on the board.
    leaderboard: ListedView,
    /// All of it in words.
    text: &'static str,
}

/// K-factors: the most that a game moves a rating.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "new": 40.0, "new_games": 30, "established": 20.0, "master": 10.0, "master_rating": 2400 }))]
pub struct KView {
    /// For new players.
    new: f64,
    /// Rated games in a ladder for which a player is new.
    new_games: i32,
    /// For everybody else.
    established: f64,
    /// For good, for who has reached `master_rating`.
    master: f64,
    /// Once reached in a ladder, K is `master`.
    master_rating: i32,
}

/// K is halved after each so many rated games of the same two players in a ladder within so many hours.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "games": 5, "hours": 24, "factor": 0.5 }))]
pub struct RepeatedPairView {
    /// Games.
    games: i64,
    /// Hours, back from a game's end.
    hours: i32,
    /// By which K is multiplied.
    factor: f64,
}

/// Who a leaderboard lists.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "min_games": 10, "max_idle_days": 90, "guests": false }))]
pub struct ListedView {
    /// Rated games at least.
    min_games: i32,
    /// Whole UTC days since the last rated game at most.
    max_idle_days: i32,
    /// Whether guests are listed.
    guests: bool,
}

const POLICY: &str = "Each ladder (win rule) has its own ratings, in thousandths of a point, starting at 1500. \
After a rated game of four plies or more, d is the opponent's rating minus one's own, clamped to 400 either way; \
E = 1 / (1 + 10^(d/400)); the score S is 1, 1/2 or 0; the change is K * (S - E), rounded to thousandths, half away \
from zero. It is computed for the side that moved first; the other gets its exact negative if both K are equal, else \
its own. K is 10 for good once 2400 was reached, else 40 for the first 30 rated games, else 20. From the sixth rated \
game of the same two players in a ladder within 24 hours on, K is halved, from the eleventh again, and so on. A side \
that the computer moved for gains nothing. No rating falls below 100. Aborted and casual games and games against the \
computer change nothing. Ten rated games make a rating established; the leaderboard lists established players, but \
no guests, with a rated game in the last 90 whole UTC days. Equal thousandths share a rank.";

/// Read the rating policy
///
/// Every number behind ratings and leaderboards, so that anybody can recompute them from histories.
#[utoipa::path(
    tag = "ladder",
    operation_id = "get_rating_policy",
    responses((status = 200, description = "The policy", body = PolicyView))
)]
#[get("/v1/rating-policy")]
pub async fn get_rating_policy() -> HttpResponse {
    let whole = |milli: Milli| milli / 1000;
    HttpResponse::Ok().json(PolicyView {
        system: "elo",
        start: whole(elo::START),
        floor: whole(elo::FLOOR),
        scale: 400,
        max_difference: whole(elo::MAX_DIFFERENCE),
        k: KView {
            new: elo::k_factor(elo::START, 0),
            new_games: elo::NEW_GAMES,
            established: elo::k_factor(elo::START, elo::NEW_GAMES),
            master: elo::k_factor(elo::MASTER, elo::NEW_GAMES),
            master_rating: whole(elo::MASTER),
        },
        provisional_games: elo::ESTABLISHED_GAMES,
        min_plies: elo::MIN_PLIES,
        draw_score: elo::Score::Draw.value(),
        repeated_pair: RepeatedPairView { games: elo::PAIR_GAMES, hours: 24, factor: 0.5 },
        stand_in_max_change: 0,
        leaderboard: ListedView { min_games: elo::ESTABLISHED_GAMES, max_idle_days: LISTED_DAYS, guests: false },
        text: POLICY,
    })
}
