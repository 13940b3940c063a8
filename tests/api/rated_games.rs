//! Which games count: every rated one, once, and no other.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::app::{Player, TestApp, id};
use crate::formula::NEW;

const LINE: &str = "a1a2 a9a8 b1b2 b9b8";

/// Everything that the service says about both players' ratings.
async fn all_ratings(app: &TestApp) -> Vec<Value> {
    let mut said = Vec::new();
    for name in ["ana", "ben"] {
        said.push(app.get(&format!("/v1/players/{name}")).await.expect(200)["ratings"].take());
        for ladder in ["capture5", "lead3", "captureall"] {
            said.push(json!(app.ledger(name, ladder).await));
        }
    }
    said.push(app.get("/v1/players/ana/vs/ben").await.expect(200));
    said
}

#[tokio::test]
async fn games_that_do_not_count_change_nothing() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    app.beat(&ana, &ben, json!({})).await;
    app.beat(&ben, &ana, json!({})).await;
    let before = all_ratings(&app).await;

    let short = app.begin(&ana, &ben, json!({})).await;
    app.play_line(&short, [&ana, &ben], "a1a2 a9a8 b1b2").await;
    let short = app.resign(&short, &ben).await.expect(200);
    let limited = app.begin(&ana, &ben, json!({ "move_limit": 3 })).await;
    let limited = app.play_line(&limited, [&ana, &ben], "a1a2 a9a8 b1b2").await;
    let casual = app.beat(&ana, &ben, json!({ "rated": false })).await;
    let moved = app.begin(&ben, &ana, json!({})).await;
    app.play(&moved, &ben, "a1a2", 1).await.expect(201);
    let aborted = app.post_as(&ana, &format!("/v1/games/{moved}/abort"), json!({})).await.expect(200);
    let running = app.begin(&ana, &ben, json!({})).await;
    app.play_line(&running, [&ana, &ben], LINE).await;

    let ends = [&short, &limited, &casual, &aborted].map(|g| (&g["status"], &g["winner"], &g["termination"]));
    assert_eq!(
        json!(ends),
        json!([
            ["finished", "first", "resignation"],
            ["finished", null, "move_limit"],
            ["finished", "first", "resignation"],
            ["aborted", null, "abort"]
        ])
    );
    for game in [&short, &limited, &casual, &aborted] {
        let after = ["first", "second"].map(|side| game["seats"][side]["rating_after_milli"].clone());
        assert_eq!(after, [json!(null), json!(null)], "{game}");
    }
    assert_eq!(all_ratings(&app).await, before);
}

