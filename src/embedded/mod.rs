//! The server's own Postgres: found or fetched, made, started, kept running, stopped.
//!
//! The cluster lives in the data folder, is reached by a Unix socket in a private folder only,
//! and is durable unless asked to be temporary. As root, Postgres runs as an unprivileged user.

mod account;
mod binaries;
mod cluster;
mod config;
mod error;
mod hold;
mod home;
mod leftovers;
mod log;
mod postmaster;
mod socket;
mod supervisor;

use cluster::{Cluster, DATABASE, ROLE};
use socket::PORT;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::env;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use supervisor::Supervisor;
use tracing::info;

pub use error::EmbeddedError;
pub use hold::hold;

/// What to start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder, made if missing. Its lock and the cluster are kept in it.
    pub data_dir: PathBuf,
    /// Not durable, and removed when stopped.
    pub temporary: bool,
    /// The programs to use.
    pub binaries: Binaries,
}

impl Settings {
    /// A durable cluster in a data folder.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: data_dir.into(), temporary: false, binaries: Binaries::default() }
    }

    /// A throw-away cluster in a folder of its own below the system's temporary one.
    #[must_use]
    pub fn temporary() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{TEMPORARY_PREFIX}{}-{:x}", std::process::id(), since.as_nanos());
        Self { temporary: true, ..Self::new(env::temp_dir().join(name)) }
    }
}

/// How folders of throw-away clusters are called; those left behind are found by it.
const TEMPORARY_PREFIX: &str = "hasami-ladder-temporary-";

/// Which programs of Postgres to use.
#[derive(Clone, Debug, Default)]
pub enum Binaries {
    /// Installed ones if there are any that fit, else fetched ones.
    #[default]
    Any,
    /// Those in this folder and no others.
    In(PathBuf),
    /// Fetched ones, whatever is installed.
    Fetched,
}

/// A running Postgres. Dropped without [`Embedded::stop`] it is stopped all the same, but
/// nobody waits for it.
#[derive(Debug)]
pub struct Embedded {
    socket: PathBuf,
    data: PathBuf,
    supervisor: Supervisor,
}

/// Starts the Postgres of a data folder, makes its cluster first if there is none, and keeps it
/// running: should it end by itself it is started again, until [`Embedded::stop`].
///
/// Must be called within a tokio runtime, which then runs the supervision.
///
/// # Errors
///
/// When another server holds the folder, the folder or the programs cannot be used, or Postgres
/// does not start. The messages say what to do.
pub async fn start(settings: Settings) -> Result<Embedded, EmbeddedError> {
    run(Cluster::prepare(&settings).await?).await
}

async fn run(cluster: Cluster) -> Result<Embedded, EmbeddedError> {
    let began = Instant::now();
    cluster.make_if_missing().await?;
    let socket = cluster.socket.clone();
    let data = cluster.home.data();
    let supervisor = Supervisor::start(cluster).await?;
    let embedded = Embedded { socket, data, supervisor };
    info!("Postgres runs on {} (after {:.0?}); psql '{}'", embedded.data.display(), began.elapsed(), embedded.url());
    Ok(embedded)
}

impl Embedded {
    /// How to connect. Stays the same for the life of the process, also over restarts of
    /// Postgres.
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        self.connect_options_for(DATABASE)
    }

    /// How to connect to another database of the cluster.
    #[must_use]
    pub fn connect_options_for(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.socket)
            .port(PORT)
            .username(ROLE)
            .database(database)
            .ssl_mode(PgSslMode::Disable)
    }

    /// The same as a URL, for sqlx, `psql` and everything made with libpq.
    #[must_use]
    pub fn url(&self) -> String {
        // The folder's name is plain text, see `socket::place`.
        format!("postgres://{ROLE}@localhost:{PORT}/{DATABASE}?host={}", self.socket.display())
    }

    /// Where the cluster is.
    #[must_use]
    pub fn data(&self) -> &std::path::Path {
        &self.data
    }

    /// Stops Postgres and waits until it has ended; open connections are closed. A temporary
    /// cluster is removed.
    ///
    /// # Errors
    ///
    /// When Postgres does not end, or the temporary cluster cannot be removed.
    pub async fn stop(self) -> Result<(), EmbeddedError> {
        self.supervisor.stop().await
    }
}
