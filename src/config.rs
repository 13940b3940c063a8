//! Every setting, as a flag and in the environment. An empty variable counts as none.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use clap::Args;
use sqlx::postgres::PgConnectOptions;

use crate::embedded::{self, Binaries, Embedded};
use crate::logging::LogFormat;

/// Which database to use.
#[derive(Debug, Clone, Args)]
pub struct DatabaseArgs {
    /// A running Postgres 14 or newer; without it the service runs one of its own in the data folder
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Where the service keeps its own database and its secret
    #[arg(long, env = "LADDER_DATA_DIR", default_value = "data")]
    pub data_dir: PathBuf,
    /// The folder with the Postgres programs for the service's own database, or `fetched` to download them; without it,
    /// installed ones are looked for in the usual places, and downloaded if there are none
    #[arg(long, env = "LADDER_POSTGRES_BIN")]
    pub postgres_bin: Option<PathBuf>,
}

/// How the log looks.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// How log lines look: auto is human on a terminal, JSON elsewhere
    #[arg(long, env = "LADDER_LOG_FORMAT", value_enum, default_value = "auto", global = true)]
    pub log_format: LogFormat,
    /// What is logged: error, warn, info, debug, or a filter by module
    #[arg(long, env = "LADDER_LOG", default_value = "info,sqlx=warn,actix_server=warn", global = true)]
    pub log: String,
}

