//! The computer as an opponent.

use serde_json::{Value, json};

use crate::app::{Player, TestApp};
use crate::clocks::{possible, until};

async fn seat(app: &TestApp, host: &Player, table: &str, level: u8) -> crate::app::Answer {
    app.post_as(host, &format!("/v1/tables/{table}/seat"), json!({ "cpu_level": level })).await
}

/// A casual game against the computer, in which `player` moves first.
async fn begin(app: &TestApp, player: &Player, level: u8) -> String {
    let table = app.open(player, json!({ "rated": false })).await;
    let table = seat(app, player, &table, level).await.expect(201);
    table["game_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_computer_takes_a_seat_and_answers() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    for level in [1, 3, 8] {
        let table = app.open(&ana, json!({ "rated": false })).await;
        let seated = seat(&app, &ana, &table, level).await.expect(201);
        let name = format!("cpu-{level}");
        assert_eq!(
            seated["seats"][1],
            json!({ "username": name, "kind": "cpu", "cpu_level": level, "wants_next": false })
        );
        assert_eq!(
            (&seated["running"], seat(&app, &ana, &table, level).await.expect(200)),
            (&json!(true), seated.clone())
        );
        let game = seated["game_id"].as_str().unwrap();
        for (ply, mv) in [(1, "e1e5"), (3, "a1a2")] {
            app.play(game, &ana, mv, ply).await.expect(201);
            let state = until(&app, game, |g| g["ply"] == ply + 1).await;
            assert_eq!((&state["to_move"], &state["seats"]["second"]["kind"]), (&json!("first"), &json!("cpu")));
        }
        let history = app.get(&format!("/v1/games/{game}/moves")).await.expect(200);
        let by: Vec<&Value> = history["items"].as_array().unwrap().iter().map(|row| &row["by"]).collect();
        assert_eq!(by, ["player", "cpu", "player", "cpu"]);
        app.resign(game, &ana).await.expect(200);
        assert_eq!(app.get(&format!("/v1/players/{name}")).await.expect(200)["ratings"], json!({}));
    }
}

#[tokio::test]
async fn the_computer_agrees_to_the_next_game_and_then_moves_first() {
    let app = TestApp::start().await;
    let ana = app.guest().await;
    let game = begin(&app, &ana, 2).await;
    app.play(&game, &ana, "e1e5", 1).await.expect(201);
    let ended = app.resign(&game, &ana).await.expect(200);
    let table = ended["table_id"].as_str().unwrap();
    assert_eq!(app.get(&format!("/v1/tables/{table}")).await.expect(200)["seats"][1]["wants_next"], true);
    let next = app.post_as(&ana, &format!("/v1/tables/{table}/next"), json!({})).await.expect(200);
    let next = next["game_id"].as_str().unwrap();
    let state = until(&app, next, |g| g["ply"] == 1).await;
    assert_eq!((&state["number"], &state["seats"]["first"]["username"]), (&json!(2), &json!("cpu-2")));
}

#[tokio::test]
async fn a_seat_for_the_computer_is_refused_with_a_reason() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let rated = app.open(&ana, json!({})).await;
    seat(&app, &ana, &rated, 3).await.refuses(422, "invalid_option", "/cpu_level");
    let casual = app.open(&ana, json!({ "rated": false })).await;
    for level in [0, 9, 255] {
        seat(&app, &ana, &casual, level).await.refuses(422, "invalid_option", "/cpu_level");
    }
    for level in [json!(-1), json!(256), json!("3"), json!(1.5)] {
        let body = json!({ "cpu_level": level });
        app.post_as(&ana, &format!("/v1/tables/{casual}/seat"), body).await.refuses(
            400,
            "malformed_request",
            "/cpu_level",
        );
    }
    seat(&app, &ben, &casual, 3).await.problem(403, "forbidden");
    app.sit(&ben, &casual).await.expect(201);
    seat(&app, &ana, &casual, 3).await.problem(409, "seat_taken");
    // A name like the computer's is nobody else's.
    let body = json!({ "username": "cpu-3", "password": "correct horse" });
    app.post("/v1/players", body).await.refuses(422, "invalid_field", "/username");
}

#[tokio::test]
async fn between_games_the_level_changes_and_the_table_stays_casual() {
    let app = TestApp::start().await;
    let ana = app.guest().await;
    let game = begin(&app, &ana, 1).await;
    let table = app.game(&game).await["table_id"].as_str().unwrap().to_owned();
    seat(&app, &ana, &table, 4).await.problem(409, "game_running");
    app.resign(&game, &ana).await.expect(200);
    let changed = seat(&app, &ana, &table, 4).await.expect(201);
    assert_eq!((&changed["seats"][1]["cpu_level"], &changed["running"]), (&json!(4), &json!(false)));
    let address = format!("/v1/tables/{table}");
    app.patch_as(&ana, &address, json!({ "rated": true })).await.refuses(422, "invalid_option", "/rated");
    app.patch_as(&ana, &address, json!({ "win_rule": "lead3" })).await.expect(200);
    // Left to the computer alone, the table is closed.
    let left = app.delete_as(&ana, &format!("{address}/seat")).await.expect(200);
    assert_eq!(left["closed"], true);
}

#[tokio::test]
async fn a_whole_game_against_the_computer_under_a_timer() {
    let app = TestApp::start().await;
    let ana = app.guest().await;
    let options = json!({ "rated": false, "turn_seconds": 30, "move_limit": 40, "win_rule": "capture5" });
    let table = app.open(&ana, options).await;
    let game = seat(&app, &ana, &table, 1).await.expect(201)["game_id"].as_str().unwrap().to_owned();
    let mut ply = 0;
    let ended = loop {
        let state =
            until(&app, &game, |g| g["ply"] == ply && g["to_move"] == "first" || g["status"] == "finished").await;
        if state["status"] == "finished" {
            break state;
        }
        let mv = possible(&app, &game).await;
        ply = app.play(&game, &ana, &mv, ply + 1).await.expect(201)["game"]["ply"].as_u64().unwrap() + 1;
    };
    assert!(["captures", "no_moves", "repetition", "move_limit"].contains(&ended["termination"].as_str().unwrap()));
}
