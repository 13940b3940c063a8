//! Games: read one, resign, abort, hold a list of moves against the rules.

use hasami_rules::{Game, GameOptions, Move, Outcome, PlayError, Side, Termination};
use sqlx::{PgConnection, PgPool};

use super::replay::{Loaded, NoMove};
use super::settle::{self, Ending};
use super::{sweep, tables};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId};
use crate::options::Visibility;
use crate::store;

/// How often a game is looked at again; each move of it in between costs one.
const ATTEMPTS: u32 = 10;

/// Reads one game and replays it.
///
/// # Errors
/// `GameNotFound`, `CorruptLog`.
pub async fn load(conn: &mut PgConnection, game_id: GameId) -> Result<Loaded> {
    let row = store::games::find_many(conn, &[game_id]).await?.pop().ok_or(Error::GameNotFound)?;
    Loaded::new(row)
}

/// Reads one game for somebody who may see it: anybody, or at an unlisted table those who may see the table.
///
/// # Errors
/// `GameNotFound`, for hidden ones too; `CorruptLog`.
pub async fn load_visible(
    conn: &mut PgConnection,
    game_id: GameId,
    viewer: Option<PlayerId>,
    code: Option<&str>,
) -> Result<Loaded> {
    let loaded = load(conn, game_id).await?;
    let seated = viewer.is_some_and(|v| loaded.row.side_of(v).is_some());
    if loaded.row.visibility == Visibility::Unlisted && !seated {
        // A table that went public later has no code any more: its earlier games stay with those who were there.
        match tables::load_visible(conn, loaded.row.table_id, viewer, code).await {
            Ok(table) if table.visibility == Visibility::Unlisted || viewer == Some(table.host_id) => {}
            Ok(_) | Err(Error::TableNotFound) => return Err(Error::GameNotFound),
            Err(error) => return Err(error),
        }
    }
    Ok(loaded)
}

/// Resigns. The game as it then stands; for the side that resigned already, as it stands.
///
/// # Errors
/// `NotSeated`, `GameNotFound`, `GameOver`.
pub async fn resign(pool: &PgPool, game_id: GameId, player: PlayerId) -> Result<Loaded> {
    end(pool, game_id, player, |loaded, side| {
        if loaded.row.ended_at.is_some() {
            let again = loaded.row.termination.map(|t| t.0) == Some(Termination::Resignation)
                && loaded.row.winner.map(|w| w.0) == Some(side.other());
            return if again { Ok(None) } else { Err(Error::GameOver { current_ply: loaded.game.ply() }) };
        }
        let outcome = Some(Outcome::Win(side.other()));
        Ok(Some(Ending { outcome, termination: Termination::Resignation, at: loaded.row.now.max(loaded.row.ply_at) }))
    })
    .await
}

/// Aborts a game before ply 2 was made. The game as it then stands; if it was aborted already, as it stands.
///
/// # Errors
/// `NotSeated`, `GameNotFound`, `GameOver`, `TooLate`.
pub async fn abort(pool: &PgPool, game_id: GameId, player: PlayerId) -> Result<Loaded> {
    end(pool, game_id, player, |loaded, _| {
        if loaded.row.ended_at.is_some() {
            let again = loaded.row.termination.map(|t| t.0) == Some(Termination::Abort);
            return if again { Ok(None) } else { Err(Error::GameOver { current_ply: loaded.game.ply() }) };
        }
        if loaded.game.ply() >= 2 {
            return Err(Error::TooLate("a game can be aborted only before its second ply; resign instead"));
        }
        Ok(Some(Ending::abort(loaded.row.now.max(loaded.row.ply_at))))
    })
    .await
}

/// What a player says about a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawAction {
    /// Offers one; agrees where the opponent has offered one.
    Offer,
    /// Agrees to the opponent's offer, which ends the game.
    Accept,
    /// Takes the opponent's offer off the table.
    Decline,
}

/// Offers, accepts or declines a draw. The game as it then stands.
///
/// # Errors
/// `NotSeated`, `GameNotFound`, `GameOver`, `NoOffer`.
pub async fn draw(pool: &PgPool, game_id: GameId, player: PlayerId, action: DrawAction) -> Result<Loaded> {
    if action != DrawAction::Accept
        && let Some(loaded) = change_offer(pool, game_id, player, action).await?
    {
        return Ok(loaded);
    }
    end(pool, game_id, player, |loaded, side| {
        if loaded.row.ended_at.is_some() {
            let again = loaded.row.termination.map(|t| t.0) == Some(Termination::Agreement);
            return if again { Ok(None) } else { Err(Error::GameOver { current_ply: loaded.game.ply() }) };
        }
        if loaded.row.draw_offer.map(|offer| offer.0) != Some(side.other()) {
            return Err(Error::NoOffer);
        }
        let at = loaded.row.now.max(loaded.row.ply_at);
        Ok(Some(Ending { outcome: Some(Outcome::Draw), termination: Termination::Agreement, at }))
    })
    .await
}

