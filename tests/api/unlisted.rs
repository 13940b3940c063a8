//! Unlisted tables and their games: there for those inside and for whoever has the code, for nobody else.

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Player, TestApp, id};

struct Hidden {
    app: TestApp,
    host: Player,
    opponent: Player,
    stranger: Player,
    table: String,
    game: String,
    code: String,
}

async fn hidden() -> Hidden {
    let app = TestApp::start().await;
    let (host, opponent, stranger) = (app.register("Ana").await, app.guest().await, app.register("Eva").await);
    let opened = app.post_as(&host, "/v1/tables", json!({ "visibility": "unlisted" })).await.expect(201);
    let (table, code) = (id(&opened), opened["join_code"].as_str().unwrap().to_owned());
    let seat = format!("/v1/tables/{table}/seat");
    let seated = app.post_as(&opponent, &seat, json!({ "join_code": code })).await.expect(201);
    assert_eq!(seated["join_code"], *code);
    let game = seated["game_id"].as_str().unwrap().to_owned();
    app.play_line(&game, [&host, &opponent], "a1a2 a9a8 b1b2 b9b8").await;
    Hidden { app, host, opponent, stranger, table, game, code }
}

#[tokio::test]
async fn to_a_stranger_there_is_nothing() {
    let Hidden { app, stranger, table, game, code, .. } = hidden().await;
    let nowhere = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11";
    let requests = [
        (Method::GET, "/v1/tables/T", json!(null)),
        (Method::GET, "/v1/tables/T?join_code=wrongone", json!(null)),
        (Method::GET, "/v1/tables/T?join_code=", json!(null)),
        (Method::PATCH, "/v1/tables/T", json!({ "rated": false })),
        (Method::POST, "/v1/tables/T/seat", json!({})),
        (Method::POST, "/v1/tables/T/seat", json!({ "join_code": "wrongone" })),
        (Method::POST, "/v1/tables/T/seat", json!({ "join_code": "" })),
        (Method::DELETE, "/v1/tables/T/seat", json!(null)),
        (Method::POST, "/v1/tables/T/next", json!({})),
        (Method::GET, "/v1/games/G", json!(null)),
        (Method::GET, "/v1/games/G?join_code=wrongone", json!(null)),
        (Method::GET, "/v1/games/G/moves", json!(null)),
        (Method::GET, "/v1/games/G/destinations", json!(null)),
        (Method::POST, "/v1/games/G/moves", json!({ "move": "c1c2", "ply": 5 })),
        (Method::POST, "/v1/games/G/moves", json!({ "move": "a1a2", "ply": 1 })),
        (Method::POST, "/v1/games/G/resign", json!({})),
        (Method::POST, "/v1/games/G/abort", json!({})),
    ];
    for (method, path, body) in requests {
        for token in [Some(&stranger.token), None] {
            let send = async |table: &str, game: &str| {
                let mut request = app.request(method.clone(), &path.replace('T', table).replace('G', game));
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                if !body.is_null() {
                    request = request.json(&body);
                }
                let mut answer = app.send(request).await;
                answer.body.as_object_mut().unwrap().remove("request_id");
                (answer.status.as_u16(), answer.body)
            };
            let refused = send(&table, &game).await;
            assert_eq!(refused, send(nowhere, nowhere).await, "{method} {path}: as if it were not there");
            let expected = if token.is_none() && method != Method::GET { 401 } else { 404 };
            assert_eq!(refused.0, expected, "{method} {path}");
            assert!(!refused.1.to_string().contains(&code));
        }
    }
    for list in ["/v1/tables", "/v1/games", "/v1/players/Ana/games", "/v1/games?player=Ana&status=playing"] {
        for answer in [app.get(list).await, app.get_as(&stranger, list).await] {
            assert_eq!(answer.expect(200)["items"], json!([]), "{list}");
        }
    }
    let at_table = app.get_as(&stranger, &format!("/v1/games?table={table}")).await.expect(200);
    assert_eq!(at_table["items"], json!([]));
}

