//! Bad bodies, on every operation of the contract that takes one: refused by name, never a fault, nothing stored.

use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use crate::app::{Answer, Player, TestApp};
use crate::contract::{body_example, body_schema, fill_with, has_type, operations, properties};

const LIMIT: usize = 16 * 1024;

/// A service where somebody has things to lose, and the somebody else who sends rubbish.
pub struct Fixture {
    pub app: TestApp,
    pub host: Player,
    pub sender: Player,
    pub table: String,
    pub game: String,
    pub hidden_table: String,
    pub hidden_game: String,
}

impl Fixture {
    pub async fn new() -> Self {
        let app = TestApp::start().await;
        let (host, opponent, sender) =
            (app.register("ana").await, app.register("ben").await, app.register("eva").await);
        let table = app.open(&host, json!({})).await;
        app.sit(&opponent, &table).await.expect(201);
        let game = app.game(app.get(&format!("/v1/tables/{table}")).await.body["game_id"].as_str().unwrap()).await;
        let game = game["id"].as_str().unwrap().to_owned();
        app.play_line(&game, [&host, &opponent], "e1e5 a9a8").await;
        let hidden = app.post_as(&host, "/v1/tables", json!({ "visibility": "unlisted" })).await.expect(201);
        let hidden_table = hidden["id"].as_str().unwrap().to_owned();
        let seat = format!("/v1/tables/{hidden_table}/seat");
        let code = json!({ "join_code": hidden["join_code"] });
        let seated = app.post_as(&opponent, &seat, code).await.expect(201);
        let hidden_game = seated["game_id"].as_str().unwrap().to_owned();
        Self { app, host, sender, table, game, hidden_table, hidden_game }
    }

    /// A request to an operation about the table and the game.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let own = |name: &str| match name {
            "table_id" => Some(self.table.clone()),
            "game_id" => Some(self.game.clone()),
            _ => None,
        };
        self.to(method, &fill_with(path, &own))
    }

    /// A request to an address, as the sender.
    pub fn to(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        self.app.request(method, path).bearer_auth(&self.sender.token)
    }

    async fn post_bytes(&self, (path, method): (&str, &str), bytes: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json").body(bytes.into());
        self.app.send(request).await
    }

    /// All that could have been changed, as the one who may see it sees it.
    pub async fn everything(&self) -> Vec<String> {
        let mut all = Vec::new();
        let (table, game) = (format!("/v1/tables/{}", self.hidden_table), format!("/v1/games/{}", self.hidden_game));
        let moves = format!("/v1/games/{}/moves", self.game);
        for path in ["/v1/tables", "/v1/games", "/v1/me", &table, &game, &moves, "/v1/players/ana", "/v1/players/eva"] {
            all.push(self.app.get_as(&self.host, path).await.text);
        }
        for path in ["/v1/me", "/v1/challenges"] {
            all.push(self.app.get_as(&self.sender, path).await.text);
        }
        all.push(self.app.get_as(&self.sender, "/v1/queue").await.body["code"].to_string());
        all
    }
}

