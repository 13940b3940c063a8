//! Exact ranks from counted buckets, deltas and the players of one narrow bucket; `migrations/0004_ratings.sql` tells how.

use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::Word;
use crate::elo::Milli;
use crate::error::Result;
use crate::ids::PlayerId;

/// A player who came on the board at a rating (`1`), or left it from there (`-1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of `rank_deltas`")]
pub struct Delta {
    pub ladder: WinRule,
    pub rating_milli: Milli,
    pub change: i16,
}

/// Appends deltas.
///
/// # Errors
/// The database's.
pub async fn insert_deltas(conn: &mut PgConnection, deltas: &[Delta]) -> Result<()> {
    let ladders: Vec<&str> = deltas.iter().map(|d| d.ladder.as_str()).collect();
    let ratings: Vec<Milli> = deltas.iter().map(|d| d.rating_milli).collect();
    let changes: Vec<i16> = deltas.iter().map(|d| d.change).collect();
    sqlx::query!(
        "insert into rank_deltas (ladder, rating_milli, change)
         select ladder, rating_milli, change from unnest($1::text[], $2::integer[], $3::smallint[]) as d (ladder, rating_milli, change)",
        &ladders as &[&str],
        &ratings,
        &changes,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A checked query, in three parts, with the rank of a row `r` in the middle: one more than the listed players of
/// `r.ladder` strictly above `r.rating_milli`. 10,000 milli-points are a wide bucket, 100 a narrow one.
macro_rules! with_rank {
    ($row:ty, $before:literal, $after:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!($row, $before + "(1
            + coalesce((select sum(players) from rank_buckets
                        where ladder = r.ladder and level = 1 and bucket > r.rating_milli / 10000), 0)
            + coalesce((select sum(players) from rank_buckets
                        where ladder = r.ladder and level = 2 and bucket > r.rating_milli / 100
                          and bucket < (r.rating_milli / 10000 + 1) * 100), 0)
            + coalesce((select sum(change) from rank_deltas
                        where ladder = r.ladder and rating_milli >= (r.rating_milli / 100 + 1) * 100), 0)
            + (select count(*) from ratings
               where ladder = r.ladder and listed and rating_milli > r.rating_milli
                 and rating_milli < (r.rating_milli / 100 + 1) * 100))" + $after, $($argument),*)
    };
}
pub(super) use with_rank;

/// A player's rating in a ladder, with its rank if the board lists it.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ratings`, which the migration explains")]
pub struct RankedRow {
    pub ladder: Word<WinRule>,
    pub rating_milli: Milli,
    pub peak_milli: Milli,
    pub wins: i32,
    pub draws: i32,
    pub losses: i32,
    pub rank: Option<i64>,
}

/// A player's ratings in all ladders, with ranks.
///
/// # Errors
/// The database's.
pub async fn of_player(conn: &mut PgConnection, player_id: PlayerId) -> Result<Vec<RankedRow>> {
    Ok(with_rank!(
        RankedRow,
        r#"select ladder as "ladder: Word<WinRule>", rating_milli, peak_milli, wins, draws, losses, case when listed then "#,
        r#" end as rank from ratings r where player_id = $1"#,
        player_id.0,
    )
    .fetch_all(conn)
    .await?)
}

/// The listed players of each ladder.
///
/// # Errors
/// The database's.
pub async fn count_listed(conn: &mut PgConnection) -> Result<Vec<(WinRule, i64)>> {
    let rows = sqlx::query!(
        r#"
        select ladder as "ladder!: Word<WinRule>", sum(players) as "players!" from (
            select ladder, players from rank_buckets where ladder = any('{capture5,lead3,captureall}') and level = 1
            union all
            select ladder, change from rank_deltas
        ) parts
        group by ladder
        "#
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|r| (r.ladder.0, r.players)).collect())
}

/// Folds the deltas there are into the buckets; how many it were. Only one transaction at a time does it; another
/// finds nothing to do.
///
/// # Errors
/// The database's.
pub async fn fold(conn: &mut PgConnection) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"
        with folding as materialized (
            select pg_try_advisory_xact_lock(hashtextextended('hasami-ladder: fold ranks', 0)) as mine
        ),
        folded as (
            delete from rank_deltas where (select mine from folding) returning ladder, rating_milli, change
        ),
        written as (
            insert into rank_buckets as b (ladder, level, bucket, players)
            select ladder, level, case level when 1 then rating_milli / 10000 else rating_milli / 100 end as bucket, sum(change)
            from folded cross join (values (1::smallint), (2::smallint)) as levels (level)
            group by 1, 2, 3
            having sum(change) <> 0
            order by 1, 2, 3
            on conflict on constraint rank_buckets_pkey do update set players = b.players + excluded.players
        )
        select count(*) as "count!" from folded
        "#
    )
    .fetch_one(conn)
    .await?)
}

/// Takes up to `limit` players off the board whose last rated game lies more than `days` whole UTC days back, and
/// writes the deltas; how many it were.
///
/// # Errors
/// The database's.
pub async fn unlist_lapsed(conn: &mut PgConnection, days: i32, limit: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"
        with lapsed as (
            select player_id, ladder from ratings
            where listed and last_rated_at < (date_trunc('day', statement_timestamp() at time zone 'UTC') - make_interval(days => $1)) at time zone 'UTC'
            order by last_rated_at limit $2
        ),
        unlisted as (
            update ratings r set listed = false
            from lapsed l
            where r.player_id = l.player_id and r.ladder = l.ladder and r.listed
              and r.last_rated_at < (date_trunc('day', statement_timestamp() at time zone 'UTC') - make_interval(days => $1)) at time zone 'UTC'
            returning r.ladder, r.rating_milli
        ),
        deltas as (
            insert into rank_deltas (ladder, rating_milli, change) select ladder, rating_milli, -1 from unlisted
        )
        select count(*) as "count!" from unlisted
        "#,
        days,
        limit,
    )
    .fetch_one(conn)
    .await?)
}
