//! The next game at a table: asked for by both, or a rerun after a repetition draw.

use serde_json::{Value, json};

use crate::app::{Answer, Player, TestApp};

/// `repetition-start-shuffle` of the rule vectors: the start stands for the fourth time.
const SHUFFLE: &str = "a1a2 a9a8 a2a1 a8a9 a1a2 a9a8 a2a1 a8a9 a1a2 a9a8 a2a1 a8a9";

async fn next(app: &TestApp, player: &Player, table: &str) -> Answer {
    app.post_as(player, &format!("/v1/tables/{table}/next"), json!({})).await
}

/// Lets both ask for the next game; it.
async fn begin_next(app: &TestApp, players: [&Player; 2], table: &str) -> Value {
    next(app, players[0], table).await.expect(200);
    let begun = next(app, players[1], table).await.expect(200);
    assert_eq!(begun["running"], true);
    app.game(begun["game_id"].as_str().unwrap()).await
}

async fn abort(app: &TestApp, player: &Player, game: &Value) {
    app.post_as(player, &format!("/v1/games/{}/abort", text(game, "id")), json!({})).await.expect(200);
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

fn first(game: &Value) -> &str {
    text(&game["seats"]["first"], "username")
}

#[tokio::test]
async fn the_next_game_needs_both() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.guest().await);
    let table = app.open(&ana, json!({})).await;
    let game = app.sit(&ben, &table).await.expect(201);
    next(&app, &ana, &table).await.problem(409, "game_running");
    next(&app, &eva, &table).await.problem(403, "not_seated");
    app.resign(text(&game, "game_id"), &ana).await.expect(200);

    let asked = next(&app, &ben, &table).await.expect(200);
    let wants = |table: &Value| [0, 1].map(|i| table["seats"][i]["wants_next"] == true);
    assert_eq!((wants(&asked), &asked["running"], &asked["games"]), ([false, true], &json!(false), &json!(1)));
    assert_eq!(next(&app, &ben, &table).await.expect(200), asked, "asking again changes nothing");
    let begun = next(&app, &ana, &table).await.expect(200);
    assert_eq!((wants(&begun), &begun["running"], &begun["games"]), ([false, false], &json!(true), &json!(2)));
    let second = app.game(text(&begun, "game_id")).await;
    assert_eq!((&second["number"], first(&second)), (&json!(2), "Ben"));
    assert_eq!((&second["rerun_of"], &app.game(text(&game, "game_id")).await["rerun"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn who_asked_and_then_left_asks_no_more() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.guest().await);
    let table = app.open(&ana, json!({})).await;
    let game = app.sit(&ben, &table).await.expect(201);
    app.resign(text(&game, "game_id"), &ana).await.expect(200);
    next(&app, &ben, &table).await.expect(200);
    app.delete_as(&ben, &format!("/v1/tables/{table}/seat")).await.expect(200);
    let alone = next(&app, &ana, &table).await.expect(200);
    assert_eq!((&alone["running"], &alone["seats"][0]["wants_next"]), (&json!(false), &json!(true)));
    // A new opponent starts the game by sitting down.
    let begun = app.sit(&eva, &table).await.expect(201);
    assert_eq!((&begun["running"], &begun["games"]), (&json!(true), &json!(2)));
}

#[tokio::test]
async fn other_options_are_asked_for_anew() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let table = app.open(&ana, json!({ "rated": false })).await;
    let game = app.sit(&ben, &table).await.expect(201);
    app.resign(text(&game, "game_id"), &ana).await.expect(200);
    next(&app, &ben, &table).await.expect(200);
    let address = format!("/v1/tables/{table}");
    let same = app.patch_as(&ana, &address, json!({ "rated": false })).await.expect(200);
    assert_eq!(same["seats"][1]["wants_next"], true, "nothing has changed");
    let changed = app.patch_as(&ana, &address, json!({ "rated": true, "absence": "forfeit" })).await.expect(200);
    assert_eq!((&changed["seats"][1]["wants_next"], &changed["options"]["rated"]), (&json!(false), &json!(true)));
    assert_eq!(next(&app, &ana, &table).await.expect(200)["running"], false);
    assert_eq!(next(&app, &ben, &table).await.expect(200)["running"], true);
}

#[tokio::test]
async fn a_wish_for_a_next_game_is_taken_back() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.guest().await, app.guest().await, app.guest().await);
    let table = app.open(&ana, json!({})).await;
    let game = app.sit(&ben, &table).await.expect(201);
    let address = format!("/v1/tables/{table}/next");
    app.delete_as(&ben, &address).await.problem(409, "game_running");
    app.resign(text(&game, "game_id"), &ana).await.expect(200);
    app.delete_as(&eva, &address).await.problem(403, "not_seated");
    let before = app.delete_as(&ben, &address).await.expect(200);
    next(&app, &ben, &table).await.expect(200);
    for _ in 0..2 {
        assert_eq!(app.delete_as(&ben, &address).await.expect(200), before);
    }
    let alone = next(&app, &ana, &table).await.expect(200);
    assert_eq!((&alone["running"], &alone["seats"][0]["wants_next"]), (&json!(false), &json!(true)));
    app.delete_as(&ben, &address).await.expect(200);
    assert_eq!(next(&app, &ben, &table).await.expect(200)["running"], true, "Ana's wish stands");
}

