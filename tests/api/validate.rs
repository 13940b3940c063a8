//! Lists of moves held against the rules without a game.

use serde_json::{Value, json};

use crate::app::TestApp;

async fn validate(app: &TestApp, body: Value) -> Value {
    app.post("/v1/validate", body).await.expect(200)
}

#[tokio::test]
async fn the_first_move_that_cannot_be_made_is_named() {
    let app = TestApp::start().await;
    for (moves, ply, code, reason) in [
        (json!(["e1e5", "e5e5"]), 2, "illegal_move", json!("null_move")),
        (json!(["e2e5"]), 1, "illegal_move", json!("empty_square")),
        (json!(["e9e8"]), 1, "illegal_move", json!("not_your_piece")),
        (json!(["e1d2"]), 1, "illegal_move", json!("diagonal")),
        (json!(["e1e5", "e9e3"]), 2, "illegal_move", json!("blocked")),
        (json!(["e1e9"]), 1, "illegal_move", json!("occupied")),
        (json!(["e1e5", "a9a8", "E5E6", "nonsense"]), 3, "malformed_move", json!(null)),
        (json!(["\u{0}"]), 1, "malformed_move", json!(null)),
        (json!([""]), 1, "malformed_move", json!(null)),
    ] {
        let answer = validate(&app, json!({ "moves": moves })).await;
        assert_eq!(answer["error"], json!({ "ply": ply, "code": code, "reason": reason }), "{moves}");
        assert_eq!((&answer["valid"], &answer["plies"]), (&json!(false), &json!(ply - 1)), "{moves}");
    }
}

#[tokio::test]
async fn a_list_may_be_empty_and_its_rules_are_the_usual_ones() {
    let app = TestApp::start().await;
    let start = json!({
        "valid": true, "plies": 0, "position": "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first", "outcome": null, "error": null,
    });
    assert_eq!(validate(&app, json!({ "moves": [] })).await, start);
    assert_eq!(validate(&app, json!({ "win_rule": "captureall", "move_limit": null, "moves": [] })).await, start);
}

#[tokio::test]
async fn a_limit_of_one_ply_is_enough_here() {
    let app = TestApp::start().await;
    let one = validate(&app, json!({ "move_limit": 1, "moves": ["e1e5"] })).await;
    assert_eq!(one["outcome"], json!({ "winner": null, "termination": "move_limit" }));
    let two = validate(&app, json!({ "move_limit": 1, "moves": ["e1e5", "e9e8"] })).await;
    assert_eq!(two["error"], json!({ "ply": 2, "code": "game_over", "reason": null }));
    for bad in [0, 2001, 65535] {
        let body = json!({ "move_limit": bad, "moves": [] });
        app.post("/v1/validate", body).await.refuses(422, "invalid_field", "/move_limit");
    }
    for bad in [json!(-1), json!(1.5), json!("10"), json!(65536)] {
        let body = json!({ "move_limit": bad, "moves": [] });
        app.post("/v1/validate", body).await.refuses(400, "malformed_request", "/move_limit");
    }
    app.post("/v1/validate", json!({})).await.refuses(400, "malformed_request", "/moves");
    app.post("/v1/validate", json!({ "moves": ["e1e5", 7] })).await.refuses(400, "malformed_request", "/moves/1");
}

#[tokio::test]
async fn the_longest_game_fits_into_a_body() {
    let app = TestApp::start().await;
    // No piece comes back to a square before all of its file was walked, so that nothing repeats too often.
    let moves = long_game();
    assert_eq!(moves.len(), 2000);
    let answer = validate(&app, json!({ "moves": moves })).await;
    assert_eq!((&answer["valid"], &answer["plies"]), (&json!(true), &json!(2000)), "{answer}");
    assert_eq!(answer["outcome"], json!({ "winner": null, "termination": "move_limit" }));
    let longer: Vec<&str> = moves.iter().map(String::as_str).chain(["e1e2"]).collect();
    let answer = validate(&app, json!({ "moves": longer })).await;
    assert_eq!(answer["error"], json!({ "ply": 2001, "code": "game_over", "reason": null }));
}

/// 2,000 quiet plies: each side counts with its pieces in base 3, over three ranks of its own that never meet.
fn long_game() -> Vec<String> {
    // Reflected Gray code: from one number to the next a single piece moves by one rank.
    let gray = |n: usize| -> Vec<usize> {
        let digits: Vec<usize> = (0..9).map(|i| n / 3usize.pow(i) % 3).collect();
        let mut flipped = 0;
        let mut code = vec![0; 9];
        for i in (0..9).rev() {
            code[i] = if flipped % 2 == 0 { digits[i] } else { 2 - digits[i] };
            flipped += code[i];
        }
        code
    };
    let mut moves = Vec::new();
    for n in 0..1000 {
        let (now, then) = (gray(n), gray(n + 1));
        let i = (0..9).find(|i| now[*i] != then[*i]).unwrap();
        let file = char::from(b'a' + u8::try_from(i).unwrap());
        moves.push(format!("{file}{}{file}{}", now[i] + 1, then[i] + 1));
        moves.push(format!("{file}{}{file}{}", 9 - now[i], 9 - then[i]));
    }
    moves
}
