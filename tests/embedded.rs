//! The embedded Postgres from outside: the command that holds a cluster is started, killed and
//! started again. Runs as root and as an ordinary user alike; no test needs a network.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::disallowed_methods, reason = "the relation of these tests is in no migration")]

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use sqlx::{Connection as _, Executor as _, PgConnection};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The command that holds the cluster of a folder, or a temporary one.
fn command(data_dir: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hasami-ladder"));
    command.args(["postgres", "--log-format", "human"]);
    match data_dir {
        Some(dir) => command.arg("--data-dir").arg(dir),
        None => command.arg("--temporary"),
    };
    command
}

/// Makes a command use the programs in a folder, or fetched ones.
const BINARIES: &str = "LADDER_POSTGRES_BIN";

/// One cluster through all of its life: making one takes longer than all that follows.
#[test]
fn a_durable_cluster() {
    let folder = &Folder::new();
    rows_are_there_at_the_next_start(folder);
    a_killed_server_leaves_a_postmaster_that_the_next_one_ends(folder);
    a_killed_postmaster_is_started_again(folder);
    a_killed_backend_costs_only_a_moment(folder);
    server_and_postmaster_killed_in_the_middle_of_a_statement(folder);
    a_second_server_is_refused(folder);
    a_copied_link_does_not_share_the_cluster(folder);
    a_stale_pid_file_harms_no_stranger(folder);
    postgres_is_shielded(folder);
    settings_that_postgres_refuses_are_told(folder);
    a_cluster_of_a_version_that_is_not_installed(folder);
}

fn rows_are_there_at_the_next_start(folder: &Folder) {
    let server = Server::start(folder);
    folder.insert(&server);
    assert_eq!(server.value("select current_setting('fsync') || current_setting('synchronous_commit')"), "onon");
    assert_eq!(server.value("select current_setting('listen_addresses')"), "");
    assert_eq!(server.value("select current_setting('is_superuser')"), "off");
    server.stop();
    assert!(!folder.data().join("postmaster.pid").exists());

    let server = Server::start(folder);
    folder.all_rows_are_in(&server);
    server.stop();
}

fn a_killed_server_leaves_a_postmaster_that_the_next_one_ends(folder: &Folder) {
    let server = Server::start(folder);
    folder.insert(&server);
    let orphan = folder.postmaster();
    server.kill();
    assert!(is_postgres(orphan), "it runs on alone");

    let server = Server::start(folder);
    assert!(!is_postgres(orphan), "it was ended");
    assert_ne!(folder.postmaster(), orphan);
    folder.all_rows_are_in(&server);
    server.stop();
}

fn a_killed_postmaster_is_started_again(folder: &Folder) {
    let server = Server::start(folder);
    folder.insert(&server);
    let killed = folder.postmaster();
    kill(killed, Signal::SIGKILL).unwrap();
    until("a new postmaster", || (folder.try_postmaster()? != killed).then_some(()));
    folder.insert(&server);
    folder.all_rows_are_in(&server);
    server.stop();
}

fn a_killed_backend_costs_only_a_moment(folder: &Folder) {
    let server = Server::start(folder);
    folder.insert(&server);
    let postmaster = folder.postmaster();
    let backend = block_on(async {
        let mut db = PgConnection::connect(&server.url).await?;
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut db).await?;
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
        Ok(pid)
    })
    .unwrap();
    until("the backend's end", || (!is_postgres(Pid::from_raw(backend))).then_some(()));
    folder.insert(&server);
    assert_eq!(folder.postmaster(), postmaster, "it recovered by itself");
    folder.all_rows_are_in(&server);
    server.stop();
}

fn server_and_postmaster_killed_in_the_middle_of_a_statement(folder: &Folder) {
    let server = Server::start(folder);
    folder.insert(&server);
    // A backend busy computing does not notice that its postmaster is gone, and holds the
    // shared memory.
    let url = server.url.clone();
    let busy = std::thread::spawn(move || {
        block_on(async {
            let mut db = PgConnection::connect(&url).await?;
            db.execute("do $$ begin loop null; end loop; end $$").await?;
            Ok(())
        })
    });
    until("a busy backend", || {
        (server.value("select count(*)::text from pg_stat_activity where query like 'do %' and pid <> pg_backend_pid() and state = 'active'") == "1").then_some(())
    });
    kill(folder.postmaster(), Signal::SIGKILL).unwrap();
    server.kill();

    let server = Server::start(folder);
    folder.all_rows_are_in(&server);
    assert!(busy.join().unwrap().is_err(), "the old backend was ended");
    server.stop();
}

