//! The relation `ledger_rebuilt`: the ledger as it is computed anew. No migration makes it, for nothing else reads it.

use chrono::SecondsFormat;
use sqlx::PgConnection;
use sqlx::postgres::PgCopyIn;

use super::audit::LedgerRow;
use crate::elo::Reason;
use crate::error::Result;

/// Makes the relation anew, empty, within the caller's transaction.
///
/// # Errors
/// The database's.
pub async fn create(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("drop table if exists ledger_rebuilt; create table ledger_rebuilt (like ledger including all)")
        .execute(conn)
        .await?;
    Ok(())
}

/// Begins to fill it. Whoever drops this unfinished has filled nothing.
///
/// # Errors
/// The database's.
pub async fn fill(conn: &mut PgConnection) -> Result<PgCopyIn<&mut PgConnection>> {
    let statement =
        "copy ledger_rebuilt (player_id, ladder, number, entry, game_id, opponent_id, opponent_milli, score, expected,
                                          k, before_milli, after_milli, change_milli, reason, at) from stdin";
    Ok(conn.copy_in_raw(statement).await?)
}

/// Appends a result as a line of `copy`. Rust writes the shortest digits that give the same float again.
pub fn write(lines: &mut String, row: &LedgerRow) {
    let LedgerRow { player_id, number, game_id, opponent_id, opponent_milli, score, expected, k, .. } = row;
    let LedgerRow { before_milli, after_milli, change_milli, .. } = row;
    let (ladder, reason) = (row.ladder.0, row.reason.map_or("\\N", Reason::as_str));
    let at = row.at.to_rfc3339_opts(SecondsFormat::Micros, true);
    *lines += &format!(
        "{player_id}\t{ladder}\t{number}\tresult\t{game_id}\t{opponent_id}\t{opponent_milli}\t{score}\t{expected}\t{k}\t\
         {before_milli}\t{after_milli}\t{change_milli}\t{reason}\t{at}\n"
    );
}
