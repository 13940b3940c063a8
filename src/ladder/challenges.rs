//! Challenges: make one, accept, decline, cancel.

use sqlx::{PgConnection, PgPool};

use super::tables;
use crate::error::{Error, Result};
use crate::ids::{ChallengeId, PlayerId};
use crate::options::TableOptions;
use crate::player::PlayerKind;
use crate::store;
use crate::store::challenges::{ChallengeRow, ChallengeStatus, DeclineReason, End, NewChallenge};
use crate::store::players::PlayerRow;

/// Challenges of one player that may wait for an answer.
const MOST_PENDING: i64 = 50;
/// Seconds after which a challenge expires, where the challenger said nothing else.
pub const EXPIRES_SECONDS: i32 = 86_400;

/// Reads a challenge for one of its two players.
///
/// # Errors
/// `ChallengeNotFound`, for those between others too.
pub async fn load(conn: &mut PgConnection, challenge_id: ChallengeId, player: PlayerId) -> Result<ChallengeRow> {
    let row = store::challenges::find_many(conn, &[challenge_id]).await?.pop();
    row.filter(|row| [row.challenger_id, row.challenged_id].contains(&player)).ok_or(Error::ChallengeNotFound)
}

/// Challenges a player. The challenge, and whether it is a new one: the same to the same player again changes nothing
/// while the first waits for its answer.
///
/// # Errors
/// `InvalidOption`; `InvalidField`, also for a challenge to oneself; `ChallengePending` where the first has other
/// options; `TooManyChallenges`.
pub async fn challenge(
    pool: &PgPool,
    challenger: PlayerId,
    challenged: &PlayerRow,
    options: TableOptions,
    expires_seconds: i32,
) -> Result<(ChallengeRow, bool)> {
    options.validate()?;
    if challenged.player_id == challenger {
        return Err(Error::field("opponent", "nobody plays against themselves"));
    }
    if challenged.kind == PlayerKind::Cpu {
        return Err(Error::field("opponent", "the computer is seated at a table, not challenged"));
    }
    if !(60..=604_800).contains(&expires_seconds) {
        return Err(Error::field("expires_seconds", "expires_seconds is 60 to 604800"));
    }
    let challenge_id = ChallengeId::new();
    let new = NewChallenge {
        challenge_id,
        challenger_id: challenger,
        challenged_id: challenged.player_id,
        options,
        expires_seconds,
    };
    store::transaction(pool, move |conn| {
        let new = new.clone();
        Box::pin(async move {
            store::challenges::lock_challenger(conn, challenger).await?;
            let pending = store::challenges::pending(conn, challenger).await?;
            if let Some((same, _)) = pending.iter().find(|(_, to)| *to == new.challenged_id) {
                let standing = load(conn, *same, challenger).await?;
                return if standing.options() == new.options {
                    Ok((standing, false))
                } else {
                    Err(Error::ChallengePending)
                };
            }
            if pending.len() as i64 >= MOST_PENDING {
                return Err(Error::TooManyChallenges(MOST_PENDING));
            }
            store::challenges::insert(conn, &new).await?;
            Ok((load(conn, challenge_id, challenger).await?, true))
        })
    })
    .await
}

/// What a player does about a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The challenged player begins the game.
    Accept,
    /// The challenged player does not want to.
    Decline(DeclineReason),
    /// The challenger takes it back.
    Cancel,
}

/// Ends a challenge. It as it then stands; the same answer again changes nothing.
///
/// # Errors
/// `ChallengeNotFound`, `Forbidden` for the other player; `ChallengeOver` where it ended in another way.
pub async fn answer(
    pool: &PgPool,
    challenge_id: ChallengeId,
    player: PlayerId,
    answer: Answer,
) -> Result<ChallengeRow> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            store::challenges::lock(conn, challenge_id).await?;
            let row = load(conn, challenge_id, player).await?;
            let (by, outcome, others) = match answer {
                Answer::Accept => (row.challenged_id, ChallengeStatus::Accepted, "only the challenged player accepts"),
                Answer::Decline(_) => (
                    row.challenged_id,
                    ChallengeStatus::Declined,
                    "only the challenged player declines: cancel it instead",
                ),
                Answer::Cancel => {
                    (row.challenger_id, ChallengeStatus::Cancelled, "only the challenger cancels: decline it instead")
                }
            };
            if player != by {
                return Err(Error::Forbidden(others));
            }
            match row.status() {
                ChallengeStatus::Pending => {}
                status if status == outcome => return Ok(row),
                ChallengeStatus::Accepted => return Err(Error::ChallengeOver("the challenge was accepted")),
                ChallengeStatus::Declined => return Err(Error::ChallengeOver("the challenge was declined")),
                ChallengeStatus::Cancelled => return Err(Error::ChallengeOver("the challenge was cancelled")),
                ChallengeStatus::Expired => return Err(Error::ChallengeOver("the challenge has expired")),
            }
            let end = match answer {
                Answer::Accept => {
                    let (table_id, game_id) =
                        tables::seat_both(conn, row.challenger_id, row.challenged_id, &row.options()).await?;
                    End::Accepted(table_id, game_id)
                }
                Answer::Decline(reason) => End::Declined(reason),
                Answer::Cancel => End::Cancelled,
            };
            store::challenges::end(conn, challenge_id, end).await?;
            load(conn, challenge_id, player).await
        })
    })
    .await
}

/// Forgets challenges that are over for long; how many it were.
///
/// # Errors
/// The database's.
pub async fn forget_old(pool: &PgPool) -> Result<u64> {
    const DAYS: i32 = 7;
    const LIMIT: i64 = 1000;
    store::transaction(pool, |conn| Box::pin(store::challenges::delete_old(conn, DAYS, LIMIT))).await
}