#[tokio::test]
async fn those_inside_and_the_code_open_it() {
    let Hidden { app, host, opponent, stranger, table, game, code } = hidden().await;
    let inside = app.get_as(&host, &format!("/v1/tables/{table}")).await.expect(200);
    assert_eq!(inside["join_code"], *code);
    assert_eq!(app.get_as(&opponent, &format!("/v1/tables/{table}")).await.expect(200), inside);
    // The code opens, but is not told again.
    let with_code = app.get(&format!("/v1/tables/{table}?join_code={code}")).await.expect(200);
    assert_eq!((with_code.get("join_code"), &with_code["id"]), (None, &inside["id"]));
    let by_stranger = app.get_as(&stranger, &format!("/v1/tables/{table}?join_code={code}")).await.expect(200);
    assert_eq!(by_stranger, with_code);
    for part in ["", "/moves", "/destinations"] {
        let path = format!("/v1/games/{game}{part}");
        let seen = app.get_as(&host, &path).await.expect(200);
        assert_eq!(app.get_as(&opponent, &path).await.expect(200), seen);
        assert_eq!(app.get(&format!("{path}?join_code={code}")).await.expect(200), seen);
        assert_eq!(app.get_as(&stranger, &format!("{path}?join_code={code}")).await.expect(200), seen);
    }
    for player in [&host, &opponent] {
        let listed = app.get_as(player, "/v1/games").await.expect(200);
        assert_eq!(listed["items"][0]["id"], *game);
    }
    let full = json!({ "join_code": code });
    app.post_as(&stranger, &format!("/v1/tables/{table}/seat"), full).await.problem(409, "seat_taken");
}

#[tokio::test]
async fn a_host_without_a_seat_is_inside() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.guest().await);
    let opened = app.post_as(&ana, "/v1/tables", json!({ "visibility": "unlisted", "sit": false })).await.expect(201);
    let table = id(&opened);
    let code = opened["join_code"].as_str().unwrap();
    assert!(code.len() == 8 && code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{code}");
    app.sit(&ben, &table).await.problem(404, "table_not_found");
    let seat = format!("/v1/tables/{table}/seat");
    let seated = app.post_as(&ben, &seat, json!({ "join_code": code })).await.expect(201);
    assert_eq!(seated["join_code"], code);
    let started = app.sit(&ana, &table).await.expect(201);
    assert_eq!(started["running"], true, "the host needs no code");
}

#[tokio::test]
async fn a_table_goes_into_hiding_and_comes_back() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.guest().await, app.guest().await);
    let table = app.open(&ana, json!({})).await;
    let public = app.sit(&ben, &table).await.expect(201)["game_id"].take();
    let public = public.as_str().unwrap();
    app.resign(public, &ana).await.expect(200);
    let address = format!("/v1/tables/{table}");
    let change = async |visibility: &str| -> Value {
        app.patch_as(&ana, &address, json!({ "visibility": visibility })).await.expect(200)
    };
    let next = async || -> String {
        app.post_as(&ana, &format!("{address}/next"), json!({})).await.expect(200);
        let begun = app.post_as(&ben, &format!("{address}/next"), json!({})).await.expect(200);
        begun["game_id"].as_str().unwrap().to_owned()
    };
    let there = app.get(&address).await.expect(200);
    assert_eq!(there.get("join_code"), None, "a public table has no code");

    let code = change("unlisted").await["join_code"].as_str().unwrap().to_owned();
    assert_eq!(change("unlisted").await["join_code"], *code, "the code stays as long as the table is unlisted");
    app.get(&address).await.problem(404, "table_not_found");
    app.get(&format!("/v1/games/{public}")).await.expect(200);
    let secret = next().await;
    app.resign(&secret, &ana).await.expect(200);
    app.get_as(&eva, &format!("/v1/games/{secret}")).await.problem(404, "game_not_found");
    app.get(&format!("/v1/games/{secret}?join_code={code}")).await.expect(200);

    let back = change("public").await;
    assert_eq!(back.get("join_code"), None);
    app.get(&address).await.expect(200);
    // The game was played in private and stays so; the old code opens nothing.
    app.get(&format!("/v1/games/{secret}?join_code={code}")).await.problem(404, "game_not_found");
    app.get_as(&ben, &format!("/v1/games/{secret}")).await.expect(200);
    let open = next().await;
    let listed = app.get("/v1/games").await.expect(200);
    let listed: Vec<String> = listed["items"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(listed, [open.clone(), public.to_owned()]);
    app.resign(&open, &ben).await.expect(200);
    assert_ne!(change("unlisted").await["join_code"], *code, "a code that was given up does not come back");
}
