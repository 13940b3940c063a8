//! What the database does alone: pgbench with one select and one guarded update a move.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, raw_sql};
use tokio::process::Command;

/// Rows that pgbench plays on: as many as there may be games at once.
const ROWS: u32 = 5000;
const CLIENTS: u32 = 32;

/// A copy of the games relation, with all its settings and indexes, filled with running games.
const PREPARE: &str = "
    drop table if exists load_pgbench;
    create table load_pgbench (like games including all);
    insert into load_pgbench (game_id, table_id, number, first_id, second_id, started_at, win_rule, show_destinations,
        alternate_first, rated, visibility, absence, absence_seconds, first_seen_at, second_seen_at, ply_at, position_hash, log)
    select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(), 1, gen_random_uuid(),
        gen_random_uuid(), now(), 'captureall', true, true, true, 'public', 'wait', 120, now(), now(), now(), 0, decode(repeat('01020304', 40), 'hex')
    from generate_series(1, 5000) n;
    vacuum analyze load_pgbench;
    checkpoint;
";

/// As many moves as a service makes of them: the row read, the guarded update, each by itself. The log keeps its
/// length, so that all turns are alike.
const SCRIPT: &str = r"
\set n random(1, 5000)
select ply, ply_at, position_hash, log, clock_timestamp() as at from load_pgbench
    where game_id = ('00000000-0000-7000-8000-' || lpad(to_hex(:n::integer), 12, '0'))::uuid \gset
update load_pgbench set ply = (ply + 1) % 2000, ply_at = clock_timestamp(), position_hash = :n,
    log = '\x01020304'::bytea || substr(log, 1, 156)
    where game_id = ('00000000-0000-7000-8000-' || lpad(to_hex(:n::integer), 12, '0'))::uuid and ply = :ply and status = 'playing';
";

/// pgbench on a database.
pub struct Pgbench {
    url: String,
    program: PathBuf,
    script: PathBuf,
}

impl Pgbench {
    /// Makes the relation that it plays on.
    pub async fn prepare(url: &str) -> anyhow::Result<Self> {
        debug_assert!(PREPARE.contains(&ROWS.to_string()) && SCRIPT.contains(&ROWS.to_string()));
        let mut conn = PgConnection::connect(url).await.context("connect to the database of --compare-pgbench")?;
        for statement in PREPARE.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            raw_sql(statement).execute(&mut conn).await.with_context(|| statement.to_owned())?;
        }
        let script = std::env::temp_dir().join(format!("hasami-ladder-pgbench-{}.sql", std::process::id()));
        std::fs::write(&script, SCRIPT)?;
        Ok(Self { url: url.to_owned(), program: find()?, script })
    }

    /// Moves a second.
    pub async fn run(&self, seconds: u64) -> anyhow::Result<f64> {
        let output = Command::new(&self.program)
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
            .arg(format!("--client={CLIENTS}"))
            .arg(format!("--time={seconds}"))
            .arg(format!("--file={}", self.script.display()))
            .arg(&self.url)
            .output()
            .await
            .with_context(|| format!("run {}", self.program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        let errors = String::from_utf8_lossy(&output.stderr);
        self.wait_for_backends().await?;
        rate.with_context(|| format!("pgbench: {}", errors.lines().take(3).collect::<Vec<_>>().join(" ")))
    }

    /// Until its backends have ended, so that their CPU is not taken for the service's.
    async fn wait_for_backends(&self) -> anyhow::Result<()> {
        let mut conn = PgConnection::connect(&self.url).await?;
        for _ in 0..100 {
            #[expect(clippy::disallowed_methods, reason = "another program's database, whatever schema that has")]
            let left: i64 =
                sqlx::query_scalar("select count(*) from pg_stat_activity where application_name = 'pgbench'")
                    .fetch_one(&mut conn)
                    .await?;
            if left == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Removes what [`Self::prepare`] made.
    pub async fn clean_up(&self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.script)?;
        let mut conn = PgConnection::connect(&self.url).await?;
        raw_sql(AssertSqlSafe("drop table load_pgbench".to_owned())).execute(&mut conn).await?;
        Ok(())
    }
}

/// pgbench in the usual places, the newest first.
fn find() -> anyhow::Result<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        debian.map(|version| version.path().join("bin/pgbench")).filter(|p| p.exists()).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path).map(|dir| dir.join("pgbench")).filter(|p| p.exists()).take(1));
    match found.pop() {
        Some(program) => Ok(program),
        None => bail!("pgbench is not installed (apt-get install postgresql-contrib)"),
    }
}