fn a_second_server_is_refused(folder: &Folder) {
    let server = Server::start(folder);
    let said = fails(command(Some(&folder.data_dir)));
    assert!(said.contains(&format!("another server (process {})", server.child.id())), "{said}");
    assert!(said.contains(&*folder.data_dir.to_string_lossy()), "{said}");
    folder.insert(&server);
    server.stop();
}

fn a_copied_link_does_not_share_the_cluster(folder: &Folder) {
    let server = Server::start(folder);
    let other = Folder::new();
    fs::create_dir(&other.data_dir).unwrap();
    symlink(folder.data_dir.join("postgres"), other.data_dir.join("postgres")).unwrap();
    let said = fails(command(Some(&other.data_dir)));
    assert!(said.contains("another server"), "{said}");
    folder.insert(&server);
    server.stop();
}

fn a_stale_pid_file_harms_no_stranger(folder: &Folder) {
    let server = Server::start(folder);
    folder.insert(&server);
    kill(folder.postmaster(), Signal::SIGSTOP).unwrap();
    server.kill();
    let stale = fs::read_to_string(folder.data().join("postmaster.pid")).unwrap();
    kill(folder.postmaster(), Signal::SIGKILL).unwrap();

    // The pid now belongs to somebody else, of the same user, as after a reboot.
    let mut sleep = Command::new("sleep");
    sleep.arg("60").stdout(Stdio::null()).stderr(Stdio::null());
    if geteuid().is_root() {
        sleep.uid(postgres_user().uid.as_raw());
    }
    let mut stranger = sleep.spawn().unwrap();
    let (_, rest) = stale.split_once('\n').unwrap();
    fs::write(folder.data().join("postmaster.pid"), format!("{}\n{rest}", stranger.id())).unwrap();

    let server = Server::start(folder);
    folder.all_rows_are_in(&server);
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    server.stop();
}

