//! `rebuild-ratings`: computes the ledger anew, beside the old one.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::progress::Shown;
use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::ladder::rebuild;
use hasami_ladder::ladder::verify::Report;

/// Rebuilds: success, or 1 where the ledger says something else.
///
/// # Errors
/// The database cannot be read or written.
pub async fn run(args: DatabaseArgs) -> anyhow::Result<ExitCode> {
    let database = args.open_existing().await?;
    let (sender, mismatches) = mpsc::channel(1000);
    let report = Report { mismatches: sender, progress: Arc::default() };
    let shown = Shown::new("rebuild-ratings", report.progress.clone());
    let (rows, printed) = tokio::join!(rebuild::rebuild(database.options.clone(), report), shown.print_all(mismatches));
    database.stop().await?;
    let (differences, rows) = (printed?, rows?);
    let verdict = match differences {
        0 => "identical to the ledger".to_owned(),
        1 => "1 difference from the ledger".to_owned(),
        many => format!("{many} differences from the ledger"),
    };
    writeln!(io::stdout(), "{rows} rows in ledger_rebuilt: {verdict}")?;
    Ok(if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
