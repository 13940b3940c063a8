//! `export`: all that lasts, a line a row.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use tokio::sync::mpsc;

use super::progress::Shown;
use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::ladder::archive::{self, Part};
use hasami_ladder::store;

/// Where to.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// A file to be made, readable by its owner alone; standard output if none is named
    #[arg(long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// The first line up to the number of rows. Another version of the schema has other columns.
pub fn first_line() -> String {
    format!(r#"{{"format":"hasami-ladder export","version":1,"schema":{},"rows":"#, store::snapshot::schema_version())
}

/// The last line up to the number of rows.
pub const LAST_LINE: &str = r#"{"end":"#;

/// Exports.
///
/// # Errors
/// The database cannot be read, or the output not written. A file that was begun is removed.
pub async fn run(args: ExportArgs) -> anyhow::Result<()> {
    let file = args.output.as_deref().map(create).transpose()?;
    let exported = match (&file, &args.output) {
        (Some(file), Some(path)) => {
            let written = export(&args.database, BufWriter::new(file)).await;
            let kept = written.and_then(|rows| file.sync_all().map(|()| rows).map_err(anyhow::Error::from));
            if kept.is_err() {
                drop(fs::remove_file(path));
            }
            kept.with_context(|| format!("nothing was written to {}", path.display()))
        }
        _ => export(&args.database, BufWriter::new(io::stdout().lock())).await,
    };
    tracing::info!("exported {} rows", exported?);
    Ok(())
}

/// Password hashes are in it.
fn create(path: &Path) -> anyhow::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.with_context(|| format!("cannot make the file {}", path.display()))
}

async fn export(args: &DatabaseArgs, out: impl Write) -> anyhow::Result<i64> {
    let database = args.open_existing().await?;
    let progress = std::sync::Arc::default();
    let shown = Shown::new("export", std::sync::Arc::clone(&progress));
    let (sender, parts) = mpsc::channel(1000);
    let both = async { tokio::join!(archive::export(database.options.clone(), sender, progress), write(parts, out)) };
    let (read, written) = shown.during(both).await;
    database.stop().await?;
    // What ended the writing ended the reading too.
    let rows = written?;
    read?;
    Ok(rows)
}

async fn write(mut parts: mpsc::Receiver<Part>, mut out: impl Write) -> io::Result<i64> {
    let (mut announced, mut written) = (None, 0);
    while let Some(part) = parts.recv().await {
        match part {
            Part::Rows(rows) => {
                announced = Some(rows);
                writeln!(out, "{}{rows}}}", first_line())?;
            }
            Part::Row(relation, row) => {
                written += 1;
                writeln!(out, r#"{{"relation":"{}","row":{row}}}"#, relation.as_str())?;
            }
        }
    }
    // Only a whole export has its last line.
    if announced == Some(written) {
        writeln!(out, "{LAST_LINE}{written}}}")?;
    }
    out.flush()?;
    Ok(written)
}
