//! Games: from first to last, endings, destinations, lists.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Answer, Player, TestApp, header, id};

async fn abort(app: &TestApp, game: &str, player: &Player) -> Answer {
    app.post_as(player, &format!("/v1/games/{game}/abort"), json!({})).await
}

#[tokio::test]
async fn a_rated_game_from_first_to_last() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({})).await;
    let begun = app.game(&game).await;
    assert_eq!(begun["position"], "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first");
    assert_eq!((&begun["ply"], &begun["to_move"], &begun["stood_at"]), (&json!(0), &json!("first"), &json!([0])));

    let played = app.play(&game, &ana, "e1e5", 1).await.expect(201);
    assert_eq!(played["game"], app.game(&game).await, "the answer is the game as it stands");
    assert_eq!(played["ply"]["ply"], 1);
    assert_eq!(played["ply"]["move"], "e1e5");
    assert_eq!(played["ply"]["side"], "first");
    let history = app.get(&format!("/v1/games/{game}/moves")).await.expect(200);
    assert_eq!(history["items"][0], played["ply"]);

    let end = app.resign(&game, &ben).await.expect(200);
    assert_eq!(
        (&end["status"], &end["winner"], &end["termination"]),
        (&json!("finished"), &json!("first"), &json!("resignation"))
    );
    // One ply is too short to count.
    assert_eq!(end["seats"]["first"]["rating_after"], json!(null));
    assert_eq!(end, app.game(&game).await, "times too are the same to the last digit");
}

#[tokio::test]
async fn either_side_resigns_on_either_turn_and_once() {
    for (loser, winner) in [(0, "second"), (1, "first")] {
        for plies in ["a1a2 a9a8 b1b2 b9b8", "a1a2 a9a8 b1b2 b9b8 c1c2"] {
            let app = TestApp::start().await;
            let players = [app.register("Ana").await, app.register("Ben").await];
            let game = app.begin(&players[0], &players[1], json!({})).await;
            app.play_line(&game, players.each_ref(), plies).await;
            let end = app.resign(&game, &players[loser]).await.expect(200);
            assert_eq!((&end["winner"], &end["termination"]), (&json!(winner), &json!("resignation")));
            let names = ["first", "second"];
            let gained = |side: &str| end["seats"][side]["rating_after_milli"].as_i64().unwrap() - 1_500_000;
            assert_eq!((gained(winner), gained(names[loser])), (20_000, -20_000));
            assert_eq!(app.resign(&game, &players[loser]).await.expect(200), end, "again is safe");
            let late = app.resign(&game, &players[1 - loser]).await.problem(409, "game_over");
            assert_eq!(late["current_ply"], end["ply"]);
            abort(&app, &game, &players[loser]).await.problem(409, "game_over");
            assert_eq!(app.game(&game).await, end);
        }
    }
}

#[tokio::test]
async fn a_game_is_aborted_before_its_second_ply_and_never_rated() {
    for (who, plies) in [(0, ""), (1, ""), (0, "e1e5"), (1, "e1e5")] {
        let app = TestApp::start().await;
        let players = [app.register("Ana").await, app.register("Ben").await];
        let game = app.begin(&players[0], &players[1], json!({})).await;
        app.play_line(&game, players.each_ref(), plies).await;
        let end = abort(&app, &game, &players[who]).await.expect(200);
        assert_eq!((&end["status"], &end["termination"]), (&json!("aborted"), &json!("abort")));
        assert_eq!((&end["winner"], &end["to_move"]), (&json!(null), &json!(null)));
        assert_eq!(abort(&app, &game, &players[who]).await.expect(200), end, "again is safe");
        assert_eq!(app.game(&game).await, end);
        app.resign(&game, &players[who]).await.problem(409, "game_over");
        app.play(&game, &players[1], "e9e8", 2).await.problem(409, "game_over");
        for name in ["Ana", "Ben"] {
            let page = app.get(&format!("/v1/players/{name}")).await.expect(200);
            assert!([json!(null), json!(0)].contains(&page["ratings"]["capture5"]["games"]), "{page}");
            let ledger = app.get(&format!("/v1/players/{name}/ratings/capture5/history")).await.expect(200);
            assert_eq!(ledger["items"], json!([]));
        }
    }
}

