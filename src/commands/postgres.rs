//! `postgres`: runs the service's own Postgres without the service, for tests and for looking into the data.

use clap::Args;

use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::embedded::{self, Settings};

/// Which cluster to run.
#[derive(Debug, Clone, Args)]
pub struct PostgresArgs {
    /// A new, empty cluster that is fast, not durable, and removed at the end
    #[arg(long)]
    temporary: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs Postgres until standard input ends or a signal comes.
///
/// # Errors
/// Postgres does not start or stop.
pub async fn run(args: PostgresArgs) -> anyhow::Result<()> {
    let settings = if args.temporary {
        Settings { binaries: args.database.binaries(), ..Settings::temporary() }
    } else {
        args.database.embedded()
    };
    Ok(embedded::hold(settings).await?)
}
