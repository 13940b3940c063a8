//! Two requests at once, through one instance and through two on one database: each thing happens once, nobody is
//! told otherwise, and nothing fails.

use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::app::{Answer, TestApp, id};
use crate::formula::NEW;
use crate::oracle::Oracle;

/// Seven plies by which the first side wins under `lead3`; the last one captures.
const WIN: [&str; 2] = ["e1e3 d9d2 e3d3 a9a2 d3a3 i9i2", "a3i3"];

/// Two instances on one database.
pub async fn two_instances() -> [TestApp; 2] {
    let app = TestApp::start().await;
    let other = TestApp::start_on(app.database.clone()).await;
    [app, other]
}

/// The statuses in order, so that a test need not know who was faster.
pub fn statuses<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Vec<u16> {
    let mut statuses: Vec<u16> = answers.into_iter().map(|a| a.status.as_u16()).collect();
    statuses.sort_unstable();
    statuses
}

/// Two different moves that do not end the game.
fn two_moves(game: &Oracle, random: &mut u64) -> [String; 2] {
    let mut moves = game.legal_moves();
    moves.retain(|mv| {
        let mut next = game.clone();
        next.play(mv);
        next.outcome().is_none()
    });
    [0, 1].map(|_| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        moves.remove((*random >> 33) as usize % moves.len())
    })
}

#[tokio::test]
async fn of_two_moves_for_one_ply_one_is_played_and_the_other_is_stale() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].guest().await, apps[0].guest().await);
    let game = apps[0].begin(&ana, &ben, json!({ "win_rule": "captureall", "rated": false })).await;
    let mut oracle = Oracle::new("captureall", None);
    let mut random = 7;
    let mut played = Vec::new();
    for ply in 1..=50 {
        let player = if ply % 2 == 1 { &ana } else { &ben };
        let moves = two_moves(&oracle, &mut random);
        // Half of the time both go through one instance.
        let other = &apps[ply as usize / 2 % 2];
        let answers: [Answer; 2] =
            join(apps[0].play(&game, player, &moves[0], ply), other.play(&game, player, &moves[1], ply)).await.into();
        let winner = answers.iter().position(|a| a.status == 201).expect("one is played");
        let [yes, no] = if winner == 0 {
            answers
        } else {
            let [a, b] = answers;
            [b, a]
        };
        let yes = yes.expect(201);
        assert_eq!(no.problem(409, "stale_ply")["current_ply"], ply);
        oracle.play(&moves[winner]);
        assert_eq!(yes["game"]["position"], oracle.position());
        // A second try changes nothing and says the same.
        assert_eq!(other.play(&game, player, &moves[winner], ply).await.expect(200), yes);
        apps[0].play(&game, player, &moves[1 - winner], ply).await.problem(409, "stale_ply");
        played.push(moves[winner].clone());
    }
    let history = apps[1].get(&format!("/v1/games/{game}/moves")).await.expect(200);
    let log: Vec<&str> = history["items"].as_array().unwrap().iter().map(|p| p["move"].as_str().unwrap()).collect();
    assert_eq!(log, played);
}

#[tokio::test]
async fn a_move_posted_fifty_times_at_once_is_played_once() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].guest().await, apps[0].guest().await);
    let game = apps[0].begin(&ana, &ben, json!({})).await;
    for (ply, mv) in (1..).zip(["e1e5", "d9d5", "f1f5"]) {
        let player = if ply % 2 == 1 { &ana } else { &ben };
        let answers = join_all((0..50).map(|n| apps[n % 2].play(&game, player, mv, ply))).await;
        assert_eq!(statuses(&answers), [[200; 49].as_slice(), &[201]].concat());
        for answer in answers {
            assert_eq!(answer.body["game"], apps[0].game(&game).await);
        }
    }
    let history = apps[0].get(&format!("/v1/games/{game}/moves")).await.expect(200);
    assert_eq!(history["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_winning_move_posted_twice_at_once_wins_once() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].register("Ana").await, apps[0].register("Ben").await);
    for round in 1..=20 {
        let game = apps[0].begin(&ana, &ben, json!({ "win_rule": "lead3" })).await;
        apps[0].play_line(&game, [&ana, &ben], WIN[0]).await;
        let other = &apps[round % 2];
        let answers = join_all([&apps[0], other].map(|app| app.play(&game, &ana, WIN[1], 7))).await;
        assert_eq!(statuses(&answers), [200, 201]);
        let end = apps[0].game(&game).await;
        assert_eq!(
            (&end["winner"], &end["termination"], &end["ply"]),
            (&json!("first"), &json!("captures"), &json!(7))
        );
        assert!(answers.iter().all(|a| a.body["game"] == end), "{answers:?}");
        assert_eq!(apps[1].ledger("Ana", "lead3").await.len(), round);
        assert_eq!(apps[1].ledger("Ben", "lead3").await.len(), round);
    }
    assert_eq!(apps[0].check_ratings("Ana", "lead3", NEW).await.wins, 20);
    assert_eq!(apps[0].check_ratings("Ben", "lead3", NEW).await.losses, 20);
}

#[tokio::test]
async fn a_winning_move_and_a_resignation_at_once_end_a_game_one_way() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].register("Ana").await, apps[0].register("Ben").await);
    for round in 1..=20 {
        let game = apps[0].begin(&ana, &ben, json!({ "win_rule": "lead3" })).await;
        apps[0].play_line(&game, [&ana, &ben], WIN[0]).await;
        // Either the loser resigns or the winner: then the two endings contradict each other.
        let quitter = if round % 2 == 0 { &ana } else { &ben };
        let other = &apps[round / 2 % 2];
        let (moved, resigned) = join(apps[0].play(&game, &ana, WIN[1], 7), other.resign(&game, quitter)).await;
        let end = apps[1].game(&game).await;
        let winner = if end["termination"] == "captures" {
            assert_eq!(moved.expect(201)["game"], end);
            resigned.problem(409, "game_over");
            apps[0].resign(&game, quitter).await.problem(409, "game_over");
            "first"
        } else {
            assert_eq!(end["termination"], "resignation");
            assert_eq!(resigned.expect(200), end);
            moved.problem(409, "game_over");
            apps[0].play(&game, &ana, WIN[1], 7).await.problem(409, "game_over");
            if round % 2 == 0 { "second" } else { "first" }
        };
        assert_eq!(end["winner"], winner);
        for (name, side) in [("Ana", "first"), ("Ben", "second")] {
            let rows = apps[0].ledger(name, "lead3").await;
            assert_eq!((rows.len(), &rows[round - 1]["game_id"]), (round, &end["id"]));
            assert_eq!(rows[round - 1]["score"], f64::from(u8::from(side == winner)));
        }
    }
    apps[0].check_ratings("Ana", "lead3", NEW).await;
    apps[0].check_ratings("Ben", "lead3", NEW).await;
}

