//! Tables: options, seats, leaving, lists.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::app::{Player, TestApp, header, id};

fn defaults() -> Value {
    json!({
        "win_rule": "capture5", "turn_seconds": null, "move_limit": null, "show_destinations": true,
        "alternate_first": true, "rated": true, "visibility": "public", "absence": "cpu", "absence_seconds": 120
    })
}

/// The defaults with some changed.
fn with(changes: &Value) -> Value {
    let mut options = defaults();
    for (name, value) in changes.as_object().unwrap() {
        options[name] = value.clone();
    }
    options
}

async fn table(app: &TestApp, table: &str) -> Value {
    app.get(&format!("/v1/tables/{table}")).await.expect(200)
}

async fn leave(app: &TestApp, player: &Player, table: &str) -> crate::app::Answer {
    app.delete_as(player, &format!("/v1/tables/{table}/seat")).await
}

fn names(table: &Value) -> [Option<&str>; 2] {
    [0, 1].map(|i| table["seats"][i]["username"].as_str())
}

#[tokio::test]
async fn a_table_opens_with_its_defaults_and_its_host_seated() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let answer = app.post_as(&ana, "/v1/tables", json!({})).await;
    let location = header(&answer, "location").to_owned();
    let opened = answer.expect(201);
    assert_eq!(location, format!("/v1/tables/{}", id(&opened)));
    assert_eq!(opened["options"], defaults());
    assert_eq!(opened["host"], "Ana");
    let seat = json!({ "username": "Ana", "kind": "human", "cpu_level": null, "wants_next": false });
    assert_eq!(opened["seats"], json!([seat, null]));
    assert_eq!((&opened["game_id"], &opened["running"], &opened["games"]), (&json!(null), &json!(false), &json!(0)));
    assert_eq!(app.get(&location).await.expect(200), opened);
}

#[tokio::test]
async fn options_are_stored_echoed_and_frozen_in_the_game() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    for changes in [
        json!({ "win_rule": "lead3" }),
        json!({ "win_rule": "captureall" }),
        json!({ "move_limit": 2 }),
        json!({ "move_limit": 2000 }),
        json!({ "move_limit": null, "turn_seconds": null }),
        json!({ "show_destinations": false }),
        json!({ "alternate_first": false }),
        json!({ "rated": false }),
        json!({ "absence_seconds": 10 }),
        json!({ "absence_seconds": 86400, "absence": "wait" }),
        json!({ "absence": "forfeit" }),
        json!({ "absence": "cpu" }),
        json!({ "turn_seconds": 30, "absence_seconds": null }),
        json!({ "turn_seconds": 60, "absence": "forfeit", "absence_seconds": null }),
    ] {
        let expected = with(&changes);
        let opened = app.post_as(&ana, "/v1/tables", changes).await.expect(201);
        assert_eq!(opened["options"], expected);
        let playing = app.sit(&ben, &id(&opened)).await.expect(201);
        assert_eq!(playing["options"], expected);
        let game = app.game(playing["game_id"].as_str().unwrap()).await;
        assert_eq!(game["options"], expected);
        assert_eq!((&game["ladder"], &game["rated"]), (&expected["win_rule"], &expected["rated"]));
        assert_eq!(game["seats"]["first"]["rating_before"].is_null(), expected["rated"] == json!(false));
    }
    let hidden = app.post_as(&ana, "/v1/tables", json!({ "visibility": "unlisted" })).await.expect(201);
    assert_eq!(hidden["options"], with(&json!({ "visibility": "unlisted" })));
}

