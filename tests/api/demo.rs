//! The demo: what a newcomer finds in a ladder that was filled, and what happens to one that is not empty.

use serde_json::json;
use sqlx::postgres::PgConnectOptions;

use crate::app::{TestApp, new_database};
use crate::integrity::{ends, export, run};

const DEMO: [&str; 5] = ["demo", "--games", "40", "--players", "6"];

#[tokio::test]
async fn a_newcomer_sees_boards_and_histories_and_can_play_at_once() {
    let database = new_database().await;
    let said = ends(&run(&database, &DEMO), 0);
    let verified = ends(&run(&database, &["verify"]), 0);
    assert!(verified.starts_with("everything agrees: "), "{verified}");
    refuses(&database);

    let app = TestApp::start_on(database).await;
    for ladder in ["capture5", "lead3", "captureall"] {
        let address = format!("/v1/ladders/{ladder}/leaderboard");
        assert!(said.contains(&address), "{said}");
        let board = app.get(&address).await.expect(200);
        let listed = board["items"].as_array().unwrap();
        assert!(listed.len() >= 2, "{board}");
        assert!(listed.iter().all(|row| row["kind"] == "bot" && row["games"].as_i64() >= Some(10)), "{board}");
    }
    let board = app.get("/v1/ladders/capture5/leaderboard").await.expect(200);
    let best = board["items"][0]["username"].as_str().unwrap();
    let player = app.get(&format!("/v1/players/{best}")).await.expect(200);
    assert!(player["display_name"].as_str().unwrap().starts_with("Demo bot, level "), "{player}");
    let ledger = app.get(&format!("/v1/players/{best}/ratings/capture5/history")).await.expect(200);
    assert!(ledger["items"].as_array().unwrap().len() >= 10, "{ledger}");
    let games = app.get(&format!("/v1/players/{best}/games?status=finished&rated=true")).await.expect(200);
    let game = games["items"][0]["id"].as_str().unwrap();
    let history = app.get(&format!("/v1/games/{game}/moves")).await.expect(200);
    assert!(history["items"].as_array().unwrap().len() >= 4, "{history}");
    // Nobody can log in as one of them.
    let login = json!({ "username": best, "password": "correct horse" });
    app.post("/v1/sessions", login).await.problem(401, "unauthenticated");

    let finished = app.get("/v1/games?status=finished&limit=100").await.expect(200);
    assert!(finished["items"].as_array().unwrap().len() >= 40, "{finished}");
    let running = app.get("/v1/games?status=playing").await.expect(200);
    assert_eq!(running["items"].as_array().unwrap().len(), 3, "{running}");
    // Those who have played have left.
    let tables = app.get("/v1/tables").await.expect(200);
    assert_eq!(tables["items"].as_array().unwrap().len(), 6, "{tables}");
    let open = app.get("/v1/tables?open=true").await.expect(200);
    assert_eq!(open["items"].as_array().unwrap().len(), 3, "{open}");
    let guest = app.guest().await;
    let table = app.sit(&guest, open["items"][0]["id"].as_str().unwrap()).await.expect(201);
    let game = table["game_id"].as_str().unwrap();
    app.sees_row(&format!("select from games where game_id = '{game}' and ply = 1")).await;
}

#[tokio::test]
async fn a_ladder_with_players_is_left_alone() {
    let app = TestApp::start().await;
    app.guest().await;
    let database = app.database.clone();
    drop(app);
    refuses(&database);
}

/// A demo does nothing here and says why.
#[track_caller]
fn refuses(database: &PgConnectOptions) {
    let before = export(database);
    let refused = run(database, &DEMO);
    assert_eq!(ends(&refused, 1), "");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("has players already") && why.contains("nothing was changed"), "{why}");
    assert_eq!(export(database), before);
}
