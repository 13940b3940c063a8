//! Clients that read leaderboards and players of a filled database while others play.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use hasami_rules::WinRule;

use super::Random;
use super::client::{Address, Client};
use super::report::percentile;

/// Latencies in microseconds by what was read, and what went wrong.
#[derive(Debug, Default)]
pub struct Reads {
    latencies: BTreeMap<&'static str, Vec<u32>>,
    errors: BTreeMap<String, u64>,
}

impl Reads {
    /// Takes another connection's in.
    pub fn add(&mut self, other: Self) {
        for (what, latencies) in other.latencies {
            self.latencies.entry(what).or_default().extend(latencies);
        }
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
    }
}

impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, latencies) in &self.latencies {
            let mut sorted = latencies.clone();
            sorted.sort_unstable();
            let [p50, p99] = [0.5, 0.99].map(|share| percentile(&sorted, share));
            writeln!(f, "  {what}: {} reads, ms p50 {p50:.2}, p99 {p99:.2}", sorted.len())?;
        }
        for (error, count) in &self.errors {
            writeln!(f, "  error {count} times: {error}")?;
        }
        Ok(())
    }
}

/// Reads until the end, a few times a second: what a busy site's visitors do, not a load of its own.
pub async fn read(
    address: Arc<Address>,
    ladder: WinRule,
    players: u64,
    mut random: Random,
    end: Instant,
) -> anyhow::Result<Reads> {
    let mut client = Client::connect(address).await?;
    let mut reads = Reads::default();
    let mut page = format!("/v1/ladders/{ladder}/leaderboard");
    while Instant::now() < end {
        let player = format!("p{:08}", 1 + random.below(players));
        for (what, path) in [
            ("leaderboard page", page.clone()),
            ("player with rank", format!("/v1/players/{player}")),
            ("around a player", format!("/v1/ladders/{ladder}/leaderboard/around/{player}?limit=11")),
        ] {
            let begin = Instant::now();
            match client.call("GET", &path, None, "").await {
                Ok((200, body)) => {
                    let latency = u32::try_from(begin.elapsed().as_micros()).unwrap_or(u32::MAX);
                    reads.latencies.entry(what).or_default().push(latency);
                    if what == "leaderboard page" {
                        page = next(&body, ladder);
                    }
                }
                Ok((status, _)) => *reads.errors.entry(format!("{status} {what}")).or_default() += 1,
                Err(error) => *reads.errors.entry(error).or_default() += 1,
            }
            tokio::time::sleep(std::time::Duration::from_millis(5 + random.below(20))).await;
        }
    }
    Ok(reads)
}

/// The next page, so that pages from far down the board are among those read.
fn next(body: &[u8], ladder: WinRule) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let first = format!("/v1/ladders/{ladder}/leaderboard");
    value["next"].as_str().map_or(first.clone(), |cursor| format!("{first}?cursor={cursor}"))
}