#[tokio::test]
async fn a_wish_that_names_the_game_before_may_be_repeated() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let table = app.open(&ana, json!({})).await;
    let one = text(&app.sit(&ben, &table).await.expect(201), "game_id").to_owned();
    let ask = async |player: &Player, after: &str| {
        app.post_as(player, &format!("/v1/tables/{table}/next"), json!({ "after": after })).await
    };
    ask(&ben, &one).await.problem(409, "game_running");
    app.resign(&one, &ana).await.expect(200);
    let other = app.begin(&ana, &ben, json!({})).await;
    for wrong in [&*other, "x", ""] {
        ask(&ben, wrong).await.refuses(422, "invalid_field", "/after");
    }
    ask(&ben, &one).await.expect(200);
    let begun = ask(&ana, &one).await.expect(200);
    assert_eq!((&begun["running"], &begun["games"]), (&json!(true), &json!(2)));
    assert_eq!(ask(&ben, &one).await.expect(200), begun, "the answer was lost");
    let two = text(&begun, "game_id").to_owned();
    app.resign(&two, &ben).await.expect(200);
    let late = ask(&ben, &one).await.expect(200);
    assert_eq!((&late["running"], &late["seats"][1]["wants_next"]), (&json!(false), &json!(false)));
    assert_eq!(ask(&ben, &two).await.expect(200)["seats"][1]["wants_next"], true);
}

#[tokio::test]
async fn the_sides_change_from_game_to_game_or_stay() {
    for (alternate, order) in [(true, ["Ana", "Ben", "Ana"]), (false, ["Ana", "Ana", "Ana"])] {
        let app = TestApp::start().await;
        let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
        let table = app.open(&ana, json!({ "alternate_first": alternate })).await;
        let begun = app.sit(&ben, &table).await.expect(201);
        let mut game = app.game(text(&begun, "game_id")).await;
        for (number, name) in (1..).zip(order) {
            assert_eq!((first(&game), &game["number"]), (name, &json!(number)), "alternate_first {alternate}");
            app.resign(text(&game, "id"), &ben).await.expect(200);
            game = begin_next(&app, [&ben, &ana], &table).await;
        }
    }
}

#[tokio::test]
async fn an_aborted_game_does_not_count_for_the_order() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let table = app.open(&ana, json!({})).await;
    let begun = app.sit(&ben, &table).await.expect(201);
    let one = app.game(text(&begun, "game_id")).await;
    abort(&app, &ben, &one).await;
    let two = begin_next(&app, [&ana, &ben], &table).await;
    assert_eq!((first(&two), &two["number"]), ("Ana", &json!(2)), "nobody moved first yet");
    app.resign(text(&two, "id"), &ana).await.expect(200);
    let three = begin_next(&app, [&ana, &ben], &table).await;
    assert_eq!(first(&three), "Ben");
    abort(&app, &ana, &three).await;
    let four = begin_next(&app, [&ana, &ben], &table).await;
    assert_eq!((first(&four), &four["number"]), ("Ben", &json!(4)), "Ben's turn to begin is still due");
}

#[tokio::test]
async fn a_repetition_draw_is_played_again_at_once() {
    for (alternate, order) in [(true, ["Ana", "Ben", "Ana"]), (false, ["Ana", "Ana", "Ana"])] {
        let app = TestApp::start().await;
        let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
        let table = app.open(&ana, json!({ "alternate_first": alternate, "move_limit": 100 })).await;
        let mut id = text(&app.sit(&ben, &table).await.expect(201), "game_id").to_owned();
        for (number, name) in (1..=2).zip(order) {
            let sides = if name == "Ana" { [&ana, &ben] } else { [&ben, &ana] };
            let drawn = app.play_line(&id, sides, SHUFFLE).await;
            assert_eq!((&drawn["status"], &drawn["termination"]), (&json!("finished"), &json!("repetition")));
            assert_eq!((&drawn["winner"], &drawn["to_move"]), (&json!(null), &json!(null)));
            assert_eq!((&drawn["repetitions"], &drawn["stood_at"]), (&json!(4), &json!([0, 4, 8, 12])));
            assert_eq!(drawn, app.game(&id).await);
            // Rated, and a draw between equals.
            assert_eq!(drawn["seats"]["first"]["rating_after_milli"], 1_500_000);

            let rerun = app.game(text(&drawn, "rerun")).await;
            assert_eq!((text(&rerun, "rerun_of"), &rerun["rerun"]), (&*id, &json!(null)));
            assert_eq!((&rerun["number"], first(&rerun)), (&json!(number + 1), order[number]), "{alternate}");
            assert_eq!((&rerun["ply"], &rerun["status"]), (&json!(0), &json!("playing")));
            assert_eq!((&rerun["options"], &rerun["rated"]), (&drawn["options"], &json!(true)));
            let seen = app.get(&format!("/v1/tables/{table}")).await.expect(200);
            assert_eq!((&seen["game_id"], &seen["running"]), (&rerun["id"], &json!(true)));
            assert_eq!(seen["games"], number + 1);
            id = text(&rerun, "id").to_owned();
        }
        let ratings = app.get("/v1/players/ana").await.expect(200);
        assert_eq!((&ratings["ratings"]["capture5"]["draws"]), &json!(2));
        // The rerun ends like any other game, and the order goes on from it.
        app.resign(&id, &ben).await.expect(200);
        let after = begin_next(&app, [&ana, &ben], &table).await;
        assert_eq!(first(&after), if alternate { "Ben" } else { "Ana" });
        assert_eq!(after["rerun_of"], json!(null));
    }
}