/// Every operation with a body: where it is, and what the body looks like.
fn bodies() -> Vec<((&'static str, &'static str), &'static Value)> {
    let all: Vec<_> = operations()
        .filter_map(|(p, m, operation)| Some(((p.as_str(), m.as_str()), body_schema(operation)?)))
        .collect();
    assert!(all.len() >= 13);
    all
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    let deep = "[".repeat(8000);
    let deep_objects = r#"{"a":"#.repeat(3000);
    let texts = [
        "{",
        "}",
        "nul",
        "null",
        "7",
        "1e999",
        "true",
        "\"text\"",
        "[]",
        "[[]]",
        "[{}]",
        "[\"e1e5\",1]",
        " [\"ana\",\"x\"]",
        "{} {}",
        "{},",
        "{}x",
        "{'a':1}",
        "{\"a\":}",
        "{a:1}",
        "// {}",
        "\u{feff}{}",
        "<a/>",
        "a=b",
        " ",
        "\0",
        &deep,
    ];
    for (operation, _) in bodies() {
        for text in texts {
            let answer = fixture.post_bytes(operation, text).await;
            // What is missing may be named first.
            let refused = answer.problem(400, "malformed_request");
            assert!(refused["errors"][0]["pointer"].is_string(), "{operation:?} {text}: {refused}");
        }
        fixture.post_bytes(operation, &*deep_objects).await.refuses(400, "malformed_request", "/a");
        for bytes in [&b"\xff"[..], b"{\"\xff\":1}", b"{\"a\":\"\xc0\x80\"}", b"\xfe\xff\0{\0}"] {
            fixture.post_bytes(operation, bytes).await.problem(400, "malformed_request");
        }
    }
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_field_that_nobody_knows_is_refused_by_name() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    for (operation, schema) in bodies() {
        for name in ["rating", "kind", "is_admin", "winner", "by", "seat", "created_at", "id", "Move", "a/b", "~", ""] {
            assert!(schema["properties"].get(name).is_none(), "{operation:?} knows {name}");
            let mut body = body_example(schema);
            body.insert(name.to_owned(), json!(1));
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            let answer = fixture.post_bytes(operation, json!(body).to_string()).await;
            answer.refuses(400, "malformed_request", &pointer);
        }
    }
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_field_of_a_wrong_type_is_refused_by_name() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    let values = [
        ("boolean", json!(true)),
        ("integer", json!(7)),
        ("number", json!(1.5)),
        ("array", json!([])),
        ("array", json!([[[[1]]]])),
        ("object", json!({})),
        ("string", json!("\u{0}")),
    ];
    for (operation, schema) in bodies() {
        for (name, property) in properties(schema) {
            for (_, value) in values.iter().filter(|(kind, _)| !has_type(property, kind)) {
                let mut body = body_example(schema);
                body.insert(name.clone(), value.clone());
                let answer = fixture.post_bytes(operation, json!(body).to_string()).await;
                answer.refuses(400, "malformed_request", &format!("/{name}"));
            }
            if schema["required"].as_array().is_some_and(|all| all.contains(&json!(name))) {
                let mut body = body_example(schema);
                body.insert(name.clone(), Value::Null);
                let answer = fixture.post_bytes(operation, json!(body).to_string()).await;
                answer.refuses(400, "malformed_request", &format!("/{name}"));
                body.remove(name);
                let answer = fixture.post_bytes(operation, json!(body).to_string()).await;
                answer.refuses(400, "malformed_request", &format!("/{name}"));
            }
        }
    }
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_field_that_comes_twice_is_refused_by_name() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    for (operation, schema) in bodies() {
        for (name, property) in properties(schema) {
            let example = body_example(schema).remove(name).unwrap_or_else(|| plain(property));
            let text = format!(r#"{{"{name}":{example},"{name}":{example}}}"#);
            fixture.post_bytes(operation, text).await.refuses(400, "malformed_request", &format!("/{name}"));
        }
    }
    assert_eq!(fixture.everything().await, before);
}

/// Some value that a property takes.
fn plain(property: &Value) -> Value {
    let property = crate::contract::resolve(property);
    if let Some(words) = property["enum"].as_array() {
        return words[0].clone();
    }
    let values = [("boolean", json!(true)), ("integer", json!(1)), ("array", json!([])), ("string", json!("text"))];
    values.into_iter().find(|(kind, _)| has_type(property, kind)).unwrap_or_else(|| panic!("{property}")).1
}

#[tokio::test]
async fn a_text_with_a_nul_or_a_lone_surrogate_is_refused() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    for (operation, schema) in bodies() {
        for (name, _) in properties(schema).filter(|(_, property)| has_type(property, "string")) {
            let mut others: Map<String, Value> = body_example(schema);
            // With the other fields right, and a join code of a table that needs one.
            others.remove(name);
            for text in [r"\u0000", r"correct\u0000horse", r"\ud800"] {
                let rest: String = others.iter().map(|(name, value)| format!(r#","{name}":{value}"#)).collect();
                let body = format!(r#"{{"{name}":"{text}"{rest}}}"#);
                let own = |name: &str| match name {
                    "table_id" => Some(fixture.hidden_table.clone()),
                    "game_id" => Some(fixture.game.clone()),
                    _ => None,
                };
                let request = fixture.to(operation.1, &fill_with(operation.0, &own));
                let answer = fixture.app.send(request.header("content-type", "application/json").body(body)).await;
                assert!(answer.status.is_client_error(), "{operation:?} {name} {text}: {}", answer.text);
                // Only what proves who one is does not say what is wrong with it, nor does what opens the hidden.
                if ![401, 404].contains(&answer.status.as_u16()) {
                    assert_eq!(answer.body["errors"][0]["pointer"], format!("/{name}"), "{operation:?} {text}");
                }
            }
        }
    }
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_body_that_is_not_said_to_be_json_is_refused() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    for (operation, schema) in bodies() {
        let body = json!(body_example(schema)).to_string();
        for kind in [
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/json",
            "application/jsonx",
            "application/json-patch+json",
            "application",
            "json",
            "*/*",
        ] {
            let mut request = fixture.request(operation.1, operation.0).body(body.clone());
            if !kind.is_empty() {
                request = request.header("content-type", kind);
            }
            fixture.app.send(request).await.problem(415, "unsupported_media_type");
        }
    }
    assert_eq!(fixture.everything().await, before);
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"] {
        let request = fixture.to("POST", "/v1/guests").header("content-type", kind).body("{}");
        fixture.app.send(request).await.expect(201);
    }
}

#[tokio::test]
async fn a_body_of_more_than_16_kilobytes_is_too_large() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    for (operation, schema) in bodies() {
        for size in [LIMIT + 1, 100_000] {
            let mut body = json!(body_example(schema)).to_string();
            body.push_str(&" ".repeat(size - body.len()));
            fixture.post_bytes(operation, body).await.problem(413, "payload_too_large");
        }
    }
    assert_eq!(fixture.everything().await, before);
    let full = format!("{{}}{}", " ".repeat(LIMIT - 2));
    fixture.post_bytes(("/v1/guests", "post"), full).await.expect(201);
}
