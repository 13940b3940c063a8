//! The queue: take a ticket, give it up, and pair those who wait.

use std::collections::HashSet;

use hasami_rules::WinRule;
use sqlx::PgPool;

use super::{pairing, tables};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId, TicketId};
use crate::options::{InvalidOption, TableOptions, Visibility};
use crate::store;
use crate::store::queue::{NewTicket, Paired, TicketRow, TicketStatus};

/// Tickets of a ladder looked at together, at most; the longest wait first.
const MOST_TICKETS: i64 = 10_000;
/// Pairs made by one transaction, at most, so that it stays short.
const MOST_PAIRS: usize = 50;
/// Seconds after which a ticket expires, where its player said nothing else.
pub const EXPIRES_SECONDS: i32 = 600;
/// Seconds that a player may say at most.
const MOST_SECONDS: i32 = 3600;

/// What a player asks of the queue.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The options of the game to come.
    pub options: TableOptions,
    /// Points that the opponent's rating may be away at first.
    pub start_window: i32,
    /// And at most.
    pub max_window: Option<i32>,
    /// How long to wait.
    pub expires_seconds: i32,
    /// The game of the last ticket, from whoever wants another one while it runs.
    pub after: Option<GameId>,
}

impl Wish {
    fn validate(&self) -> Result<()> {
        let most = pairing::MOST_WINDOW;
        self.options.validate()?;
        if self.options.visibility != Visibility::Public {
            let why = "a paired game is public".to_owned();
            return Err(InvalidOption { name: "visibility", why }.into());
        }
        if !(1..=most).contains(&self.start_window) {
            return Err(Error::field("window", format!("window is 1 to {most} points")));
        }
        if self.max_window.is_some_and(|max| !(self.start_window..=most).contains(&max)) {
            return Err(Error::field("max_window", format!("max_window is null or from window to {most} points")));
        }
        if !(10..=MOST_SECONDS).contains(&self.expires_seconds) {
            return Err(Error::field("expires_seconds", format!("expires_seconds is 10 to {MOST_SECONDS}")));
        }
        Ok(())
    }

    /// Whether the ticket asks for this.
    fn is_of(&self, ticket: &TicketRow) -> bool {
        ticket.options() == self.options
            && ticket.start_window == self.start_window
            && ticket.max_window == self.max_window
    }
}

/// Reads a player's ticket.
///
/// # Errors
/// `TicketNotFound`.
pub async fn load(conn: &mut sqlx::PgConnection, player: PlayerId) -> Result<TicketRow> {
    store::queue::find(conn, player).await?.ok_or(Error::TicketNotFound)
}

/// Takes a ticket, and pairs it at once if somebody fits. The ticket, and whether it is a new one.
///
/// The same wish again changes nothing, so that a lost answer is asked for again: also when the ticket has been paired,
/// as long as that game runs and `after` does not name it.
///
/// # Errors
/// `InvalidOption`, `InvalidField`; `AlreadyQueued` where a ticket stands that asks for something else.
pub async fn join(pool: &PgPool, player: PlayerId, wish: Wish) -> Result<(TicketRow, bool)> {
    wish.validate()?;
    let ladder = wish.options.win_rule;
    let (ticket, new) = take(pool, player, wish).await?;
    if ticket.status() != TicketStatus::Waiting {
        return Ok((ticket, new));
    }
    // The ticket is taken, whatever comes of this: the worker looks again.
    if let Err(error) = pair(pool, ladder).await {
        tracing::warn!(error = %error, "could not pair at once");
    }
    Ok((load(&mut *pool.acquire().await?, player).await?, new))
}

