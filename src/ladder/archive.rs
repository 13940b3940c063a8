//! A database as lines of text, and back: rows go out in the order of their keys and come in as one change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::TryStreamExt as _;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::mpsc;

use super::verify::Progress;
use crate::error::{Error, Result};
use crate::store::archive::{self, Relation};
use crate::store::snapshot::Snapshot;

/// Rows added by one statement, at most, and their bytes.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

/// What an export consists of.
#[derive(Debug)]
pub enum Part {
    /// The first: how many rows follow.
    Rows(i64),
    /// A row as a JSON object.
    Row(Relation, String),
}

/// Reads all that lasts in one state of the database.
///
/// # Errors
/// The database cannot be read, or nobody takes the rows.
pub async fn export(options: PgConnectOptions, parts: mpsc::Sender<Part>, progress: Arc<Progress>) -> Result<()> {
    let snapshot = Snapshot::take(options, "hasami-ladder export").await?;
    let mut conn = snapshot.connect().await?;
    let rows = archive::count(&mut conn).await?.iter().sum();
    progress.total.store(rows, Ordering::Relaxed);
    let gone = |_| Error::Internal("nobody takes the rows any more".to_owned());
    parts.send(Part::Rows(rows)).await.map_err(gone)?;
    for relation in Relation::ALL {
        let mut rows = archive::rows(&mut conn, relation);
        while let Some(row) = rows.try_next().await? {
            parts.send(Part::Row(relation, row)).await.map_err(gone)?;
            progress.add(1);
        }
    }
    Ok(())
}

/// A line of an export to be read.
#[derive(Debug)]
pub enum Line {
    /// A row.
    Row {
        /// Which line it is, for the one who has to look.
        number: u64,
        /// Of which relation.
        relation: Relation,
        /// Its JSON object.
        row: String,
    },
    /// Nothing is missing.
    End,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Something is there already.
    #[error("the database is not empty: it has {0} rows; import into a new one")]
    NotEmpty(i64),
    /// A line that is no row of this schema.
    #[error("line {number}: {why}")]
    Line {
        /// Which.
        number: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The lines stopped before their end.
    #[error("the input is not complete")]
    Incomplete,
    /// The database.
    #[error(transparent)]
    Database(#[from] Error),
}

/// Adds all rows to an empty database, and counts its ranks; how many of each relation. All or nothing.
///
/// # Errors
/// A line does not fit, or there are rows already.
pub async fn import(
    options: PgConnectOptions,
    mut lines: mpsc::Receiver<Line>,
    progress: Arc<Progress>,
) -> Result<[i64; 5], ImportError> {
    let mut conn = archive::begin(options, "hasami-ladder import").await?;
    archive::lock(&mut conn).await?;
    let there: i64 = archive::count(&mut conn).await?.iter().sum();
    if there != 0 {
        return Err(ImportError::NotEmpty(there));
    }
    let mut batch = Batch::default();
    loop {
        match lines.recv().await {
            Some(Line::Row { number, relation, row }) => {
                if batch.is_full(relation) {
                    batch.write(&mut conn, &progress).await?;
                }
                batch.add(number, relation, row);
            }
            Some(Line::End) => break,
            None => return Err(ImportError::Incomplete),
        }
    }
    batch.write(&mut conn, &progress).await?;
    archive::recount_ranks(&mut conn).await?;
    archive::analyze(&mut conn).await?;
    let counts = archive::count(&mut conn).await?;
    archive::commit(conn).await?;
    Ok(counts)
}

/// Rows of one relation that go in together.
#[derive(Debug, Default)]
struct Batch {
    relation: Option<Relation>,
    rows: Vec<(u64, String)>,
    bytes: usize,
}

impl Batch {
    /// Whether a row of this relation must wait for the next batch.
    fn is_full(&self, relation: Relation) -> bool {
        self.rows.len() >= BATCH || self.bytes >= BATCH_BYTES || self.relation.is_some_and(|own| own != relation)
    }

    fn add(&mut self, number: u64, relation: Relation, row: String) {
        self.relation = Some(relation);
        self.bytes += row.len();
        self.rows.push((number, row));
    }

    /// Writes and empties it. Where it does not go in as a whole, row by row, to find the one that does not fit.
    async fn write(&mut self, conn: &mut PgConnection, progress: &Progress) -> Result<(), ImportError> {
        let Self { relation, rows, .. } = std::mem::take(self);
        let Some(relation) = relation else { return Ok(()) };
        archive::mark(conn).await?;
        let array = format!("[{}]", rows.iter().map(|(_, row)| row.as_str()).collect::<Vec<_>>().join(","));
        match archive::insert(conn, relation, &array).await {
            Ok(added) if added == rows.len() as u64 => archive::unmark(conn).await?,
            Err(error @ Error::Unavailable(_)) => return Err(error.into()),
            _ => {
                archive::go_back(conn).await?;
                for (number, row) in &rows {
                    write_one(conn, *number, relation, row).await?;
                }
            }
        }
        progress.add(rows.len());
        Ok(())
    }
}

async fn write_one(conn: &mut PgConnection, number: u64, relation: Relation, row: &str) -> Result<(), ImportError> {
    let why = match archive::insert(conn, relation, &format!("[{row}]")).await {
        Ok(1) => return Ok(()),
        Ok(_) => {
            let name = relation.as_str();
            format!("no row of {name} as this program writes it: a column is missing, unknown, or in another form")
        }
        Err(error @ Error::Unavailable(_)) => return Err(error.into()),
        Err(error) => error.to_string(),
    };
    Err(ImportError::Line { number, why })
}
