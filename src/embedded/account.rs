//! Who runs Postgres: ourselves, or, as root, an unprivileged user.

use super::error::{At, EmbeddedError};
use nix::unistd::{Uid, User, geteuid};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The user under whom the programs of Postgres run.
#[derive(Clone, Debug)]
pub(super) struct Account {
    user: User,
    /// We are root and it is not, so what it must own has to be given to it.
    foreign: bool,
}

impl Account {
    /// The user for a new cluster: as root `postgres`, else `nobody`; otherwise ourselves.
    pub(super) fn for_new_cluster() -> Result<Self, EmbeddedError> {
        if !geteuid().is_root() {
            return Ok(Self { user: ourselves()?, foreign: false });
        }
        ["postgres", "nobody"]
            .into_iter()
            .filter_map(|name| User::from_name(name).ok().flatten())
            .find(|user| !user.uid.is_root())
            .map(|user| Self { user, foreign: true })
            .ok_or(EmbeddedError::NoAccount)
    }

    /// The user of an existing cluster: its owner, whoever would be chosen today.
    pub(super) fn of_cluster(data: &Path) -> Result<Self, EmbeddedError> {
        let uid = Uid::from_raw(fs::metadata(data).at(data)?.uid());
        if !geteuid().is_root() {
            ours(data)?;
            return Self::for_new_cluster();
        }
        let user = named(uid)?;
        if uid.is_root() {
            return Err(EmbeddedError::ForeignOwner { path: data.to_path_buf(), owner: user.name });
        }
        Ok(Self { user, foreign: true })
    }

    pub(super) fn name(&self) -> &str {
        &self.user.name
    }

    pub(super) fn uid(&self) -> u32 {
        self.user.uid.as_raw()
    }

    /// Whether it is another user than ourselves.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Makes a folder that only this user can enter.
    pub(super) fn make_private(&self, path: &Path) -> Result<(), EmbeddedError> {
        fs::DirBuilder::new().mode(0o700).create(path).at(path)?;
        self.give(path)
    }

    /// Makes this user the owner.
    pub(super) fn give(&self, path: &Path) -> Result<(), EmbeddedError> {
        if self.foreign {
            chown(path, Some(self.user.uid.as_raw()), Some(self.user.gid.as_raw())).at(path)?;
        }
        Ok(())
    }

    /// Whether this user can enter a folder: tried, since mode bits are not all that decides.
    pub(super) fn can_enter(&self, path: &Path) -> bool {
        let mut probe = Command::new("/bin/sh");
        probe.args(["-c", ":"]);
        self.prepare(&mut probe);
        probe.current_dir(path).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    }

    /// Makes a command run as this user, knowing nothing of our surroundings.
    pub(super) fn prepare(&self, command: &mut Command) {
        // PG* variables would change what Postgres does, and our secrets are none of its business.
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        for kept in ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        // Our own folder may be closed to that user.
        command.current_dir("/").stdin(Stdio::null());
        if self.foreign {
            command.uid(self.user.uid.as_raw()).gid(self.user.gid.as_raw());
        }
    }
}

/// The user of this process.
pub(super) fn ourselves() -> Result<User, EmbeddedError> {
    named(geteuid())
}

fn named(uid: Uid) -> Result<User, EmbeddedError> {
    User::from_uid(uid).ok().flatten().ok_or(EmbeddedError::NamelessUser { uid: uid.as_raw() })
}

/// Refuses what belongs to somebody else. As root we write only in root's own folders, for
/// whoever owns a folder could point us elsewhere by a symbolic link.
pub(super) fn ours(path: &Path) -> Result<(), EmbeddedError> {
    let owner = Uid::from_raw(fs::symlink_metadata(path).at(path)?.uid());
    if owner == geteuid() {
        return Ok(());
    }
    let owner = named(owner).map_or_else(|_| owner.to_string(), |user| user.name);
    Err(EmbeddedError::ForeignOwner { path: path.to_path_buf(), owner })
}

/// The mode of a folder of ours: the unprivileged user of root's must get through it.
pub(super) fn folder_mode() -> u32 {
    if geteuid().is_root() { 0o711 } else { 0o700 }
}

/// Sets a mode whatever the umask.
pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), EmbeddedError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).at(path)
}
