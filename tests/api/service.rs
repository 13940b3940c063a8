//! What holds for every address: health, methods, HEAD, CORS, request ids, problem documents.

use hasami_ladder::http::error::CODES;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;

use crate::app::{Answer, TestApp, header};
use crate::contract::{fill, operations};

const FOREIGN: &str = "https://elsewhere.example";

#[tokio::test]
async fn the_service_tells_how_it_is_and_what_it_is() {
    let app = TestApp::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(app.get(path).await.expect(200), json!({ "status": "ok" }));
    }
    let info = app.get("/v1/info").await.expect(200);
    assert_eq!((&info["name"], &info["version"]), (&json!("hasami-ladder"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!((&info["max_body_bytes"], &info["max_page_items"]), (&json!(16384), &json!(100)));
    assert_eq!((&info["access_token_seconds"], &info["max_plies"]), (&json!(900), &json!(2000)));
    for address in ["docs", "openapi"] {
        let there = app.get(info[address].as_str().unwrap()).await;
        assert!(there.status == 200 || there.status == 308, "{address}");
    }
}

#[tokio::test]
async fn without_its_database_the_service_says_so_and_lives() {
    let known = TestApp::start().await;
    let ana = known.register("Ana").await;
    let away = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(1).username("nobody").database("nothing");
    let app = TestApp::start_on(away).await;
    app.get("/healthz").await.expect(200);
    app.get("/v1/info").await.expect(200);
    app.get_as(&ana, "/v1/games/nothing").await.problem(404, "game_not_found");
    let game = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12";
    let answers = futures_util::future::join_all([
        app.get("/readyz"),
        app.get("/v1/tables"),
        app.get(&format!("/v1/games/{game}")),
        app.get("/v1/players/ana"),
    ])
    .await;
    let posts = futures_util::future::join_all([
        app.post("/v1/guests", json!({})),
        app.post("/v1/players", json!({ "username": "Ben", "password": "correct horse" })),
        app.post("/v1/sessions", json!({ "username": "Ana", "password": "correct horse" })),
    ])
    .await;
    let moved = app.play(game, &ana, "e1e5", 1).await;
    for answer in answers.into_iter().chain(posts).chain([moved]) {
        assert_eq!(header(&answer, "retry-after"), "1");
        assert!(!answer.text.contains("127.0.0.1") && !answer.text.contains("refused"), "{}", answer.text);
        answer.problem(503, "unavailable");
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let mut paths: Vec<(&String, Vec<&String>)> = Vec::new();
    for (path, method, _) in operations() {
        match paths.iter_mut().find(|(known, _)| *known == path) {
            Some((_, methods)) => methods.push(method),
            None => paths.push((path, vec![method])),
        }
    }
    assert!(paths.len() > 25);
    for (path, methods) in paths {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            let known = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
            if methods.contains(&&known) {
                continue;
            }
            let request = app.request(Method::from_bytes(method.as_bytes()).unwrap(), &fill(path));
            let answer = app.send(request.bearer_auth(&ana.token)).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            let allow = header(&answer, "allow");
            let mut allowed: Vec<String> = allow.split(", ").map(str::to_lowercase).filter(|m| m != "head").collect();
            allowed.sort_unstable();
            let mut expected = methods.clone();
            expected.sort_unstable();
            assert_eq!(allowed.iter().collect::<Vec<_>>(), expected, "{method} {path}");
            assert_eq!(allow.contains("HEAD"), allow.contains("GET"), "{path}");
            if method != "HEAD" {
                answer.problem(405, "method_not_allowed");
            }
        }
    }
    for path in ["/docs", "/docs/", "/docs/index.html"] {
        let answer = app.post(path, json!({})).await;
        assert_eq!(header(&answer, "allow"), "GET, HEAD");
        answer.problem(405, "method_not_allowed");
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("ana").await, app.register("ben").await);
    app.beat(&ana, &ben, json!({})).await;
    let mut found = 0;
    for (path, _, _) in operations().filter(|(_, method, _)| *method == "get") {
        let send = async |method| app.send(app.request(method, &fill(path)).bearer_auth(&ana.token)).await;
        let (get, head) = (send(Method::GET).await, send(Method::HEAD).await);
        assert_eq!((head.status, &*head.text), (get.status, ""), "{path}");
        for name in ["content-type", "content-length", "vary", "cache-control", "x-content-type-options"] {
            assert_eq!(header(&head, name), header(&get, name), "{path} {name}");
        }
        found += usize::from(get.status == 200);
    }
    assert!(found > 10, "{found}");
    let refused = app.send(app.request(Method::HEAD, "/v1/me")).await;
    assert_eq!((refused.status.as_u16(), header(&refused, "www-authenticate").is_empty()), (401, false));
}

#[tokio::test]
async fn pages_of_any_origin_read_answers_and_refusals() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let table = app.open(&ana, json!({})).await;
    let game = app.sit(&ben, &table).await.expect(201)["game_id"].take();
    let game = game.as_str().unwrap();
    let post = |path: &str, body: Value| app.request(Method::POST, path).bearer_auth(&ana.token).json(&body);
    let moves = format!("/v1/games/{game}/moves");
    let requests = [
        (200, app.request(Method::GET, "/v1/info")),
        (201, post("/v1/tables", json!({}))),
        (400, post(&moves, json!({ "move": "nowhere", "ply": 1 }))),
        (401, app.request(Method::GET, "/v1/me")),
        (403, app.request(Method::PATCH, &format!("/v1/tables/{table}")).bearer_auth(&ben.token).json(&json!({}))),
        (404, app.request(Method::GET, "/v1/tables/nothing")),
        (404, app.request(Method::GET, "/nothing")),
        (405, app.request(Method::PUT, "/v1/tables")),
        (406, app.request(Method::GET, &moves).header("accept", "image/png")),
        (409, post(&moves, json!({ "move": "e1e5", "ply": 7 }))),
        (413, post(&moves, json!({ "move": "x".repeat(17_000), "ply": 1 }))),
        (415, app.request(Method::POST, &moves).bearer_auth(&ana.token).body("e1e5")),
        (422, post(&moves, json!({ "move": "e1e1", "ply": 1 }))),
    ];
    for (status, request) in requests {
        let answer = app.send(request.header("origin", FOREIGN)).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        readable(&answer);
    }
    let before = app
        .request(Method::OPTIONS, &moves)
        .header("origin", FOREIGN)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization, content-type, x-request-id");
    let preflight = app.send(before).await;
    assert_eq!(preflight.status, 200);
    assert_eq!(header(&preflight, "access-control-allow-origin"), "*");
    let allowed = header(&preflight, "access-control-allow-methods").to_owned();
    assert!(["GET", "POST", "PATCH", "DELETE"].iter().all(|method| allowed.contains(method)), "{allowed}");
    let allowed = header(&preflight, "access-control-allow-headers").to_lowercase();
    assert!(["authorization", "content-type", "x-request-id"].iter().all(|name| allowed.contains(name)), "{allowed}");
}

fn readable(answer: &Answer) {
    assert_eq!(header(answer, "access-control-allow-origin"), "*", "{}", answer.status);
    assert_eq!(header(answer, "access-control-allow-credentials"), "");
    let exposed = header(answer, "access-control-expose-headers").to_lowercase();
    for name in ["location", "retry-after", "etag", "x-request-id"] {
        assert!(exposed.contains(name), "{exposed}");
    }
}

#[tokio::test]
async fn a_harmless_request_id_comes_back_and_any_other_is_replaced() {
    let app = TestApp::start().await;
    let longest = "x".repeat(64);
    for (path, status) in [("/healthz", 200), ("/nothing", 404), ("/v1/me", 401)] {
        for id in ["my-id.1", "A_b-9", &longest] {
            let answer = app.send(app.request(Method::GET, path).header("x-request-id", id)).await;
            assert_eq!((header(&answer, "x-request-id"), answer.status.as_u16()), (id, status));
        }
        let long = "x".repeat(65);
        let mut given = Vec::new();
        for id in ["", "a b", "a,b", "<script>", "a/b", "a;b", "\"a\"", "\u{e9}", &long] {
            let answer = app.send(app.request(Method::GET, path).header("x-request-id", id)).await;
            assert_eq!(answer.status, status);
            given.push(header(&answer, "x-request-id").to_owned());
        }
        given.push(header(&app.get(path).await, "x-request-id").to_owned());
        assert!(given.iter().all(|id| id.len() == 36 && uuid::Uuid::parse_str(id).is_ok()), "{given:?}");
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 10, "each request has its own");
    }
}