#[tokio::test]
async fn every_rated_game_has_its_row_and_every_row_its_game() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let mut rated = BTreeSet::new();
    for round in 0..6 {
        rated.insert(id(&app.beat(&ana, &ben, json!({})).await));
        app.beat(&ben, &ana, json!({ "rated": false })).await;
        let short = app.begin(&ana, &ben, json!({ "move_limit": 2 })).await;
        app.play_line(&short, [&ana, &ben], "a1a2 a9a8").await;
        let drawn = app.begin(&ben, &ana, json!({ "move_limit": 4 + round })).await;
        app.play_line(&drawn, [&ben, &ana], &"a1a2 a9a8 b1b2 b9b8 c1c2 c9c8 d1d2 d9d8 e1e2"[..4 + 5 * (3 + round)])
            .await;
        rated.insert(drawn);
    }
    for (name, other) in [("Ana", "Ben"), ("Ben", "Ana")] {
        let rows = app.ledger(name, "capture5").await;
        let games: BTreeSet<String> = rows.iter().map(|r| r["game_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!((games.len(), &games), (rows.len(), &rated));
        for row in &rows {
            let game = app.game(row["game_id"].as_str().unwrap()).await;
            let side = if game["seats"]["first"]["username"] == name { "first" } else { "second" };
            assert_eq!(row["opponent"]["username"], other);
            assert_eq!((&game["status"], &game["rated"]), (&json!("finished"), &json!(true)));
            assert_eq!(row["before_milli"], game["seats"][side]["rating_before_milli"]);
            assert_eq!(row["after_milli"], game["seats"][side]["rating_after_milli"]);
            assert_eq!(row["at"], game["ended_at"]);
            let score = match game["winner"].as_str() {
                None => 0.5,
                Some(winner) => f64::from(u8::from(winner == side)),
            };
            assert_eq!(row["score"], score);
        }
        app.check_ratings(name, "capture5", NEW).await;
    }
    // By the list of games: those that say what they made of the ratings are those in the ledger.
    let list = app.get("/v1/players/ana/games?limit=100").await.expect(200);
    let told = list["items"].as_array().unwrap().iter().filter(|g| !g["seats"]["first"]["rating_after"].is_null());
    assert_eq!(told.map(id).collect::<BTreeSet<_>>(), rated);
}

#[tokio::test]
async fn a_ledger_is_paged_newest_first() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    for _ in 0..11 {
        app.beat(&ana, &ben, json!({})).await;
    }
    let path = "/v1/players/ANA/ratings/capture5/history";
    let whole = app.get(path).await.expect(200);
    assert_eq!(whole["next"], json!(null));
    let numbers: Vec<u64> = whole["items"].as_array().unwrap().iter().map(|r| r["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=11).rev().collect::<Vec<_>>());
    for (size, pages) in [(4, vec![4, 4, 3]), (11, vec![11]), (10, vec![10, 1])] {
        let mut rows = Vec::new();
        let mut sizes = Vec::new();
        let mut query = format!("?limit={size}");
        loop {
            let page = app.get(&format!("{path}{query}")).await.expect(200);
            let items = page["items"].as_array().unwrap();
            sizes.push(items.len());
            rows.extend(items.clone());
            let Some(next) = page["next"].as_str() else { break };
            query = format!("?limit={size}&cursor={next}");
        }
        assert_eq!((sizes, json!(rows)), (pages, whole["items"].clone()));
    }
    let first = app.get(&format!("{path}?limit=4")).await.expect(200);
    let next = first["next"].as_str().unwrap();
    app.beat(&ana, &ben, json!({})).await;
    let second = app.get(&format!("{path}?limit=4&cursor={next}")).await.expect(200);
    assert_eq!(second["items"][0]["number"], 7, "a game that ended in between shifts no page");
    for elsewhere in ["/v1/players/ben/ratings/capture5/history", "/v1/players/ana/ratings/lead3/history"] {
        app.get(&format!("{elsewhere}?cursor={next}")).await.refuses(400, "malformed_request", "cursor");
    }
}

#[tokio::test]
async fn a_draw_by_repetition_is_half_a_point_to_each_whoever_moved_last() {
    let app = TestApp::start().await;
    // The start stands for the fourth time after ply 12, by the second side; the position after ply 1 does after
    // ply 13, by the first.
    let by_second = "a1a2 a9a8 a2a1 a8a9 ".repeat(3);
    let by_first = format!("b1b2 {}", "a9a8 b2b3 a8a9 b3b2 ".repeat(3));
    for (index, (line, stood_at)) in [(by_second, [0, 4, 8, 12]), (by_first, [1, 5, 9, 13])].iter().enumerate() {
        let names = [format!("Ana{index}x"), format!("Ben{index}x")];
        let (ana, ben) = (app.register(&names[0]).await, app.register(&names[1]).await);
        let game = app.begin(&ana, &ben, json!({})).await;
        let end = app.play_line(&game, [&ana, &ben], line).await;
        assert_eq!((&end["winner"], &end["termination"]), (&json!(null), &json!("repetition")));
        assert_eq!((&end["repetitions"], &end["stood_at"]), (&json!(4), &json!(stood_at)));
        let rerun = app.game(end["rerun"].as_str().unwrap()).await;
        assert_eq!((&rerun["rerun_of"], &rerun["rated"], &rerun["number"]), (&end["id"], &json!(true), &json!(2)));
        assert_eq!(rerun["seats"]["first"]["username"], names[1], "the rerun alternates");
        for name in &names {
            let rows = app.ledger(name, "capture5").await;
            assert_eq!((rows.len(), &rows[0]["score"], &rows[0]["change_milli"]), (1, &json!(0.5), &json!(0)));
            assert_eq!(app.check_ratings(name, "capture5", NEW).await.draws, 1);
        }
    }
}

/// Wins of `a`, draws, wins of `b`.
async fn meet(app: &TestApp, [a, b]: [&Player; 2], ladder: &str, counts: [u32; 3]) {
    for _ in 0..counts[0] {
        app.beat(a, b, json!({ "win_rule": ladder })).await;
    }
    for _ in 0..counts[1] {
        let game = app.begin(a, b, json!({ "win_rule": ladder, "move_limit": 4 })).await;
        app.play_line(&game, [a, b], LINE).await;
    }
    for _ in 0..counts[2] {
        app.beat(b, a, json!({ "win_rule": ladder })).await;
    }
}

#[tokio::test]
async fn head_to_head_is_the_same_games_from_either_side() {
    let app = TestApp::start().await;
    let (ana, ben, cleo) = (app.register("Ana").await, app.register("Ben").await, app.register("Cleo").await);
    meet(&app, [&ana, &ben], "capture5", [3, 2, 1]).await;
    meet(&app, [&ana, &ben], "lead3", [0, 1, 2]).await;
    // Neither casual games nor those against somebody else count here.
    meet(&app, [&ana, &cleo], "capture5", [1, 1, 0]).await;
    app.beat(&ben, &ana, json!({ "rated": false })).await;
    let own = app.get("/v1/players/ana/vs/BEN").await.expect(200);
    let other = app.get("/v1/players/ben/vs/ana").await.expect(200);
    assert_eq!([&own["player"], &own["opponent"], &other["player"], &other["opponent"]], ["Ana", "Ben", "Ben", "Ana"]);
    for (ladder, counts) in [("capture5", [6, 3, 2, 1]), ("lead3", [3, 0, 1, 2])] {
        let said = |side: &Value| ["games", "wins", "draws", "losses"].map(|n| side["ladders"][ladder][n].clone());
        assert_eq!(said(&own), counts.map(Value::from));
        assert_eq!(said(&other), [counts[0], counts[3], counts[2], counts[1]].map(Value::from));
        for (side, name, opponent) in [(&own, "ana", "Ben"), (&other, "ben", "Ana")] {
            let rows = app.ledger(name, ladder).await;
            let rows: Vec<&Value> = rows.iter().filter(|r| r["opponent"]["username"] == opponent).collect();
            let sum: i64 = rows.iter().map(|r| r["change_milli"].as_i64().unwrap()).sum();
            assert_eq!(side["ladders"][ladder]["change_milli"], sum);
            assert_eq!(side["ladders"][ladder]["last_at"], rows.last().unwrap()["at"]);
        }
    }
    assert_eq!(own["ladders"]["captureall"], json!(null));
    let strangers = app.get("/v1/players/ben/vs/cleo").await.expect(200);
    assert_eq!(strangers["ladders"], json!({}));
}
