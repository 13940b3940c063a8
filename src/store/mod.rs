//! All SQL: one file per aggregate, one function per statement.
//!
//! Each function takes the connection first, so that its caller owns the transaction.

pub mod archive;
pub mod audit;
pub mod board;
pub mod challenges;
pub mod clocks;
pub mod fill;
pub mod games;
pub mod listings;
pub mod players;
pub mod queue;
pub mod ranks;
pub mod ratings;
pub mod rebuilt;
pub mod sessions;
pub mod snapshot;
pub mod tables;

use std::str::FromStr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgTypeInfo, PgValueRef};
use sqlx::{Connection as _, Decode, PgConnection, Postgres, Type};

use crate::error::{Error, Result};

/// The schema, told by `migrations/`.
pub static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!();

/// How long a request waits for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(1500);

/// A connection that nobody used for so long is tried before it is used.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);

/// How long a caller waits for a change; the change goes on all the same.
pub const PATIENCE: Duration = Duration::from_millis(1900);

/// After this long a connection counts as lost, whose server went away without a word. Longer than any limit that
/// the server itself keeps.
pub const STATEMENTS_TIMEOUT: Duration = Duration::from_secs(20);

/// What each connection of the service has: limits that end a statement, a wait or a transaction on the server's
/// side, since nothing on this side may be cut off in the middle; and times in UTC.
pub fn session_options(options: PgConnectOptions) -> PgConnectOptions {
    options.application_name("hasami-ladder").options([
        ("statement_timeout", "10s"),
        ("lock_timeout", "5s"),
        ("idle_in_transaction_session_timeout", "15s"),
        ("timezone", "UTC"),
        // Each statement is planned once, for any arguments, and the plan is kept. It must be good too when a relation
        // has grown since then: every request walks an index, and reads no further than its limit.
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("max_parallel_workers_per_gather", "0"),
        // Statements of 0.1 ms gain nothing from 50 ms of compiling, which a plan's estimate can bring about.
        ("jit", "off"),
    ])
}

/// A pool that connects when it is first needed.
pub fn pool(options: PgConnectOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // A ping before each use costs a fifth of the throughput. One that was idle for long may have died meanwhile.
        .test_before_acquire(false)
        .before_acquire(|conn, meta| {
            Box::pin(async move {
                if meta.idle_for >= PING_AFTER_IDLE {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(session_options(options))
}

/// Brings the schema up to date. Instances that start together wait for each other.
///
/// # Errors
/// The database is away, or its schema was made by a newer version or edited by hand.
pub async fn migrate(options: PgConnectOptions) -> Result<(), sqlx::Error> {
    // No statement limit here: a migration of a large relation takes its time.
    let mut conn = PgConnection::connect_with(&options.application_name("hasami-ladder migrate")).await?;
    MIGRATOR.run(&mut conn).await?;
    conn.close().await
}

/// Runs `work` in one transaction, in a task of its own: a caller that goes away neither stops the work half-way
/// nor leaves a connection inside a transaction. A deadlock is done over.
///
/// # Errors
/// Those of `work`, which then has changed nothing, and the database's.
pub async fn transaction<T, F>(pool: &PgPool, work: F) -> Result<T>
where
    T: Send + 'static,
    F: for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T>> + Send + Sync + 'static,
{
    const ATTEMPTS: u32 = 5;
    let pool = pool.clone();
    let task = tokio::spawn(async move {
        let mut attempt = 1;
        loop {
            match attempt_transaction(&pool, &work).await {
                Err(error) if error.is_deadlock() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    });
    match tokio::time::timeout(PATIENCE, task).await {
        Ok(done) => done.map_err(|e| Error::Internal(format!("a transaction's task ended: {e}")))?,
        Err(_) => Err(Error::Unavailable("no outcome of a change in time".to_owned())),
    }
}

async fn attempt_transaction<T, F>(pool: &PgPool, work: &F) -> Result<T>
where
    F: for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T>>,
{
    let mut conn = pool.acquire().await?;
    let attempt = async {
        let mut tx = conn.begin().await?;
        match work(&mut tx).await {
            Ok(value) => {
                tx.commit().await?;
                Ok(value)
            }
            Err(error) => {
                // Its own failure says nothing new: the connection is then broken and the server rolls back.
                drop(tx.rollback().await);
                Err(error)
            }
        }
    };
    match tokio::time::timeout(STATEMENTS_TIMEOUT, attempt).await {
        Ok(result) => result,
        Err(_) => {
            // Nobody knows what it stands in.
            conn.close_on_drop();
            Err(Error::Unavailable("the database does not answer".to_owned()))
        }
    }
}

/// A value of the rules crate in a text column, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<T> Type<Postgres> for Word<T> {
    fn type_info() -> PgTypeInfo {
        <str as Type<Postgres>>::type_info()
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        <str as Type<Postgres>>::compatible(ty)
    }
}

impl<'r, T: FromStr> Decode<'r, Postgres> for Word<T> {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        let text = <&str as Decode<Postgres>>::decode(value)?;
        text.parse().map(Self).map_err(|_| format!("unknown word {text:?}").into())
    }
}

/// The options that a row's columns hold. `query_as!` fills flat structs alone, so each such row has the columns itself.
macro_rules! options_of {
    ($row:expr) => {
        options_of!($row, $row.visibility)
    };
    ($row:expr, $visibility:expr) => {
        TableOptions {
            win_rule: $row.win_rule.0,
            turn_seconds: $row.turn_seconds,
            move_limit: $row.move_limit,
            show_destinations: $row.show_destinations,
            alternate_first: $row.alternate_first,
            rated: $row.rated,
            visibility: $visibility,
            absence: $row.absence,
            absence_seconds: $row.absence_seconds,
        }
    };
}
use options_of;

/// Whether the database answers.
///
/// # Errors
/// It does not.
pub async fn ping(conn: &mut PgConnection) -> Result<()> {
    sqlx::query_scalar!(r#"select 1 as "one!""#).fetch_one(conn).await?;
    Ok(())
}
