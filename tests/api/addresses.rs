//! Bad paths and queries, on every operation of the contract: refused by name, never a fault, nothing stored.

use serde_json::{Value, json};

use crate::app::Answer;
use crate::contract::{body_example, body_schema, fill_with, operations, parameters};
use crate::input::Fixture;

async fn send(fixture: &Fixture, method: &str, path: &str, operation: &Value) -> Answer {
    let mut request = fixture.to(method, path);
    if let Some(schema) = body_schema(operation) {
        request = request.json(&body_example(schema));
    }
    fixture.app.send(request).await
}

/// The operation's path for the running game and its table, with one value of the test's own.
fn address(fixture: &Fixture, path: &str, name: &str, value: &str) -> String {
    fill_with(path, &|known| match known {
        _ if known == name => Some(value.to_owned()),
        "table_id" => Some(fixture.table.clone()),
        "game_id" => Some(fixture.game.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn what_no_path_can_name_is_not_found() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    let upper = fixture.game.to_uppercase();
    let (bare, braced) = (fixture.game.replace('-', ""), format!("%7B{}%7D", fixture.game));
    let long = "x".repeat(3000);
    let mut tried = 0;
    for (path, method, operation) in operations() {
        for (name, _) in parameters(operation, "path") {
            let mut values = vec![
                "%00",
                "a%00b",
                "0",
                "-1",
                "%20",
                "%ff",
                "%zz",
                "%",
                "%2f",
                "..%2f..",
                "not-an-id",
                &long,
                "*",
                "%27%3Bdrop",
                "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c99",
                "%C3%A4n%C3%A4",
                &bare,
                &braced,
                "null",
            ];
            // One kind's id in the place of another's, and the one form in which an id is written.
            match name {
                "table_id" => values.extend([&*fixture.game, &upper, &fixture.sender.id]),
                "game_id" => values.extend([&*fixture.table, &upper, &fixture.sender.id]),
                _ => values.extend([&*fixture.table, &fixture.game]),
            }
            for value in values {
                let answer = send(&fixture, method, &address(&fixture, path, name, value), operation).await;
                assert_eq!(answer.status, 404, "{method} {path} with {name} {value}: {}", answer.text);
                tried += 1;
            }
        }
    }
    assert!(tried > 300);
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_parameter_of_a_wrong_form_is_refused_by_name() {
    let fixture = Fixture::new().await;
    let before = fixture.everything().await;
    for (path, method, operation) in operations() {
        let known = parameters(operation, "query");
        let path = address(&fixture, path, "", "");
        let ask = async |query: &str| send(&fixture, method, &format!("{path}?{query}"), operation).await;
        for (name, example) in &known {
            let bad: &[&str] = match *name {
                "limit" => &[
                    "-1",
                    "0",
                    "101",
                    "255",
                    "256",
                    "2147483648",
                    "9223372036854775808",
                    "1e9",
                    "1.5",
                    "NaN",
                    "",
                    "+",
                    "x",
                    "%00",
                    "0x10",
                    "null",
                ],
                "cursor" => &["", "x", "%00", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAA", "0", "null", "..%2f"],
                "open" | "rated" | "all" => &["", "yes", "1", "0", "TRUE", "null", "%00"],
                "ladder" | "status" | "kind" | "from" | "table" | "direction" => {
                    &["", "x", "%00", "a%00b", "null", "Capture5", "PLAYING"]
                }
                // What finds nothing is not of a wrong form.
                "player" | "join_code" => &[],
                other => panic!("{path}: say here what is wrong for {other}"),
            };
            for value in bad {
                ask(&format!("{name}={value}")).await.refuses(400, "malformed_request", name);
            }
            ask(&format!("{name}={example}&{name}={example}")).await.refuses(400, "malformed_request", name);
            for broken in ["%ff", "%zz", "%", "%2", "%c0%80"] {
                ask(&format!("{name}={broken}")).await.problem(400, "malformed_request");
            }
        }
        if !known.is_empty() {
            for (query, name) in [
                ("colour=red", "colour"),
                ("Limit=1", "Limit"),
                ("a%00b=1", "a\0b"),
                ("=1", ""),
                ("access_token=x", "access_token"),
            ] {
                ask(query).await.refuses(400, "malformed_request", name);
            }
        }
    }
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_parameter_that_finds_nothing_is_not_found() {
    let fixture = Fixture::new().await;
    for value in ["%00", "a%00b", "", "nobody", "0", "%C3%A4n%C3%A4"] {
        fixture.app.get(&format!("/v1/games?player={value}")).await.problem(404, "player_not_found");
        let code = format!("?join_code={value}");
        let (table, game) = (&fixture.hidden_table, &fixture.hidden_game);
        fixture.app.get(&format!("/v1/tables/{table}{code}")).await.problem(404, "table_not_found");
        for part in ["", "/moves", "/destinations"] {
            fixture.app.get(&format!("/v1/games/{game}{part}{code}")).await.problem(404, "game_not_found");
        }
    }
}

#[tokio::test]
async fn a_cursor_is_taken_as_it_was_given_by_the_list_that_gave_it() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    for _ in 0..2 {
        app.open(&fixture.host, json!({})).await;
        app.begin(&fixture.host, &fixture.sender, json!({})).await;
    }
    let mut given: Vec<(&str, String)> = Vec::new();
    for list in ["/v1/tables", "/v1/games"] {
        let page = app.get(&format!("{list}?limit=1")).await.expect(200);
        given.push((list, page["next"].as_str().unwrap().to_owned()));
    }
    let mut lists = 0;
    for (path, _, operation) in operations() {
        if !parameters(operation, "query").iter().any(|(name, _)| *name == "cursor") {
            continue;
        }
        lists += 1;
        let path = fill_with(path, &|_| None);
        for (list, cursor) in &given {
            if path == *list || path.ends_with("/games") && *list == "/v1/games" {
                app.get(&format!("{path}?cursor={cursor}")).await.expect(200);
                continue;
            }
            let answer = app.get_as(&fixture.sender, &format!("{path}?cursor={cursor}")).await;
            answer.refuses(400, "malformed_request", "cursor");
        }
    }
    assert!(lists >= 6);
    for (list, cursor) in given {
        let mut bad =
            vec![format!("{cursor}A"), format!("{cursor}%3D"), format!("%20{cursor}"), cursor[1..].to_owned()];
        bad.extend((1..cursor.len()).step_by(7).map(|n| cursor[..n].to_owned()));
        for i in 0..cursor.len() {
            let other = if cursor.as_bytes()[i] == b'A' { "B" } else { "A" };
            bad.push(format!("{}{other}{}", &cursor[..i], &cursor[i + 1..]));
        }
        for cursor in bad {
            app.get(&format!("{list}?cursor={cursor}")).await.refuses(400, "malformed_request", "cursor");
        }
    }
}
