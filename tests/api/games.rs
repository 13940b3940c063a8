//! A whole game: begin, play, end; retries and refusals on the way.

use serde_json::json;

use crate::app::TestApp;

#[tokio::test]
async fn a_rated_game_from_first_to_last() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({})).await;

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
}
