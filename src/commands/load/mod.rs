//! `load`: plays legal games over many connections against a running service, and tells how fast that goes.

mod client;
mod pgbench;
mod readers;
mod report;
mod usage;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Args;
use hasami_rules::{Game, GameOptions, Move, WinRule};
use tokio::task::JoinSet;

use client::{Address, Client};
use report::{Record, Report};
use usage::Usage;

/// What to play, how much, and against what to compare it.
#[derive(Debug, Clone, Args)]
pub struct LoadArgs {
    /// The service to play against
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Connections, each of which plays both sides of one game after the other
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Stop after so many games
    #[arg(long)]
    games: Option<u64>,
    /// Stop after so many seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=7200))]
    seconds: u64,
    /// Let a side resign after so many plies, so that many games end
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    plies: Option<u16>,
    /// Play with a turn timer: 30 or 60 seconds
    #[arg(long)]
    turn_seconds: Option<u16>,
    /// Begin at most so many games a second
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    games_per_second: Option<u32>,
    /// How the games are won
    #[arg(long, default_value = "captureall")]
    win_rule: WinRule,
    /// Play games that no rating follows from
    #[arg(long)]
    casual: bool,
    /// Connections that read leaderboards and players meanwhile
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    readers: u32,
    /// How many players `fill` made, of whom the readers read
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    players: u64,
    /// In turns with the games, let pgbench do one select and one guarded update a move on the same relation of the
    /// service's database, with 32 clients; also tells what a move costs
    #[arg(long, value_name = "DATABASE_URL")]
    compare_pgbench: Option<String>,
    /// How many turns each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
}

/// Plays, compares if asked to, and prints the figures.
///
/// # Errors
/// The service or the database cannot be reached.
pub async fn run(args: LoadArgs) -> anyhow::Result<()> {
    let address: Address = args.url.parse()?;
    let load = Load { address: Arc::new(address), args: args.clone() };
    let Some(url) = &args.compare_pgbench else {
        let report = load.play().await?;
        return report::print(&report.to_string());
    };
    let pgbench = pgbench::Pgbench::prepare(url).await?;
    let usage = Usage::of(&load.address, url).await?;
    let mut ratios = Vec::new();
    for round in 1..=args.rounds {
        let alone = pgbench.run(args.seconds).await?;
        let before = usage.read().await?;
        let report = load.play().await?;
        let cost = usage.per_move(&before, report.moves()).await?;
        let ratio = report.moves_per_second() / alone;
        ratios.push(ratio);
        report::print(&format!(
            "round {round}: pgbench {alone:.0} moves/s, service {:.0} moves/s, ratio {ratio:.2}\n{report}{}",
            report.moves_per_second(),
            cost
        ))?;
    }
    pgbench.clean_up().await?;
    ratios.sort_by(f64::total_cmp);
    let load_average = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    report::print(&format!(
        "{} connections over pgbench: median ratio {:.2} (of {} rounds, {:.2} to {:.2}); load average {}",
        args.connections,
        ratios[ratios.len() / 2],
        ratios.len(),
        ratios[0],
        ratios[ratios.len() - 1],
        load_average.trim()
    ))
}

#[derive(Clone)]
struct Load {
    address: Arc<Address>,
    args: LoadArgs,
}

impl Load {
    /// One turn: all connections, until the time or the games are over.
    async fn play(&self) -> anyhow::Result<Report> {
        let mut connecting = JoinSet::new();
        for index in 0..self.args.connections {
            let load = self.clone();
            connecting.spawn(async move { load.enter(u64::from(index)).await });
        }
        let mut seats = Vec::new();
        while let Some(entered) = connecting.join_next().await {
            seats.push(entered?.context("cannot enter as guests")?);
        }
        let games = Arc::new(Games::default());
        let start = Instant::now();
        let end = start + Duration::from_secs(self.args.seconds);
        let mut playing = JoinSet::new();
        for seat in seats {
            let (load, games) = (self.clone(), games.clone());
            playing.spawn(async move { load.play_games(seat, &games, start, end).await });
        }
        let mut reading = JoinSet::new();
        for index in 0..self.args.readers {
            let random = Random(0x9e37_79b9 ^ u64::from(index + 1));
            reading.spawn(readers::read(self.address.clone(), self.args.win_rule, self.args.players, random, end));
        }
        let mut record = Record::default();
        while let Some(one) = playing.join_next().await {
            record.add(one?);
        }
        let mut reads = readers::Reads::default();
        while let Some(one) = reading.join_next().await {
            reads.add(one??);
        }
        report::print(&reads.to_string())?;
        ensure!(record.moves() > 0, "no move was accepted: {record:?}");
        Ok(Report::new(record, start.elapsed(), games.ended.load(Ordering::Relaxed)))
    }

