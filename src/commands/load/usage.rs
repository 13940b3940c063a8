//! What a move costs: CPU of the service and of Postgres, and write-ahead log.

use std::collections::HashSet;
use std::fs;

use anyhow::Context as _;
use sqlx::{Connection as _, PgConnection};

use super::client::Address;

/// Whom to watch.
pub struct Usage {
    url: String,
    service: Option<u32>,
    postmaster: u32,
}

/// What was used up to an instant.
#[derive(Debug, Clone)]
pub struct Used {
    service_ticks: Option<u64>,
    postgres_ticks: u64,
    /// How far the write-ahead log was written.
    lsn: String,
}

impl Usage {
    /// Finds the processes of a service and of its Postgres, both on this machine.
    pub async fn of(address: &Address, url: &str) -> anyhow::Result<Self> {
        let mut conn = PgConnection::connect(url).await?;
        sqlx::raw_sql("create extension if not exists pg_walinspect")
            .execute(&mut conn)
            .await
            .context("pg_walinspect, of Postgres 15 and newer")?;
        #[expect(clippy::disallowed_methods, reason = "another program's database, whatever schema that has")]
        let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut conn).await?;
        let postmaster = stat(backend.cast_unsigned()).context("Postgres runs on another machine")?.parent;
        Ok(Self { url: url.to_owned(), service: listener(address.port), postmaster })
    }

    /// Reads all counters.
    pub async fn read(&self) -> anyhow::Result<Used> {
        let mut conn = PgConnection::connect(&self.url).await?;
        #[expect(clippy::disallowed_methods, reason = "another program's database, whatever schema that has")]
        let lsn = sqlx::query_scalar("select pg_current_wal_flush_lsn()::text").fetch_one(&mut conn).await?;
        let postgres = processes()
            .filter_map(stat)
            .filter(|s| s.parent == self.postmaster || s.pid == self.postmaster)
            .map(|s| s.ticks + s.ended_ticks)
            .sum();
        Ok(Used { service_ticks: self.service.and_then(stat).map(|s| s.ticks), postgres_ticks: postgres, lsn })
    }

    /// What a move cost since `before`, as a line for people.
    pub async fn per_move(&self, before: &Used, moves: usize) -> anyhow::Result<String> {
        let after = self.read().await?;
        let mut conn = PgConnection::connect(&self.url).await?;
        #[expect(clippy::disallowed_methods, reason = "another program's database, whatever schema that has")]
        let (records, pages): (f64, f64) = sqlx::query_as(
            "select sum(record_size)::float8, sum(fpi_size)::float8 from pg_get_wal_stats($1::text::pg_lsn, $2::text::pg_lsn)",
        )
        .bind(&before.lsn)
        .bind(&after.lsn)
        .fetch_one(&mut conn)
        .await?;
        let moves = moves as f64;
        // A tick is 10 ms on every Linux of today (USER_HZ).
        let micros = |ticks: u64| ticks as f64 * 10_000.0 / moves;
        let postgres = micros(after.postgres_ticks.saturating_sub(before.postgres_ticks));
        let service = after.service_ticks.zip(before.service_ticks).map(|(now, then)| micros(now - then));
        let cpu = match service {
            Some(service) => {
                format!("{:.1} µs of CPU (service {service:.1}, Postgres {postgres:.1})", service + postgres)
            }
            None => format!("{postgres:.1} µs of CPU in Postgres"),
        };
        Ok(format!(
            "  a move: {cpu}, {:.0} bytes of WAL, full-page images of {:.0} apart",
            records / moves,
            pages / moves
        ))
    }
}

struct Stat {
    pid: u32,
    parent: u32,
    ticks: u64,
    /// Of children that have ended.
    ended_ticks: u64,
}

/// A process's line in `/proc` (`proc_pid_stat(5)`).
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |i: usize| fields.get(i)?.parse::<u64>().ok();
    Some(Stat {
        pid,
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)? + number(12)?,
        ended_ticks: number(13)? + number(14)?,
    })
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The process that listens on a port of this machine.
fn listener(port: u16) -> Option<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inodes: HashSet<String> = tables
        .iter()
        .flat_map(|table| table.lines())
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let local = fields.get(1)?.rsplit_once(':')?.1;
            // 0A is LISTEN.
            (u16::from_str_radix(local, 16) == Ok(port) && fields.get(3) == Some(&"0A"))
                .then(|| format!("socket:[{}]", fields[9]))
        })
        .collect();
    processes().find(|pid| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        descriptors.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|link| inodes.contains(&*link.to_string_lossy()))
    })
}
