//! One running postmaster, our child.

use super::cluster::Cluster;
use super::error::{At, EmbeddedError};
use super::leftovers;
use super::log::Log;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// How often a start that collided with an earlier Postgres is tried.
const COLLISIONS: usize = 5;

/// A fast shutdown writes out what is dirty; on a slow disk that takes a while.
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// The running postmaster. Dropped without `stop` it is told to end, but not waited for.
#[derive(Debug)]
pub(super) struct Postmaster {
    child: Child,
    pub(super) log: Log,
    /// Fast shutdown, or immediate for a cluster that nobody needs afterwards.
    stop_signal: Signal,
}

impl Postmaster {
    /// Starts the postmaster and waits until it takes connections; an earlier one on the same
    /// cluster is ended first.
    pub(super) async fn start(cluster: &Cluster) -> Result<Self, EmbeddedError> {
        let data = cluster.home.data();
        let mut collisions = 0;
        loop {
            cluster.home.check()?;
            leftovers::end(&data, cluster.temporary).await?;
            leftovers::forget(&data, &cluster.socket)?;
            let log = Log::open(cluster.home.log())?;
            let mut command = Command::from(cluster.postmaster(&log)?);
            // In a group of its own, so that Ctrl-C in the terminal reaches the server alone,
            // which stops Postgres when its own work is done.
            let child = command.process_group(0).spawn().at(&data)?;
            let stop_signal = if cluster.temporary { Signal::SIGQUIT } else { Signal::SIGINT };
            let mut postmaster = Self { child, log, stop_signal };
            let Some(status) = postmaster.ready(&data).await.at(&data)? else {
                return Ok(postmaster);
            };
            // One that had just been started by a server killed since shows up only now.
            collisions += 1;
            if collisions < COLLISIONS && leftovers::any(&data) {
                continue;
            }
            let tail = match postmaster.log.tail() {
                tail if tail.is_empty() => status.to_string(),
                tail => tail,
            };
            return Err(EmbeddedError::Start { log: cluster.home.log(), tail });
        }
    }

    /// Waits until connections are taken, for as long as the process lives, since recovery
    /// after a crash takes the time it takes. Gives the status if it ended instead.
    async fn ready(&mut self, data: &Path) -> io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        let mut told = Duration::ZERO;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if self.child.id().is_some_and(|id| says_ready(data, id)) {
                return Ok(None);
            }
            if began.elapsed() > told + Duration::from_secs(5) {
                told = began.elapsed();
                info!("Postgres is still starting after {told:.0?}, see {}", self.log.path().display());
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the postmaster ends.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Tells the postmaster to end and waits for it; not for ever.
    pub(super) async fn stop(mut self) {
        self.signal(self.stop_signal);
        if timeout(STOP_PATIENCE, self.child.wait()).await.is_err() {
            warn!("Postgres has not stopped within {STOP_PATIENCE:?}, see {}", self.log.path().display());
        }
    }

    fn signal(&self, signal: Signal) {
        // Without an id it was waited for, and the number may be another's by now.
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = kill(Pid::from_raw(id), signal);
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        self.signal(self.stop_signal);
    }
}

/// The postmaster keeps its state in line 8 of `postmaster.pid`, for `pg_ctl` and for us.
fn says_ready(data: &Path, id: u32) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else {
        return false;
    };
    let mut lines = text.lines();
    let ours = lines.next().is_some_and(|pid| pid.trim() == id.to_string());
    ours && lines.nth(6).is_some_and(|state| state.starts_with("ready"))
}