    /// A connection and two guests who play on it.
    async fn enter(&self, index: u64) -> anyhow::Result<Seat> {
        let mut client = Client::connect(self.address.clone()).await?;
        let tokens = [client.guest().await?, client.guest().await?];
        Ok(Seat { client, tokens, random: Random(0x9e37_79b9_7f4a_7c15 ^ (index + 1)) })
    }

    async fn play_games(&self, mut seat: Seat, games: &Games, start: Instant, end: Instant) -> Record {
        let mut record = Record::default();
        let limit = self.args.games.unwrap_or(u64::MAX);
        while Instant::now() < end && games.ended.load(Ordering::Relaxed) < limit {
            let begun = games.begun.fetch_add(1, Ordering::Relaxed);
            if let Some(pace) = self.args.games_per_second {
                let due = start + Duration::from_secs_f64(begun as f64 / f64::from(pace));
                tokio::time::sleep_until(due.min(end).into()).await;
            }
            match self.play_game(&mut seat, &mut record, end).await {
                Ok(true) => {
                    games.ended.fetch_add(1, Ordering::Relaxed);
                }
                Ok(false) => {}
                Err(error) => {
                    record.error(&error);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        record
    }

    /// Plays one game, or as much of it as there is time for. Whether it ended.
    async fn play_game(&self, seat: &mut Seat, record: &mut Record, end: Instant) -> Result<bool, String> {
        // The computer is not to play on with what a run leaves behind, while the next one is measured.
        let time = match self.args.turn_seconds {
            Some(seconds) => format!(r#""turn_seconds":{seconds}"#),
            None => r#""absence_seconds":86400"#.to_owned(),
        };
        let options = format!(r#"{{"win_rule":"{}","rated":{},{time}}}"#, self.args.win_rule, !self.args.casual);
        let game_id = seat.client.begin(&seat.tokens, &options).await?;
        let path = format!("/v1/games/{game_id}/moves");
        let mut game = Game::new(GameOptions { win_rule: self.args.win_rule, move_limit: None });
        while game.outcome().is_none() && self.args.plies.is_none_or(|plies| game.ply() < plies) {
            let Some(mv) = seat.random.choose(&game) else { return Err("no legal move".to_owned()) };
            let ply = game.ply() + 1;
            let body = format!(r#"{{"move":"{mv}","ply":{ply}}}"#);
            let Some(latency) = seat.post(usize::from(ply.is_multiple_of(2)), &path, &body, record, end).await? else {
                return Ok(false);
            };
            record.played(ply, latency);
            if game.play(mv).is_err() {
                return Err("the service accepted an illegal move".to_owned());
            }
        }
        if game.outcome().is_none() {
            let Some(latency) = seat.post(0, &format!("/v1/games/{game_id}/resign"), "", record, end).await? else {
                return Ok(false);
            };
            record.resigned(latency);
        }
        Ok(true)
    }
}

#[derive(Default)]
struct Games {
    begun: AtomicU64,
    ended: AtomicU64,
}

struct Seat {
    client: Client,
    tokens: [String; 2],
    random: Random,
}

impl Seat {
    /// Posts for one of the two players as a bot does: the same request again until it is answered. How long that
    /// took; `None` where the time was over before.
    async fn post(
        &mut self,
        player: usize,
        path: &str,
        body: &str,
        record: &mut Record,
        end: Instant,
    ) -> Result<Option<Duration>, String> {
        let begin = Instant::now();
        while Instant::now() < end {
            match self.client.call("POST", path, Some(&self.tokens[player]), body).await {
                Ok((200 | 201, _)) => return Ok(Some(begin.elapsed())),
                Ok((status, text)) if status < 500 => {
                    return Err(format!("{status} {}", String::from_utf8_lossy(&text)));
                }
                Ok((status, _)) => record.error(&status.to_string()),
                Err(error) => record.error(&error),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(None)
    }
}

/// A small generator (xorshift64): the same connections play the same games.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }

    fn choose(&mut self, game: &Game) -> Option<Move> {
        let mut moves = game.position().legal_moves();
        let count = moves.clone().count() as u64;
        moves.nth(usize::try_from(self.below(count)).unwrap_or(0))
    }
}
