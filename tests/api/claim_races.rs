//! A player who becomes somebody else while things go on: names, kinds and their copies agree afterwards.

use std::cell::Cell;

use futures_util::future::{join, join_all, join3};
use serde_json::json;
use sqlx::{Connection as _, PgConnection, Row as _};
use tokio::sync::oneshot;

use crate::app::{Answer, Player, TestApp};
use crate::races::{statuses, two_instances};

async fn claim(app: &TestApp, guest: &Player, username: &str) -> Answer {
    app.post_as(guest, "/v1/me/claim", json!({ "username": username, "password": "correct horse" })).await
}

#[tokio::test]
async fn of_two_claims_of_one_name_at_once_one_is_granted() {
    let apps = two_instances().await;
    for round in 0..5 {
        let (one, two) = (apps[0].guest().await, apps[0].guest().await);
        let names = [format!("Ana-{round}"), format!("ANA-{round}")];
        let answers: [Answer; 2] =
            join(claim(&apps[0], &one, &names[0]), claim(&apps[round % 2], &two, &names[1])).await.into();
        let (winner, loser) = if answers[0].status == 200 { (0, &two) } else { (1, &one) };
        let [a, b] = answers;
        let (granted, refused) = if winner == 0 { (a, b) } else { (b, a) };
        assert_eq!(granted.expect(200)["player"]["username"], names[winner]);
        refused.problem(409, "name_taken");
        let me = apps[0].get_as(loser, "/v1/me").await.expect(200);
        assert_eq!((&me["kind"], &me["username"]), (&json!("guest"), &json!(loser.username)), "still a guest");
        claim(&apps[1], loser, &format!("Other-{round}")).await.expect(200);
    }
}

#[tokio::test]
async fn one_guest_claiming_two_names_at_once_gets_one() {
    let app = TestApp::start().await;
    let guest = app.guest().await;
    let answers = join_all(["Ana", "Ben", "Cleo"].map(|name| claim(&app, &guest, name))).await;
    assert_eq!(statuses(&answers), [200, 409, 409]);
    let granted = answers.iter().find(|a| a.status == 200).unwrap();
    let me = app.get_as(&guest, "/v1/me").await.expect(200);
    assert_eq!(me["username"], granted.body["player"]["username"]);
}

/// How many statements wait for a lock.
async fn waiting(conn: &mut PgConnection) -> i64 {
    let statement =
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::raw_sql(statement).fetch_one(conn).await.unwrap().get(0)
}

/// Stops a player's first rated game where their row on the ladder is made, lets `change` go as far as it can, and
/// lets go. The game.
async fn change_while_a_game_begins(
    apps: &[TestApp; 2],
    host: &Player,
    player: &Player,
    change: impl Future<Output = Answer>,
) -> String {
    let table = apps[0].open(host, json!({})).await;
    let mut holder = PgConnection::connect_with(&apps[0].database).await.unwrap();
    let statement = format!(
        "begin; insert into ratings (player_id, ladder, username, kind) values ('{}', 'capture5', 'held', 'human')",
        player.id
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut holder).await.unwrap();
    let (stopped, go) = oneshot::channel();
    let changed = Cell::new(false);
    let changing = async {
        go.await.unwrap();
        change.await.expect(200);
        changed.set(true);
    };
    let watching = async {
        while waiting(&mut holder).await < 1 {}
        stopped.send(()).unwrap();
        // The change is made, or waits for the game to begin.
        while !changed.get() && waiting(&mut holder).await < 2 {
            tokio::task::yield_now().await;
        }
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    };
    let (table, (), ()) = join3(apps[1].sit(player, &table), changing, watching).await;
    table.expect(201)["game_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn who_claims_a_name_or_becomes_a_bot_while_a_first_game_begins_is_listed_as_such() {
    let apps = two_instances().await;
    let host = apps[0].guest().await;
    let (guest, human) = (apps[0].guest().await, apps[0].register("Robot").await);
    let claiming = claim(&apps[0], &guest, "Ana");
    let one = change_while_a_game_begins(&apps, &host, &guest, claiming).await;
    let turning = apps[0].patch_as(&human, "/v1/me", json!({ "bot": true }));
    let two = change_while_a_game_begins(&apps, &host, &human, turning).await;
    // Nine games each, long ago; this is the tenth.
    apps[0].sql("update ratings set wins = 9").await;
    for (game, player) in [(&one, &guest), (&two, &human)] {
        apps[0].play_line(game, [&host, player], "a1a2 a9a8 b1b2 b9b8").await;
        apps[0].resign(game, player).await.expect(200);
    }
    let board = apps[1].get("/v1/ladders/capture5/leaderboard").await.expect(200);
    let listed: Vec<_> = board["items"].as_array().unwrap().iter().map(|e| json!([e["username"], e["kind"]])).collect();
    assert_eq!(json!(listed), json!([["Robot", "bot"], ["Ana", "human"]]));
    for name in ["Ana", "Robot"] {
        let rank = apps[0].rating(name, "capture5").await["rank"].take();
        assert_eq!(rank, board["items"].as_array().unwrap().iter().find(|e| e["username"] == name).unwrap()["rank"]);
    }
}
