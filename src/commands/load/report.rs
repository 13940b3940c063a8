//! What was measured, for people.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::time::Duration;

/// What the connections saw.
#[derive(Debug, Default)]
pub struct Record {
    /// Ply and latency in microseconds of each accepted move.
    moves: Vec<(u16, u32)>,
    /// Latency in microseconds of each accepted resignation.
    resignations: Vec<u32>,
    errors: BTreeMap<String, u64>,
}

impl Record {
    /// Notes an accepted move.
    pub fn played(&mut self, ply: u16, latency: Duration) {
        self.moves.push((ply, micros(latency)));
    }

    /// Notes an accepted resignation.
    pub fn resigned(&mut self, latency: Duration) {
        self.resignations.push(micros(latency));
    }

    /// Notes what went wrong.
    pub fn error(&mut self, kind: &str) {
        *self.errors.entry(kind.to_owned()).or_default() += 1;
    }

    /// Takes another connection's record in.
    pub fn add(&mut self, other: Self) {
        self.moves.extend(other.moves);
        self.resignations.extend(other.resignations);
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
    }

    /// Accepted moves.
    pub fn moves(&self) -> usize {
        self.moves.len()
    }
}

fn micros(latency: Duration) -> u32 {
    u32::try_from(latency.as_micros()).unwrap_or(u32::MAX)
}

/// The figures of one turn.
#[derive(Debug)]
pub struct Report {
    /// Latencies in microseconds, ascending.
    sorted: Vec<u32>,
    /// Those of resignations.
    resignations: Vec<u32>,
    /// Mean latency by a range of plies: its first ply, the moves, the mean.
    by_ply: Vec<(u16, usize, f64)>,
    errors: BTreeMap<String, u64>,
    elapsed: Duration,
    games: u64,
}

impl Report {
    /// Sums a record up.
    pub fn new(mut record: Record, elapsed: Duration, games: u64) -> Self {
        const RANGE: u16 = 40;
        let mut sorted: Vec<u32> = record.moves.iter().map(|m| m.1).collect();
        sorted.sort_unstable();
        let mut ranges: BTreeMap<u16, (usize, u64)> = BTreeMap::new();
        for (ply, latency) in &record.moves {
            let range = ranges.entry(ply / RANGE * RANGE).or_default();
            range.0 += 1;
            range.1 += u64::from(*latency);
        }
        let by_ply = ranges.into_iter().map(|(ply, (count, sum))| (ply, count, sum as f64 / count as f64)).collect();
        record.resignations.sort_unstable();
        Self { sorted, resignations: record.resignations, by_ply, errors: record.errors, elapsed, games }
    }

    /// Accepted moves.
    pub fn moves(&self) -> usize {
        self.sorted.len()
    }

    /// Accepted moves a second.
    pub fn moves_per_second(&self) -> f64 {
        self.moves() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Milliseconds that this share of the ascending latencies in microseconds took at most.
pub fn percentile(sorted: &[u32], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share).ceil() as usize;
    f64::from(sorted[index.clamp(1, sorted.len()) - 1]) / 1000.0
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  {:.0} moves/s: {} moves and {} whole games in {:.1} s",
            self.moves_per_second(),
            self.moves(),
            self.games,
            self.elapsed.as_secs_f64()
        )?;
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| percentile(&self.sorted, share));
        writeln!(f, "  latency ms: p50 {p50:.2}, p99 {p99:.2}, p99.9 {p999:.2}; p99 over p50 {:.1}", p99 / p50)?;
        if !self.resignations.is_empty() {
            let [p50, p99] = [0.5, 0.99].map(|share| percentile(&self.resignations, share));
            let rate = self.resignations.len() as f64 / self.elapsed.as_secs_f64();
            writeln!(f, "  resignations: {rate:.0} a second, ms p50 {p50:.2}, p99 {p99:.2}")?;
        }
        write!(f, "  mean ms by ply:")?;
        for (ply, count, mean) in self.by_ply.iter().filter(|r| r.1 >= 200).take(16) {
            write!(f, " {ply}+ {:.2} ({count})", mean / 1000.0)?;
        }
        writeln!(f)?;
        if self.errors.is_empty() {
            writeln!(f, "  no errors")?;
        }
        for (kind, count) in &self.errors {
            writeln!(f, "  error {count} times: {kind}")?;
        }
        Ok(())
    }
}

/// Prints to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", text.trim_end())?)
}
