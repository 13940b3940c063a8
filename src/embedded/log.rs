//! What Postgres says: a file in the home, kept small.

use super::error::{At, EmbeddedError};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tracing::warn;

/// Beyond this size the log is moved to `postgres.log.old`, over the one before.
const LARGEST: u64 = 16 << 20;

/// How much of the end an error tells.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;

/// The log, and where in it the present run began.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    began: u64,
}

impl Log {
    pub(super) fn open(path: PathBuf) -> Result<Self, EmbeddedError> {
        // Appending, for then Postgres goes on at the new end after the file was emptied.
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).at(&path)?;
        let began = file.metadata().at(&path)?.len();
        Ok(Self { path, file, began })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle for a child's output.
    pub(super) fn handle(&self) -> Result<Stdio, EmbeddedError> {
        Ok(self.file.try_clone().at(&self.path)?.into())
    }

    /// The last lines of the present run.
    pub(super) fn tail(&self) -> String {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            let end = file.metadata()?.len();
            // Unless it was emptied since.
            let began = if self.began > end { 0 } else { self.began };
            file.seek(SeekFrom::Start(began.max(end.saturating_sub(TAIL_BYTES))))?;
            file.take(TAIL_BYTES).read_to_end(&mut bytes)
        });
        if let Err(error) = read {
            return error.to_string();
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    /// Empties the log when it is too large. Postgres keeps its handle, so a copy is kept
    /// rather than the file moved; lines written in between are lost.
    pub(super) fn bound(&self) {
        let grown = self.file.metadata().is_ok_and(|found| found.len() > LARGEST);
        if !grown {
            return;
        }
        let emptied = fs::copy(&self.path, self.path.with_extension("log.old")).and_then(|_| self.file.set_len(0));
        if let Err(error) = emptied {
            warn!("cannot shorten {}: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_log_is_emptied_under_its_writer() -> Result<(), Box<dyn std::error::Error>> {
        let path = std::env::temp_dir().join(format!("hasami-ladder-log-{}.log", std::process::id()));
        let log = Log::open(path.clone())?;
        log.file.set_len(LARGEST)?;
        log.bound();
        assert_eq!(log.file.metadata()?.len(), LARGEST);

        let mut echo = std::process::Command::new("echo");
        echo.arg("the last line").stdout(log.handle()?).status()?;
        log.bound();
        assert_eq!(log.file.metadata()?.len(), 0);
        echo.stdout(log.handle()?).status()?;
        assert_eq!(log.tail(), "the last line");

        let old = path.with_extension("log.old");
        assert_eq!(fs::metadata(&old)?.len(), LARGEST + 14);
        fs::remove_file(old)?;
        fs::remove_file(path)?;
        Ok(())
    }
}
