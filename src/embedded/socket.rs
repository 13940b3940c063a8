//! The private folder of the database socket.
//!
//! Nobody else can connect: the folder has mode 0700 and belongs to the user who runs Postgres,
//! so only that user and root get as far as the socket; and of those `pg_hba.conf` lets in none
//! but the user of this server, whom the kernel names (peer).

use super::account::Account;
use super::error::EmbeddedError;
use super::home::{Home, fingerprint};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The port is part of the socket's name and has no other meaning here.
pub(super) const PORT: u16 = 5432;

/// The folder for the socket: in the home, or in a short place if that path is too long for a
/// socket (107 bytes), not plain text, or on a file system that has no sockets.
pub(super) fn place(home: &Home) -> Result<PathBuf, EmbeddedError> {
    let inside = home.path().join("socket");
    let candidates = plain(&inside).then_some(inside).into_iter().chain(outside(home));
    for folder in candidates {
        if private(&folder, home.account()) && holds_sockets(&folder) {
            return Ok(folder);
        }
    }
    Err(EmbeddedError::NoSocket { path: home.path().to_path_buf() })
}

/// Removes a folder that `place` made outside the home.
pub(super) fn remove(home: &Home) {
    for folder in outside(home) {
        if is_private(&folder, home.account()) {
            // A leftover does no harm: the next start uses it again.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// `/run` is root's alone. A user's `XDG_RUNTIME_DIR` would go away with the last log-in.
fn outside(home: &Home) -> impl Iterator<Item = PathBuf> {
    let name = format!("hasami-ladder-{:016x}", fingerprint(home.path()));
    let bases: &[&str] =
        if home.account().is_foreign() { &["/run", "/tmp", "/var/tmp"] } else { &["/tmp", "/var/tmp"] };
    bases.iter().map(move |base| Path::new(base).join(&name))
}

/// Whether the path needs no quoting in settings, URLs and shells.
fn plain(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(b))
}

/// Makes the folder unless it is there; in `/tmp` somebody else may have made it first.
fn private(folder: &Path, account: &Account) -> bool {
    account.make_private(folder).is_ok() || is_private(folder, account)
}

fn is_private(folder: &Path, account: &Account) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == account.uid() && found.permissions().mode() & 0o777 == 0o700
    })
}

/// Tries a name as long as the one that Postgres will use, `.s.PGSQL.5432`.
fn holds_sockets(folder: &Path) -> bool {
    let probe = folder.join(".s.probe.5432");
    let _ = fs::remove_file(&probe);
    let works = UnixListener::bind(&probe).is_ok();
    let _ = fs::remove_file(&probe);
    works
}
