//! `import`: reads an export into an empty database.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail};
use clap::Args;
use tokio::sync::mpsc;

use super::export::{LAST_LINE, first_line};
use super::progress::Shown;
use hasami_ladder::config::DatabaseArgs;
use hasami_ladder::ladder::archive::{self, ImportError, Line};
use hasami_ladder::ladder::verify::Progress;
use hasami_ladder::store;
use hasami_ladder::store::archive::Relation;

/// Where from.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// The file to read; standard input if none is named
    #[arg(long)]
    input: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Imports.
///
/// # Errors
/// The database is not empty, or a line does not fit; then nothing is changed.
pub async fn run(args: ImportArgs) -> anyhow::Result<()> {
    let input: Box<dyn BufRead + Send> = match &args.input {
        Some(path) => {
            Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot read {}", path.display()))?))
        }
        None => Box::new(BufReader::new(io::stdin())),
    };
    let database = args.database.open_beside().await?;
    let imported = import(&database, input).await;
    database.stop().await?;
    let counts = imported.context("nothing was imported")?;
    let each = Relation::ALL.iter().zip(counts).map(|(relation, rows)| format!("{rows} {}", relation.as_str()));
    tracing::info!("imported {}", each.collect::<Vec<_>>().join(", "));
    Ok(())
}

async fn import(
    database: &hasami_ladder::config::Database,
    input: Box<dyn BufRead + Send>,
) -> anyhow::Result<[i64; 5]> {
    store::migrate(database.options.clone()).await.context("cannot bring the database's schema up to date")?;
    let progress = Arc::<Progress>::default();
    let shown = Shown::new("import", progress.clone());
    let (sender, lines) = mpsc::channel(1000);
    let total = progress.clone();
    // On a thread of its own, for a read of a terminal cannot be given up.
    let (done, read) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || drop(done.send(read_lines(input, &sender, &total))));
    match shown.during(archive::import(database.options.clone(), lines, progress)).await {
        // The reader knows why.
        Err(ImportError::Incomplete) => match read.await {
            Ok(Err(error)) => Err(error),
            _ => Err(ImportError::Incomplete.into()),
        },
        imported => Ok(imported?),
    }
}

/// Takes the lines apart and hands them on, until the last or until nobody wants more.
fn read_lines(input: impl BufRead, lines: &mpsc::Sender<Line>, progress: &Progress) -> anyhow::Result<()> {
    let mut expected = None;
    let mut rows = 0;
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.with_context(|| format!("line {number}"))?;
        let Some(announced) = expected else {
            let announced = count(&line, &first_line()).with_context(|| {
                format!("line 1 is {}, but this program reads exports that begin with {}", start(&line), first_line())
            })?;
            progress.total.store(announced, Ordering::Relaxed);
            expected = Some(announced);
            continue;
        };
        let part = match (count(&line, LAST_LINE), row(&line)) {
            (Some(end), _) if end == rows && end == announced => Line::End,
            (Some(end), _) => {
                bail!("line {number}: {announced} rows were announced and {end} written, but {rows} are here")
            }
            (None, Some((relation, row))) => Line::Row { number, relation, row: row.to_owned() },
            (None, None) => bail!("line {number}: {} is no line of an export", start(&line)),
        };
        rows += 1;
        let end = matches!(part, Line::End);
        // Nobody listens where the import has failed already.
        if lines.blocking_send(part).is_err() || end {
            return Ok(());
        }
    }
    bail!("the input ends after {rows} rows, without its last line")
}

/// The number that follows `before` in a line.
fn count(line: &str, before: &str) -> Option<i64> {
    line.strip_prefix(before)?.strip_suffix('}')?.parse().ok()
}

fn row(line: &str) -> Option<(Relation, &str)> {
    let (name, row) = line.strip_prefix(r#"{"relation":""#)?.split_once(r#"","row":"#)?;
    let relation = Relation::ALL.into_iter().find(|relation| relation.as_str() == name)?;
    Some((relation, row.strip_suffix('}')?))
}

/// Enough of a line to know it by.
fn start(line: &str) -> String {
    let start: String = line.chars().take(60).collect();
    if start.len() < line.len() { format!("{start:?}...") } else { format!("{start:?}") }
}
