//! The leaderboard in its own order, page by page; ranks are `ranks`' affair.

use hasami_rules::WinRule;
use sqlx::PgConnection;

use crate::elo::Milli;
use crate::error::Result;
use crate::player::PlayerKind;

/// A leaderboard row without its rank.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ratings`, which the migration explains")]
pub struct BoardRow {
    pub username: String,
    pub kind: PlayerKind,
    pub rating_milli: Milli,
    pub games: i32,
}

/// Where a page of the leaderboard begins or ends: just beyond this row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardKey {
    /// The row's rating.
    pub rating_milli: Milli,
    /// The row's handle.
    pub username: String,
}

/// Listed players after `after`, best first.
///
/// # Errors
/// The database's.
pub async fn page(
    conn: &mut PgConnection,
    ladder: WinRule,
    after: Option<&BoardKey>,
    limit: i64,
) -> Result<Vec<BoardRow>> {
    let rating = after.map_or(Milli::MAX, |k| k.rating_milli);
    let name = after.map_or("", |k| &k.username);
    Ok(sqlx::query_as!(
        BoardRow,
        r#"
        select username, kind as "kind: PlayerKind", rating_milli, wins + draws + losses as "games!"
        from ratings
        where ladder = $1 and listed and rating_milli <= $2 and (rating_milli < $2 or username > $3)
        order by rating_milli desc, username limit $4
        "#,
        ladder.as_str(),
        rating,
        name,
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// Listed players of a kind after `after`, best first.
///
/// # Errors
/// The database's.
pub async fn page_of_kind(
    conn: &mut PgConnection,
    ladder: WinRule,
    kind: PlayerKind,
    after: Option<&BoardKey>,
    limit: i64,
) -> Result<Vec<BoardRow>> {
    let rating = after.map_or(Milli::MAX, |k| k.rating_milli);
    let name = after.map_or("", |k| &k.username);
    Ok(sqlx::query_as!(
        BoardRow,
        r#"
        select username, kind as "kind: PlayerKind", rating_milli, wins + draws + losses as "games!"
        from ratings
        where ladder = $1 and kind = $2 and listed and rating_milli <= $3 and (rating_milli < $3 or username > $4)
        order by rating_milli desc, username limit $5
        "#,
        ladder.as_str(),
        kind as PlayerKind,
        rating,
        name,
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// Listed players before `before`, nearest first, so worst first.
///
/// # Errors
/// The database's.
pub async fn page_above(
    conn: &mut PgConnection,
    ladder: WinRule,
    before: &BoardKey,
    limit: i64,
) -> Result<Vec<BoardRow>> {
    Ok(sqlx::query_as!(
        BoardRow,
        r#"
        select username, kind as "kind: PlayerKind", rating_milli, wins + draws + losses as "games!"
        from ratings
        where ladder = $1 and listed and rating_milli >= $2 and (rating_milli > $2 or username < $3)
        order by rating_milli, username desc limit $4
        "#,
        ladder.as_str(),
        before.rating_milli,
        before.username,
        limit,
    )
    .fetch_all(conn)
    .await?)
}