#[tokio::test]
async fn after_its_second_ply_a_game_is_resigned_instead() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.guest().await);
    let game = app.begin(&ana, &ben, json!({})).await;
    app.play_line(&game, [&ana, &ben], "e1e5 a9a8").await;
    let before = app.game(&game).await;
    for player in [&ana, &ben] {
        abort(&app, &game, player).await.problem(409, "too_late");
    }
    abort(&app, &game, &eva).await.problem(403, "not_seated");
    app.resign(&game, &eva).await.problem(403, "not_seated");
    assert_eq!(app.game(&game).await, before);
}

#[tokio::test]
async fn a_history_comes_as_json_or_as_text() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({})).await;
    let path = format!("/v1/games/{game}/moves");
    let accepting = async |accept: &str| app.send(app.request(Method::GET, &path).header("accept", accept)).await;
    assert_eq!(accepting("text/plain").await.text, "");
    assert_eq!(app.get(&path).await.expect(200), json!({ "game_id": game, "items": [] }));

    app.play_line(&game, [&ana, &ben], "d1d5 e9e5 a1a2 a9a8 f1f5").await;
    let text = accepting("text/plain").await;
    assert_eq!((text.status.as_u16(), &*text.text), (200, "d1d5 e9e5 a1a2 a9a8 f1f5"));
    assert_eq!(header(&text, "content-type"), "text/plain; charset=utf-8");
    assert_eq!(header(&text, "vary").to_lowercase().matches("accept").count(), 1);
    let whole = accepting("application/json").await.expect(200);
    assert_eq!(accepting("text/plain;q=0.3, */*;q=0.4").await.expect(200), whole);
    for impossible in ["image/png", "application/xml, text/html", "text/plain;q=0, application/json;q=0"] {
        accepting(impossible).await.problem(406, "not_acceptable");
    }

    let rows = whole["items"].as_array().unwrap();
    assert_eq!(rows[4]["captured"], json!(["e5"]));
    let begun = app.game(&game).await;
    let mut before = time(&begun["started_at"]);
    for row in rows {
        let at = time(&row["at"]);
        assert_eq!(json!((at - before).num_milliseconds()), row["elapsed_ms"]);
        before = at;
    }
    let hashes: HashSet<&str> = rows.iter().map(|row| row["position_hash"].as_str().unwrap()).collect();
    assert!(hashes.len() == 5 && hashes.iter().all(|hash| hash.len() == 16));
}

fn time(text: &Value) -> chrono::DateTime<chrono::FixedOffset> {
    chrono::DateTime::parse_from_rfc3339(text.as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn destinations_are_the_legal_moves_of_the_side_to_move() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({})).await;
    let path = format!("/v1/games/{game}/destinations");
    let start = app.get(&path).await.expect(200);
    assert_eq!((&start["ply"], &start["to_move"], &start["game_id"]), (&json!(0), &json!("first"), &json!(game)));
    let all = start["destinations"].as_object().unwrap();
    assert_eq!((all.len(), all.values().map(|to| to.as_array().unwrap().len()).sum::<usize>()), (9, 63));
    assert_eq!(start["destinations"]["e1"], json!(["e2", "e3", "e4", "e5", "e6", "e7", "e8"]));

    app.play_line(&game, [&ana, &ben], "e1e8").await;
    for (from, to) in [("e9", json!([])), ("d9", json!(["d2", "d3", "d4", "d5", "d6", "d7", "d8"])), ("e8", json!([]))]
    {
        let one = app.get(&format!("{path}?from={from}")).await.expect(200);
        assert_eq!(one["destinations"], json!({ from: to }));
    }
    assert_eq!(app.get(&path).await.expect(200)["destinations"].as_object().unwrap().len(), 8, "e9 cannot move");
    for bad in ["", "e", "e10", "j1", "e0", "E1", "e1e5", "%00"] {
        app.get(&format!("{path}?from={bad}")).await.refuses(400, "malformed_request", "from");
    }
    app.resign(&game, &ana).await.expect(200);
    let over = app.get(&path).await.expect(200);
    assert_eq!((&over["destinations"], &over["to_move"], &over["ply"]), (&json!({}), &json!(null), &json!(1)));
    assert_eq!(app.get(&format!("{path}?from=d9")).await.expect(200)["destinations"], json!({ "d9": [] }));
}

