//! The integrity commands: what is healthy passes, and each kind of damage is named.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use futures_util::future::{join, join_all};
use hasami_ladder::ladder::ranks;
use hasami_ladder::store;
use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::OnceCell;

use crate::app::{TestApp, copy_database, drop_database, execute, new_database, url};
use crate::damage::{games, ledger, sums};
use crate::random::play_pair;

const SHUFFLE: &str = "a1a2 a9a8 a2a1 a8a9 a1a2 a9a8 a2a1 a8a9 a1a2 a9a8 a2a1 a8a9";

/// Runs a command on a database.
pub fn run(database: &PgConnectOptions, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hasami-ladder"))
        .args(args)
        .args(["--log", "warn"])
        .env("DATABASE_URL", url(database))
        .output()
        .unwrap()
}

/// What a command said, which must end so.
#[track_caller]
pub fn ends(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Games of all kinds. The service is stopped afterwards, with some deltas of ranks not folded yet.
async fn play_all_kinds() -> PgConnectOptions {
    let app = TestApp::start().await;
    let [ana, ben, dora] = [app.register("Ana").await, app.register("Ben").await, app.register("Dora").await];
    let cleo = app.guest().await;
    // Beyond five games of a pair K is halved, from the tenth game on the board shows them.
    for n in 0..12 {
        let [winner, loser] = if n % 3 == 0 { [&ben, &ana] } else { [&ana, &ben] };
        app.beat(winner, loser, json!({})).await;
    }
    fold(&app.database).await;
    for opponent in [&ana, &dora] {
        for _ in 0..5 {
            app.beat(&cleo, opponent, json!({})).await;
        }
    }
    let claim = json!({ "username": "Cleo", "password": "correct horse" });
    app.post_as(&cleo, "/v1/me/claim", claim).await.expect(200);

    let won = app.begin(&ana, &ben, json!({ "win_rule": "lead3" })).await;
    app.play_line(&won, [&ana, &ben], "c1c5 d9d5 g1g4 e9e5 i1i2 f9f5 g4g5").await;
    let drawn = app.begin(&ben, &dora, json!({ "move_limit": 4 })).await;
    app.play_line(&drawn, [&ben, &dora], "a1a2 a9a8 b1b2 b9b8").await;
    // Drawn by repetition twice: the rerun of a rerun is resigned, and one more game is asked for and runs.
    let table = app.open(&ana, json!({})).await;
    let mut game = app.sit(&dora, &table).await.expect(201)["game_id"].as_str().unwrap().to_owned();
    for sides in [[&ana, &dora], [&dora, &ana]] {
        game = app.play_line(&game, sides, SHUFFLE).await["rerun"].as_str().unwrap().to_owned();
    }
    app.resign(&game, &dora).await.expect(200);
    for player in [&ana, &dora] {
        app.post_as(player, &format!("/v1/tables/{table}/next"), json!({})).await.expect(200);
    }
    app.beat(&ana, &ben, json!({ "rated": false })).await;
    app.beat(&ana, &ben, json!({ "visibility": "public", "win_rule": "captureall" })).await;
    let short = app.begin(&ana, &cleo, json!({ "win_rule": "captureall" })).await;
    app.play(&short, &ana, "a1a2", 1).await.expect(201);
    app.resign(&short, &cleo).await.expect(200);
    let aborted = app.begin(&ben, &cleo, json!({})).await;
    app.post_as(&ben, &format!("/v1/games/{aborted}/abort"), json!({})).await.expect(200);
    let running = app.begin(&ben, &cleo, json!({})).await;
    app.play_line(&running, [&ben, &cleo], "a1a2 a9a8 b1b2").await;
    app.open(&cleo, json!({ "visibility": "unlisted" })).await;

    // Beside it, as the service goes on.
    let verified = tokio::task::spawn_blocking({
        let database = app.database.clone();
        move || run(&database, &["verify"])
    });
    let (_, verified) =
        join(join_all([(1..6).collect(), (6..11).collect()].map(|s| play_pair(&app, s))), verified).await;
    ends(&verified.unwrap(), 0);
    let database = app.database.clone();
    drop(app);
    database
}

async fn fold(database: &PgConnectOptions) {
    let pool = store::pool(database.clone(), 1);
    ranks::fold(&pool).await.unwrap();
    pool.close().await;
}

/// Whether a line names relation and column, and a row between them.
fn names(line: &str, what: &str) -> bool {
    let (relation, column) = what.split_once(' ').unwrap();
    let rest = line.strip_prefix(relation).and_then(|rest| rest.strip_prefix(' ')).unwrap_or_default();
    let row = rest.split_once(": found ").and_then(|(named, _)| named.strip_suffix(column));
    row.is_some_and(|row| row.len() > 10 && row.ends_with(' ')) && line.contains(", expected ")
}

/// A copy of the database in which games of all kinds were played.
async fn healthy() -> PgConnectOptions {
    static PLAYED: OnceCell<PgConnectOptions> = OnceCell::const_new();
    copy_database(PLAYED.get_or_init(play_all_kinds).await.get_database().unwrap()).await
}

#[tokio::test]
async fn each_kind_of_damage_is_named() {
    let healthy = healthy().await;
    let said = ends(&run(&healthy, &["verify"]), 0);
    assert!(said.starts_with("everything agrees: "), "{said}");
    assert_eq!(said.lines().count(), 1);
    fold(&healthy).await;
    ends(&run(&healthy, &["verify"]), 0);

    let mut missed = Vec::new();
    for (what, statement) in [games(), ledger(), sums()].concat() {
        let damaged = copy_database(healthy.get_database().unwrap()).await;
        execute(&damaged, &statement).await;
        let output = run(&damaged, &["verify"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() != Some(1) || !said.lines().any(|line| names(line, what)) {
            missed.push(format!("{what}: {statement}: {said}{}", String::from_utf8_lossy(&output.stderr)));
        }
        drop_database(&damaged).await;
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[tokio::test]
async fn what_cannot_be_read_is_no_mismatch() {
    let database = new_database().await;
    ends(&run(&database, &["verify"]), 0);
    execute(&database, "update _sqlx_migrations set version = version + 1000").await;
    let output = run(&database, &["verify"]);
    assert_eq!(ends(&output, 2), "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("this program"), "{output:?}");
    execute(&database, "drop table _sqlx_migrations").await;
    assert_eq!(ends(&run(&database, &["verify"]), 2), "");
    ends(&run(&database.database("nowhere"), &["verify"]), 2);
}

/// An export of a database, line by line.
pub fn export(database: &PgConnectOptions) -> Vec<String> {
    ends(&run(database, &["export"]), 0).lines().map(str::to_owned).collect()
}

/// Imports lines by standard input.
fn import(database: &PgConnectOptions, lines: &[String]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hasami-ladder"))
        .args(["import", "--log-format", "human"])
        .env("DATABASE_URL", url(database))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        // Whoever refuses a line reads no further.
        if writeln!(stdin, "{line}").is_err() {
            break;
        }
    }
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[tokio::test]
async fn an_export_read_into_an_empty_database_is_the_same_database() {
    let database = healthy().await;
    let whole = export(&database);
    let rows =
        |relation: &str| whole.iter().filter(|l| l.starts_with(&format!(r#"{{"relation":"{relation}""#))).count();
    let counts = ["players", "tables", "games", "ledger", "ratings"].map(rows);
    assert!(counts.iter().all(|n| *n > 5) && counts.iter().sum::<usize>() + 2 == whole.len(), "{counts:?}");
    assert!(!whole.iter().any(|line| line.contains("token")), "no logins");

    let file = std::env::temp_dir().join(format!("{}.ndjson", database.get_database().unwrap()));
    let to_file = ["export", "--output", file.to_str().unwrap()];
    assert_eq!(ends(&run(&database, &to_file), 0), "");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().collect::<Vec<_>>(), whole);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    ends(&run(&database, &to_file), 1);

    // Without a schema even.
    let empty = copy_database("template1").await;
    ends(&run(&empty, &["import", "--input", file.to_str().unwrap()]), 0);
    std::fs::remove_file(&file).unwrap();
    ends(&run(&empty, &["verify"]), 0);
    ends(&run(&empty, &["rebuild-ratings"]), 0);
    assert_eq!(export(&empty), whole);
    let again = import(&empty, &whole);
    ends(&again, 1);
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"), "{again:?}");
    // Neither did that change anything.
    assert_eq!(export(&empty), whole);
}

#[tokio::test]
async fn a_line_that_does_not_fit_is_named_and_nothing_is_imported() {
    let whole = export(&healthy().await);
    let last = whole.len();
    let of =
        |relation: &str| whole.iter().position(|l| l.starts_with(&format!(r#"{{"relation":"{relation}""#))).unwrap();
    let replaced = |at: usize, from: &str, to: &str| {
        let mut lines = whole.clone();
        assert!(lines[at].contains(from), "{}", lines[at]);
        lines[at] = lines[at].replacen(from, to, 1);
        lines
    };
    let removed = |at: usize| [&whole[..at], &whole[at + 1..]].concat();
    let twice = |at: usize| [&whole[..=at], &whole[at..]].concat();
    let (game, entry) = (of("games") + 3, of("ledger") + 2);
    let cases = [
        ("line 1 ", replaced(0, "\"version\":1", "\"version\":2")),
        ("line 1 ", replaced(0, "\"schema\":", "\"schema\":9")),
        ("line 1 ", removed(0)),
        ("without its last line", removed(last - 1)),
        ("announced", removed(game)),
        ("announced", twice(last - 2)),
        (&*format!("line {}:", game + 1), replaced(game, "}}", "}")),
        (&*format!("line {}:", game + 1), replaced(game, "{\"relation\":\"games\"", "{\"relation\":\"boards\"")),
        (&*format!("line {}:", game + 1), replaced(game, "\"log\": ", "\"lag\": ")),
        (&*format!("line {}:", game + 1), replaced(game, "\"log\": ", "\"more\": 1, \"log\": ")),
        (&*format!("line {}:", game + 1), replaced(game, "\"ply\": ", "\"ply\": x")),
        (&*format!("line {}:", game + 1), replaced(game, "+00:00", "+01:00")),
        (&*format!("line {}:", entry + 1), replaced(entry, "\"player_id\": \"", "\"player_id\": \"0")),
        (&*format!("line {}:", entry + 1), replaced(entry, "\"before_milli\": ", "\"before_milli\": 1")),
        // A player that the ledger needs, and one that is there already.
        ("line ", removed(2)),
        ("line 4:", twice(2)),
    ];
    let empty = new_database().await;
    let nothing = export(&empty);
    assert_eq!(nothing.len(), 2);
    for (named, lines) in cases {
        let output = import(&empty, &lines);
        ends(&output, 1);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("nothing was imported") && said.contains(named), "{named}: {said}");
        assert_eq!(export(&empty), nothing, "{named}");
    }
    ends(&import(&empty, &whole), 0);
}

/// Fails where the two ledgers differ.
const COMPARE: &str = "do $$ begin
    assert (select count(*) from ledger) = (select count(*) from ledger_rebuilt) and (select count(*) from ledger) > 0;
    assert not exists (select * from ledger except select * from ledger_rebuilt);
end $$";

#[tokio::test]
async fn ratings_rebuilt_are_the_same_to_the_last_bit() {
    let database = healthy().await;
    for _ in 0..2 {
        let said = ends(&run(&database, &["rebuild-ratings"]), 0);
        assert!(said.contains("identical"), "{said}");
        execute(&database, COMPARE).await;
    }
    // Of two games the one with the lower number ended later, as it may where endings wait for each other.
    let cleo = "(select player_id from players where username = 'Cleo')";
    let late = format!("(select game_id from ledger where player_id = {cleo} and ladder = 'capture5' and number = 6)");
    execute(
        &database,
        &format!(
            "update games set ended_at = ended_at + interval '1 minute' where game_id = {late};
             update ledger set at = at + interval '1 minute' where game_id = {late};
             update ratings r set last_rated_at = (select max(at) from ledger where player_id = r.player_id and ladder = r.ladder)
             where number > 0"
        ),
    )
    .await;
    ends(&run(&database, &["verify"]), 0);
    ends(&run(&database, &["rebuild-ratings"]), 0);
    execute(&database, COMPARE).await;
}

#[tokio::test]
async fn each_difference_from_the_rebuilt_ledger_is_told() {
    let healthy = healthy().await;
    // What the order is taken from cannot be wrong by itself; the whole of it is `verify`'s.
    for (what, statement) in ledger().into_iter().filter(|(_, statement)| !statement.contains("annul")) {
        let damaged = copy_database(healthy.get_database().unwrap()).await;
        execute(&damaged, &statement).await;
        let output = run(&damaged, &["rebuild-ratings"]);
        let said = ends(&output, 1);
        assert!(said.lines().any(|line| line.starts_with("ledger ")), "{what}: {statement}: {said}");
        drop_database(&damaged).await;
    }
}