#[tokio::test]
async fn an_unknown_address_is_not_found() {
    let app = TestApp::start().await;
    let long = format!("/v1/tables/{}", "x".repeat(3000));
    for path in [
        "/v1",
        "/v1/",
        "/v2/info",
        "/v1/info/",
        "/v1/Info",
        "//v1/info",
        "/v1//info",
        "/v1/tables/",
        "/v1/games/",
        "/v1/tables/x/y/z",
        "/.env",
        "/favicon.ico/x",
        "/v1/%00",
        "/%",
        "/%zz",
        "/%ff",
        "/v1/%e2%28%a1",
        "/v1/info%2f",
        "/v1/info%00",
        "/problems/",
        "/problems/nothing",
        "/problems/STALE_PLY",
        "/problems/%00",
        "/problems/%zz",
        "/problems/%ff",
        "/docs/../Cargo.toml%00",
        "/docs/nothing",
    ] {
        app.get(path).await.problem(404, "not_found");
    }
    for bad in ["%00", "%", "%zz", "%ff", "%c0%af", "a%0d%0ab"] {
        app.get(&format!("/v1/tables/{bad}")).await.problem(404, "table_not_found");
        app.get(&format!("/v1/games/{bad}/moves")).await.problem(404, "game_not_found");
        app.get(&format!("/v1/players/{bad}")).await.problem(404, "player_not_found");
    }
    app.get(&long).await.problem(404, "table_not_found");
}

#[tokio::test]
async fn every_code_is_explained() {
    let app = TestApp::start().await;
    for (code, title, _) in CODES {
        let kind = app.get(&format!("/problems/{code}")).await.expect(200);
        assert_eq!((kind["code"].as_str(), kind["title"].as_str()), (Some(*code), Some(*title)));
        assert!(kind["text"].as_str().is_some_and(|text| text.ends_with('.')), "{code}");
    }
    let refused = app.get("/v1/me").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let kind = app.get(refused.body["type"].as_str().unwrap()).await.expect(200);
    assert_eq!((&kind["code"], &kind["title"]), (&refused.body["code"], &refused.body["title"]));
    // What the contract says of a status names codes that are explained.
    for (path, method, operation) in operations() {
        for (status, response) in
            operation["responses"].as_object().unwrap().iter().filter(|(s, _)| s.as_str() >= "400")
        {
            let text = response["description"].as_str().unwrap();
            let named = text.split('`').nth(1).unwrap_or_default();
            assert!(CODES.iter().any(|(code, _, _)| *code == named), "{method} {path} {status}: {text}");
        }
    }
}
