//! `verify`: derives everything derived again and names each difference.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use super::progress::Shown;
use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::ladder::verify::{self, Report};

/// Verifies: success, or 1 where something does not agree.
///
/// # Errors
/// The database cannot be read.
pub async fn run(args: DatabaseArgs) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let database = args.open_existing().await?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (sender, mismatches) = mpsc::channel(1000);
    let report = Report { mismatches: sender, progress: Arc::default() };
    let shown = Shown::new("verify", report.progress.clone());
    let (counts, printed) =
        tokio::join!(verify::verify(database.options.clone(), workers, report), shown.print_all(mismatches));
    database.stop().await?;
    let (mismatches, counts) = (printed?, counts?);
    let verdict = match mismatches {
        0 => "everything agrees".to_owned(),
        1 => "1 mismatch".to_owned(),
        many => format!("{many} mismatches"),
    };
    writeln!(
        io::stdout(),
        "{verdict}: {} games, {} ledger rows, {} ratings, {} tables in {:.1} s",
        counts.games,
        counts.ledger,
        counts.ratings,
        counts.tables,
        start.elapsed().as_secs_f64()
    )?;
    Ok(if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
