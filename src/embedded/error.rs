//! Everything that can go wrong with the embedded Postgres, each told with what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why the embedded Postgres could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The data folder cannot be made or written to.
    #[error("cannot write in the data folder {}: {source}; make it writable for this user or choose another with --data-dir", path.display())]
    DataDir { path: PathBuf, source: io::Error },

    /// Another server holds the data folder.
    #[error("another server{} is running on the data folder {}; stop it first, or choose another folder with --data-dir", holder(*pid), path.display())]
    Locked { path: PathBuf, pid: Option<i32> },

    /// The data folder went away under the running server.
    #[error("the data folder {} was removed or replaced while this server runs on it; restart the server", path.display())]
    Replaced { path: PathBuf },

    /// A file or folder that must be ours belongs to another user.
    #[error("{} belongs to the user {owner}; start the server as that user, or choose another folder with --data-dir", path.display())]
    ForeignOwner { path: PathBuf, owner: String },

    /// Running as root, and no user is there to run Postgres, which refuses root.
    #[error(
        "Postgres refuses to run as root and this machine has neither a user postgres nor nobody; start the server as an ordinary user or set DATABASE_URL"
    )]
    NoAccount,

    /// The name of the user of this process is unknown.
    #[error("user id {uid} has no name on this machine, which Postgres needs; add the user or set DATABASE_URL")]
    NamelessUser { uid: u32 },

    /// The unprivileged user cannot get at the cluster.
    #[error("the user {user} cannot reach {}; give others the right to pass through its parent folders (chmod o+x), or choose another folder with --data-dir", path.display())]
    Unreachable { path: PathBuf, user: String },

    /// The folder given for the binaries does not serve.
    #[error("{} holds no usable Postgres{}: initdb and postgres must be there, of version 14 or newer, executable for the user who runs them", path.display(), wanted(*needed))]
    BadBinaries { path: PathBuf, needed: Option<u32> },

    /// Nothing fitting is installed, and the download failed.
    #[error(
        "no Postgres is installed here, and fetching it from {project} failed: {reason}; install it (apt-get install postgresql), or set DATABASE_URL to use a running one"
    )]
    NoBinaries { project: String, reason: String },

    /// The cluster was made by a major version that is not installed.
    #[error("the cluster in {} was made by PostgreSQL {needed}, which is not installed (found: {found}), and fetching it failed: {reason}; install that version (apt-get install postgresql-{needed}); to move on to a newer one, dump with the old version (pg_dump), move the folder away, start the server once and restore", path.display())]
    MissingMajor { path: PathBuf, needed: u32, found: String, reason: String },

    /// `initdb` or the first set-up failed.
    #[error("making the database cluster in {} failed:\n{output}", path.display())]
    Init { path: PathBuf, output: String },

    /// Postgres ended before it was ready.
    #[error("Postgres did not start; the end of {} says:\n{tail}", log.display())]
    Start { log: PathBuf, tail: String },

    /// Processes of an earlier Postgres do not go away.
    #[error("an earlier Postgres on {} does not end (process {pid}); end it and try again", path.display())]
    StillRunning { path: PathBuf, pid: i32 },

    /// No folder was found in which a socket can be made.
    #[error("no folder for the database socket: neither {} nor /run, /tmp or /var/tmp allows one", path.display())]
    NoSocket { path: PathBuf },

    /// Any other refusal of the system.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn holder(pid: Option<i32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

fn wanted(major: Option<u32>) -> String {
    major.map(|major| format!(" {major}, which made the cluster")).unwrap_or_default()
}

/// Names the path in an I/O error, which by itself does not say it.
pub(super) trait At<T> {
    fn at(self, path: &Path) -> Result<T, EmbeddedError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, EmbeddedError> {
        self.map_err(|source| EmbeddedError::Io { path: path.to_path_buf(), source })
    }
}