#[tokio::test]
async fn an_option_that_is_not_allowed_is_named() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let opened = app.post_as(&ana, "/v1/tables", json!({})).await.expect(201);
    let address = format!("/v1/tables/{}", id(&opened));
    let not_allowed = [
        ("turn_seconds", vec![json!(0), json!(29), json!(45), json!(61), json!(-30)]),
        ("move_limit", vec![json!(0), json!(1), json!(2001), json!(-1)]),
        ("absence_seconds", vec![json!(9), json!(86401), json!(null), json!(0), json!(-120)]),
    ];
    for (name, values) in not_allowed {
        for value in values {
            let body = json!({ name: value });
            let pointer = format!("/{name}");
            app.post_as(&ana, "/v1/tables", body.clone()).await.refuses(422, "invalid_option", &pointer);
            app.patch_as(&ana, &address, body).await.refuses(422, "invalid_option", &pointer);
        }
    }
    let contradictions = [
        ("absence", json!({ "turn_seconds": 30, "absence": "wait" })),
        ("absence_seconds", json!({ "turn_seconds": 60, "absence_seconds": 120 })),
        ("absence_seconds", json!({ "turn_seconds": null, "absence_seconds": null })),
    ];
    for (name, body) in contradictions {
        let pointer = format!("/{name}");
        app.post_as(&ana, "/v1/tables", body.clone()).await.refuses(422, "invalid_option", &pointer);
        app.patch_as(&ana, &address, body).await.refuses(422, "invalid_option", &pointer);
    }
    let not_understood = [
        ("turn_seconds", vec![json!("30"), json!(30.5), json!(true), json!(4_000_000_000u64)]),
        ("absence", vec![json!("never"), json!(""), json!(1)]),
        ("move_limit", vec![json!(1.5), json!("x"), json!(1e300), json!([]), json!(i64::MAX), json!(u64::MAX)]),
        ("absence_seconds", vec![json!(1.5), json!("120"), json!(i64::MIN)]),
        ("win_rule", vec![json!("chess"), json!("Capture5"), json!(5)]),
        ("visibility", vec![json!("hidden"), json!(true)]),
        ("rated", vec![json!("yes"), json!(1)]),
        ("show_destinations", vec![json!(0)]),
        ("alternate_first", vec![json!("no")]),
        ("cpu_level", vec![json!(3)]),
        ("host", vec![json!("Ben")]),
        ("join_code", vec![json!("q7x3k9pm")]),
    ];
    for (name, values) in not_understood {
        for value in values {
            let body = json!({ name: value });
            let pointer = format!("/{name}");
            app.post_as(&ana, "/v1/tables", body.clone()).await.refuses(400, "malformed_request", &pointer);
            app.patch_as(&ana, &address, body).await.refuses(400, "malformed_request", &pointer);
        }
    }
    app.post_as(&ana, "/v1/tables", json!({ "sit": "no" })).await.refuses(400, "malformed_request", "/sit");
    app.patch_as(&ana, &address, json!({ "sit": true })).await.refuses(400, "malformed_request", "/sit");
    assert_eq!(app.get("/v1/tables").await.expect(200)["items"], json!([opened]), "nothing was opened or changed");
}

#[tokio::test]
async fn a_host_need_not_sit_and_the_second_seat_starts_the_game() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.guest().await);
    let opened = app.post_as(&ana, "/v1/tables", json!({ "sit": false })).await.expect(201);
    assert_eq!(opened["seats"], json!([null, null]));
    let seat = id(&opened);
    let first = app.sit(&ben, &seat).await.expect(201);
    assert_eq!((names(&first), &first["game_id"]), ([Some("Ben"), None], &json!(null)));
    assert_eq!(app.sit(&ben, &seat).await.expect(200), first, "sitting again changes nothing");
    let started = app.sit(&ana, &seat).await.expect(201);
    assert_eq!(names(&started), [Some("Ben"), Some("Ana")]);
    assert_eq!((&started["running"], &started["games"]), (&json!(true), &json!(1)));
    let game = app.game(started["game_id"].as_str().unwrap()).await;
    assert_eq!((&game["number"], &game["table_id"]), (&json!(1), &opened["id"]));
    assert_eq!(game["seats"]["first"]["username"], "Ben", "who sat first moves first");
    let refused = app.sit(&eva, &seat).await;
    assert!(!refused.text.contains("Ben") && !refused.text.contains("token"));
    refused.problem(409, "seat_taken");
    for player in [&ana, &ben] {
        assert_eq!(app.sit(player, &seat).await.expect(200), started);
    }
    assert_eq!(table(&app, &seat).await, started);
}

