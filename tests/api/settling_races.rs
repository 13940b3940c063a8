//! Games of the same players ending at once: every one counts, in some order, and nothing fails.

use futures_util::future::{join, join_all};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::app::{Player, TestApp};
use crate::clocks::pass;
use crate::formula::NEW;
use crate::races::{statuses, two_instances};

const LINE: &str = "a1a2 a9a8 b1b2 b9b8";

/// A rated game of four plies.
async fn four_plies(app: &TestApp, first: &Player, second: &Player) -> String {
    let game = app.begin(first, second, json!({})).await;
    app.play_line(&game, [first, second], LINE).await;
    game
}

#[tokio::test]
async fn eight_games_of_one_player_ending_at_once_all_count() {
    let apps = two_instances().await;
    let ana = apps[0].register("Ana").await;
    let others = join_all((0..8).map(|_| apps[0].guest())).await;
    for round in 1..=3 {
        // Half of the games end by a move, the others by resigning.
        let games = join_all(others.iter().map(|other| four_plies(&apps[0], &ana, other))).await;
        let limited = join_all(others.iter().map(|other| async {
            let game = apps[0].begin(&ana, other, json!({ "move_limit": 5 })).await;
            apps[0].play_line(&game, [&ana, other], LINE).await;
            game
        }))
        .await;
        let endings = games.iter().zip(&others).enumerate().map(|(n, (game, other))| {
            let quitter = if n % 3 == 0 { &ana } else { other };
            apps[n % 2].resign(game, quitter)
        });
        let moves = limited.iter().enumerate().map(|(n, game)| apps[n % 2].play(game, &ana, "c1c2", 5));
        let (resigned, moved) = join(join_all(endings), join_all(moves)).await;
        assert_eq!((statuses(&resigned), statuses(&moved)), (vec![200; 8], vec![201; 8]));
        let end = apps[1].check_ratings("Ana", "capture5", NEW).await;
        assert_eq!((end.games(), end.draws, end.losses), (16 * round, 8 * round, 3 * round));
    }
    for other in &others {
        assert_eq!(apps[0].check_ratings(&other.username, "capture5", NEW).await.games(), 6);
    }
}

#[tokio::test]
async fn two_players_beating_each_other_at_the_same_time_both_count() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].register("Ana").await, apps[0].register("Ben").await);
    for round in 0..100 {
        let (one, two) = join(four_plies(&apps[0], &ana, &ben), four_plies(&apps[1], &ben, &ana)).await;
        let answers = join_all([(0, &one, &ben), (round % 2, &two, &ana)].map(|(n, g, p)| apps[n].resign(g, p))).await;
        assert_eq!(statuses(&answers), [200, 200]);
    }
    for name in ["Ana", "Ben"] {
        let end = apps[0].check_ratings(name, "capture5", NEW).await;
        assert_eq!((end.wins, end.losses), (100, 100));
    }
}

#[tokio::test]
async fn many_games_played_through_two_instances_at_once_go_on_undisturbed() {
    let apps = two_instances().await;
    let players = join_all((0..8).map(|_| apps[0].guest())).await;
    let apps = &apps;
    let games = join_all((0..24).map(|n| {
        let sides = [&players[n % 8], &players[(n + 1) % 8]];
        async move { (apps[n % 2].begin(sides[0], sides[1], json!({ "rated": false })).await, sides) }
    }))
    .await;
    for (ply, mv) in (1..).zip("e1e5 e9e6 d1d5 d9d6 f1f5 f9f6 e5e4 e6e7".split(' ')) {
        // Each move through both instances at once, in opposite order, so that their batches meet.
        let one =
            join_all(games.iter().map(|(game, sides)| apps[0].play(game, sides[(ply as usize + 1) % 2], mv, ply)));
        let two = join_all(
            games.iter().rev().map(|(game, sides)| apps[1].play(game, sides[(ply as usize + 1) % 2], mv, ply)),
        );
        let (one, mut two) = join(one, two).await;
        two.reverse();
        for (a, b) in one.iter().zip(&two) {
            assert_eq!(statuses([a, b]), [200, 201], "ply {ply}: {} {}", a.text, b.text);
            assert_eq!(a.body, b.body);
        }
    }
    let logs = join_all(games.iter().map(|(game, _)| apps[0].get_text(game))).await;
    assert!(logs.iter().all(|log| log == "e1e5 e9e6 d1d5 d9d6 f1f5 f9f6 e5e4 e6e7"), "{logs:?}");
}

#[tokio::test]
async fn who_resigns_while_time_is_given_back_has_resigned() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({ "turn_seconds": 30, "absence": "forfeit" })).await;
    app.play_line(&game, [&ana, &ben], LINE).await;
    let mut holder = PgConnection::connect_with(&app.database).await.unwrap();
    let hold = "begin; select pg_advisory_xact_lock(hashtextextended('hasami-ladder: beat', 0))";
    sqlx::raw_sql(hold).execute(&mut holder).await.unwrap();
    pass(&app, &game, 31).await;
    // Ana's time looks over, to the sweep and to Ben's resignation: both wait for who gives time back.
    let (answer, ()) = join(app.resign(&game, &ben), async {
        app.sees_row(
            "select 1 where (select count(*) from pg_locks where locktype = 'advisory' and not granted
                             and mode = 'ShareLock' and database = (select oid from pg_database
                                                                    where datname = current_database())) = 2",
        )
        .await;
        let give_back =
            format!("update games set deadline_at = now() + interval '30 seconds' where game_id = '{game}'; commit");
        sqlx::raw_sql(sqlx::AssertSqlSafe(give_back)).execute(&mut holder).await.unwrap();
    })
    .await;
    answer.expect(200);
    let state = app.game(&game).await;
    assert_eq!((&state["termination"], &state["winner"]), (&json!("resignation"), &json!("first")));
}

impl TestApp {
    /// A game's moves in one line.
    async fn get_text(&self, game: &str) -> String {
        let request = self.request(reqwest::Method::GET, &format!("/v1/games/{game}/moves"));
        self.send(request.header("accept", "text/plain")).await.text
    }
}