#[tokio::test]
async fn hidden_destinations_are_told_after_the_end_only() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({ "show_destinations": false })).await;
    for query in ["", "?from=e1"] {
        let path = format!("/v1/games/{game}/destinations{query}");
        app.get(&path).await.problem(403, "destinations_hidden");
        app.get_as(&ana, &path).await.problem(403, "destinations_hidden");
    }
    app.resign(&game, &ana).await.expect(200);
    app.get(&format!("/v1/games/{game}/destinations")).await.expect(200);
}

#[tokio::test]
async fn lists_of_games_are_filtered_and_paged() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.register("Eva").await);
    let mut games = Vec::new();
    for (players, options) in [
        ([&ana, &ben], json!({})),
        ([&ben, &ana], json!({ "rated": false })),
        ([&ben, &eva], json!({ "win_rule": "lead3" })),
        ([&eva, &ana], json!({ "win_rule": "captureall", "rated": false })),
        ([&ana, &eva], json!({ "win_rule": "lead3" })),
        ([&ana, &ben], json!({})),
    ] {
        games.insert(0, app.begin(players[0], players[1], options).await);
    }
    app.resign(&games[5], &ana).await.expect(200);
    abort(&app, &games[4], &ana).await.expect(200);
    app.begin(&ana, &ben, json!({})).await;
    let newest = app.get("/v1/games?limit=1").await.expect(200);
    games.insert(0, id(&newest["items"][0]));

    let all = app.get("/v1/games").await.expect(200);
    assert_eq!(ids(&all), games, "newest first");
    assert_eq!(all["next"], json!(null));
    for item in all["items"].as_array().unwrap() {
        assert_eq!(*item, app.game(&id(item)).await);
    }
    let table = all["items"][2]["table_id"].as_str().unwrap();
    let plays = |game: &Value, name: &str| ["first", "second"].iter().any(|s| game["seats"][s]["username"] == name);
    type Fits<'a> = &'a dyn Fn(&Value) -> bool;
    let cases: [(String, Fits); 9] = [
        ("status=playing".to_owned(), &|g| g["status"] == "playing"),
        ("status=finished".to_owned(), &|g| g["status"] == "finished"),
        ("status=aborted".to_owned(), &|g| g["status"] == "aborted"),
        ("ladder=lead3".to_owned(), &|g| g["ladder"] == "lead3"),
        ("rated=false".to_owned(), &|g| g["rated"] == false),
        ("player=aNA".to_owned(), &|g| plays(g, "Ana")),
        ("player=eva&rated=true&status=playing".to_owned(), &|g| {
            plays(g, "Eva") && g["rated"] == true && g["status"] == "playing"
        }),
        (format!("table={table}"), &|g| g["table_id"] == table),
        (format!("table={table}&player=Ben&ladder=lead3"), &|g| {
            g["table_id"] == table && plays(g, "Ben") && g["ladder"] == "lead3"
        }),
    ];
    for (query, fits) in cases {
        let expected: Vec<String> = all["items"].as_array().unwrap().iter().filter(|g| fits(g)).map(id).collect();
        for limit in [1, 2, 100] {
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = app.get(&format!("/v1/games?{query}&limit={limit}{cursor}")).await.expect(200);
                assert!(ids(&page).len() <= limit);
                found.extend(ids(&page));
                let Some(next) = page["next"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(found, expected, "{query}");
        }
    }
    app.get("/v1/games?player=nobody").await.problem(404, "player_not_found");
    let nowhere = app.get(&format!("/v1/games?table={}", games[0])).await.expect(200);
    assert_eq!(ids(&nowhere), [""; 0], "another kind's id is no table's");
}

fn ids(page: &Value) -> Vec<String> {
    page["items"].as_array().unwrap().iter().map(id).collect()
}
