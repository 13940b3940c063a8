//! A cluster for somebody else: the tests, or an operator at a terminal.

use super::cluster::Cluster;
use super::error::{At, EmbeddedError};
use super::home::Home;
use super::{Settings, TEMPORARY_PREFIX, leftovers, run, socket};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tracing::{info, warn};

/// Keeps a cluster for as long as standard input is open: starts it, prints its URL as the one
/// line on standard output, waits for the end of input or for SIGINT, SIGTERM or SIGHUP, and
/// stops it. The input ends with the process that holds its other end, however that dies.
///
/// A temporary cluster is removed, and so are those that killed holders left behind.
///
/// # Errors
///
/// As [`super::start`] and [`super::Embedded::stop`], and when the line cannot be printed.
pub async fn hold(settings: Settings) -> Result<(), EmbeddedError> {
    if settings.temporary
        && let Some(parent) = settings.data_dir.parent()
    {
        sweep(parent).await;
    }
    // Up to here, in a download too, a signal just ends the process: nothing runs yet.
    let cluster = Cluster::prepare(&settings).await?;
    let stdin = Path::new("standard input");
    let mut interrupt = signal(SignalKind::interrupt()).at(stdin)?;
    let mut terminate = signal(SignalKind::terminate()).at(stdin)?;
    let mut hangup = signal(SignalKind::hangup()).at(stdin)?;

    let embedded = run(cluster).await?;
    let printed = writeln!(io::stdout(), "{}", embedded.url()).and_then(|()| io::stdout().flush());
    let why = match &printed {
        Ok(()) => tokio::select! {
            _ = end_of_input() => "the input ended",
            () = arrives(&mut interrupt) => "interrupted",
            () = arrives(&mut terminate) => "terminated",
            () = arrives(&mut hangup) => "the terminal was closed",
        },
        Err(_) => "nobody reads the URL",
    };
    info!("stopping Postgres: {why}");
    embedded.stop().await?;
    printed.at(Path::new("standard output"))
}

async fn arrives(signal: &mut Signal) {
    signal.recv().await;
}

/// On a thread, for a read of a terminal cannot be given up, and tokio's would keep the process
/// from ending.
async fn end_of_input() {
    let (ended, wait) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        let mut stdin = io::stdin();
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
                _ => {}
            }
        }
        drop(ended);
    });
    let _ = wait.await;
}

/// Ends and removes temporary clusters whose holder was killed.
async fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
            continue;
        }
        // Taking its lock shows that the holder is gone.
        let Some(home) = Home::abandoned(&entry.path()) else {
            continue;
        };
        if let Err(error) = leftovers::end(&home.data(), true).await {
            warn!("{error}");
            continue;
        }
        socket::remove(&home);
        match home.remove() {
            Ok(()) => info!("removed {}, left behind by a killed holder", entry.path().display()),
            Err(error) => warn!("{error}"),
        }
    }
}
