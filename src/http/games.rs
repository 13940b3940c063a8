//! Games: list, read, move, history, destinations.

use std::collections::BTreeMap;

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, get, post};
use hasami_rules::{Move, Square};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Auth, Body, Params, Viewer, from_path, from_query};
use super::tables::CodeQuery;
use super::views::{self, Destinations, GameView, PlyView, SideView, StatusView, WinRuleView};
use crate::error::{Error, Fault, Result};
use crate::ids::{GameId, PlayerId, TableId};
use crate::ladder::games;
use crate::ladder::judge::{Mover, PlayMove};
use crate::ladder::replay::Loaded;
use crate::store;
use crate::store::listings::Listing;

/// A game's id.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct GamePath {
    /// The game.
    #[param(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    game_id: String,
}

/// Which games to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListGames {
    /// Only games of this player.
    #[param(example = "ana")]
    player: Option<String>,
    /// Only games at this table.
    #[param(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    table: Option<String>,
    /// Only games in this state.
    #[param(example = "playing", inline)]
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

/// A page of games.
#[derive(Debug, Serialize, ToSchema)]
pub struct GamesView {
    /// The games, newest first.
    items: Vec<GameView>,
    /// The cursor of the next page; null on the last.
    #[schema(required, example = "Y3Vyc29yIG9mIHRoaXMgcGFnZQ")]
    next: Option<String>,
}

/// List games
///
/// Newest first. Unlisted games are shown to their players only.
#[utoipa::path(
    tag = "games",
    operation_id = "list_games",
    params(ListGames),
    security((), ("bearer" = [])),
    responses((status = 200, description = "A page of games", body = GamesView), (status = 404, description = "`player_not_found`"))
)]
#[get("/v1/games")]
pub async fn list_games(service: Data<Service>, viewer: Viewer, params: Params<ListGames>) -> Result<HttpResponse> {
    let params = params.0;
    let player = match &params.player {
        Some(name) => Some(super::players::find(&service, name).await?.player_id),
        None => None,
    };
    let table = from_query::<TableId>("table", params.table.as_deref(), "a table's id")?;
    let listing = Listing {
        viewer: viewer.0,
        player,
        table,
        status: params.status.map(Into::into),
        ladder: params.ladder.map(Into::into),
        rated: params.rated,
    };
    page(&service, listing, params.limit, params.cursor.as_deref()).await
}

/// A page of a listing.
pub(super) async fn page(
    service: &Service,
    listing: Listing,
    limit: Option<u8>,
    cursor: Option<&str>,
) -> Result<HttpResponse> {
    let limit = views::page_size(limit)?;
    let before = views::open_cursor(service, "games", cursor, |place| place.parse::<GameId>().ok())?;
    let mut conn = service.pool.acquire().await?;
    let mut ids = store::listings::list(&mut conn, listing, before, limit as i64 + 1).await?;
    let next = views::seal_cursor(service, "games", &mut ids, limit, GameId::to_string);
    let mut rows = store::games::find_many(&mut conn, &ids).await?;
    drop(conn);
    rows.sort_by_key(|row| std::cmp::Reverse(row.game_id));
    let items = rows.into_iter().map(|row| Loaded::new(row).map(|l| GameView::from(&l))).collect::<Result<_>>()?;
    Ok(HttpResponse::Ok().json(GamesView { items, next }))
}

async fn load(service: &Service, path: &str, viewer: Option<PlayerId>, code: Option<&str>) -> Result<Loaded> {
    let game_id = from_path(path, Error::GameNotFound)?;
    let game = games::load_visible(&mut *service.pool.acquire().await?, game_id, viewer, code).await?;
    if let Some(player) = viewer {
        service.court.seen(&game.row, player).await?;
    }
    Ok(game)
}

