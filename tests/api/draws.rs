//! Offers of a draw.

use serde_json::{Value, json};

use crate::app::{Answer, Player, TestApp};
use crate::races::two_instances;

async fn say(app: &TestApp, game: &str, player: &Player, action: &str) -> Answer {
    app.post_as(player, &format!("/v1/games/{game}/draw"), json!({ "action": action })).await
}

async fn offer(app: &TestApp, game: &str) -> Value {
    app.game(game).await["draw_offer"].clone()
}

const FOUR: &str = "a1a2 a9a8 b1b2 b9b8";

#[tokio::test]
async fn an_accepted_offer_ends_the_game() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.guest().await);
    let game = app.begin(&ana, &ben, json!({})).await;
    app.play_line(&game, [&ana, &ben], FOUR).await;
    say(&app, &game, &eva, "offer").await.problem(403, "not_seated");
    say(&app, &game, &ben, "accept").await.problem(409, "no_offer");
    say(&app, &game, &ben, "decline").await.problem(409, "no_offer");
    let offered = say(&app, &game, &ana, "offer").await.expect(200);
    assert_eq!((&offered["draw_offer"], &offered["status"]), (&json!("first"), &json!("playing")));
    assert_eq!(app.game(&game).await, offered);
    assert_eq!(say(&app, &game, &ana, "offer").await.expect(200), offered, "offering twice");
    say(&app, &game, &ana, "accept").await.problem(409, "no_offer");
    say(&app, &game, &ana, "decline").await.problem(409, "no_offer");
    let ended = say(&app, &game, &ben, "accept").await.expect(200);
    assert_eq!(
        (&ended["status"], &ended["termination"], &ended["winner"], &ended["draw_offer"]),
        (&json!("finished"), &json!("agreement"), &json!(null), &json!(null))
    );
    assert_eq!(say(&app, &game, &ben, "accept").await.expect(200), ended, "a repeated request");
    app.play(&game, &ana, "c1c2", 5).await.problem(409, "game_over");
    let ledger = app.get("/v1/players/Ana/ratings/capture5/history").await.expect(200);
    assert_eq!((&ledger["items"][0]["score"], &ledger["items"][0]["change_milli"]), (&json!(0.5), &json!(0)));
    let other = app.beat(&ana, &ben, json!({})).await;
    for action in ["offer", "accept", "decline"] {
        say(&app, other["id"].as_str().unwrap(), &ana, action).await.problem(409, "game_over");
    }
}

#[tokio::test]
async fn an_offer_dies_with_its_makers_move_a_refusal_and_the_end() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let game = app.begin(&ana, &ben, json!({})).await;
    // Made on the opponent's turn, it outlives the opponent's move and not its maker's.
    app.play(&game, &ana, "a1a2", 1).await.expect(201);
    say(&app, &game, &ana, "offer").await.expect(200);
    let played = app.play(&game, &ben, "a9a8", 2).await.expect(201);
    assert_eq!(played["game"]["draw_offer"], "first");
    let played = app.play(&game, &ana, "b1b2", 3).await.expect(201);
    assert_eq!(played["game"]["draw_offer"], json!(null));
    assert_eq!(offer(&app, &game).await, json!(null));
    say(&app, &game, &ben, "accept").await.problem(409, "no_offer");

    say(&app, &game, &ana, "offer").await.expect(200);
    let declined = say(&app, &game, &ben, "decline").await.expect(200);
    assert_eq!((&declined["draw_offer"], &declined["status"]), (&json!(null), &json!("playing")));
    assert_eq!(app.game(&game).await, declined);

    say(&app, &game, &ben, "offer").await.expect(200);
    let ended = app.resign(&game, &ana).await.expect(200);
    assert_eq!((&ended["draw_offer"], &ended["winner"]), (&json!(null), &json!("second")));
}

#[tokio::test]
async fn two_offers_are_an_agreement() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let game = app.begin(&ana, &ben, json!({})).await;
    app.play_line(&game, [&ana, &ben], FOUR).await;
    let (a, b) = futures_util::join!(say(&app, &game, &ana, "offer"), say(&app, &game, &ben, "offer"));
    a.expect(200);
    b.expect(200);
    assert_eq!(app.game(&game).await["termination"], "agreement");
}

#[tokio::test]
async fn accepting_races_with_the_move_that_takes_the_offer_back() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    for _ in 0..20 {
        let game = app.begin(&ana, &ben, json!({ "rated": false })).await;
        app.play_line(&game, [&ana, &ben], FOUR).await;
        say(&app, &game, &ana, "offer").await.expect(200);
        let (moved, accepted) = futures_util::join!(app.play(&game, &ana, "c1c2", 5), say(&app, &game, &ben, "accept"));
        let state = app.game(&game).await;
        if accepted.status == 200 {
            moved.problem(409, "game_over");
            assert_eq!((&state["termination"], &state["ply"]), (&json!("agreement"), &json!(4)));
        } else {
            accepted.problem(409, "no_offer");
            moved.expect(201);
            assert_eq!(
                (&state["status"], &state["draw_offer"], &state["ply"]),
                (&json!("playing"), &json!(null), &json!(5))
            );
            app.resign(&game, &ana).await.expect(200);
        }
    }
}

#[tokio::test]
async fn an_offer_outlives_the_opponents_move_that_comes_at_the_same_time() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    for _ in 0..20 {
        let game = app.begin(&ana, &ben, json!({ "rated": false })).await;
        app.play_line(&game, [&ana, &ben], FOUR).await;
        let (moved, offered) = futures_util::join!(app.play(&game, &ana, "c1c2", 5), say(&app, &game, &ben, "offer"));
        moved.expect(201);
        offered.expect(200);
        assert_eq!(offer(&app, &game).await, "second");
    }
}

#[tokio::test]
async fn declining_an_agreed_draw_is_too_late() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let game = app.begin(&ana, &ben, json!({})).await;
    say(&app, &game, &ana, "offer").await.expect(200);
    say(&app, &game, &ben, "accept").await.expect(200);
    say(&app, &game, &ben, "decline").await.problem(409, "game_over");
}

#[tokio::test]
async fn of_accepting_and_declining_one_counts() {
    let [app, other] = two_instances().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    for _ in 0..30 {
        let game = app.begin(&ana, &ben, json!({ "rated": false })).await;
        say(&app, &game, &ana, "offer").await.expect(200);
        let (declined, accepted) =
            futures_util::join!(say(&app, &game, &ben, "decline"), say(&other, &game, &ben, "accept"));
        if accepted.status == 200 {
            declined.problem(409, "game_over");
            assert_eq!(app.game(&game).await["termination"], "agreement");
        } else {
            accepted.problem(409, "no_offer");
            assert_eq!(declined.expect(200)["status"], "playing");
            app.resign(&game, &ana).await.expect(200);
        }
    }
}