#[tokio::test]
async fn the_wait_for_an_absent_seat_goes_and_comes_with_the_timer() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let address = format!("/v1/tables/{}", app.open(&ana, json!({ "absence_seconds": 50 })).await);
    let options = async |change: Value| app.patch_as(&ana, &address, change).await.expect(200)["options"].clone();
    assert_eq!(
        options(json!({ "turn_seconds": 30 })).await,
        with(&json!({ "turn_seconds": 30, "absence_seconds": null }))
    );
    assert_eq!(options(json!({ "rated": false })).await["absence_seconds"], json!(null));
    assert_eq!(options(json!({ "turn_seconds": null })).await["absence_seconds"], 120);
    assert_eq!(options(json!({ "absence": "wait" })).await["absence"], "wait");
    app.patch_as(&ana, &address, json!({ "turn_seconds": 60 })).await.refuses(422, "invalid_option", "/absence");
}

#[tokio::test]
async fn leaving_between_games_frees_the_seat_and_the_other_leads() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.register("Eva").await);
    let seat = app.open(&ana, json!({})).await;
    let game = id_of_game(&app.sit(&ben, &seat).await.expect(201));
    let kept = leave(&app, &ana, &seat).await.expect(200);
    assert_eq!((names(&kept), &kept["running"]), ([Some("Ana"), Some("Ben")], &json!(true)), "the game still runs");
    app.play(&game, &ana, "e1e5", 1).await.expect(201);
    app.resign(&game, &ana).await.expect(200);

    leave(&app, &eva, &seat).await.problem(403, "not_seated");
    let left = leave(&app, &ana, &seat).await.expect(200);
    assert_eq!((names(&left), &left["closed"]), ([Some("Ben"), None], &json!(false)));
    leave(&app, &ana, &seat).await.problem(403, "not_seated");
    // Ana moved first in the last game, but she is gone: who leads begins.
    let next = app.sit(&eva, &seat).await.expect(201);
    assert_eq!((names(&next), &next["games"]), ([Some("Ben"), Some("Eva")], &json!(2)));
    let game = app.game(&id_of_game(&next)).await;
    assert_eq!((&game["seats"]["first"]["username"], &game["number"]), (&json!("Ben"), &json!(2)));
}