/// A player has dealt with a game otherwise than by reading it.
pub(super) async fn seen(service: &Service, game_id: GameId, player: PlayerId) -> Result<()> {
    match store::games::find_many(&mut *service.pool.acquire().await?, &[game_id]).await?.pop() {
        Some(row) => service.court.seen(&row, player).await,
        None => Ok(()),
    }
}

/// Read a game
///
/// The game as it stands. Games at unlisted tables are found by their players, the host, and with the join code.
#[utoipa::path(
    tag = "games",
    operation_id = "get_game",
    params(GamePath, CodeQuery),
    security((), ("bearer" = [])),
    responses((status = 200, description = "The game", body = GameView), (status = 404, description = "`game_not_found`"))
)]
#[get("/v1/games/{game_id}")]
pub async fn get_game(
    service: Data<Service>,
    path: Path<String>,
    viewer: Viewer,
    params: Params<CodeQuery>,
) -> Result<HttpResponse> {
    let game = load(&service, &path, viewer.0, params.0.join_code.as_deref()).await?;
    Ok(HttpResponse::Ok().json(GameView::from(&game)))
}

/// A move and the ply that it is meant to become.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "move": "e1e5", "ply": 1 }))]
pub struct MoveBody {
    /// From-square and to-square.
    #[serde(rename = "move")]
    #[schema(pattern = "^[a-i][1-9][a-i][1-9]$")]
    mv: String,
    /// One more than the plies made.
    #[schema(minimum = 1, maximum = 2000)]
    ply: u16,
}

/// A move that stands in the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlayedView {
    /// The game as after the move; for a repeated request, as it stands now.
    game: GameView,
    /// The move's row of the history.
    ply: PlyView,
}

/// Play a move
///
/// `ply` is the one that the move becomes: the first is 1. Repeating a request is safe: the same move by the same side
/// at the same ply is answered with 200, however far the game has gone on, and also after its end. A refusal changes
/// nothing.
#[utoipa::path(
    tag = "moves",
    operation_id = "play_move",
    params(GamePath),
    request_body = MoveBody,
    security(("bearer" = [])),
    responses(
        (status = 201, description = "Played", body = PlayedView),
        (status = 200, description = "Was played before", body = PlayedView),
        (status = 400, description = "`malformed_move`; `malformed_request`: `errors` names the field"),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`game_not_found`"),
        (status = 409, description = "`stale_ply`, `not_your_turn`, `game_over`; `current_ply` plies are made"),
        (status = 422, description = "`illegal_move`; `reason` is `null_move`, `empty_square`, `not_your_piece`, `diagonal`, `blocked` or `occupied`")
    )
)]
#[post("/v1/games/{game_id}/moves")]
pub async fn play_move(
    service: Data<Service>,
    path: Path<String>,
    auth: Auth,
    body: Body<MoveBody>,
) -> Result<HttpResponse> {
    let game_id = from_path(&path, Error::GameNotFound)?;
    let mv: Move = body.0.mv.parse().map_err(|_| Error::MalformedMove)?;
    let ply = body.0.ply;
    if ply == 0 {
        return Err(Error::malformed(Fault::field("ply", "plies count from 1")));
    }
    let played = service.lane.play(PlayMove { game_id, by: Mover::Player(auth.player()), mv, ply }).await?;
    let view = PlayedView { game: (&played.game).into(), ply: (&played.ply).into() };
    let mut answer = if played.created { HttpResponse::Created() } else { HttpResponse::Ok() };
    Ok(answer.json(view))
}

/// A game's whole history.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryView {
    /// The game.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    game_id: String,
    /// All plies, the first one first.
    items: Vec<PlyView>,
}

