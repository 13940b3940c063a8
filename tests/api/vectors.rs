//! The rule vectors, told by the service: each game over the real endpoint, and as a list to validate.

use futures_util::StreamExt as _;
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::{Player, TestApp};

const GAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/tests/vectors/games.json");
/// Games under way at once.
const AT_ONCE: usize = 12;

/// A game with what the rules make of it.
#[derive(Deserialize)]
pub struct Vector {
    pub name: String,
    win: String,
    move_limit: Option<u16>,
    moves: String,
    captured: Value,
    resign: Option<u8>,
    outcome: Value,
    plies: u16,
    final_board: String,
    final_side: u8,
    final_captured: [u8; 2],
    stood_at: Value,
}

fn side(player: u8) -> &'static str {
    if player == 1 { "first" } else { "second" }
}

impl Vector {
    fn moves(&self) -> Vec<&str> {
        self.moves.split_whitespace().collect()
    }

    fn position(&self) -> String {
        format!("{} {}", self.final_board, side(self.final_side))
    }

    /// Winner and termination, as the service names them; nulls while the game goes on.
    fn outcome(&self) -> (Value, Value) {
        let winner = match self.outcome["winner"].as_u64() {
            Some(1) => json!("first"),
            Some(_) => json!("second"),
            None => Value::Null,
        };
        let termination = match self.outcome["reason"].as_str() {
            Some("capture5" | "lead3" | "captureall") => json!("captures"),
            Some("resign") => json!("resignation"),
            Some(own) => json!(own),
            None => Value::Null,
        };
        (winner, termination)
    }
}

pub fn vectors() -> Vec<Vector> {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(GAMES).unwrap()).unwrap();
    let games: Vec<Vector> = serde_json::from_value(file["games"].clone()).unwrap();
    assert!(games.len() > 90);
    games
}

#[tokio::test]
async fn every_game_of_the_vectors_can_be_played() {
    let app = TestApp::start().await;
    let players = [app.guest().await, app.guest().await];
    let games = vectors();
    assert!(games.iter().all(|game| game.move_limit.is_none_or(|limit| limit >= 2)), "a table offers all their limits");
    stream::iter(&games).for_each_concurrent(AT_ONCE, |game| play(&app, &players, game)).await;
}

async fn play(app: &TestApp, [first, second]: &[Player; 2], vector: &Vector) {
    let name = &vector.name;
    let options = json!({ "win_rule": vector.win, "move_limit": vector.move_limit });
    let game = app.begin(first, second, options).await;
    let mut last = app.play_line(&game, [first, second], &vector.moves).await;
    if let Some(resigning) = vector.resign {
        last = app.resign(&game, if resigning == 1 { first } else { second }).await.expect(200);
    }
    let stands = app.game(&game).await;
    assert!(last.is_null() && vector.plies == 0 || last == stands, "{name}: the answer is the game as it stands");
    let (winner, termination) = vector.outcome();
    let over = !termination.is_null();
    assert_eq!((&stands["winner"], &stands["termination"]), (&winner, &termination), "{name}");
    assert_eq!(stands["status"], if over { "finished" } else { "playing" }, "{name}");
    assert_eq!(stands["to_move"], if over { Value::Null } else { json!(side(vector.final_side)) }, "{name}");
    assert_eq!(stands["ended_at"].is_null(), !over, "{name}");
    assert_eq!((&stands["ply"], &stands["position"]), (&json!(vector.plies), &json!(vector.position())), "{name}");
    let captured = ["first", "second"].map(|side| stands["seats"][side]["captured"].clone());
    assert_eq!(json!(captured), json!(vector.final_captured), "{name}");
    assert_eq!(stands["stood_at"], vector.stood_at, "{name}");
    assert_eq!(stands["repetitions"], vector.stood_at.as_array().unwrap().len(), "{name}");
    assert_eq!(stands["rerun"].is_null(), termination != json!("repetition"), "{name}");

    let history = app.get(&format!("/v1/games/{game}/moves")).await.expect(200);
    let rows = history["items"].as_array().unwrap();
    assert_eq!(rows.len(), usize::from(vector.plies), "{name}");
    for ((ply, row), mv) in (1u16..).zip(rows).zip(vector.moves()) {
        let captured = vector.captured.get(ply.to_string()).cloned().unwrap_or(json!([]));
        let mover = side(if ply % 2 == 1 { 1 } else { 2 });
        assert_eq!((&row["ply"], &row["side"], &row["move"]), (&json!(ply), &json!(mover), &json!(mv)), "{name}");
        assert_eq!((&row["captured"], &row["by"]), (&captured, &json!("player")), "{name} at ply {ply}");
    }
}

#[tokio::test]
async fn every_game_of_the_vectors_is_valid() {
    let app = TestApp::start().await;
    for vector in vectors() {
        let (winner, termination) = vector.outcome();
        // A list of moves tells nothing of a resignation.
        let outcome = if vector.resign.is_some() || termination.is_null() {
            Value::Null
        } else {
            json!({ "winner": winner, "termination": termination })
        };
        let over = !outcome.is_null();
        let mut body = json!({ "win_rule": vector.win, "move_limit": vector.move_limit, "moves": vector.moves() });
        let mut expected = json!({
            "valid": true, "plies": vector.plies, "position": vector.position(), "outcome": outcome, "error": null,
        });
        assert_eq!(app.post("/v1/validate", body.clone()).await.expect(200), expected, "{}", vector.name);

        // One more that is none: named where the game goes on, and after the end not even looked at.
        body["moves"].as_array_mut().unwrap().push(json!("e1e10"));
        let code = if over { "game_over" } else { "malformed_move" };
        expected["valid"] = json!(false);
        expected["error"] = json!({ "ply": vector.plies + 1, "code": code, "reason": null });
        assert_eq!(app.post("/v1/validate", body).await.expect(200), expected, "{}", vector.name);
    }
}
