//! Where the cluster lives, and the lock that keeps a second server away.
//!
//! ```text
//! DATA_DIR/server.lock     held by the running server, holds its pid
//! DATA_DIR/postgres/       the home; or a link to one under /var/lib/hasami-ladder
//!   data/                  the cluster, owned by the user who runs Postgres
//!   conf/                  its settings, rewritten at each start
//!   socket/                the socket, if the path is short and plain enough
//!   binaries/              downloaded programs, if none were installed
//!   postgres.log           what Postgres says
//! ```

use super::account::{Account, folder_mode, ours, set_mode};
use super::error::{At, EmbeddedError};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use tracing::info;

/// Homes of data folders that the unprivileged user of root's cannot reach.
const OUTSIDE: &str = "/var/lib/hasami-ladder";

/// The cluster's folder, locked for as long as this lives.
#[derive(Debug)]
pub(super) struct Home {
    data_dir: PathBuf,
    path: PathBuf,
    account: Account,
    /// Closing these files ends the locks. They are opened close-on-exec, so Postgres does not
    /// go on holding them when we are gone.
    locks: Vec<(PathBuf, File)>,
}

impl Home {
    /// Makes or finds the home that belongs to a data folder, and locks it.
    pub(super) fn open(data_dir: &Path) -> Result<Self, EmbeddedError> {
        let unusable = |source| EmbeddedError::DataDir { path: data_dir.to_path_buf(), source };
        if !data_dir.is_dir() {
            make_folder(data_dir).map_err(unusable)?;
            set_mode(data_dir, folder_mode())?;
        }
        let data_dir = data_dir.canonicalize().map_err(unusable)?;
        let mut locks = vec![lock(&data_dir)?];

        let link = data_dir.join("postgres");
        let (path, account) = match fs::symlink_metadata(&link) {
            Ok(found) => {
                ours(&link)?;
                let path = if found.is_symlink() { fs::read_link(&link).at(&link)? } else { link };
                let account = account_for(&path)?;
                (path, account)
            }
            Err(_) => {
                let account = Account::for_new_cluster()?;
                if account.can_enter(&data_dir) {
                    (link, account)
                } else {
                    // The link, not the path or its rights, decides from now on: should the
                    // folder open up later, the cluster is still found where it was made.
                    let path = Path::new(OUTSIDE).join(outside_name(&data_dir));
                    symlink(&path, &link).at(&link)?;
                    let account = account_for(&path)?;
                    (path, account)
                }
            }
        };
        if !path.is_dir() {
            make_folder(&path).at(&path)?;
            set_mode(&path, folder_mode())?;
        }
        ours(&path)?;
        // A copied data folder may have a copied link: its server must not share this cluster.
        locks.push(lock(&path)?);
        if !path.starts_with(&data_dir) {
            info!(
                "the user {} cannot enter {}, so the database lives in {}",
                account.name(),
                data_dir.display(),
                path.display()
            );
        }
        if !account.can_enter(&path) {
            return Err(EmbeddedError::Unreachable { path, user: account.name().to_owned() });
        }
        Ok(Self { data_dir, path, account, locks })
    }

    /// The home left behind by a server that is gone; `None` if its server still runs.
    pub(super) fn abandoned(data_dir: &Path) -> Option<Self> {
        ours(data_dir).ok()?;
        // A server just starting has made its lock file but not yet written its pid.
        holder(&data_dir.join("server.lock"))?;
        Self::open(data_dir).ok()
    }

    /// Whether the folder is still the one that was locked. If it was removed or replaced under
    /// us, whatever runs at its path now belongs to another server.
    pub(super) fn check(&self) -> Result<(), EmbeddedError> {
        for (path, file) in &self.locks {
            let held = file.metadata().at(path)?;
            let same = |found: fs::Metadata| found.dev() == held.dev() && found.ino() == held.ino();
            if !fs::metadata(path).is_ok_and(same) {
                return Err(EmbeddedError::Replaced { path: self.data_dir.clone() });
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn account(&self) -> &Account {
        &self.account
    }

    /// The cluster itself.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    /// The major version that made the cluster; `None` before there is one.
    pub(super) fn major(&self) -> Result<Option<u32>, EmbeddedError> {
        let path = self.data().join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().parse().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at(&path),
        }
    }

    /// Removes the home, and the data folder too if nothing else is in it.
    pub(super) fn remove(self) -> Result<(), EmbeddedError> {
        fs::remove_dir_all(&self.path).at(&self.path)?;
        let link = self.data_dir.join("postgres");
        if link.is_symlink() {
            fs::remove_file(&link).at(&link)?;
        }
        let lock = self.data_dir.join("server.lock");
        fs::remove_file(&lock).at(&lock)?;
        match fs::remove_dir(&self.data_dir) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error).at(&self.data_dir),
            _ => Ok(()),
        }
    }
}

fn account_for(home: &Path) -> Result<Account, EmbeddedError> {
    let data = home.join("data");
    if data.is_dir() { Account::of_cluster(&data) } else { Account::for_new_cluster() }
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(folder_mode()).create(path)
}

/// Takes the lock of a folder, or says who has it.
fn lock(folder: &Path) -> Result<(PathBuf, File), EmbeddedError> {
    let path = folder.join("server.lock");
    let unusable = |source| EmbeddedError::DataDir { path: folder.to_path_buf(), source };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(EmbeddedError::Locked { path: folder.to_path_buf(), pid: holder(&path) });
        }
        Err(TryLockError::Error(source)) => return Err(unusable(source)),
    }
    file.set_len(0).map_err(unusable)?;
    writeln!(file, "{}", std::process::id()).map_err(unusable)?;
    Ok((path, file))
}

/// The pid in a lock file.
fn holder(path: &Path) -> Option<i32> {
    let mut text = String::new();
    File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// A readable name, and a hash of the whole path that tells equal names apart.
fn outside_name(data_dir: &Path) -> String {
    let name = data_dir.file_name().unwrap_or_default().to_string_lossy();
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(20).collect();
    format!("{plain}-{:016x}", fingerprint(data_dir))
}

/// FNV-1a of a path: unlike the hasher of `std` the same in every release.
pub(super) fn fingerprint(path: &Path) -> u64 {
    path.as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
