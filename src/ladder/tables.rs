//! Tables: open, sit, leave, change options, begin the next game.

use hasami_rules::Position;
use sqlx::{PgConnection, PgPool};

use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId, TableId};
use crate::options::{InvalidOption, TableOptions, Visibility};
use crate::store;
use crate::store::games::NewGame;
use crate::store::tables::{Seats, TableRow};

/// Reads one table.
///
/// # Errors
/// `TableNotFound`.
pub async fn load(conn: &mut PgConnection, table_id: TableId) -> Result<TableRow> {
    store::tables::find_many(conn, &[table_id]).await?.pop().ok_or(Error::TableNotFound)
}

/// Reads one table for somebody who may see it: anybody, or for an unlisted one those seated, its host, and whoever
/// has the code.
///
/// # Errors
/// `TableNotFound`, for hidden ones too.
pub async fn load_visible(
    conn: &mut PgConnection,
    table_id: TableId,
    viewer: Option<PlayerId>,
    code: Option<&str>,
) -> Result<TableRow> {
    let table = load(conn, table_id).await?;
    if is_visible(&table, viewer, code) { Ok(table) } else { Err(Error::TableNotFound) }
}

fn is_visible(table: &TableRow, viewer: Option<PlayerId>, code: Option<&str>) -> bool {
    use subtle::ConstantTimeEq as _;
    let knows = |own: &String| code.is_some_and(|given| bool::from(given.as_bytes().ct_eq(own.as_bytes())));
    table.visibility == Visibility::Public
        || viewer.is_some_and(|v| table.seats(v) || table.host_id == v)
        || table.join_code.as_ref().is_some_and(knows)
}

/// Opens a table, with its host on the first seat if `sit`.
///
/// # Errors
/// `InvalidOption`.
pub async fn open(pool: &PgPool, host: PlayerId, options: TableOptions, sit: bool) -> Result<TableRow> {
    options.validate()?;
    let table_id = TableId::new();
    store::transaction(pool, move |conn| {
        let options = options.clone();
        Box::pin(async move {
            let code = join_code(&options)?;
            store::tables::insert(conn, table_id, host, &options, code.as_deref()).await?;
            if sit {
                let seats = Seats {
                    leading: Some(host),
                    following: None,
                    leading_wants_next: false,
                    following_wants_next: false,
                    closed: false,
                };
                store::tables::set_seats(conn, table_id, seats).await?;
            }
            load(conn, table_id).await
        })
    })
    .await
}

/// A new code for an unlisted table: eight characters that nobody confuses, of which there are 10^12.
fn join_code(options: &TableOptions) -> Result<Option<String>> {
    const SAFE: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz-";
    if options.visibility == Visibility::Public {
        return Ok(None);
    }
    let random: [u8; 16] = crate::random()?;
    // Of the values 0 to 255 the first 248 are evenly spread over 31 characters.
    let even = random.into_iter().filter(|b| *b < 248).chain(random).take(8);
    Ok(Some(even.map(|b| char::from(SAFE[usize::from(b % 31)])).collect()))
}

/// Changes some options for the next game.
///
/// # Errors
/// `Forbidden` for others than the host, `GameRunning`, `InvalidOption`, `TableNotFound`.
pub async fn change_options<F>(pool: &PgPool, table_id: TableId, host: PlayerId, change: F) -> Result<TableRow>
where
    F: Fn(TableOptions) -> TableOptions + Send + Sync + 'static,
{
    let change = std::sync::Arc::new(change);
    store::transaction(pool, move |conn| {
        let change = change.clone();
        Box::pin(async move {
            let table = lock(conn, table_id, host, None).await?;
            if table.host_id != host {
                return Err(Error::Forbidden("only the host changes the options of a table"));
            }
            if table.running {
                return Err(Error::GameRunning);
            }
            let options = change(table.options());
            options.validate()?;
            let seated = [table.leading_id, table.following_id];
            if options.rated && seated.into_iter().flatten().any(PlayerId::is_computer) {
                let why = "the computer has a seat, and plays casual games only".to_owned();
                return Err(InvalidOption { name: "rated", why }.into());
            }
            let code = match (options.visibility, table.join_code) {
                (Visibility::Unlisted, Some(code)) => Some(code),
                _ => join_code(&options)?,
            };
            store::tables::set_options(conn, table_id, &options, code.as_deref()).await?;
            load(conn, table_id).await
        })
    })
    .await
}

