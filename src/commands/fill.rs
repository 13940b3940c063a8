//! `fill`: a made-up leaderboard, to measure ranks with.

use anyhow::{Context as _, ensure};
use clap::Args;
use hasami_rules::WinRule;
use sqlx::{Connection as _, PgConnection};

use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::store::{self, fill};

/// How large a board to make.
#[derive(Debug, Clone, Args)]
pub struct FillArgs {
    /// Listed players
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(i64).range(1..=100_000_000))]
    players: i64,
    /// Their ladder
    #[arg(long, default_value = "capture5")]
    ladder: WinRule,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Fills an empty database.
///
/// # Errors
/// The database is away, or not empty.
pub async fn run(args: FillArgs) -> anyhow::Result<()> {
    /// Players added by one statement.
    const STEP: i64 = 100_000;
    let database = args.database.open().await?;
    let filling = async {
        store::migrate(database.options.clone()).await.context("cannot bring the database's schema up to date")?;
        let mut conn = PgConnection::connect_with(&database.options).await?;
        ensure!(fill::is_empty(&mut conn).await?, "the database has players already: fill an empty one");
        for from in (1..=args.players).step_by(usize::try_from(STEP)?) {
            let to = args.players.min(from + STEP - 1);
            fill::insert_players(&mut conn, from, to).await?;
            fill::insert_ratings(&mut conn, args.ladder, from, to).await?;
            tracing::info!("{to} of {} players", args.players);
        }
        fill::count_buckets(&mut conn).await?;
        sqlx::raw_sql("vacuum analyze").execute(&mut conn).await?;
        anyhow::Ok(())
    };
    let filled = filling.await;
    database.stop().await?;
    filled
}