/// How to serve.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// The address to listen on
    #[arg(long, env = "LADDER_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Signs tokens: at least 32 bytes in hex (openssl rand -hex 32). Required with --database-url, since instances
    /// must agree; else made on first start and kept in the data folder
    #[arg(long, env = "LADDER_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// Database connections for everything but moves
    #[arg(long, env = "LADDER_DB_CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub db_connections: u32,
    /// Threads that answer requests; as many as there are cores if none are given
    #[arg(long, env = "LADDER_WORKERS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would print it")]
    pub database: DatabaseArgs,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No URL of a database.
    #[error("DATABASE_URL is not a Postgres URL: {0}")]
    DatabaseUrl(#[source] sqlx::Error),
    /// A database of somebody else's, and no secret.
    #[error(
        "with DATABASE_URL set, LADDER_SECRET must be set too, the same for every instance; make one with: openssl rand -hex 32"
    )]
    NoSecret,
    /// Not 32 bytes in hex.
    #[error("LADDER_SECRET is not at least 32 bytes in hex (64 digits); make one with: openssl rand -hex 32")]
    BadSecret,
    /// The file with the secret.
    #[error("cannot use {path}: {why}")]
    SecretFile {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A data folder without a database.
    #[error("there is no database in the folder {}; name another with --data-dir, or a running Postgres with --database-url", .0.display())]
    NoDatabase(PathBuf),
    /// A database that the running service holds.
    #[error("{0}; or work beside that server: give the URL that it printed at its start as --database-url")]
    Held(embedded::EmbeddedError),
    /// The service's own Postgres.
    #[error(transparent)]
    Embedded(#[from] embedded::EmbeddedError),
}

/// A database to work with.
#[derive(Debug)]
pub struct Database {
    /// How to connect.
    pub options: PgConnectOptions,
    /// The service's own Postgres, where it runs one.
    pub embedded: Option<Embedded>,
}

impl Database {
    /// Stops the service's own Postgres, where it runs one.
    ///
    /// # Errors
    /// It does not end.
    pub async fn stop(self) -> Result<(), embedded::EmbeddedError> {
        match self.embedded {
            Some(embedded) => embedded.stop().await,
            None => Ok(()),
        }
    }
}

impl DatabaseArgs {
    fn url(&self) -> Option<&str> {
        self.database_url.as_deref().filter(|url| !url.is_empty())
    }

    /// The settings of the service's own Postgres.
    #[must_use]
    pub fn embedded(&self) -> embedded::Settings {
        let mut settings = embedded::Settings::new(&self.data_dir);
        settings.binaries = self.binaries();
        settings
    }

    /// Which programs of Postgres to use.
    #[must_use]
    pub fn binaries(&self) -> Binaries {
        match &self.postgres_bin {
            Some(bin) if bin.as_os_str() == "fetched" => Binaries::Fetched,
            Some(bin) if !bin.as_os_str().is_empty() => Binaries::In(bin.clone()),
            _ => Binaries::Any,
        }
    }

    /// The database of `DATABASE_URL`, or the service's own, started.
    ///
    /// # Errors
    /// The URL is none, or Postgres does not start.
    pub async fn open(&self) -> Result<Database, ConfigError> {
        match self.url() {
            Some(url) => {
                let options = PgConnectOptions::from_str(url).map_err(ConfigError::DatabaseUrl)?;
                Ok(Database { options, embedded: None })
            }
            None => {
                let embedded = embedded::start(self.embedded()).await?;
                Ok(Database { options: embedded.connect_options(), embedded: Some(embedded) })
            }
        }
    }
}

impl DatabaseArgs {
    /// The same for a command that works on what is there: no database is made, and one that a running service holds
    /// can be reached all the same.
    ///
    /// # Errors
    /// There is none, or as [`DatabaseArgs::open`].
    pub async fn open_existing(&self) -> Result<Database, ConfigError> {
        if self.url().is_none() && !self.data_dir.join("postgres").is_dir() {
            return Err(ConfigError::NoDatabase(self.data_dir.clone()));
        }
        self.open_beside().await
    }

    /// The same for a command that may work beside the service.
    ///
    /// # Errors
    /// As [`DatabaseArgs::open`].
    pub async fn open_beside(&self) -> Result<Database, ConfigError> {
        self.open().await.map_err(|error| match error {
            ConfigError::Embedded(held @ embedded::EmbeddedError::Locked { .. }) => ConfigError::Held(held),
            error => error,
        })
    }
}

impl ServeArgs {
    /// The secret that signs tokens. The data folder must be there.
    ///
    /// # Errors
    /// It is missing where it must be given, or too short, or its file cannot be used.
    pub fn secret(&self) -> Result<Vec<u8>, ConfigError> {
        match self.secret.as_deref().filter(|s| !s.is_empty()) {
            Some(hex) => unhex(hex).ok_or(ConfigError::BadSecret),
            None if self.database.url().is_some() => Err(ConfigError::NoSecret),
            None => kept_secret(&self.database.data_dir.join("secret")),
        }
    }
}

/// At least 32 bytes in hex.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if text.len() < 64 || !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

/// The secret in a file, which is made if it is missing. Nobody else may read it.
fn kept_secret(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let fail = |why: &dyn std::fmt::Display| ConfigError::SecretFile { path: path.to_owned(), why: why.to_string() };
    let random: [u8; 32] = crate::random().map_err(|e| fail(&e))?;
    let new: String = random.iter().map(|b| format!("{b:02x}")).collect();
    // Written whole under another name first, so that a full disk leaves no half secret.
    let draft = path.with_extension("new");
    match fs::read_to_string(path) {
        Ok(text) => {
            fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|e| fail(&e))?;
            unhex(&text).ok_or_else(|| fail(&"it holds no secret of 32 bytes in hex; restore it from a backup, or remove it, which ends all access tokens but no refresh token"))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft).and_then(
                |mut file| {
                    writeln!(file, "{new}")?;
                    file.sync_all()
                },
            );
            written.and_then(|()| fs::rename(&draft, path)).map_err(|e| fail(&e))?;
            Ok(random.to_vec())
        }
        Err(e) => Err(fail(&e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hex_of_32_bytes_or_more() {
        assert_eq!(unhex(&"0f".repeat(32)), Some(vec![15; 32]));
        assert_eq!(unhex(&"0F".repeat(40)).map(|s| s.len()), Some(40));
        for bad in ["", "0f", &"0f".repeat(31), &"0g".repeat(32), &format!("{}0", "0f".repeat(32)), &"é0".repeat(32)] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_secret_is_made_once_and_kept_private() {
        let dir = std::env::temp_dir().join(format!("hasami-ladder-secret-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&dir).unwrap();
        let path = dir.join("secret");
        let made = kept_secret(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(kept_secret(&path).unwrap(), made);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(kept_secret(&path).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
