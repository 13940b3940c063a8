//! A service of its own for each test, and the verbs of its clients.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::str::FromStr as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use actix_web::dev::ServerHandle;
use hasami_ladder::http::{self, Service};
use hasami_ladder::store;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};

use crate::openapi::check_answer;

pub const SECRET: &[u8] = b"a secret that only the tests know of";

/// One throw-away cluster for all tests. It lives as long as this process: the program that holds it ends with its
/// standard input, whatever ends us.
fn cluster() -> &'static PgConnectOptions {
    static CLUSTER: OnceLock<(PgConnectOptions, Mutex<Child>)> = OnceLock::new();
    let (options, _) = CLUSTER.get_or_init(|| {
        let mut holder = Command::new(env!("CARGO_BIN_EXE_hasami-ladder"))
            .args(["postgres", "--temporary", "--log", "warn"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let options = PgConnectOptions::from_str(url.trim()).expect("the cluster's URL");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            execute(&options, "create database template_of_tests").await;
            store::migrate(options.clone().database("template_of_tests")).await.unwrap();
        });
        (options, Mutex::new(holder))
    });
    options
}

/// A connection beside the service's.
pub async fn connect(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options).await.unwrap()
}

pub async fn execute(options: &PgConnectOptions, statement: &str) {
    let mut conn = connect(options).await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

/// A new database with the schema in it.
pub async fn new_database() -> PgConnectOptions {
    copy_database("template_of_tests").await
}

/// A copy of a database that nobody is connected to.
pub async fn copy_database(template: &str) -> PgConnectOptions {
    /// Copies of one template wait for each other; here rather than in a refusal.
    static COPYING: Mutex<()> = Mutex::new(());
    let name = format!("test_{}", uuid::Uuid::now_v7().simple());
    let options = tokio::task::spawn_blocking(cluster).await.unwrap().clone();
    let (admin, statement) = (options.clone(), format!("create database {name} template {template}"));
    tokio::task::spawn_blocking(move || {
        let _copying = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(execute(&admin, &statement));
    })
    .await
    .unwrap();
    options.database(&name)
}

pub async fn drop_database(database: &PgConnectOptions) {
    execute(cluster(), &format!("drop database {}", database.get_database().unwrap())).await;
}

/// The URL of a test's database, for other programs.
pub fn url(database: &PgConnectOptions) -> String {
    let (user, port) = (database.get_username(), database.get_port());
    let (socket, name) = (database.get_socket().unwrap().display(), database.get_database().unwrap());
    format!("postgres://{user}@localhost:{port}/{name}?host={socket}")
}

/// A running service with a database of its own.
pub struct TestApp {
    pub address: SocketAddr,
    pub database: PgConnectOptions,
    client: reqwest::Client,
    server: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

/// A client's identity.
#[derive(Clone)]
pub struct Player {
    pub id: String,
    pub username: String,
    pub token: String,
    pub refresh_token: String,
}

/// What the service answered. That it fits the contract is checked already.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
    pub body: Value,
}

impl Answer {
    /// The body of an answer that must have this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.body
    }

    /// The problem document of an answer that must have this status and code.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status.as_u16(), self.body["code"].as_str()), (status, Some(code)), "{}", self.text);
        self.body
    }

    /// A refusal that names the faulty part of the body, query or headers.
    #[track_caller]
    pub fn refuses(self, status: u16, code: &str, part: &str) -> Value {
        let body = self.problem(status, code);
        let error = &body["errors"][0];
        let named = [&error["pointer"], &error["parameter"], &error["header"]].into_iter().find_map(Value::as_str);
        assert_eq!(named, Some(part), "{body}");
        body
    }
}

impl TestApp {
    /// A service on a new database.
    pub async fn start() -> Self {
        Self::start_on(new_database().await).await
    }

