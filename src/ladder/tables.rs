//! Tables: open, change options, begin a game, close.

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

/// Changes some options for the next game. Whoever has asked for that asks anew: it will be another one.
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
            if options == table.options() {
                return Ok(table);
            }
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
pub(super) async fn lock(
    conn: &mut PgConnection,
    table_id: TableId,
    player: PlayerId,
    code: Option<&str>,
) -> Result<TableRow> {
    if !store::tables::lock(conn, table_id).await? {
        return Err(Error::TableNotFound);
    }
    let table = load_visible(conn, table_id, Some(player), code).await?;
    if table.closed { Err(Error::TableClosed) } else { Ok(table) }
}

/// Closes tables that waited a day for their second seat; how many it were. Again until none is left.
///
/// # Errors
/// The database's.
pub async fn close_waiting(pool: &PgPool) -> Result<u64> {
    const TABLES: i64 = 1000;
    store::transaction(pool, |conn| Box::pin(store::tables::close_waiting(conn, TABLES))).await
}

/// Begins a game if both seats have their players. The transaction holds the table.
pub(super) async fn begin_next(
    conn: &mut PgConnection,
    table_id: TableId,
    table: &TableRow,
    seats: Seats,
) -> Result<()> {
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
