//! Whole relations as JSON objects, made and read by Postgres itself: each value keeps its last bit.
//!
//! Rows are taken with all their columns, named nowhere here: one that a later migration adds cannot be forgotten.

use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};

use super::snapshot::patient_options;
use crate::error::{Error, Result};

/// A relation that lasts. What can be counted again (the buckets and deltas of ranks) is none, nor is what lives for
/// minutes or days anyhow: logins, tickets of the queue, challenges. The games that came of those are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of relations")]
pub enum Relation {
    Players,
    Tables,
    Games,
    Ledger,
    Ratings,
}

impl Relation {
    /// All, each after those that it refers to.
    pub const ALL: [Self; 5] = [Self::Players, Self::Tables, Self::Games, Self::Ledger, Self::Ratings];

    /// The name in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Players => "players",
            Self::Tables => "tables",
            Self::Games => "games",
            Self::Ledger => "ledger",
            Self::Ratings => "ratings",
        }
    }
}

/// All rows as JSON objects, in the order of their keys.
pub fn rows(conn: &mut PgConnection, relation: Relation) -> BoxStream<'_, Result<String>> {
    let rows = match relation {
        Relation::Players => {
            sqlx::query_scalar!(r#"select to_jsonb(p)::text as "row!" from players p order by player_id"#).fetch(conn)
        }
        Relation::Tables => {
            sqlx::query_scalar!(r#"select to_jsonb(t)::text as "row!" from tables t order by table_id"#).fetch(conn)
        }
        Relation::Games => {
            sqlx::query_scalar!(r#"select to_jsonb(g)::text as "row!" from games g order by game_id"#).fetch(conn)
        }
        Relation::Ledger => sqlx::query_scalar!(
            r#"select to_jsonb(l)::text as "row!" from ledger l order by player_id, ladder, number"#
        )
        .fetch(conn),
        Relation::Ratings => {
            sqlx::query_scalar!(r#"select to_jsonb(r)::text as "row!" from ratings r order by player_id, ladder"#)
                .fetch(conn)
        }
    };
    Box::pin(rows.map_err(Error::from))
}

/// Rows of each relation, in the order of [`Relation::ALL`].
///
/// # Errors
/// The database's.
pub async fn count(conn: &mut PgConnection) -> Result<[i64; 5]> {
    let counts = sqlx::query!(
        r#"
        select (select count(*) from players) as "players!", (select count(*) from tables) as "tables!",
               (select count(*) from games) as "games!", (select count(*) from ledger) as "ledger!",
               (select count(*) from ratings) as "ratings!"
        "#
    )
    .fetch_one(conn)
    .await?;
    Ok([counts.players, counts.tables, counts.games, counts.ledger, counts.ratings])
}

/// A connection inside a transaction that takes its time.
///
/// # Errors
/// The database's.
pub async fn begin(options: PgConnectOptions, name: &str) -> Result<PgConnection> {
    let mut conn = PgConnection::connect_with(&patient_options(options, name)).await?;
    sqlx::raw_sql("begin").execute(&mut conn).await?;
    Ok(conn)
}

/// Makes what the transaction did last.
///
/// # Errors
/// The database's; then nothing lasts.
pub async fn commit(mut conn: PgConnection) -> Result<()> {
    sqlx::raw_sql("commit").execute(&mut conn).await?;
    Ok(conn.close().await?)
}

/// Marks a place in the transaction to come back to.
///
/// # Errors
/// The database's.
pub async fn mark(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("savepoint part").execute(conn).await?;
    Ok(())
}

/// Forgets the place.
///
/// # Errors
/// The database's.
pub async fn unmark(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("release savepoint part").execute(conn).await?;
    Ok(())
}

/// Goes back to the place: what was done since then is undone.
///
/// # Errors
/// The database's.
pub async fn go_back(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("rollback to savepoint part").execute(conn).await?;
    Ok(())
}

/// Keeps all others from writing until the transaction ends.
///
/// # Errors
/// The database's.
pub async fn lock(conn: &mut PgConnection) -> Result<()> {
    sqlx::query!("lock table players, tables, games, ledger, ratings, rank_buckets, rank_deltas in exclusive mode")
        .execute(conn)
        .await?;
    Ok(())
}

/// Adds rows, an array of objects as [`rows`] gives them; how many were added. One that Postgres would not write
/// in the same way again (a column missing, unknown, or in another form) is left out.
///
/// # Errors
/// The database's.
pub async fn insert(conn: &mut PgConnection, relation: Relation, array: &str) -> Result<u64> {
    let insert = match relation {
        Relation::Players => sqlx::query!(
            "insert into players select r.* from jsonb_array_elements($1::text::jsonb) as e (o)
             cross join jsonb_populate_record(null::players, o) as r where to_jsonb(r) = o",
            array
        ),
        Relation::Tables => sqlx::query!(
            "insert into tables select r.* from jsonb_array_elements($1::text::jsonb) as e (o)
             cross join jsonb_populate_record(null::tables, o) as r where to_jsonb(r) = o",
            array
        ),
        Relation::Games => sqlx::query!(
            "insert into games select r.* from jsonb_array_elements($1::text::jsonb) as e (o)
             cross join jsonb_populate_record(null::games, o) as r where to_jsonb(r) = o",
            array
        ),
        Relation::Ledger => sqlx::query!(
            "insert into ledger select r.* from jsonb_array_elements($1::text::jsonb) as e (o)
             cross join jsonb_populate_record(null::ledger, o) as r where to_jsonb(r) = o",
            array
        ),
        Relation::Ratings => sqlx::query!(
            "insert into ratings select r.* from jsonb_array_elements($1::text::jsonb) as e (o)
             cross join jsonb_populate_record(null::ratings, o) as r where to_jsonb(r) = o",
            array
        ),
    };
    Ok(insert.execute(conn).await?.rows_affected())
}

/// Tells the planner what came in, or the first statements would be planned as for empty relations.
///
/// # Errors
/// The database's.
pub async fn analyze(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("analyze players, tables, games, ledger, ratings, rank_buckets").execute(conn).await?;
    Ok(())
}

/// Counts the listed players into empty buckets.
///
/// # Errors
/// The database's.
pub async fn recount_ranks(conn: &mut PgConnection) -> Result<()> {
    sqlx::query!(
        "insert into rank_buckets (ladder, level, bucket, players)
         select ladder, level, rating_milli / width, count(*)
         from ratings cross join (values (1::smallint, 10000), (2::smallint, 100)) as levels (level, width)
         where listed group by 1, 2, 3"
    )
    .execute(conn)
    .await?;
    Ok(())
}