    /// One more service on a database.
    pub async fn start_on(database: PgConnectOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (started, server) = tokio::sync::oneshot::channel();
        let options = database.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            runtime.block_on(async {
                let (service, worker) = Service::start(options, 6, SECRET).unwrap();
                let pool = service.pool.clone();
                let worker = tokio::spawn(worker.run());
                let server = http::serve(service, listener, 1).unwrap();
                started.send(server.handle()).ok().unwrap();
                server.await.unwrap();
                worker.abort();
                pool.close().await;
            });
        });
        // The product's downloads choose no provider for everybody, so reqwest wants one, though nothing here is TLS.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { address, database, client, server: server.await.unwrap(), thread: Some(thread) }
    }

    /// A connection to the service's database, to arrange what a client cannot.
    pub async fn sql(&self, statement: &str) {
        execute(&self.database, statement).await;
    }

    /// Waits until a query of the database finds a row, as it will.
    pub async fn sees_row(&self, query: &str) {
        let mut conn = connect(&self.database).await;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while sqlx::raw_sql(sqlx::AssertSqlSafe(query.to_owned())).fetch_optional(&mut conn).await.unwrap().is_none() {
            assert!(std::time::Instant::now() < deadline, "never: {query}");
        }
    }

    /// Sends a request as it is.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let request = request.build().unwrap();
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = self.client.execute(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        let answer = Answer { status, headers, text, body };
        check_answer(&method, &path, &answer);
        answer
    }

    /// A request, to be sent.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn get_as(&self, player: &Player, path: &str) -> Answer {
        self.send(self.request(Method::GET, path).bearer_auth(&player.token)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).json(&body)).await
    }

    pub async fn post_as(&self, player: &Player, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).bearer_auth(&player.token).json(&body)).await
    }

    pub async fn patch_as(&self, player: &Player, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::PATCH, path).bearer_auth(&player.token).json(&body)).await
    }

    pub async fn delete_as(&self, player: &Player, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path).bearer_auth(&player.token)).await
    }

    pub async fn guest(&self) -> Player {
        let body = self.send(self.request(Method::POST, "/v1/guests")).await.expect(201);
        Player::from(&body)
    }

    pub async fn register(&self, username: &str) -> Player {
        let body = json!({ "username": username, "password": "correct horse" });
        Player::from(&self.post("/v1/players", body).await.expect(201))
    }

    /// Opens a table; its id.
    pub async fn open(&self, host: &Player, options: Value) -> String {
        id(&self.post_as(host, "/v1/tables", options).await.expect(201))
    }

    pub async fn sit(&self, player: &Player, table: &str) -> Answer {
        self.post_as(player, &format!("/v1/tables/{table}/seat"), json!({})).await
    }

    /// A new game in which `first` moves first; its id.
    pub async fn begin(&self, first: &Player, second: &Player, options: Value) -> String {
        let table = self.open(first, options).await;
        let table = self.sit(second, &table).await.expect(201);
        table["game_id"].as_str().unwrap().to_owned()
    }

    pub async fn play(&self, game: &str, player: &Player, mv: &str, ply: u64) -> Answer {
        self.post_as(player, &format!("/v1/games/{game}/moves"), json!({ "move": mv, "ply": ply })).await
    }

    /// Plays a line from the start; the last answer's game.
    pub async fn play_line(&self, game: &str, [first, second]: [&Player; 2], moves: &str) -> Value {
        let mut last = Value::Null;
        for (ply, mv) in (1..).zip(moves.split_whitespace()) {
            let player = if ply % 2 == 1 { first } else { second };
            last = self.play(game, player, mv, ply).await.expect(201);
        }
        last["game"].take()
    }

    pub async fn game(&self, game: &str) -> Value {
        self.get(&format!("/v1/games/{game}")).await.expect(200)
    }

    pub async fn resign(&self, game: &str, player: &Player) -> Answer {
        self.post_as(player, &format!("/v1/games/{game}/resign"), json!({})).await
    }

    /// A rated game of four plies that `loser` gives up; `winner` moves first.
    pub async fn beat(&self, winner: &Player, loser: &Player, options: Value) -> Value {
        let game = self.begin(winner, loser, options).await;
        self.play_line(&game, [winner, loser], "a1a2 a9a8 b1b2 b9b8").await;
        self.resign(&game, loser).await.expect(200)
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        // Asks at once; the answer comes when the thread ends.
        drop(self.server.stop(false));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl From<&Value> for Player {
    fn from(session: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            id: text(&session["player"]["id"]),
            username: text(&session["player"]["username"]),
            token: text(&session["access_token"]),
            refresh_token: text(&session["refresh_token"]),
        }
    }
}

pub fn id(body: &Value) -> String {
    body["id"].as_str().unwrap().to_owned()
}

/// A header's text.
pub fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map(HeaderValue::to_str).map_or("", |text| text.unwrap())
}
