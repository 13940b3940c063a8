//! Processes of an earlier Postgres on the same cluster: found for certain, and ended.
//!
//! After `kill -9` of the server its postmaster runs on; after `kill -9` of that, backends may
//! still hold the shared memory, and a new postmaster refuses to start beside them.

use super::error::{At, EmbeddedError};
use super::socket::PORT;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tracing::info;

/// How a running Postgres is asked to end, and for how long before it is asked more harshly.
/// For a postmaster: fast shutdown with a checkpoint, immediate shutdown, and the axe; for a
/// backend without one: cancel the statement, after which it sees that its postmaster is gone,
/// then end. All of them are safe for what was committed.
const HARSHER: [(Signal, Duration); 3] = [
    (Signal::SIGINT, Duration::from_secs(60)),
    (Signal::SIGQUIT, Duration::from_secs(10)),
    (Signal::SIGKILL, Duration::from_secs(10)),
];

/// Orphaned backends have nothing to write at their end.
const ORPHANS_PATIENCE: Duration = Duration::from_secs(2);

/// Ends every Postgres process on this cluster. `quickly` skips the checkpoint.
pub(super) async fn end(data: &Path, quickly: bool) -> Result<(), EmbeddedError> {
    let mut left = processes(data);
    if left.is_empty() {
        return Ok(());
    }
    let began = Instant::now();
    for (signal, patience) in HARSHER.into_iter().skip(usize::from(quickly)) {
        let postmaster = pid_in_file(data).filter(|pid| left.contains(pid));
        let (targets, patience) = match postmaster {
            // It ends its backends itself, in order.
            Some(pid) if signal != Signal::SIGKILL => (vec![pid], patience),
            Some(_) => (left.clone(), patience),
            None => (left.clone(), patience.min(ORPHANS_PATIENCE)),
        };
        info!(?targets, %signal, "ending an earlier Postgres on {}", data.display());
        for pid in &targets {
            // Looked at again at the last moment: it may have ended since.
            if is_on(*pid, data) {
                let _ = kill(*pid, signal);
            }
        }
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            left = processes(data);
            if left.is_empty() {
                info!("it ended after {:.0?}", began.elapsed());
                return Ok(());
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
    let pid = left.first().map_or(0, |pid| pid.as_raw());
    Err(EmbeddedError::StillRunning { path: data.to_path_buf(), pid })
}

/// Whether any Postgres process is on this cluster.
pub(super) fn any(data: &Path) -> bool {
    !processes(data).is_empty()
}

/// Removes the marks of an earlier postmaster which a new one would misjudge; nothing may be
/// running on the cluster any more. Both name a pid, and a pid that is alive, or dead but not
/// yet collected, counts for Postgres, whoever has it now.
pub(super) fn forget(data: &Path, socket: &Path) -> Result<(), EmbeddedError> {
    // If the pid is free, Postgres does the rest of its checks with this file: keep it for that.
    if let Some(pid) = pid_in_file(data).filter(|pid| kill(*pid, None).is_ok()) {
        info!("postmaster.pid names process {pid}, which is not our Postgres: removed");
        remove(&data.join("postmaster.pid"))?;
    }
    remove(&socket.join(format!(".s.PGSQL.{PORT}.lock")))
}

fn remove(path: &Path) -> Result<(), EmbeddedError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at(path),
        _ => Ok(()),
    }
}

/// The pid in `postmaster.pid`.
pub(super) fn pid_in_file(data: &Path) -> Option<Pid> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid: i32 = text.lines().next()?.trim().parse().ok()?;
    // Zero and negative ones mean whole groups to kill(2).
    (pid > 1).then(|| Pid::from_raw(pid))
}

/// The postmaster and backends on this cluster. Each has it as its working directory.
fn processes(data: &Path) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        // No such view on this system: the file alone tells.
        return pid_in_file(data).filter(|pid| is_on(*pid, data)).into_iter().collect();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|pid| is_on(*pid, data))
        .collect()
}

/// Whether a process is a Postgres on this cluster. The pid alone says nothing: it may have
/// been given to another process, after a reboot to any. The dead but not yet collected don't
/// count, for they have no working directory.
fn is_on(pid: Pid, data: &Path) -> bool {
    let proc = Path::new("/proc").join(pid.to_string());
    if !Path::new("/proc/self").exists() {
        return args_name(pid, data);
    }
    let (Ok(cwd), Ok(data)) = (fs::metadata(proc.join("cwd")), fs::metadata(data)) else {
        return false;
    };
    let same_folder = cwd.dev() == data.dev() && cwd.ino() == data.ino();
    same_folder && fs::read_to_string(proc.join("comm")).is_ok_and(|name| name.trim() == "postgres")
}

/// Without `/proc`: whether the command line of the process is a `postgres` on this folder.
fn args_name(pid: Pid, data: &Path) -> bool {
    let ps = Command::new("ps").args(["-ww", "-o", "args=", "-p", &pid.to_string()]).output();
    ps.is_ok_and(|output| {
        let args = String::from_utf8_lossy(&output.stdout).into_owned();
        args.contains("postgres") && args.contains(&*data.to_string_lossy())
    })
}