fn postgres_is_shielded(folder: &Folder) {
    let mut with_secret = command(Some(&folder.data_dir));
    with_secret.env("LADDER_SECRET", "0123").env("PGPORT", "6666").env("PGOPTIONS", "-c work_mem=1");
    let server = Server::start_command(with_secret);
    let postmaster = folder.postmaster();

    let environ = fs::read(format!("/proc/{postmaster}/environ")).unwrap();
    let environ = String::from_utf8_lossy(&environ);
    assert!(!environ.contains("LADDER") && !environ.contains("PG"), "{environ}");

    // Ctrl-C goes to the process group in the foreground of the terminal, the server's.
    let stat = fs::read_to_string(format!("/proc/{postmaster}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    let group: i32 = after_name.split(' ').nth(2).unwrap().parse().unwrap();
    assert_eq!(group, postmaster.as_raw());

    let socket = Path::new(server.url.split_once("?host=").unwrap().1);
    let mode = fs::metadata(socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A stranger does not get to the socket, and the database's own user does not get in.
    for (name, refusal) in [("nobody", "Permission denied"), ("postgres", "Peer authentication")] {
        let user = User::from_name(name).unwrap().filter(|_| geteuid().is_root());
        let Some(user) = user else { continue };
        let mut psql = Command::new("psql");
        psql.arg(&server.url).args(["-c", "select 1"]).current_dir("/").uid(user.uid.as_raw());
        // It comes with the programs of a server nearly everywhere, but not always.
        let Ok(output) = psql.output() else { continue };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(refusal), "{name}: {said}");
    }
    server.stop();
}

#[test]
fn killed_while_making_the_cluster() {
    let folder = &Folder::new();
    let mut child = command(Some(&folder.data_dir))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("a half-made cluster", || {
        let entries = fs::read_dir(folder.data_dir.join("postgres")).ok()?.flatten();
        let half = entries.map(|e| e.path()).find(|p| p.to_string_lossy().contains("data.new."))?;
        half.join("PG_VERSION").exists().then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.data().exists());

    let server = Server::start(folder);
    folder.insert(&server);
    server.stop();
}

#[test]
fn a_long_and_foreign_path() {
    let folder = &Folder::new();
    let long = format!("a folder's \"name\", größer als {}", "長".repeat(60));
    let data_dir = folder.data_dir.join(&long).join("x".repeat(200));
    fs::create_dir_all(data_dir.parent().unwrap()).unwrap();
    // Relative, too.
    let mut relative = command(Some(&Path::new(&long).join(data_dir.file_name().unwrap())));
    relative.current_dir(&folder.data_dir);
    let server = Server::start_command(relative);
    folder.insert(&server);
    assert!(data_dir.join("postgres/data/PG_VERSION").exists());
    server.stop();
    let server = Server::start_command(command(Some(&data_dir)));
    folder.all_rows_are_in(&server);
    server.stop();
}

#[test]
fn a_folder_closed_to_the_database_user() {
    if !geteuid().is_root() {
        return;
    }
    let folder = &Folder::new();
    fs::create_dir(&folder.data_dir).unwrap();
    fs::set_permissions(&folder.data_dir, fs::Permissions::from_mode(0o700)).unwrap();
    let server = Server::start(folder);
    let home = fs::read_link(folder.data_dir.join("postgres")).unwrap();
    assert!(home.starts_with("/var/lib/hasami-ladder"), "{home:?}");
    assert!(server.stderr().contains(&*home.to_string_lossy()), "{}", server.stderr());
    folder.insert(&server);
    server.stop();

    // The place was chosen once: it stays when the folder opens up.
    fs::set_permissions(&folder.data_dir, fs::Permissions::from_mode(0o755)).unwrap();
    let server = Server::start(folder);
    folder.all_rows_are_in(&server);
    server.stop();
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_read_only_folder() {
    if geteuid().is_root() {
        return;
    }
    let folder = &Folder::new();
    fs::create_dir(&folder.data_dir).unwrap();
    fs::set_permissions(&folder.data_dir, fs::Permissions::from_mode(0o500)).unwrap();
    let said = fails(command(Some(&folder.data_dir)));
    assert!(said.contains("cannot write in the data folder"), "{said}");
    assert!(said.contains("--data-dir"), "{said}");
}

#[test]
fn nothing_installed_and_no_network() {
    let folder = &Folder::new();
    let mut cut_off = command(Some(&folder.data_dir));
    cut_off.env(BINARIES, "fetched").env("HTTPS_PROXY", "http://127.0.0.1:9");
    let said = fails(cut_off);
    assert!(said.contains("fetching PostgreSQL 17"), "{said}");
    assert!(said.contains("apt-get install postgresql"), "{said}");
    assert!(said.contains("DATABASE_URL"), "{said}");

    let mut wrong = command(Some(&folder.data_dir));
    wrong.env(BINARIES, "/var/empty");
    let said = fails(wrong);
    assert!(said.contains("/var/empty holds no usable Postgres"), "{said}");
}

fn a_cluster_of_a_version_that_is_not_installed(folder: &Folder) {
    let version = folder.data().join("PG_VERSION");
    let kept = fs::read(&version).unwrap();
    fs::write(&version, "11\n").unwrap();
    let mut cut_off = command(Some(&folder.data_dir));
    cut_off.env("HTTPS_PROXY", "http://127.0.0.1:9");
    let said = fails(cut_off);
    assert!(said.contains("made by PostgreSQL 11, which is not installed"), "{said}");
    assert!(said.contains("postgresql-11"), "{said}");
    fs::write(version, kept).unwrap();
}

fn settings_that_postgres_refuses_are_told(folder: &Folder) {
    let settings = folder.data().join("postgresql.auto.conf");
    let kept = fs::read(&settings).unwrap();
    fs::write(&settings, "work_mem = 'a lot'\n").unwrap();
    let said = fails(command(Some(&folder.data_dir)));
    assert!(said.contains("invalid value for parameter \"work_mem\""), "{said}");
    fs::write(settings, kept).unwrap();
}

#[test]
fn a_temporary_cluster_goes_with_its_owner_and_the_killed_one_is_swept() {
    let temporary = Folder::new();
    fs::create_dir(&temporary.data_dir).unwrap();
    fs::set_permissions(&temporary.data_dir, fs::Permissions::from_mode(0o755)).unwrap();
    let start = || {
        let mut command = command(None);
        command.env("TMPDIR", &temporary.data_dir);
        Server::start_command(command)
    };
    let left = || fs::read_dir(&temporary.data_dir).unwrap().count();

    let killed = start();
    assert_eq!(killed.value("select current_setting('fsync')"), "off");
    killed.insert(1);
    killed.kill();
    assert_eq!(left(), 1);

    let first = start();
    let second = start();
    assert_eq!(left(), 2, "the killed one's was swept, the first one's was not");
    first.insert(1);
    second.insert(2);
    assert_eq!(first.rows(), [1]);

    first.stop(); // its input ends
    second.signal(Signal::SIGINT);
    assert_eq!(left(), 0);
}

// Helpers

/// A folder for a test, with nothing running in it after the test.
struct Folder {
    outer: PathBuf,
    data_dir: PathBuf,
    /// How many rows were acknowledged.
    rows: AtomicI32,
}

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hl-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let outer = std::env::temp_dir().join(name);
        fs::create_dir(&outer).unwrap();
        fs::set_permissions(&outer, fs::Permissions::from_mode(0o755)).unwrap();
        Self { data_dir: outer.join("data"), outer, rows: AtomicI32::new(0) }
    }

    fn insert(&self, server: &Server) {
        let row = self.rows.fetch_add(1, Ordering::Relaxed) + 1;
        server.insert(row);
    }

    fn all_rows_are_in(&self, server: &Server) {
        let all: Vec<i32> = (1..=self.rows.load(Ordering::Relaxed)).collect();
        assert_eq!(server.rows(), all);
    }

    fn data(&self) -> PathBuf {
        self.data_dir.join("postgres/data")
    }

    fn try_postmaster(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid = Pid::from_raw(text.lines().next()?.parse().ok()?);
        is_postgres(pid).then_some(pid)
    }

    fn postmaster(&self) -> Pid {
        self.try_postmaster().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(pid) = self.try_postmaster() {
            let _ = kill(pid, Signal::SIGQUIT);
        }
        let _ = fs::set_permissions(&self.data_dir, fs::Permissions::from_mode(0o755));
        let _ = fs::remove_dir_all(&self.outer);
    }
}

/// A running command and the URL it printed.
struct Server {
    child: Child,
    url: String,
    errors: PathBuf,
}

impl Server {
    fn start(folder: &Folder) -> Self {
        Self::start_command(command(Some(&folder.data_dir)))
    }

    fn start_command(mut command: Command) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hl-stderr-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let errors = std::env::temp_dir().join(name);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let server = Self { child, url: url.trim().to_owned(), errors };
        assert!(server.url.starts_with("postgres://"), "{}", server.stderr());
        server
    }

    fn stderr(&self) -> String {
        fs::read_to_string(&self.errors).unwrap_or_default()
    }

    /// Ends its input, as the death of the owner does.
    fn stop(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success(), "{}", self.stderr());
    }

    fn signal(mut self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.stderr());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Inserts a row, for as long as it takes Postgres to come back.
    fn insert(&self, n: i32) {
        until("an insert", || {
            block_on(async {
                let mut db = PgConnection::connect(&self.url).await?;
                db.execute("create table if not exists kept (n integer primary key)").await?;
                sqlx::query("insert into kept values ($1) on conflict do nothing").bind(n).execute(&mut db).await
            })
            .ok()
        });
    }

    fn rows(&self) -> Vec<i32> {
        block_on(async {
            let mut db = PgConnection::connect(&self.url).await?;
            sqlx::query_scalar("select n from kept order by n").fetch_all(&mut db).await
        })
        .unwrap()
    }

    fn value(&self, query: &'static str) -> String {
        block_on(async {
            let mut db = PgConnection::connect(&self.url).await?;
            sqlx::query_scalar(query).fetch_one(&mut db).await
        })
        .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Of a failed test; all others have waited for its end.
        let _ = self.child.kill();
        let _ = fs::remove_file(&self.errors);
    }
}

/// Runs a command that must fail, and gives what it said.
fn fails(mut command: Command) -> String {
    let output = command.stdin(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    said
}

fn is_postgres(pid: Pid) -> bool {
    // A dead process that nobody collected yet has a name but no working directory.
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    comm.trim() == "postgres" && fs::metadata(format!("/proc/{pid}/cwd")).is_ok()
}

fn postgres_user() -> User {
    ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).unwrap()).unwrap()
}

fn block_on<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Polls until there is something; fails after a while.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