/// Makes an offer or takes the opponent's away. `None` where offer meets offer, and where an offer was agreed to.
async fn change_offer(pool: &PgPool, game_id: GameId, player: PlayerId, action: DrawAction) -> Result<Option<Loaded>> {
    for _ in 0..ATTEMPTS {
        let changed = store::transaction(pool, move |conn| {
            Box::pin(async move {
                let mut loaded = load(conn, game_id).await?;
                let side = loaded.side_of(player)?;
                // A game that time has ended is ended by time.
                let overdue = sweep::overdue_ending(conn, &mut loaded).await?;
                let current_ply = loaded.game.ply();
                if let Some(ending) = overdue {
                    let ended = settle::finish(conn, loaded, current_ply, ending).await?;
                    return Ok(ended.map(|_| Err(Error::GameOver { current_ply })));
                }
                if loaded.row.ended_at.is_some() {
                    let agreed = loaded.row.termination.map(|t| t.0) == Some(Termination::Agreement);
                    let again = agreed && action == DrawAction::Offer;
                    return if again { Ok(Some(Ok(None))) } else { Err(Error::GameOver { current_ply }) };
                }
                let before = loaded.row.draw_offer.map(|offer| offer.0);
                let after = match (action, before) {
                    (DrawAction::Offer, None) => Some(side),
                    (DrawAction::Offer, Some(offer)) if offer == side => return Ok(Some(Ok(Some(loaded)))),
                    (DrawAction::Decline, Some(offer)) if offer != side => None,
                    (DrawAction::Decline, _) => return Err(Error::NoOffer),
                    (DrawAction::Offer | DrawAction::Accept, _) => return Ok(Some(Ok(None))),
                };
                let set = store::games::set_offer(conn, game_id, loaded.row.ply, before, after).await?;
                loaded.row.draw_offer = after.map(store::Word);
                Ok(set.then_some(Ok(Some(loaded))))
            })
        })
        .await?;
        if let Some(changed) = changed {
            return changed;
        }
    }
    Err(Error::Overloaded)
}

/// Ends a game in another way than by a move. `decide` sees the game as it stands and says how it ends, or `None`
/// where nothing is left to do.
async fn end(
    pool: &PgPool,
    game_id: GameId,
    player: PlayerId,
    decide: fn(&Loaded, Side) -> Result<Option<Ending>>,
) -> Result<Loaded> {
    for _ in 0..ATTEMPTS {
        let ended = store::transaction(pool, move |conn| {
            Box::pin(async move {
                let mut loaded = load(conn, game_id).await?;
                let side = loaded.side_of(player)?;
                // A game that time has ended is ended by time.
                let overdue = sweep::overdue_ending(conn, &mut loaded).await?;
                let current_ply = loaded.game.ply();
                if let Some(ending) = overdue {
                    let ended = settle::finish(conn, loaded, current_ply, ending).await?;
                    return Ok(ended.map(|_| Err(Error::GameOver { current_ply })));
                }
                let ended = match decide(&loaded, side)? {
                    Some(ending) => settle::finish(conn, loaded, current_ply, ending).await?,
                    None => Some(loaded),
                };
                Ok(ended.map(Ok))
            })
        })
        .await?;
        if let Some(ended) = ended {
            return ended;
        }
    }
    Err(Error::Overloaded)
}

/// What a list of moves comes to.
#[derive(Debug)]
pub struct Validated {
    /// The game up to the last move that can be made.
    pub game: Game,
    /// The first ply that cannot, and why.
    pub error: Option<(u16, NoMove)>,
}

/// Plays a list of moves from the starting position, up to the first that cannot be made.
#[must_use]
pub fn validate(options: GameOptions, moves: &[String]) -> Validated {
    let mut game = Game::new(options);
    for text in moves {
        let ply = game.ply() + 1;
        // After the end no move is looked at any more.
        let outcome = match text.parse::<Move>() {
            _ if game.outcome().is_some() => Err(NoMove::GameOver),
            Err(_) => Err(NoMove::Malformed),
            Ok(mv) => game.play(mv).map_err(|e| match e {
                PlayError::Illegal(reason) => NoMove::Illegal(reason),
                PlayError::GameOver => NoMove::GameOver,
            }),
        };
        if let Err(why) = outcome {
            return Validated { game, error: Some((ply, why)) };
        }
    }
    Validated { game, error: None }
}
