//! What the computer thinks of a position.

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use hasami_rules::{ParsePositionError, Position};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Service;
use super::extract::Body;
use super::rules::game_options;
use super::views::WinRuleView;
use crate::error::{Error, Result};
use crate::ladder::games;
use crate::thinker::Subject;

/// Positions that one search looks at, at most.
const MAX_NODES: u64 = 1_000_000;
const DEFAULT_NODES: u64 = 200_000;

/// What to analyse: a position, or the moves of a game from its start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "win_rule": "capture5", "moves": ["e1e5", "d9d5"], "nodes": 100_000 }))]
pub struct Analyse {
    /// How the game is won. Default `capture5`.
    #[schema(nullable = false)]
    win_rule: Option<WinRuleView>,
    /// Plies after which it is drawn, 1 to 2000; null is 2000. With a position they count from there.
    #[schema(minimum = 1, maximum = 2000)]
    move_limit: Option<u16>,
    /// A position, which has no past; not together with `moves`.
    #[schema(nullable = false)]
    position: Option<String>,
    /// The moves of a game in order, whose repetitions count. None is the starting position.
    #[schema(nullable = false)]
    moves: Option<Vec<String>>,
    /// Positions to look at, 1 to 1,000,000. Default 200,000.
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    nodes: Option<u64>,
}

/// What the search found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "position": "ooo1ooooo/9/9/9/3ox4/9/9/9/xxxx1xxxx first", "best_move": "f1f5", "score": 104, "decided_in": null,
    "line": ["f1f5", "c9c5", "f5f6"], "depth": 6, "nodes": 100_000
}))]
pub struct AnalysisView {
    /// The position that was analysed.
    position: String,
    /// The best move for the side to move; null where the game is over.
    #[schema(required)]
    best_move: Option<String>,
    /// What the position is worth to the side to move, in hundredths of a piece; null where the game is decided.
    #[schema(required)]
    score: Option<i16>,
    /// In how many plies the side to move wins, or, negative, loses, if both play well; null where neither is seen.
    #[schema(required)]
    decided_in: Option<i16>,
    /// How the game should go on, beginning with the best move.
    line: Vec<String>,
    /// Plies searched in full.
    depth: u8,
    /// Positions looked at.
    nodes: u64,
}

/// Analyse a position
///
/// The best move, what the position is worth, and how the game should go on. The same question has the same answer. Searches
/// wait for each other and for the computer's own games: where too many wait, or one for too long, the answer is 503.
#[utoipa::path(
    tag = "analysis",
    operation_id = "analyse",
    request_body = Analyse,
    responses(
        (status = 200, description = "What the search found", body = AnalysisView),
        (status = 422, description = "`invalid_field`: the position, a move, the move limit, or nodes")
    )
)]
#[post("/v1/analysis")]
pub async fn analyse(service: Data<Service>, body: Body<Analyse>) -> Result<HttpResponse> {
    let Analyse { win_rule, move_limit, position, moves, nodes } = body.0;
    let options = game_options(win_rule, move_limit)?;
    let nodes = nodes.unwrap_or(DEFAULT_NODES);
    if !(1..=MAX_NODES).contains(&nodes) {
        return Err(Error::field("nodes", "nodes are 1 to 1000000"));
    }
    let position: Option<Position> = match position {
        Some(text) => Some(text.parse().map_err(|error: ParsePositionError| Error::field("position", error))?),
        None => None,
    };
    let (subject, position) = match (position, moves) {
        (Some(_), Some(_)) => return Err(Error::field("moves", "give a position or moves, not both")),
        (Some(position), None) => (Subject::Position(position, options), position),
        (None, moves) => {
            let validated = games::validate(options, &moves.unwrap_or_default());
            if let Some((ply, why)) = validated.error {
                return Err(Error::field(&format!("moves/{}", ply - 1), why));
            }
            let position = *validated.game.position();
            (Subject::Game(validated.game), position)
        }
    };
    let found = service.court.thinker.analyse(subject, nodes).await?;
    let position = position.to_string();
    Ok(HttpResponse::Ok().json(match found {
        Some(found) => AnalysisView {
            position,
            best_move: Some(found.best.to_string()),
            score: found.score,
            decided_in: found.decided_in,
            line: found.line.iter().map(ToString::to_string).collect(),
            depth: found.depth,
            nodes: found.nodes,
        },
        None => AnalysisView {
            position,
            best_move: None,
            score: None,
            decided_in: None,
            line: Vec::new(),
            depth: 0,
            nodes: 0,
        },
    }))
}
