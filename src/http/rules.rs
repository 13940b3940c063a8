//! The rules without a game: hold a list of moves against them.

use actix_web::{HttpResponse, post};
use hasami_rules::{GameOptions, Outcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::Body;
use super::views::{SideView, TerminationView, WinRuleView};
use crate::error::{Error, Result};
use crate::ladder::games;
use crate::ladder::replay::NoMove;

/// A list of moves from the starting position.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "win_rule": "capture5", "move_limit": null, "moves": ["e1e5", "d9d5", "f1f5"] }))]
pub struct Validate {
    /// How the game is won. Default `capture5`.
    #[schema(nullable = false)]
    win_rule: Option<WinRuleView>,
    /// Plies after which it is drawn, 1 to 2000; null is 2000.
    #[schema(minimum = 1, maximum = 2000)]
    move_limit: Option<u16>,
    /// The moves in order.
    moves: Vec<String>,
}

/// How a list of moves ends a game.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "winner": "first", "termination": "captures" }))]
pub struct OutcomeView {
    /// Who won; null for a draw.
    #[schema(required)]
    winner: Option<SideView>,
    /// How.
    termination: TerminationView,
}

/// The first ply that cannot be made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "ply": 3, "code": "illegal_move", "reason": "blocked" }))]
pub struct PlyErrorView {
    /// Which, 1 for the first.
    ply: u16,
    /// `malformed_move`, `illegal_move` or `game_over`.
    code: &'static str,
    /// Why a move is illegal; null for the other codes.
    #[schema(required)]
    reason: Option<&'static str>,
}

/// What a list of moves comes to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "valid": true, "plies": 3, "position": "ooo1ooooo/9/9/9/3oxx3/9/9/9/xxxx2xxx second", "outcome": null, "error": null
}))]
pub struct ValidatedView {
    /// Whether every move can be made.
    valid: bool,
    /// Plies made, up to the first that cannot.
    plies: u16,
    /// The position after these.
    position: String,
    /// How the game ended there; null while it goes on.
    #[schema(required)]
    outcome: Option<OutcomeView>,
    /// The first ply that cannot be made.
    #[schema(required)]
    error: Option<PlyErrorView>,
}

/// The options of moves that belong to no table.
///
/// # Errors
/// Names the move limit.
pub(super) fn game_options(win_rule: Option<WinRuleView>, move_limit: Option<u16>) -> Result<GameOptions> {
    if move_limit.is_some_and(|limit| !(1..=hasami_rules::MAX_PLIES).contains(&limit)) {
        return Err(Error::field("move_limit", "a move limit is null or 1 to 2000 plies"));
    }
    Ok(GameOptions { win_rule: win_rule.unwrap_or(WinRuleView::Capture5).into(), move_limit })
}

/// Validate moves
///
/// Replays a list of moves by the rules, without a game or a login, and names the first that cannot be made.
#[utoipa::path(
    tag = "rules",
    operation_id = "validate",
    request_body = Validate,
    responses(
        (status = 200, description = "What the moves come to", body = ValidatedView),
        (status = 422, description = "`invalid_field`: the move limit")
    )
)]
#[post("/v1/validate")]
pub async fn validate(body: Body<Validate>) -> Result<HttpResponse> {
    let Validate { win_rule, move_limit, moves } = body.0;
    let validated = games::validate(game_options(win_rule, move_limit)?, &moves);
    let error = validated.error.map(|(ply, why)| match why {
        NoMove::Malformed => PlyErrorView { ply, code: "malformed_move", reason: None },
        NoMove::Illegal(reason) => PlyErrorView { ply, code: "illegal_move", reason: Some(reason.as_str()) },
        NoMove::GameOver => PlyErrorView { ply, code: "game_over", reason: None },
    });
    let outcome = validated.game.outcome().map(|(outcome, termination)| OutcomeView {
        winner: Outcome::winner(outcome).map(Into::into),
        termination: termination.into(),
    });
    Ok(HttpResponse::Ok().json(ValidatedView {
        valid: error.is_none(),
        plies: validated.game.ply(),
        position: validated.game.position().to_string(),
        outcome,
        error,
    }))
}
