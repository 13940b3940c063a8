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
use crate::ids::GameId;
use crate::ladder::games::{self, DrawAction};
use crate::ladder::replay::Loaded;

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
    let game_id = from_path(&path, Error::GameNotFound)?;
    answer(&service, game_id, auth, games::resign(&service.pool, game_id, auth.player()).await).await
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
    let game_id = from_path(&path, Error::GameNotFound)?;
    answer(&service, game_id, auth, games::abort(&service.pool, game_id, auth.player()).await).await
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
    let action = body.0.action.into();
    answer(&service, game_id, auth, games::draw(&service.pool, game_id, auth.player(), action).await).await
}

/// The game as it stands; or why not, which is a sign of life too.
async fn answer(service: &Service, game_id: GameId, auth: Auth, outcome: Result<Loaded>) -> Result<HttpResponse> {
    match outcome {
        Ok(game) => {
            service.court.seen(&game.row, auth.player()).await?;
            Ok(HttpResponse::Ok().json(GameView::from(&game)))
        }
        Err(error) => {
            if let Error::NoOffer | Error::TooLate(_) = error {
                super::games::seen(service, game_id, auth.player()).await?;
            }
            Err(error)
        }
    }
}
