//! A made-up board, to measure ranks at a size that takes years to play.

use hasami_rules::WinRule;
use sqlx::PgConnection;

use crate::error::Result;

/// Adds the players `from` to `to`, called `p` and their number in eight digits.
///
/// # Errors
/// The database's.
pub async fn insert_players(conn: &mut PgConnection, from: i64, to: i64) -> Result<()> {
    sqlx::query!(
        "insert into players (player_id, kind, username)
         select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'human', 'p' || lpad(n::text, 8, '0')
         from generate_series($1::bigint, $2) n",
        from,
        to,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Puts these players on a board: ratings spread normally around 1500 with a deviation of 300 points.
///
/// # Errors
/// The database's.
pub async fn insert_ratings(conn: &mut PgConnection, ladder: WinRule, from: i64, to: i64) -> Result<()> {
    // A sum of twelve uniform numbers is normal enough, with a deviation of 1.
    sqlx::query!(
        "insert into ratings (player_id, ladder, username, kind, rating_milli, peak_milli, number, wins, last_rated_at, listed)
         select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'p' || lpad(n::text, 8, '0'), 'human',
                rating, greatest(rating, 1500000), 40, 40, clock_timestamp(), true
         from generate_series($2::bigint, $3) n,
              lateral (select greatest(100000, 1500000 + 300000 * (n * 0 - 6 + random() + random() + random() + random()
                  + random() + random() + random() + random() + random() + random() + random() + random()))::integer) r (rating)",
        ladder.as_str(),
        from,
        to,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Counts everybody listed into the buckets anew.
///
/// # Errors
/// The database's.
pub async fn count_buckets(conn: &mut PgConnection) -> Result<()> {
    sqlx::query!(
        "with emptied as (delete from rank_deltas)
         insert into rank_buckets (ladder, level, bucket, players)
         select ladder, level, case level when 1 then rating_milli / 10000 else rating_milli / 100 end as bucket, count(*)
         from ratings cross join (values (1::smallint), (2::smallint)) as levels (level)
         where listed
         group by 1, 2, 3"
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether there is any player.
///
/// # Errors
/// The database's.
pub async fn is_empty(conn: &mut PgConnection) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select not exists (select from players) as "empty!""#).fetch_one(conn).await?)
}