/// Locks a table that the player may see and that is not closed.
async fn lock(conn: &mut PgConnection, table_id: TableId, player: PlayerId, code: Option<&str>) -> Result<TableRow> {
    if !store::tables::lock(conn, table_id).await? {
        return Err(Error::TableNotFound);
    }
    let table = load_visible(conn, table_id, Some(player), code).await?;
    if table.closed { Err(Error::TableClosed) } else { Ok(table) }
}

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

/// Closes tables that waited a day for their second seat; how many it were. Again until none is left.
///
/// # Errors
/// The database's.
pub async fn close_waiting(pool: &PgPool) -> Result<u64> {
    const TABLES: i64 = 1000;
    store::transaction(pool, |conn| Box::pin(store::tables::close_waiting(conn, TABLES))).await
}

/// Asks for the next game, which starts once both seats have asked. Asking again changes nothing.
///
/// # Errors
/// `GameRunning`, `NotSeated`, `TableNotFound`, `TableClosed`.
pub async fn ask_next(pool: &PgPool, table_id: TableId, player: PlayerId) -> Result<TableRow> {
    store::transaction(pool, move |conn| {
        Box::pin(async move {
            let table = lock(conn, table_id, player, None).await?;
            if !table.seats(player) {
                return Err(Error::NotSeated);
            }
            if table.running {
                return Err(Error::GameRunning);
            }
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

/// Begins a game if both seats have their players. The transaction holds the table.
async fn begin_next(conn: &mut PgConnection, table_id: TableId, table: &TableRow, seats: Seats) -> Result<()> {
    let (Some(leading), Some(following)) = (seats.leading, seats.following) else { return Ok(()) };
    // The first game is begun by whoever sat first, and so is one after the last first mover has left.
    let follows = table.moved_first_id == Some(following);
    let led = table.moved_first_id == Some(leading);
    let following_first = if table.alternate_first { led } else { follows };
    let (first, second) = if following_first { (following, leading) } else { (leading, following) };
    let next = NextGame { game_id: GameId::new(), number: table.games + 1, first, second, rerun_of: None };
    begin_game(conn, table_id, &table.options(), next).await
}

/// Opens a table for two who found each other and begins its first game. `first` counts as who sat first.
///
/// # Errors
/// The database's.
pub(super) async fn seat_both(
    conn: &mut PgConnection,
    first: PlayerId,
    second: PlayerId,
    options: &TableOptions,
) -> Result<(TableId, GameId)> {
    let (table_id, game_id) = (TableId::new(), GameId::new());
    let code = join_code(options)?;
    store::tables::insert(conn, table_id, first, options, code.as_deref()).await?;
    let seats = Seats {
        leading: Some(first),
        following: Some(second),
        leading_wants_next: false,
        following_wants_next: false,
        closed: false,
    };
    store::tables::set_seats(conn, table_id, seats).await?;
    begin_game(conn, table_id, options, NextGame { game_id, number: 1, first, second, rerun_of: None }).await?;
    Ok((table_id, game_id))
}

/// What is particular to a table's next game.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextGame {
    pub game_id: GameId,
    pub number: i32,
    pub first: PlayerId,
    pub second: PlayerId,
    pub rerun_of: Option<GameId>,
}

/// Begins a game at a table where none runs.
///
/// # Errors
/// `GameRunning`.
pub(super) async fn begin_game(
    conn: &mut PgConnection,
    table_id: TableId,
    options: &TableOptions,
    next: NextGame,
) -> Result<()> {
    if !store::tables::begin_game(conn, table_id, next.game_id).await? {
        return Err(Error::GameRunning);
    }
    let mut before = [None, None];
    if options.rated {
        let players = [next.first, next.second];
        store::ratings::ensure(conn, options.win_rule, &players).await?;
        for (before, player) in before.iter_mut().zip(players) {
            let rows = store::ratings::find_all(conn, player).await?;
            *before = rows.iter().find(|r| r.ladder.0 == options.win_rule).map(|r| r.rating_milli);
        }
    }
    let game = NewGame {
        game_id: next.game_id,
        table_id,
        number: next.number,
        options: options.clone(),
        first_id: next.first,
        second_id: next.second,
        rerun_of: next.rerun_of,
        first_before_milli: before[0],
        second_before_milli: before[1],
        position_hash: Position::START.hash().cast_signed(),
        check_seconds: match (next.first.is_computer(), next.second.is_computer()) {
            (true, _) => 0,
            // In case the wake-up after the first move is lost.
            (false, true) => 2,
            (false, false) => options.turn_seconds.map(i32::from).or(options.absence_seconds).unwrap_or(0),
        },
    };
    store::games::insert(conn, &game).await
}