fn id_of_game(table: &Value) -> String {
    table["game_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_host_who_leaves_a_table_empty_closes_it() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let seat = app.open(&ana, json!({})).await;
    let closed = leave(&app, &ana, &seat).await.expect(200);
    assert_eq!((&closed["closed"], names(&closed)), (&json!(true), [None, None]));
    assert_eq!(table(&app, &seat).await, closed);
    for player in [&ana, &ben] {
        app.sit(player, &seat).await.problem(410, "table_closed");
        leave(&app, player, &seat).await.problem(410, "table_closed");
        let next = app.post_as(player, &format!("/v1/tables/{seat}/next"), json!({})).await;
        next.problem(410, "table_closed");
        let change = app.patch_as(player, &format!("/v1/tables/{seat}"), json!({ "rated": false })).await;
        change.problem(410, "table_closed");
    }
    assert_eq!(app.get("/v1/tables").await.expect(200)["items"], json!([]));
    // Who is not the host leaves an open table behind.
    let seat = app.open(&ana, json!({ "sit": false })).await;
    app.sit(&ben, &seat).await.expect(201);
    assert_eq!(leave(&app, &ben, &seat).await.expect(200)["closed"], false);
    app.sit(&ben, &seat).await.expect(201);
}

#[tokio::test]
async fn options_change_between_games_by_the_host_and_for_the_next_game() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.register("Eva").await);
    let seat = app.open(&ana, json!({ "move_limit": 300 })).await;
    let address = format!("/v1/tables/{seat}");
    let changed = app.patch_as(&ana, &address, json!({ "rated": false })).await.expect(200);
    assert_eq!(changed["options"], with(&json!({ "move_limit": 300, "rated": false })), "what is not named stays");
    assert_eq!(app.patch_as(&ana, &address, json!({})).await.expect(200), changed);
    let game = id_of_game(&app.sit(&ben, &seat).await.expect(201));
    app.patch_as(&ana, &address, json!({ "rated": true })).await.problem(409, "game_running");
    app.resign(&game, &ana).await.expect(200);
    for other in [&ben, &eva] {
        app.patch_as(other, &address, json!({ "rated": true })).await.problem(403, "forbidden");
    }
    app.patch_as(&ana, &address, json!({ "move_limit": null, "win_rule": "lead3" })).await.expect(200);
    for player in [&ben, &ana] {
        app.post_as(player, &format!("{address}/next"), json!({})).await.expect(200);
    }
    let next = id_of_game(&table(&app, &seat).await);
    assert_eq!(app.game(&next).await["options"], with(&json!({ "rated": false, "win_rule": "lead3" })));
    assert_eq!(app.game(&game).await["options"], changed["options"], "a game keeps those it began with");
}

#[tokio::test]
async fn pages_of_tables_have_no_gaps_and_no_doubles() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let mut all = Vec::new();
    for i in 0..7 {
        let rule = ["capture5", "lead3"][i % 2];
        let table = app.open(&ana, json!({ "win_rule": rule, "rated": i % 3 == 0 })).await;
        if i < 2 {
            app.sit(&ben, &table).await.expect(201);
        }
        all.insert(0, table);
    }
    app.open(&ana, json!({ "visibility": "unlisted" })).await;
    let closed = app.open(&ana, json!({})).await;
    leave(&app, &ana, &closed).await.expect(200);

    for limit in 1..=8 {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = app.get(&format!("/v1/tables?limit={limit}{cursor}")).await.expect(200);
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= limit);
            seen.extend(items.iter().map(id));
            let Some(next) = page["next"].as_str() else { break };
            assert_eq!(items.len(), limit);
            cursor = format!("&cursor={next}");
        }
        assert_eq!(seen, all, "limit {limit}");
    }
    // What opens while somebody pages comes before, not in between.
    let first = app.get("/v1/tables?limit=3").await.expect(200);
    app.open(&ana, json!({})).await;
    let rest = app.get(&format!("/v1/tables?cursor={}", first["next"].as_str().unwrap())).await.expect(200);
    let rest: Vec<String> = rest["items"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(rest, all[3..]);

    for (query, fits) in [
        ("open=true", json!({ "running": false })),
        ("ladder=lead3", json!({ "win_rule": "lead3" })),
        ("rated=true", json!({ "rated": true })),
        ("rated=false", json!({ "rated": false })),
        ("open=true&ladder=capture5&rated=false", json!({ "win_rule": "capture5", "rated": false, "running": false })),
    ] {
        let fits = |table: &Value| {
            let parts = fits.as_object().unwrap();
            parts.iter().all(|(name, value)| &table[name] == value || &table["options"][name] == value)
        };
        let every = app.get("/v1/tables").await.expect(200);
        let expected: HashSet<String> = every["items"].as_array().unwrap().iter().filter(|t| fits(t)).map(id).collect();
        let found = app.get(&format!("/v1/tables?{query}")).await.expect(200);
        let found: HashSet<String> = found["items"].as_array().unwrap().iter().map(id).collect();
        assert_eq!(found, expected, "{query}");
        assert!(!found.is_empty() && found.len() < 8, "{query}");
    }
}
