//! Keeps the postmaster running until told to stop.

use super::cluster::Cluster;
use super::error::EmbeddedError;
use super::leftovers;
use super::postmaster::Postmaster;
use super::socket;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::{error, info, warn};

/// Waiting times between attempts double from the first up to the last.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LAST_DELAY: Duration = Duration::from_secs(5);

/// One that ran this long had nothing wrong with its start.
const STABLE: Duration = Duration::from_secs(10);

/// The task that owns the postmaster.
#[derive(Debug)]
pub(super) struct Supervisor {
    /// Dropping it is the order to stop.
    keep: oneshot::Sender<()>,
    task: JoinHandle<Result<(), EmbeddedError>>,
}

impl Supervisor {
    /// Starts the postmaster; an error of this first start is the caller's.
    pub(super) async fn start(cluster: Cluster) -> Result<Self, EmbeddedError> {
        let postmaster = Postmaster::start(&cluster).await?;
        let (keep, stop) = oneshot::channel();
        let task = tokio::spawn(supervise(cluster, postmaster, stop));
        Ok(Self { keep, task })
    }

    /// Stops the postmaster and waits for the end.
    pub(super) async fn stop(self) -> Result<(), EmbeddedError> {
        drop(self.keep);
        match self.task.await {
            Ok(result) => result,
            Err(error) => {
                // Only a panic or the end of the runtime gets here; Postgres was told to stop.
                error!("the supervision of Postgres ended: {error}");
                Ok(())
            }
        }
    }
}

async fn supervise(
    cluster: Cluster,
    postmaster: Postmaster,
    mut stop: oneshot::Receiver<()>,
) -> Result<(), EmbeddedError> {
    let mut current = Some(postmaster);
    tokio::select! {
        _ = &mut stop => {}
        never = keep_running(&cluster, &mut current) => match never {},
    }
    // One in the middle of its start was told to end when its future was dropped.
    let quickly = match current {
        Some(postmaster) => {
            postmaster.stop().await;
            true
        }
        None => cluster.temporary,
    };
    cluster.home.check()?;
    leftovers::end(&cluster.home.data(), quickly).await?;
    socket::remove(&cluster.home);
    if cluster.temporary {
        cluster.home.remove()?;
    }
    Ok(())
}

/// Starts the postmaster again whenever it ends, for ever: the service answers 503 meanwhile,
/// and is back by itself when the cause is gone, be it a full disk.
async fn keep_running(cluster: &Cluster, current: &mut Option<Postmaster>) -> Infallible {
    let mut delay = Duration::ZERO;
    loop {
        if let Some(postmaster) = current {
            let began = Instant::now();
            let how = until_it_ends(postmaster).await;
            error!("Postgres ended by itself ({how}), the log says:\n{}", postmaster.log.tail());
            *current = None;
            if began.elapsed() > STABLE {
                delay = Duration::ZERO;
            }
        }
        sleep(delay).await;
        delay = (delay * 2).clamp(FIRST_DELAY, LAST_DELAY);
        let began = Instant::now();
        match Postmaster::start(cluster).await {
            Ok(postmaster) => {
                info!("Postgres runs again (after {:.0?})", began.elapsed());
                *current = Some(postmaster);
            }
            Err(error) => warn!("next attempt in {delay:.0?}: {error}"),
        }
    }
}

/// Waits for the end of the postmaster, keeping its log small.
async fn until_it_ends(postmaster: &mut Postmaster) -> String {
    let mut minutes = interval(Duration::from_secs(60));
    minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = postmaster.ended() => {
                return ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            }
            _ = minutes.tick() => postmaster.log.bound(),
        }
    }
}