/// Read a game's history
///
/// All plies, as JSON, or with `accept: text/plain` the moves in one line.
#[utoipa::path(
    tag = "moves",
    operation_id = "get_history",
    params(GamePath, CodeQuery),
    security((), ("bearer" = [])),
    responses(
        (status = 200, description = "The history", content(
            (HistoryView = "application/json"),
            (String = "text/plain", example = "e1e5 d9d5 f1f5")
        )),
        (status = 404, description = "`game_not_found`"),
        (status = 406, description = "`not_acceptable`: neither form is accepted")
    )
)]
#[get("/v1/games/{game_id}/moves")]
pub async fn get_history(
    service: Data<Service>,
    request: HttpRequest,
    path: Path<String>,
    viewer: Viewer,
    params: Params<CodeQuery>,
) -> Result<HttpResponse> {
    let form = super::accept::choose(
        &request,
        &[mime::APPLICATION_JSON, mime::TEXT_PLAIN],
        "application/json and text/plain",
    )?;
    let game = load(&service, &path, viewer.0, params.0.join_code.as_deref()).await?;
    let vary = (header::VARY, "accept");
    if form == mime::TEXT_PLAIN {
        let moves: Vec<String> = game.records.iter().map(|r| r.mv.to_string()).collect();
        return Ok(HttpResponse::Ok().insert_header(vary).content_type(mime::TEXT_PLAIN_UTF_8).body(moves.join(" ")));
    }
    let items = game.history().map(|ply| PlyView::from(&ply)).collect();
    Ok(HttpResponse::Ok().insert_header(vary).json(HistoryView { game_id: game.row.game_id.to_string(), items }))
}

/// Whose destinations to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DestinationsQuery {
    /// Only those of the piece on this square.
    #[param(example = "e1")]
    from: Option<String>,
    /// Shows an unlisted game to those who are not seated.
    #[param(example = "q7x3k9pm")]
    join_code: Option<String>,
}

/// Where pieces can go.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "game_id": "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12", "ply": 0, "to_move": "first",
    "destinations": { "e1": ["e2", "e3", "e4", "e5", "e6", "e7", "e8"] }
}))]
pub struct DestinationsView {
    /// The game.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    game_id: String,
    /// Plies made.
    #[schema(example = 0)]
    ply: u16,
    /// Whose turn it is; null after the end.
    #[schema(required)]
    to_move: Option<SideView>,
    /// To-squares by from-square, both sorted. A square asked for is always there, with an empty list where no piece
    /// of the side to move can leave it.
    #[schema(inline)]
    destinations: Destinations,
}

/// Read where pieces can go
///
/// The legal moves of one piece, or of all pieces of the side to move.
#[utoipa::path(
    tag = "moves",
    operation_id = "get_destinations",
    params(GamePath, DestinationsQuery),
    security((), ("bearer" = [])),
    responses(
        (status = 200, description = "The destinations", body = DestinationsView),
        (status = 403, description = "`destinations_hidden`: the table does not show them while the game runs"),
        (status = 404, description = "`game_not_found`")
    )
)]
#[get("/v1/games/{game_id}/destinations")]
pub async fn get_destinations(
    service: Data<Service>,
    path: Path<String>,
    viewer: Viewer,
    params: Params<DestinationsQuery>,
) -> Result<HttpResponse> {
    let from = from_query::<Square>("from", params.0.from.as_deref(), "a square, a1 to i9")?;
    let game = load(&service, &path, viewer.0, params.0.join_code.as_deref()).await?;
    let running = game.row.ended_at.is_none();
    if running && !game.row.show_destinations {
        return Err(Error::DestinationsHidden);
    }
    let mut destinations: Destinations = BTreeMap::new();
    if let Some(from) = from {
        destinations.insert(from.to_string(), Vec::new());
    }
    if running {
        for from in from.map_or_else(|| Square::ALL.to_vec(), |square| vec![square]) {
            let to = game.game.position().destinations(from);
            if !to.is_empty() {
                destinations.insert(from.to_string(), views::squares(to));
            }
        }
    }
    let to_move = game.game.to_move().filter(|_| running).map(Into::into);
    Ok(HttpResponse::Ok().json(DestinationsView {
        game_id: game.row.game_id.to_string(),
        ply: game.game.ply(),
        to_move,
        destinations,
    }))
}
