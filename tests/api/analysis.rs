//! What the computer thinks of a position.

use serde_json::json;

use crate::app::TestApp;

#[tokio::test]
async fn a_position_and_a_game_are_analysed() {
    let app = TestApp::start().await;
    let ask = async |body| app.post("/v1/analysis", body).await.expect(200);
    // Second's piece on e5 falls between d5 and f5, and with it the game is won.
    let hanging = "5oooo/9/9/9/3xo4/9/9/5x3/xxxxxxx2 first";
    let won = ask(json!({ "position": hanging, "nodes": 1000 })).await;
    assert_eq!((&won["best_move"], &won["decided_in"], &won["score"]), (&json!("f2f5"), &json!(1), &json!(null)));
    assert_eq!((&won["line"], &won["position"]), (&json!(["f2f5"]), &json!(hanging)));
    let body = json!({ "moves": ["e1e5", "d9d5"], "nodes": 20_000 });
    let found = ask(body.clone()).await;
    assert_eq!((&found["line"][0], &found["decided_in"]), (&found["best_move"], &json!(null)));
    assert!(found["score"].is_i64() && found["nodes"].as_u64().unwrap() <= 20_100, "{found}");
    assert_eq!(ask(body).await, found, "the same question, the same answer");
    assert_eq!(ask(json!({})).await["position"], "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first");
    let over = ask(json!({ "position": "oooo5/9/9/9/9/9/9/9/xxxxxxxxx second" })).await;
    assert_eq!((&over["best_move"], &over["line"], &over["score"]), (&json!(null), &json!([]), &json!(null)));
    // Under another rule the same board is a game.
    let all = ask(json!({ "position": "oooo5/9/9/9/9/9/9/9/xxxxxxxxx second", "win_rule": "captureall" })).await;
    assert!(all["best_move"].is_string());
}

#[tokio::test]
async fn what_cannot_be_analysed_is_named() {
    let app = TestApp::start().await;
    for (body, pointer) in [
        (json!({ "position": "nothing" }), "/position"),
        (json!({ "position": "" }), "/position"),
        (json!({ "position": "xxxxxxxxx/x8/9/9/9/9/9/9/ooooooooo first" }), "/position"),
        (json!({ "position": "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first", "moves": [] }), "/moves"),
        (json!({ "moves": ["e1e5", "e1e5"] }), "/moves/1"),
        (json!({ "moves": ["z9"] }), "/moves/0"),
        (json!({ "nodes": 0 }), "/nodes"),
        (json!({ "nodes": 1_000_001 }), "/nodes"),
        (json!({ "move_limit": 0 }), "/move_limit"),
        (json!({ "move_limit": 2001 }), "/move_limit"),
    ] {
        app.post("/v1/analysis", body).await.refuses(422, "invalid_field", pointer);
    }
    let why = app.post("/v1/analysis", json!({ "moves": ["e1e5", "e9e4"] })).await.problem(422, "invalid_field");
    assert_eq!(why["detail"], "Another piece is in the way.");
}
