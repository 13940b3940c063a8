//! Who is there: what is a sign of life, and what it undoes.

use serde_json::{Value, json};

use crate::app::{Answer, Player, TestApp};
use crate::clocks::{possible, until};
use crate::races::two_instances;

/// A game without a timer in which Ben is to move; it, and its table.
async fn on_bens_turn(app: &TestApp, [ana, ben]: [&Player; 2]) -> (String, String) {
    let game = app.begin(ana, ben, json!({ "absence": "forfeit" })).await;
    let state = app.play_line(&game, [ana, ben], "a1a2 a9a8 b1b2 b9b8 c1c2").await;
    (game, state["table_id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn who_comes_back_is_back_on_every_instance() {
    let [app, other] = two_instances().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    for _ in 0..10 {
        let (game, table) = on_bens_turn(&app, [&ana, &ben]).await;
        app.delete_as(&ana, &format!("/v1/tables/{table}/seat")).await.expect(200);
        app.get_as(&ana, &format!("/v1/games/{game}")).await.expect(200);
        // It would be lost at once for whoever is away.
        other.play(&game, &ben, "c9c8", 6).await.expect(201);
        other.play(&game, &ana, "d1d2", 7).await.expect(201);
        app.resign(&game, &ana).await.expect(200);
    }
}

#[tokio::test]
async fn whatever_one_asks_of_a_game_or_its_seat_is_a_sign_of_life() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let (game, table) = on_bens_turn(&app, [&ana, &ben]).await;
    let (at_game, at_table) = (format!("/v1/games/{game}"), format!("/v1/tables/{table}"));
    let post = async |path: String, body: Value| app.post_as(&ana, &path, body).await;
    for (ply, sign) in (6..).step_by(2).zip(0..) {
        app.delete_as(&ana, &format!("{at_table}/seat")).await.expect(200);
        app.sees_row(&format!("select 1 from games where game_id = '{game}' and first_away")).await;
        let answer: Answer = match sign {
            0 => post(format!("{at_table}/seat"), json!({})).await,
            1 => app.get_as(&ana, &at_table).await,
            2 => app.get_as(&ana, &format!("{at_game}/moves")).await,
            3 => post(format!("{at_game}/draw"), json!({ "action": "decline" })).await,
            4 => post(format!("{at_game}/draw"), json!({ "action": "offer" })).await,
            5 => post(format!("{at_game}/abort"), json!({})).await,
            6 => app.play(&game, &ana, "a1a2", 1).await,
            7 => app.play(&game, &ana, "a1a2", 2).await,
            _ => break,
        };
        assert!([200, 409].contains(&answer.status.as_u16()), "{}", answer.text);
        // A posted move is written down within a second.
        app.sees_row(&format!("select 1 from games where game_id = '{game}' and not first_away")).await;
        app.play(&game, &ben, &possible(&app, &game).await, ply).await.expect(201);
        app.play(&game, &ana, &possible(&app, &game).await, ply + 1).await.expect(201);
    }
}

/// A game in which the computer is to answer and nobody has told it, as after its instance died; nobody looks at it
/// for an hour.
async fn forgotten(app: &TestApp, [ana, ben]: [&Player; 2]) -> String {
    let other = app.open(ana, json!({ "rated": false })).await;
    app.post_as(ana, &format!("/v1/tables/{other}/seat"), json!({ "cpu_level": 1 })).await.expect(201);
    let game = app.begin(ana, ben, json!({ "rated": false })).await;
    app.play(&game, ana, "e1e5", 1).await.expect(201);
    app.sql(&format!(
        "update games set second_id = (select player_id from players where username = 'cpu-1'),
                          check_at = now() + interval '1 hour', started_at = started_at - interval '10 s',
                          ply_at = ply_at - interval '10 s'
         where game_id = '{game}'"
    ))
    .await;
    game
}

#[tokio::test]
async fn a_repeated_move_and_a_look_wake_the_computer() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    for repeats in [true, false] {
        let game = forgotten(&app, [&ana, &ben]).await;
        match repeats {
            true => app.play(&game, &ana, "e1e5", 1).await.expect(200),
            false => app.get_as(&ana, &format!("/v1/games/{game}")).await.expect(200),
        };
        until(&app, &game, |g| g["ply"] == 2).await;
        app.resign(&game, &ana).await.expect(200);
    }
}
