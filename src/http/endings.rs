//! How a game ends away from the board: resign, abort, agree on a draw.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, post};
use serde::Deserialize;
use utoipa::ToSchema;

use super::Service;
use super::extract::{Auth, Body, Nothing, from_path};
use super::games::GamePath;
use super::views::GameView;
use crate::error::{Error, Result};
use crate::ladder::games::{self, DrawAction};
use crate::ladder::presence::Sign;

/// Resign
///
/// Gives the game to the opponent, on either side's turn. Repeating it is safe.
#[utoipa::path(
    tag = "games",
    operation_id = "resign",
    params(GamePath),
    request_body = Option<Nothing>,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The game, ended", body = GameView),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`game_not_found`"),
        (status = 409, description = "`game_over`")
    )
)]
#[post("/v1/games/{game_id}/resign")]
pub async fn resign(service: Data<Service>, path: Path<String>, auth: Auth, _: Body<Nothing>) -> Result<HttpResponse> {
    let game = games::resign(&service.pool, from_path(&path, Error::GameNotFound)?, auth.player()).await?;
    Ok(HttpResponse::Ok().json(GameView::from(&game)))
}

/// Abort
///
/// Ends a game without a result, before its second ply. Repeating it is safe.
#[utoipa::path(
    tag = "games",
    operation_id = "abort",
    params(GamePath),
    request_body = Option<Nothing>,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The game, aborted", body = GameView),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`game_not_found`"),
        (status = 409, description = "`too_late`: resign instead; `game_over`")
    )
)]
#[post("/v1/games/{game_id}/abort")]
pub async fn abort(service: Data<Service>, path: Path<String>, auth: Auth, _: Body<Nothing>) -> Result<HttpResponse> {
    let game = games::abort(&service.pool, from_path(&path, Error::GameNotFound)?, auth.player()).await?;
    Ok(HttpResponse::Ok().json(GameView::from(&game)))
}

/// What to say about a draw.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrawActionView {
    /// Offers a draw; where the opponent has offered one, agrees.
    Offer,
    /// Agrees to the opponent's offer.
    Accept,
    /// Declines it.
    Decline,
}

impl From<DrawActionView> for DrawAction {
    fn from(view: DrawActionView) -> Self {
        match view {
            DrawActionView::Offer => Self::Offer,
            DrawActionView::Accept => Self::Accept,
            DrawActionView::Decline => Self::Decline,
        }
    }
}

/// An offer of a draw, or the answer to one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "action": "offer" }))]
pub struct DrawBody {
    /// What to say.
    action: DrawActionView,
}

/// Offer, accept or decline a draw
///
/// Either side may offer one, on either side's turn; `draw_offer` of the game tells whose offer stands. It stands until
/// the opponent declines it, who made it moves, or the game ends. Offering twice is 200; an offer that meets the opponent's
/// is an agreement. The computer never agrees.
#[utoipa::path(
    tag = "games",
    operation_id = "draw",
    params(GamePath),
    request_body = DrawBody,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The game", body = GameView),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`game_not_found`"),
        (status = 409, description = "`no_offer`: there is none of the opponent to accept or decline; `game_over`")
    )
)]
#[post("/v1/games/{game_id}/draw")]
pub async fn draw(
    service: Data<Service>,
    path: Path<String>,
    auth: Auth,
    body: Body<DrawBody>,
) -> Result<HttpResponse> {
    let game_id = from_path(&path, Error::GameNotFound)?;
    let game = games::draw(&service.pool, game_id, auth.player(), body.0.action.into()).await?;
    if let Some(sign) = Sign::of(&game.row, auth.player()) {
        service.presence.note(sign);
    }
    Ok(HttpResponse::Ok().json(GameView::from(&game)))
}