#[tokio::test]
async fn resigning_and_aborting_at_once_end_a_game_one_way() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].guest().await, apps[0].guest().await);
    for round in 0..20 {
        let game = apps[0].begin(&ana, &ben, json!({})).await;
        if round % 2 == 0 {
            apps[0].play(&game, &ana, "a1a2", 1).await.expect(201);
        }
        let path = format!("/v1/games/{game}/abort");
        let abort = || apps[round / 2 % 2].post_as(&ben, &path, json!({}));
        let (resigned, aborted) = join(apps[0].resign(&game, &ana), abort()).await;
        let end = apps[0].game(&game).await;
        if end["status"] == "aborted" {
            assert_eq!((aborted.expect(200), &end["winner"]), (end.clone(), &json!(null)));
            resigned.problem(409, "game_over");
            assert_eq!(abort().await.expect(200), end);
        } else {
            assert_eq!((resigned.expect(200), &end["winner"]), (end.clone(), &json!("second")));
            aborted.problem(409, "game_over");
            assert_eq!(apps[1].resign(&game, &ana).await.expect(200), end);
        }
    }
}

/// All games of a table.
async fn games_of(app: &TestApp, table: &str) -> Vec<Value> {
    app.get(&format!("/v1/games?table={table}")).await.expect(200)["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn of_two_players_for_one_seat_one_sits() {
    let apps = two_instances().await;
    let (ana, ben, cleo) = (apps[0].guest().await, apps[0].guest().await, apps[0].guest().await);
    for round in 0..20 {
        let table = apps[0].open(&ana, json!({})).await;
        let [one, two]: [Answer; 2] = join(apps[0].sit(&ben, &table), apps[round % 2].sit(&cleo, &table)).await.into();
        let (seated, left, winner) = if one.status == 201 { (one, two, &ben) } else { (two, one, &cleo) };
        let seated = seated.expect(201);
        left.problem(409, "seat_taken");
        assert_eq!(seated["seats"][1]["username"], winner.username);
        assert_eq!(apps[1].sit(winner, &table).await.expect(200)["game_id"], seated["game_id"], "a second try");
        let games = games_of(&apps[0], &table).await;
        assert_eq!((games.len(), &games[0]["id"]), (1, &seated["game_id"]));
        assert_eq!(games[0]["seats"]["second"]["username"], winner.username);
    }
}

#[tokio::test]
async fn both_asking_for_the_next_game_at_once_and_twice_begin_one() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].guest().await, apps[0].guest().await);
    let table = apps[0].open(&ana, json!({})).await;
    let mut game = apps[0].sit(&ben, &table).await.expect(201)["game_id"].as_str().unwrap().to_owned();
    let next = format!("/v1/tables/{table}/next");
    for round in 2..=20 {
        apps[0].resign(&game, &ana).await.expect(200);
        let asks = [(0, &ana), (1, &ben), (1, &ana), (0, &ben)];
        let answers = join_all(asks.map(|(n, player)| apps[n].post_as(player, &next, json!({})))).await;
        for answer in answers {
            // Whoever asks after the game has begun is told so.
            if answer.status != 200 {
                answer.problem(409, "game_running");
            }
        }
        let shown = apps[1].get(&format!("/v1/tables/{table}")).await.expect(200);
        assert_eq!((&shown["games"], &shown["running"]), (&json!(round), &json!(true)));
        let games = games_of(&apps[0], &table).await;
        assert_eq!((games.len(), &games[0]["id"], &games[0]["number"]), (round, &shown["game_id"], &json!(round)));
        let first = if round % 2 == 1 { &ana } else { &ben };
        assert_eq!(games[0]["seats"]["first"]["username"], first.username);
        game = id(&games[0]);
    }
}
