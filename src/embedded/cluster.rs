//! A cluster ready to be run: made if it was not there, with settings and a socket folder.

use super::Settings;
use super::binaries;
use super::config::{Config, first_statements};
use super::error::{At, EmbeddedError};
use super::home::Home;
use super::log::Log;
use super::socket;
use postgresql_commands::CommandBuilder as _;
use postgresql_commands::initdb::InitDbBuilder;
use postgresql_commands::postgres::PostgresBuilder;
use std::fs::{self, File};
#[cfg(target_os = "linux")]
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;
use tracing::{debug, info};

/// The role the service uses.
pub(super) const ROLE: &str = "hasami";
/// The superuser, for operators.
pub(super) const OWNER: &str = "postgres";
/// The service's database.
pub(super) const DATABASE: &str = "hasami_ladder";

/// All that is needed to run a postmaster.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) home: Home,
    pub(super) socket: PathBuf,
    pub(super) temporary: bool,
    binaries: PathBuf,
    config: Config,
}

impl Cluster {
    /// Locks the data folder and finds the programs; runs nothing yet.
    pub(super) async fn prepare(settings: &Settings) -> Result<Self, EmbeddedError> {
        let home = Home::open(&settings.data_dir)?;
        let binaries = binaries::find(&settings.binaries, &home, settings.temporary).await?;
        let socket = socket::place(&home)?;
        let config = Config::write(&home, &socket, settings.temporary)?;
        Ok(Self { home, socket, temporary: settings.temporary, binaries, config })
    }

    /// Makes the cluster unless there is one. It is made beside its place and moved there when
    /// complete, so that a start killed half-way leaves nothing that looks like a cluster.
    pub(super) async fn make_if_missing(&self) -> Result<(), EmbeddedError> {
        let home = self.home.path();
        for entry in fs::read_dir(home).at(home)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("data.new.") {
                // An initdb that outlived its server may still write there; the next start
                // removes what is left now.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let data = self.home.data();
        if data.is_dir() {
            return Ok(());
        }
        let began = Instant::now();
        let account = self.home.account();
        let fresh = home.join(format!("data.new.{}", std::process::id()));
        account.make_private(&fresh)?;

        // Neither program waits for the disk: one flush at the end does for both, where initdb
        // by itself flushes a thousand files one by one.
        let initdb = InitDbBuilder::new()
            .program_dir(&self.binaries)
            .pgdata(&fresh)
            .username(OWNER)
            .encoding("UTF8")
            .locale("C")
            .auth("reject") // our own pg_hba.conf decides; its default lets in everybody
            .data_checksums()
            .no_sync()
            .no_instructions();
        self.run(initdb.build(), "").await?;

        let single = PostgresBuilder::new()
            .program_dir(&self.binaries)
            .single_user_mode()
            .fsync_off()
            .runtime_param("exit_on_error", "on");
        let single = self.with_config(single, &fresh).dbname("postgres");
        self.run(single.build(), &first_statements()).await?;

        if !self.temporary {
            self.flush(&fresh).await?;
        }
        fs::rename(&fresh, &data).at(&data)?;
        File::open(home).and_then(|folder| folder.sync_all()).at(home)?;
        info!("made the database cluster in {} ({:.0?})", data.display(), began.elapsed());
        Ok(())
    }

    /// The command that runs the postmaster, writing to `log`.
    pub(super) fn postmaster(&self, log: &Log) -> Result<Command, EmbeddedError> {
        let postgres = PostgresBuilder::new().program_dir(&self.binaries);
        let mut command = self.with_config(postgres, &self.home.data()).build();
        self.home.account().prepare(&mut command);
        command.stdout(log.handle()?).stderr(log.handle()?);
        Ok(command)
    }

    fn with_config(&self, postgres: PostgresBuilder, data: &Path) -> PostgresBuilder {
        postgres
            .data_dir(data)
            .runtime_param("config_file".as_ref(), self.config.settings.as_os_str())
            .runtime_param("hba_file".as_ref(), self.config.access.as_os_str())
            .runtime_param("ident_file".as_ref(), self.config.idents.as_os_str())
    }

    /// Brings a whole cluster to the disk.
    async fn flush(&self, data: &Path) -> Result<(), EmbeddedError> {
        #[cfg(target_os = "linux")]
        {
            let folder = File::open(data).at(data)?;
            nix::unistd::syncfs(folder).map_err(io::Error::from).at(data)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let initdb = InitDbBuilder::new().program_dir(&self.binaries).pgdata(data);
            self.run(initdb.sync_only().build(), "").await
        }
    }

    /// Runs a program to its end with some input.
    async fn run(&self, mut command: Command, input: &str) -> Result<(), EmbeddedError> {
        self.home.account().prepare(&mut command);
        debug!(?command, "running");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = PathBuf::from(command.get_program());
        let failed = |output: String| EmbeddedError::Init { path: self.home.data(), output };
        let mut command = tokio::process::Command::from(command);
        let mut child = command.kill_on_drop(true).spawn().at(&program)?;
        if let Some(mut stdin) = child.stdin.take() {
            use tokio::io::AsyncWriteExt as _;
            // A program that has ended already says why in its output.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let Output { status, stdout, stderr } = child.wait_with_output().await.at(&program)?;
        if status.success() {
            return Ok(());
        }
        let said = if stderr.is_empty() { stdout } else { stderr };
        Err(failed(format!("{}\n{status}", String::from_utf8_lossy(&said).trim())))
    }
}
