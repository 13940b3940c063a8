//! Whatever dies: nothing acknowledged is lost, nothing is doubled.
//!
//! Bots play rated games against the real program and repeat what was not answered, as real bots do. Meanwhile the
//! service and its Postgres are killed, frozen, cut off and blocked. After each fault the bots' own record of what
//! was acknowledged is held against what the service says, and at the end `verify` looks at every row.
//!
//! `HASAMI_FAULTS=200 cargo test --test faults -- --nocapture` runs long; a few faults are the default.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
#![expect(clippy::print_stdout, reason = "a long run tells how it goes")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hasami_rules::{Game, GameOptions, WinRule};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};

/// Pairs of bots.
const PAIRS: u64 = 6;
/// As long as a bot repeats a request before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost() {
    let faults: u64 = std::env::var("HASAMI_FAULTS").map_or(7, |n| n.parse().unwrap());
    let mut world = World::new();
    let bots: Vec<_> = (0..PAIRS).map(|pair| tokio::spawn(Bots::new(&world, pair).play())).collect();
    let mut random = Random(0x5eed);
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for number in 0..faults {
        let moves = world.moves.load(Ordering::Relaxed);
        world.until("the bots play on", || world.moves.load(Ordering::Relaxed) >= moves + 20).await;
        // Each kind once, then at random.
        let fault =
            FAULTS[if number < FAULTS.len() as u64 { number } else { random.below(FAULTS.len() as u64) } as usize];
        *counts.entry(fault).or_default() += 1;
        world.strike(fault, &mut random).await;
        world.until_ready().await;
        let (games, plies) = world.check(false).await;
        println!("fault {}: {}; {plies} acknowledged plies of {games} games are there", number + 1, fault);
    }
    world.over.store(true, Ordering::Relaxed);
    for bot in bots {
        bot.await.unwrap();
    }
    let (games, plies) = world.check(true).await;
    println!("{faults} faults {counts:?}; {plies} acknowledged plies of {games} games are there");
    world.stop_and_verify();
}

/// What can happen, by name.
const FAULTS: [&str; 7] = [
    "the service is killed",
    "Postgres is killed",
    "both are killed",
    "Postgres is frozen",
    "all connections are dropped",
    "the ratings are locked",
    "a backend is killed",
];

/// What a client was told.
#[derive(Default)]
struct Acknowledged {
    /// By game and ply.
    plies: HashMap<(String, u64), String>,
    /// By game: winner and termination.
    ends: HashMap<String, (Value, Value)>,
}

struct World {
    data_dir: PathBuf,
    port: u16,
    server: Child,
    client: reqwest::Client,
    acknowledged: Arc<Mutex<Acknowledged>>,
    moves: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    /// Games that are over and were found as they were acknowledged.
    settled: HashSet<String>,
}

