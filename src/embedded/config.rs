//! The settings of Postgres, written anew at each start so that they follow the service.

use super::account::{ourselves, set_mode};
use super::cluster::{DATABASE, OWNER, ROLE};
use super::error::{At, EmbeddedError};
use super::home::Home;
use super::socket::PORT;
use std::fs;
use std::path::{Path, PathBuf};

/// For both kinds of cluster. What `initdb` found out about the machine comes first.
const COMMON: &str = "\
# Written by hasami-ladder at each start; `alter system` is the place for own settings.
include_if_exists '../data/postgresql.conf'

listen_addresses = ''              # the socket only, nothing on the network
unix_socket_permissions = 0700     # the folder is private already; once more
max_connections = 100
restart_after_crash = on           # one killed backend: Postgres recovers by itself

shared_buffers = 256MB             # the rows of running games fit many times over
effective_cache_size = 1GB         # what the system caches besides, for the planner
work_mem = 8MB
random_page_cost = 1.1             # flash, not turning disks
max_parallel_workers_per_gather = 0  # short statements; the cores belong to the moves
min_dynamic_shared_memory = 16MB   # so that little of /dev/shm is used: it is small in
                                   # containers, and systemd empties it at a user's log-out

autovacuum_naptime = 10s           # small relations that change thousands of times a second
log_checkpoints = off              # the log is for what somebody should read
log_line_prefix = '%m [%p] '
log_timezone = 'UTC'
timezone = 'UTC'
lc_messages = 'C'                  # errors in English, whatever the machine speaks
";

/// Nothing acknowledged may be lost.
const DURABLE: &str = "
fsync = on
synchronous_commit = on
full_page_writes = on
wal_compression = on               # whole pages follow each checkpoint; a third of the bytes
max_wal_size = 2GB                 # fewer checkpoints under load; recovery stays within seconds
checkpoint_timeout = 10min
";

/// After a crash one flush of the file system, where a thousand files would be flushed one by one.
#[cfg(target_os = "linux")]
const AFTER_CRASH: &str = "recovery_init_sync_method = syncfs\n";
#[cfg(not(target_os = "linux"))]
const AFTER_CRASH: &str = "";

/// Nothing needs to be kept.
const TEMPORARY: &str = "
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 4GB                 # no checkpoint during a test run
checkpoint_timeout = 1h
max_connections = 300              # many tests at a time, each with a pool of its own
";

/// The written files.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) settings: PathBuf,
    pub(super) access: PathBuf,
    pub(super) idents: PathBuf,
}

impl Config {
    /// Writes the settings. They lie outside the cluster since that belongs to the user who
    /// runs Postgres, and root does not write in another's folder.
    pub(super) fn write(home: &Home, socket: &Path, temporary: bool) -> Result<Self, EmbeddedError> {
        let folder = home.path().join("conf");
        if !folder.is_dir() {
            fs::create_dir(&folder).at(&folder)?;
        }
        set_mode(&folder, 0o755)?;
        let own = if temporary { TEMPORARY.to_owned() } else { [DURABLE, AFTER_CRASH].concat() };
        // The folder's name is plain text, and so needs no quoting.
        let place = format!("\nport = {PORT}\nunix_socket_directories = '{}'\n", socket.display());
        // The kernel says who connects; only the user of this server is let in.
        let user = ourselves()?.name.replace('"', "\"\"");
        let access = "local all all peer map=ladder\n";
        let idents = format!("ladder \"{user}\" {ROLE}\nladder \"{user}\" {OWNER}\n");

        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).at(&path)?;
            set_mode(&path, 0o644)?;
            Ok(path)
        };
        Ok(Self {
            settings: write("postgresql.conf", &[COMMON, &own, &place].concat())?,
            access: write("pg_hba.conf", access)?,
            idents: write("pg_ident.conf", &idents)?,
        })
    }
}

/// The first statements in a new cluster. The service is not superuser: what a hole in it could
/// reach ends at its own database. It may make databases, which the tests do.
pub(super) fn first_statements() -> String {
    format!(
        "create role {ROLE} login createdb;\n\
         grant pg_monitor to {ROLE};\n\
         create database {DATABASE} owner {ROLE};\n"
    )
}
