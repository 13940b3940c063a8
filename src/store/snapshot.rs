//! One state of the database, read by any number of connections at leisure, also while it changes.

use sqlx::migrate::Migrate as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};

use super::MIGRATOR;
use crate::error::{Error, Result};

/// Options for work that takes its time: no limits, and times in UTC.
pub fn patient_options(options: PgConnectOptions, name: &str) -> PgConnectOptions {
    let patient = options.application_name(name).options([
        ("statement_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"),
        ("timezone", "UTC"),
        ("jit", "off"),
    ]);
    // A statement that streams a relation is as slow as its reader.
    patient.disable_statement_logging()
}

/// A state of the database, kept as long as this lives.
#[derive(Debug)]
pub struct Snapshot {
    options: PgConnectOptions,
    id: String,
    /// Its open transaction keeps what the others read.
    _keeper: PgConnection,
}

impl Snapshot {
    /// Takes the present state.
    ///
    /// # Errors
    /// The database is away, or its schema is not this program's.
    pub async fn take(options: PgConnectOptions, name: &str) -> Result<Self> {
        let options = patient_options(options, name);
        let mut keeper = PgConnection::connect_with(&options).await?;
        check_schema(&mut keeper).await?;
        begin(&mut keeper).await?;
        let id = sqlx::query_scalar!(r#"select pg_export_snapshot() as "id!""#).fetch_one(&mut keeper).await?;
        Ok(Self { options, id, _keeper: keeper })
    }

    /// A connection that reads this state and writes nothing.
    ///
    /// # Errors
    /// The database's.
    pub async fn connect(&self) -> Result<PgConnection> {
        let mut conn = PgConnection::connect_with(&self.options).await?;
        begin(&mut conn).await?;
        // The server made this text; it takes no parameter here.
        sqlx::raw_sql(AssertSqlSafe(format!("set transaction snapshot '{}'", self.id))).execute(&mut conn).await?;
        Ok(conn)
    }
}

async fn begin(conn: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql("begin isolation level repeatable read read only").execute(conn).await?;
    Ok(())
}

/// The version of the schema that this program knows.
#[must_use]
pub fn schema_version() -> i64 {
    MIGRATOR.iter().map(|m| m.version).max().unwrap_or_default()
}

/// Refuses a database whose schema is older or newer than this program.
async fn check_schema(conn: &mut PgConnection) -> Result<()> {
    let applied = match conn.list_applied_migrations("_sqlx_migrations").await {
        Ok(applied) => applied,
        Err(sqlx::migrate::MigrateError::Execute(sqlx::Error::Database(e))) if e.code().as_deref() == Some("42P01") => {
            return Err(Error::Schema { found: 0, expected: schema_version() });
        }
        Err(sqlx::migrate::MigrateError::Execute(error)) => return Err(error.into()),
        Err(error) => return Err(Error::Internal(error.to_string())),
    };
    let found = applied.iter().map(|m| m.version).max().unwrap_or_default();
    if found == schema_version() { Ok(()) } else { Err(Error::Schema { found, expected: schema_version() }) }
}