impl World {
    fn new() -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let data_dir = std::env::temp_dir().join(format!("hasami-faults-{}", std::process::id()));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self {
            server: serve(&data_dir, port),
            data_dir,
            port,
            client: reqwest::Client::builder().timeout(Duration::from_secs(5)).build().unwrap(),
            acknowledged: Arc::default(),
            moves: Arc::default(),
            over: Arc::default(),
            settled: HashSet::new(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn until_ready(&self) {
        let start = Instant::now();
        while !self.client.get(self.url("/readyz")).send().await.is_ok_and(|a| a.status() == 200) {
            assert!(start.elapsed() < PATIENCE, "the service does not come back");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn cluster(&self) -> PathBuf {
        self.data_dir.join("postgres/data")
    }

    fn postmaster(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.cluster().join("postmaster.pid")).ok()?;
        text.lines().next()?.parse().ok().map(Pid::from_raw)
    }

    /// The postmaster and its children.
    fn postgres(&self) -> Vec<Pid> {
        let Some(postmaster) = self.postmaster() else { return Vec::new() };
        let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw);
        [postmaster].into_iter().chain(children).collect()
    }

    async fn strike(&mut self, fault: &str, random: &mut Random) {
        match fault {
            "the service is killed" => self.kill_service(),
            "Postgres is killed" => self.kill_postgres(),
            "both are killed" => {
                self.kill_postgres();
                self.kill_service();
            }
            "Postgres is frozen" => {
                let frozen = self.postgres();
                frozen.iter().for_each(|pid| _ = kill(*pid, Signal::SIGSTOP));
                let long = Duration::from_millis(2000 + random.below(1500));
                let start = Instant::now();
                while start.elapsed() < long {
                    // Reads are answered all the time, with what the service can say.
                    let answer = self
                        .client
                        .get(self.url("/v1/games"))
                        .send()
                        .await
                        .expect("an answer while Postgres is frozen");
                    assert_eq!(answer.status(), 503);
                    assert_eq!(answer.headers()["content-type"], "application/problem+json");
                    assert!(answer.headers().contains_key("retry-after"));
                }
                frozen.iter().for_each(|pid| _ = kill(*pid, Signal::SIGCONT));
            }
            "all connections are dropped" => {
                self.sql("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()").await;
            }
            "the ratings are locked" => self.sql("begin; lock table ratings; select pg_sleep(1.5); commit").await,
            "a backend is killed" => {
                let backends = self.postgres();
                if let Some(pid) = backends.iter().skip(1).nth(random.below(backends.len() as u64) as usize) {
                    let _ = kill(*pid, Signal::SIGKILL);
                }
            }
            other => panic!("{other}"),
        }
    }

    fn kill_service(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        self.server = serve(&self.data_dir, self.port);
    }

    fn kill_postgres(&self) {
        if let Some(pid) = self.postmaster() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }

    /// A statement beside the service; it may find the database down, or be cut off with the others.
    async fn sql(&self, statement: &'static str) {
        let lines = fs::read_to_string(self.cluster().join("postmaster.pid")).unwrap_or_default();
        let options = PgConnectOptions::new_without_pgpass().username("hasami").database("hasami_ladder");
        if let Some(folder) = lines.lines().nth(4)
            && let Ok(mut conn) = PgConnection::connect_with(&options.socket(folder)).await
        {
            drop(sqlx::raw_sql(statement).execute(&mut conn).await);
        }
    }

    /// Holds what was acknowledged against what the service says: each ply once and in its place, each end as told.
    /// How many plies of how many games. A game that is over is looked at once more, and again at the very end.
    async fn check(&mut self, all: bool) -> (usize, usize) {
        let mut games: HashMap<String, Vec<(u64, String)>> = HashMap::new();
        let ends = {
            let acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
            for ((game, ply), mv) in &acknowledged.plies {
                if all || !self.settled.contains(game) {
                    games.entry(game.clone()).or_default().push((*ply, mv.clone()));
                }
            }
            acknowledged.ends.clone()
        };
        for (game, acknowledged) in &games {
            let history = self.read(&format!("/v1/games/{game}/moves")).await;
            let items = history["items"].as_array().unwrap();
            for (index, item) in items.iter().enumerate() {
                assert_eq!(item["ply"], index + 1, "game {game} has a gap");
            }
            for (ply, mv) in acknowledged {
                let item = items.get(*ply as usize - 1);
                assert_eq!(item.map(|i| i["move"].as_str().unwrap()), Some(mv.as_str()), "game {game} lost ply {ply}");
            }
            if let Some((winner, termination)) = ends.get(game) {
                let read = self.read(&format!("/v1/games/{game}")).await;
                assert_eq!((&read["winner"], &read["termination"]), (winner, termination), "{read}");
                self.settled.insert(game.clone());
            }
        }
        (games.len(), games.values().map(Vec::len).sum())
    }

    async fn read(&self, path: &str) -> Value {
        let start = Instant::now();
        loop {
            if let Ok(answer) = self.client.get(self.url(path)).send().await
                && answer.status() == 200
            {
                return answer.json().await.unwrap();
            }
            assert!(start.elapsed() < PATIENCE, "{path} is not to be had");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn stop_and_verify(&mut self) {
        kill(Pid::from_raw(self.server.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert!(self.server.wait().unwrap().success());
        let verify = program(&self.data_dir).arg("verify").output().unwrap();
        let said = String::from_utf8_lossy(&verify.stdout);
        assert!(verify.status.success(), "{said}{}", String::from_utf8_lossy(&verify.stderr));
        println!("{said}");
    }
}

impl Drop for World {
    /// Leaves nothing behind, also when a test fails.
    fn drop(&mut self) {
        for pid in self.postgres() {
            let _ = kill(pid, Signal::SIGCONT);
        }
        let _ = kill(Pid::from_raw(self.server.id().cast_signed()), Signal::SIGTERM);
        drop(self.server.wait());
        drop(fs::remove_dir_all(&self.data_dir));
    }
}

fn program(data_dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hasami-ladder"));
    command
        .env_remove("DATABASE_URL")
        .env("LADDER_DATA_DIR", data_dir)
        .env("LADDER_LOG", "error")
        .env("LADDER_LOG_FORMAT", "human");
    command
}

fn serve(data_dir: &Path, port: u16) -> Child {
    // Few connections, so that blocked ones fill the pool.
    let listen = format!("127.0.0.1:{port}");
    program(data_dir)
        .args(["serve", "--listen", &listen, "--db-connections", "3"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Two players who share a record of what they were told.
struct Bots {
    client: reqwest::Client,
    base: String,
    random: Random,
    acknowledged: Arc<Mutex<Acknowledged>>,
    moves: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Bots {
    fn new(world: &World, pair: u64) -> Self {
        Self {
            // A bot's own limit for an answer.
            client: reqwest::Client::builder().timeout(Duration::from_secs(2)).build().unwrap(),
            base: format!("http://127.0.0.1:{}", world.port),
            random: Random(pair + 1),
            acknowledged: world.acknowledged.clone(),
            moves: world.moves.clone(),
            over: world.over.clone(),
        }
    }

    async fn play(mut self) {
        while !self.over.load(Ordering::Relaxed) {
            // Newcomers now and then: an access token lives for minutes only.
            let tokens = [self.enter().await, self.enter().await];
            for _ in 0..5 {
                self.play_game(&tokens).await;
            }
        }
    }

    async fn enter(&self) -> String {
        let (_, session) = self.post("/v1/guests", "", json!({})).await;
        session["access_token"].as_str().unwrap().to_owned()
    }

    async fn play_game(&mut self, tokens: &[String; 2]) {
        let win_rule = WinRule::ALL[self.random.below(3) as usize];
        let (_, table) =
            self.post("/v1/tables", &tokens[0], json!({ "win_rule": win_rule.as_str(), "move_limit": 60 })).await;
        let table = table["id"].as_str().unwrap();
        let (_, table) = self.post(&format!("/v1/tables/{table}/seat"), &tokens[1], json!({})).await;
        let game_id = table["game_id"].as_str().unwrap().to_owned();
        let mut game = Game::new(GameOptions { win_rule, move_limit: Some(60) });
        while game.outcome().is_none() {
            if game.ply() > 4 && (self.random.below(40) == 0 || self.over.load(Ordering::Relaxed)) {
                let loser = &tokens[self.random.below(2) as usize];
                let (_, ended) = self.post(&format!("/v1/games/{game_id}/resign"), loser, json!({})).await;
                return self.acknowledge_end(&game_id, &ended);
            }
            let count = game.position().legal_moves().count() as u64;
            let mv = game.position().legal_moves().nth(self.random.below(count) as usize).unwrap();
            let ply = u64::from(game.ply()) + 1;
            let token = &tokens[usize::from(ply % 2 == 0)];
            let body = json!({ "move": mv.to_string(), "ply": ply });
            let (status, played) = self.post(&format!("/v1/games/{game_id}/moves"), token, body).await;
            assert!(status == 200 || status == 201, "{played}");
            assert_eq!((&played["ply"]["ply"], &played["ply"]["move"]), (&json!(ply), &json!(mv.to_string())));
            game.play(mv).unwrap();
            self.moves.fetch_add(1, Ordering::Relaxed);
            let mut acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
            acknowledged.plies.insert((game_id.clone(), ply), mv.to_string());
            drop(acknowledged);
            if game.outcome().is_some() {
                self.acknowledge_end(&game_id, &played["game"]);
            }
        }
    }

    fn acknowledge_end(&self, game_id: &str, game: &Value) {
        assert_eq!(game["status"], "finished", "{game}");
        let mut acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        acknowledged.ends.insert(game_id.to_owned(), (game["winner"].clone(), game["termination"].clone()));
    }

    /// Posts until there is an answer below 500, every 0.1 s, for a minute at most.
    async fn post(&self, path: &str, token: &str, body: Value) -> (u16, Value) {
        let start = Instant::now();
        loop {
            let request = self.client.post(format!("{}{path}", self.base)).bearer_auth(token).json(&body);
            let request = if token.is_empty() { self.client.post(format!("{}{path}", self.base)) } else { request };
            if let Ok(answer) = request.send().await {
                let status = answer.status().as_u16();
                assert_ne!(status, 500, "{:?}", answer.text().await);
                if status < 500
                    && let Ok(body) = answer.json::<Value>().await
                {
                    assert!(status < 400, "{path}: {body}");
                    return (status, body);
                }
            }
            assert!(start.elapsed() < PATIENCE, "{path} was not answered for a minute");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A small generator (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }
}
