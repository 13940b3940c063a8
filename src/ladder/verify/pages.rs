//! Games and tables, a page at a time; pages of games by several workers at once.

use std::collections::HashMap;

use sqlx::PgConnection;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::finding::{Checks, Mismatch};
use super::{Report, game};
use crate::error::{Error, Result};
use crate::ids::{GameId, TableId};
use crate::store;
use crate::store::audit::{self, LedgerRow, Links, TableRow};
use crate::store::games::GameRow;

/// Rows a page. With the longest logs a page of games has 7 MB.
const PAGE: i64 = 500;

/// Hands out the ids of all games, each once.
#[derive(Debug)]
pub(super) struct Pages {
    place: Mutex<(PgConnection, GameId)>,
}

impl Pages {
    pub(super) fn new(conn: PgConnection) -> Self {
        Self { place: Mutex::new((conn, GameId(Uuid::nil()))) }
    }

    /// The next page; empty at the end.
    async fn next(&self) -> Result<Vec<GameId>> {
        let mut place = self.place.lock().await;
        let (conn, after) = &mut *place;
        let ids = audit::game_ids(conn, *after, PAGE).await?;
        if let Some(last) = ids.last() {
            *after = *last;
        }
        Ok(ids)
    }
}

/// Checks pages of games until there are none; how many ledger rows belong to them.
pub(super) async fn check_games(mut conn: PgConnection, pages: std::sync::Arc<Pages>, report: Report) -> Result<i64> {
    let mut owned = 0;
    loop {
        let ids = pages.next().await?;
        if ids.is_empty() {
            return Ok(owned);
        }
        let (rows, mut mismatches) = read(&mut conn, &ids).await?;
        let ledger = audit::ledger_of(&mut conn, &ids).await?;
        let links = audit::links(&mut conn, &ids).await?;
        owned += i64::try_from(ledger.len()).unwrap_or_default();
        let replayed = tokio::task::spawn_blocking(move || check_page(rows, &ledger, links)).await;
        mismatches.extend(replayed.map_err(|e| Error::Internal(format!("a replay ended: {e}")))?);
        report.tell(mismatches).await?;
        report.progress.add(ids.len());
    }
}

fn check_page(rows: Vec<GameRow>, ledger: &[LedgerRow], links: Vec<Links>) -> Vec<Mismatch> {
    let mut by_game: HashMap<GameId, Vec<&LedgerRow>> = HashMap::with_capacity(rows.len());
    for row in ledger {
        by_game.entry(row.game_id).or_default().push(row);
    }
    let links: HashMap<GameId, Links> = links.into_iter().map(|l| (l.game_id, l)).collect();
    let of = |row: GameRow| {
        let game_id = row.game_id;
        game::check(row, by_game.get(&game_id).map_or(&[], Vec::as_slice), links.get(&game_id))
    };
    rows.into_iter().flat_map(of).collect()
}

/// The games of these ids. One that cannot even be read is a mismatch, and spoils no other.
async fn read(conn: &mut PgConnection, ids: &[GameId]) -> Result<(Vec<GameRow>, Vec<Mismatch>)> {
    match store::games::find_many(conn, ids).await {
        Ok(rows) if rows.len() == ids.len() => return Ok((rows, Vec::new())),
        Ok(_) | Err(Error::Database(sqlx::Error::ColumnDecode { .. })) => {}
        Err(error) => return Err(error),
    }
    let (mut rows, mut mismatches) = (Vec::new(), Vec::new());
    for id in ids {
        let why = match store::games::find_many(conn, &[*id]).await {
            Ok(found) if found.is_empty() => "no player of first_id or second_id".to_owned(),
            Ok(found) => {
                rows.extend(found);
                continue;
            }
            Err(Error::Database(error @ sqlx::Error::ColumnDecode { .. })) => error.to_string(),
            Err(error) => return Err(error),
        };
        let mut checks = Checks::new("games", id.to_string());
        checks.fail("row", why, "a row that can be read");
        mismatches.extend(checks.take());
    }
    Ok((rows, mismatches))
}

/// Checks all tables.
pub(super) async fn check_tables(mut conn: PgConnection, report: Report) -> Result<i64> {
    let mut after = TableId(Uuid::nil());
    loop {
        let tables = audit::tables(&mut conn, after, PAGE).await?;
        let Some(last) = tables.last() else { return Ok(0) };
        after = last.table_id;
        report.tell(tables.iter().flat_map(check_table).collect()).await?;
        report.progress.add(tables.len());
    }
}

fn check_table(table: &TableRow) -> Vec<Mismatch> {
    let mut checks = Checks::new("tables", table.table_id.to_string());
    if let Err(option) = table.options().validate() {
        checks.fail(option.name, "a value that is not allowed", option.why);
    }
    checks.same_or_null("game_id", table.game_id, table.last_id);
    checks.same("running", table.running, table.last_playing);
    checks.same("games", i64::from(table.games), table.count);
    checks.same_or_null("moved_first_id", table.moved_first_id, table.last_first_id);
    let mut games = Checks::new("games", format!("of table {}", table.table_id));
    if table.numbers != table.count || i64::from(table.highest) != table.count {
        let found = format!("{} different ones up to {}", table.numbers, table.highest);
        games.fail("number", found, format!("1 to {}, each once", table.count));
    }
    if table.playing > i64::from(table.last_playing) {
        games.fail("status", format!("{} playing", table.playing), "at most the last");
    }
    checks.extend(games);
    checks.take()
}
