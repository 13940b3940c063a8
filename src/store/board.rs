//! The leaderboard in its own order, page by page, each in one statement; how a rank is counted is `ranks`' affair.
//!
//! The literal limits are the largest page and one row: they tell the planner, which does not see arguments, that only few
//! rows are wanted.

use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::ranks::with_rank;
use crate::elo::Milli;
use crate::error::Result;
use crate::ids::PlayerId;
use crate::player::PlayerKind;

/// A leaderboard row.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ratings`, which the migration explains")]
pub struct BoardRow {
    pub username: String,
    pub kind: PlayerKind,
    pub rating_milli: Milli,
    pub games: i32,
    /// Where it does not follow from the row before.
    pub rank: Option<i64>,
    /// Rows of the same rating before this one, on the whole board; given with the first row.
    pub tied_before: Option<i64>,
}

/// Where a page of the leaderboard begins or ends: just beyond this row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardKey {
    /// The row's rating.
    pub rating_milli: Milli,
    /// The row's handle.
    pub username: String,
}

/// Listed players after `after`, best first. There are no gaps, so the first row's rank and place tell all others'.
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
    Ok(with_rank!(
        BoardRow,
        r#"
        select username, kind as "kind: PlayerKind", rating_milli, games as "games!",
               case when row_number() over page = 1 then "#,
        r#" end as rank,
               case when row_number() over page = 1
                    then (select count(*) from ratings t
                          where t.ladder = r.ladder and t.listed and t.rating_milli = r.rating_milli and t.username < r.username)
               end as tied_before
        from (
            select ladder, username, kind, rating_milli, wins + draws + losses as games
            from ratings
            where ladder = $1 and listed and rating_milli <= $2 and (rating_milli < $2 or username > $3)
            order by rating_milli desc, username limit 101
        ) r
        window page as (order by rating_milli desc, username)
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

/// Listed players of a kind after `after`, best first. Others stand between them, so each rating has its own rank.
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
    Ok(with_rank!(
        BoardRow,
        r#"
        select username, kind as "kind: PlayerKind", rating_milli, games as "games!", null::bigint as tied_before,
               case when lag(rating_milli) over page is distinct from rating_milli then "#,
        r#" end as rank
        from (
            select ladder, username, kind, rating_milli, wins + draws + losses as games
            from ratings
            where ladder = $1 and kind = $2 and listed and rating_milli <= $3 and (rating_milli < $3 or username > $4)
            order by rating_milli desc, username limit 101
        ) r
        window page as (order by rating_milli desc, username)
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

/// A listed player with so many listed ones above and below, best first; nobody where the player is not listed. The
/// ranks are told as on a page.
///
/// # Errors
/// The database's.
pub async fn around(
    conn: &mut PgConnection,
    ladder: WinRule,
    player_id: PlayerId,
    above: i64,
    below: i64,
) -> Result<Vec<BoardRow>> {
    Ok(with_rank!(
        BoardRow,
        r#"
        with own as materialized (
            select ladder, username, kind, rating_milli, wins + draws + losses as games
            from ratings where player_id = $2 and ladder = $1 and listed
        ),
        around as (
            select above.* from own cross join lateral (select * from (
                select ladder, username, kind, rating_milli, wins + draws + losses as games
                from ratings
                where ladder = $1 and listed and rating_milli >= own.rating_milli
                  and (rating_milli > own.rating_milli or username < own.username)
                order by rating_milli, username desc limit 101
            ) nearest order by rating_milli, username desc limit $3) above
            union all
            select * from own
            union all
            select below.* from own cross join lateral (select * from (
                select ladder, username, kind, rating_milli, wins + draws + losses as games
                from ratings
                where ladder = $1 and listed and rating_milli <= own.rating_milli
                  and (rating_milli < own.rating_milli or username > own.username)
                order by rating_milli desc, username limit 101
            ) nearest order by rating_milli desc, username limit $4) below
        )
        select username as "username!", kind as "kind!: PlayerKind", rating_milli as "rating_milli!", games as "games!",
               case when row_number() over page = 1 then "#,
        r#" end as rank,
               case when row_number() over page = 1
                    then (select count(*) from ratings t
                          where t.ladder = r.ladder and t.listed and t.rating_milli = r.rating_milli and t.username < r.username)
               end as tied_before
        from around r
        window page as (order by rating_milli desc, username)
        order by rating_milli desc, username
        "#,
        ladder.as_str(),
        player_id.0,
        above,
        below,
    )
    .fetch_all(conn)
    .await?)
}
