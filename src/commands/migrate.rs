//! `migrate`: brings the schema up to date and ends.

use anyhow::Context as _;

use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::store;

/// Migrates.
///
/// # Errors
/// The database is away, or its schema was made by a newer version.
pub async fn run(args: DatabaseArgs) -> anyhow::Result<()> {
    let database = args.open().await?;
    let migrated =
        store::migrate(database.options.clone()).await.context("cannot bring the database's schema up to date");
    database.stop().await?;
    migrated?;
    tracing::info!("the schema is up to date");
    Ok(())
}