async fn take(pool: &PgPool, player: PlayerId, wish: Wish) -> Result<(TicketRow, bool)> {
    store::transaction(pool, move |conn| {
        let wish = wish.clone();
        Box::pin(async move {
            let new = NewTicket {
                player_id: player,
                ticket_id: TicketId::new(),
                options: wish.options.clone(),
                start_window: wish.start_window,
                max_window: wish.max_window,
                expires_seconds: wish.expires_seconds,
            };
            if let Some(after) = wish.after
                && !store::queue::is_game_of(conn, after, player).await?
            {
                return Err(Error::field("after", "after is the game_id of your last ticket"));
            }
            if !store::queue::lock(conn, player).await? && store::queue::put(conn, &new, false).await? {
                return Ok((load(conn, player).await?, true));
            }
            // Perhaps it was taken this instant.
            store::queue::lock(conn, player).await?;
            let ticket = load(conn, player).await?;
            let stands = match (ticket.status(), ticket.game_id) {
                (TicketStatus::Waiting, _) => true,
                (TicketStatus::Paired, Some(game)) if wish.after != Some(game) => {
                    store::queue::is_running(conn, game).await?
                }
                _ => false,
            };
            if stands {
                return match ticket.status() {
                    _ if wish.is_of(&ticket) => Ok((ticket, false)),
                    TicketStatus::Paired => Err(Error::AlreadyQueued(
                        "your ticket, which asked for something else, was paired and its game runs: `after` names it where you want another one",
                    )),
                    _ => Err(Error::AlreadyQueued("you wait with a ticket that asks for something else: withdraw it first")),
                };
            }
            store::queue::put(conn, &new, true).await?;
            Ok((load(conn, player).await?, true))
        })
    })
    .await
}

/// Gives the ticket up. It as it then stands; giving it up again changes nothing, nor does it where it has expired.
///
/// # Errors
/// `TicketNotFound`; `AlreadyPaired` where a game came of it.
pub async fn leave(pool: &PgPool, player: PlayerId) -> Result<TicketRow> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            store::queue::cancel(conn, player).await?;
            let ticket = load(conn, player).await?;
            if ticket.status() == TicketStatus::Paired { Err(Error::AlreadyPaired) } else { Ok(ticket) }
        })
    })
    .await
}

/// Pairs those who wait in a ladder, as many as one transaction does; how many pairs it were. Only one transaction
/// pairs in a ladder at a time; another finds nothing to do.
///
/// # Errors
/// The database's.
pub async fn pair(pool: &PgPool, ladder: WinRule) -> Result<usize> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            if !store::queue::try_lock_ladder(conn, ladder).await? {
                return Ok(0);
            }
            let waiting = store::queue::waiting(conn, ladder, MOST_SECONDS, MOST_TICKETS).await?;
            let mut pairs = pairing::pairs(&waiting);
            pairs.truncate(MOST_PAIRS);
            if pairs.is_empty() {
                return Ok(0);
            }
            // Who gave up since they were read plays no game, nor does whoever would have been the opponent.
            let tickets: Vec<_> = pairs.iter().flatten().map(|t| (t.player_id, t.ticket_id)).collect();
            let held: HashSet<TicketId> = store::queue::hold(conn, &tickets).await?.into_iter().collect();
            pairs.retain(|pair| pair.iter().all(|ticket| held.contains(&ticket.ticket_id)));

            // All at once and so in the order of ids, rather than two by two.
            let rated: Vec<PlayerId> = pairs.iter().flatten().filter(|t| t.rated).map(|t| t.player_id).collect();
            store::ratings::ensure(conn, ladder, &rated).await?;
            let mut paired = Vec::with_capacity(tickets.len());
            for [older, newer] in &pairs {
                let (first, second) = (older.player_id, newer.player_id);
                let (table_id, game_id) = tables::seat_both(conn, first, second, &older.options()).await?;
                paired.extend([first, second].map(|player_id| Paired { player_id, table_id, game_id }));
            }
            store::queue::set_paired(conn, &paired).await?;
            Ok(pairs.len())
        })
    })
    .await
}

/// Pairs those who wait in any ladder.
///
/// # Errors
/// The database's.
pub async fn pair_all(pool: &PgPool) -> Result<()> {
    let ladders = store::queue::ladders(&mut *pool.acquire().await?, MOST_SECONDS).await?;
    let mut outcome = Ok(());
    for ladder in ladders {
        // One ladder's trouble keeps no other's players waiting.
        loop {
            match pair(pool, ladder).await {
                Ok(MOST_PAIRS) => {}
                Ok(_) => break,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
    }
    outcome
}

/// Forgets tickets that are over for long; how many it were.
///
/// # Errors
/// The database's.
pub async fn forget_old(pool: &PgPool) -> Result<u64> {
    const HOURS: i32 = 24;
    const LIMIT: i64 = 1000;
    store::transaction(pool, |conn| Box::pin(store::queue::delete_old(conn, HOURS, LIMIT))).await
}
