//! Seats at a table: take one, leave it, ask for the next game.

use sqlx::{PgConnection, PgPool};

use super::tables::{begin_next, load, lock};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId, TableId};
use crate::options::InvalidOption;
use crate::store;
use crate::store::tables::{Seats, TableRow};

/// Takes a seat. The second seat starts the game. The table, and whether that was new: sitting again where one sits
/// changes nothing.
///
/// # Errors
/// `SeatTaken`, `TableClosed`; `TableNotFound`, at an unlisted table for a wrong code too.
pub async fn sit(pool: &PgPool, table_id: TableId, player: PlayerId, code: Option<String>) -> Result<(TableRow, bool)> {
    store::transaction(pool, move |conn| {
        let code = code.clone();
        Box::pin(async move {
            let table = lock(conn, table_id, player, code.as_deref()).await?;
            if table.seats(player) {
                return Ok((table, false));
            }
            let mut seats = seats_of(&table);
            match (seats.leading, seats.following) {
                (None, _) => seats.leading = Some(player),
                (_, None) => seats.following = Some(player),
                _ => return Err(Error::SeatTaken),
            }
            store::tables::set_seats(conn, table_id, seats).await?;
            begin_next(conn, table_id, &table, seats).await?;
            Ok((load(conn, table_id).await?, true))
        })
    })
    .await
}

/// Gives the second seat to the computer, or another level to the computer that has one. The table, and whether that
/// was new. Starts a game if the other seat has its player.
///
/// # Errors
/// `Forbidden` for others than the host; `InvalidOption` at a rated table; `SeatTaken`, `GameRunning`, `TableClosed`,
/// `TableNotFound`.
pub async fn seat_computer(pool: &PgPool, table_id: TableId, host: PlayerId, level: u8) -> Result<(TableRow, bool)> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            let table = lock(conn, table_id, host, None).await?;
            if table.host_id != host {
                return Err(Error::Forbidden("only the host gives a seat to the computer"));
            }
            if table.rated {
                let why = "the computer plays casual games only: set rated to false first".to_owned();
                return Err(InvalidOption { name: "cpu_level", why }.into());
            }
            let computer = PlayerId::of_cpu(level);
            if table.seats(computer) {
                return Ok((table, false));
            }
            let mut seats = seats_of(&table);
            let at_another_level = |seat: Option<PlayerId>| seat.is_some_and(PlayerId::is_computer);
            let replaces = at_another_level(seats.leading) || at_another_level(seats.following);
            if replaces && table.running {
                return Err(Error::GameRunning);
            }
            match (seats.leading, seats.following) {
                (leading, _) if at_another_level(leading) => seats.leading = Some(computer),
                (_, following) if at_another_level(following) => seats.following = Some(computer),
                (None, _) => seats.leading = Some(computer),
                (_, None) => seats.following = Some(computer),
                _ => return Err(Error::SeatTaken),
            }
            store::players::ensure_computer(conn, computer, &format!("cpu-{level}")).await?;
            store::tables::set_seats(conn, table_id, seats).await?;
            if !replaces {
                begin_next(conn, table_id, &table, seats).await?;
            }
            Ok((load(conn, table_id).await?, true))
        })
    })
    .await
}

fn seats_of(table: &TableRow) -> Seats {
    Seats {
        leading: table.leading_id,
        following: table.following_id,
        leading_wants_next: table.leading_wants_next,
        following_wants_next: table.following_wants_next,
        closed: false,
    }
}

/// Gives a seat up, between games. The host who leaves a table to nobody, or to the computer alone, closes it.
///
/// During a game the seat stays its player's, who is absent from now on until the next sign of life.
///
/// # Errors
/// `NotSeated`, `TableNotFound`, `TableClosed`.
pub async fn leave(pool: &PgPool, table_id: TableId, player: PlayerId) -> Result<TableRow> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            let table = lock(conn, table_id, player, None).await?;
            if !table.seats(player) {
                return Err(Error::NotSeated);
            }
            if table.running {
                if let Some(game_id) = table.game_id
                    && let Some(game) = store::games::find_many(conn, &[game_id]).await?.pop()
                    && let Some(side) = game.side_of(player)
                {
                    store::clocks::set_away(conn, game_id, side).await?;
                }
                return Ok(table);
            }
            let other = [table.leading_id, table.following_id].into_iter().flatten().find(|p| *p != player);
            let closed = other.is_none_or(PlayerId::is_computer) && table.host_id == player;
            let seats = Seats {
                leading: other,
                following: None,
                leading_wants_next: false,
                following_wants_next: false,
                closed,
            };
            store::tables::set_seats(conn, table_id, seats).await?;
            load(conn, table_id).await
        })
    })
    .await
}

/// Asks for the next game, which starts once both seats have asked. Asking again changes nothing.
///
/// Where a game has begun since the one that `after` names, nothing is left to ask for: the table as it stands.
///
/// # Errors
/// `GameRunning`, `NotSeated`, `TableNotFound`, `TableClosed`; `InvalidField` where `after` is no game of this table.
pub async fn ask_next(pool: &PgPool, table_id: TableId, player: PlayerId, after: Option<GameId>) -> Result<TableRow> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            let table = lock_between_games(conn, table_id, player, after).await?;
            let Some(table) = table else { return load(conn, table_id).await };
            // The computer always agrees.
            let agrees = |seat: Option<PlayerId>| seat.is_some_and(|p| p == player || p.is_computer());
            let mut seats = seats_of(&table);
            seats.leading_wants_next |= agrees(seats.leading);
            seats.following_wants_next |= agrees(seats.following);
            store::tables::set_seats(conn, table_id, seats).await?;
            if seats.leading_wants_next && seats.following_wants_next {
                begin_next(conn, table_id, &table, seats).await?;
            }
            load(conn, table_id).await
        })
    })
    .await
}

/// Takes the wish for a next game back. Doing it again changes nothing.
///
/// # Errors
/// `GameRunning`, `NotSeated`, `TableNotFound`, `TableClosed`.
pub async fn withdraw_next(pool: &PgPool, table_id: TableId, player: PlayerId) -> Result<TableRow> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            if let Some(table) = lock_between_games(conn, table_id, player, None).await? {
                let mut seats = seats_of(&table);
                seats.leading_wants_next &= seats.leading != Some(player);
                seats.following_wants_next &= seats.following != Some(player);
                store::tables::set_seats(conn, table_id, seats).await?;
            }
            load(conn, table_id).await
        })
    })
    .await
}

/// Locks a table of a seated player at which no game runs; `None` where one began after `after`.
async fn lock_between_games(
    conn: &mut PgConnection,
    table_id: TableId,
    player: PlayerId,
    after: Option<GameId>,
) -> Result<Option<TableRow>> {
    let table = lock(conn, table_id, player, None).await?;
    if !table.seats(player) {
        return Err(Error::NotSeated);
    }
    if let Some(after) = after
        && table.game_id != Some(after)
    {
        let game = store::games::find_many(conn, &[after]).await?.pop();
        return match game {
            Some(game) if game.table_id == table_id => Ok(None),
            _ => Err(Error::field("after", "after is the id of a game at this table")),
        };
    }
    if table.running { Err(Error::GameRunning) } else { Ok(Some(table)) }
}
