//! The move lane under stress: bad neighbours, lost connections, clients that hang up, a full queue.

use futures_util::future::join_all;
use hasami_ladder::error::Error;
use hasami_ladder::http::Service;
use hasami_ladder::ids::{GameId, PlayerId};
use hasami_ladder::ladder::judge::{Mover, PlayMove};
use serde_json::{Value, json};

use crate::app::{Player, TestApp, connect, new_database};

/// So many casual games of the same two players, each at a table of its own.
async fn begin_games(app: &TestApp, first: &Player, second: &Player, count: usize) -> Vec<String> {
    let mut games = Vec::new();
    for chunk in vec![(); count].chunks(20) {
        games.extend(join_all(chunk.iter().map(|()| app.begin(first, second, json!({ "rated": false })))).await);
    }
    games
}

/// The whole log of a game in one line.
async fn log(app: &TestApp, game: &str) -> String {
    let request = app.request(reqwest::Method::GET, &format!("/v1/games/{game}/moves"));
    app.send(request.header("accept", "text/plain")).await.text
}

/// A game, read by whichever pooled connection still lives: each dead one answers 503 once.
async fn read(app: &TestApp, game: &str) -> Value {
    for _ in 0..20 {
        let answer = app.get(&format!("/v1/games/{game}")).await;
        if answer.status != 503 {
            return answer.expect(200);
        }
    }
    panic!("twenty dead connections in a pool of six");
}

#[tokio::test]
async fn one_bad_row_harms_none_of_two_hundred_neighbours() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let games = begin_games(&app, &ana, &ben, 200).await;
    // Writing this one's first ply fails in the database; reading that one's log fails in the service.
    let (unwritable, corrupt) = (&games[77], &games[140]);
    app.sql(&format!("alter table games add constraint unlucky check (game_id <> '{unwritable}' or ply = 0)")).await;
    app.sql(&format!("update games set log = '\\x00' where game_id = '{corrupt}'")).await;
    let answers = join_all(games.iter().map(|game| app.play(game, &ana, "e1e5", 1))).await;
    for (game, answer) in games.iter().zip(answers) {
        if game == unwritable || game == corrupt {
            answer.problem(500, "internal");
        } else {
            answer.expect(201);
            assert_eq!(log(&app, game).await, "e1e5");
        }
    }
    assert_eq!(app.game(unwritable).await["ply"], 0);
    app.sql("alter table games drop constraint unlucky").await;
    app.play(unwritable, &ana, "e1e5", 1).await.expect(201);
}

#[tokio::test]
async fn instances_with_overlapping_batches_lose_and_double_nothing() {
    let one = TestApp::start().await;
    let two = TestApp::start_on(one.database.clone()).await;
    let (ana, ben) = (one.guest().await, one.guest().await);
    let games = begin_games(&one, &ana, &ben, 40).await;
    for (ply, mv) in (1..).zip(["a1a2", "a9a8", "b1b2", "b9b8", "c1c2", "c9c8"]) {
        let player = if ply % 2 == 1 { &ana } else { &ben };
        // In opposite orders, so that both batches want the same rows from both ends.
        let here = join_all(games.iter().map(|game| one.play(game, player, mv, ply)));
        let there = join_all(games.iter().rev().map(|game| two.play(game, player, mv, ply)));
        let (here, there) = tokio::join!(here, there);
        for (a, b) in here.into_iter().zip(there.into_iter().rev()) {
            let mut statuses = [a.status.as_u16(), b.status.as_u16()];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 201], "{} {}", a.text, b.text);
            assert_eq!(a.body["ply"], b.body["ply"]);
        }
    }
    for game in &games {
        assert_eq!(log(&one, game).await, "a1a2 a9a8 b1b2 b9b8 c1c2 c9c8");
    }
}

#[tokio::test]
async fn a_connection_that_dies_under_a_batch_tells_nobody_a_lie() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let games = begin_games(&app, &ana, &ben, 60).await;
    let mut conn = connect(&app.database).await;
    for (ply, mv) in (1..).zip(["a1a2", "a9a8", "b1b2", "b9b8", "c1c2", "c9c8", "d1d2", "d9d8"]) {
        let player = if ply % 2 == 1 { &ana } else { &ben };
        let playing = join_all(games.iter().map(|game| app.play(game, player, mv, ply)));
        let killing = async {
            for _ in 0..20 {
                let kill = "select pg_terminate_backend(pid) from pg_stat_activity
                            where datname = current_database() and pid <> pg_backend_pid()";
                sqlx::raw_sql(kill).execute(&mut conn).await.unwrap();
            }
        };
        let (answers, ()) = tokio::join!(playing, killing);
        for (game, answer) in games.iter().zip(answers) {
            let made = read(&app, game).await["ply"].as_u64().unwrap();
            match answer.status.as_u16() {
                200 | 201 => assert_eq!(made, ply, "acknowledged, so it stands"),
                503 => {
                    answer.problem(503, "unavailable");
                    let again = app.play(game, player, mv, ply).await;
                    // Whether the lost batch stood, nobody could say; now it is known.
                    let status = again.status.as_u16();
                    assert!(status == 201 || status == 200 && made == ply, "{}", again.text);
                }
                _ => panic!("{}", answer.text),
            }
        }
    }
    for game in &games {
        assert_eq!(log(&app, game).await, "a1a2 a9a8 b1b2 b9b8 c1c2 c9c8 d1d2 d9d8");
    }
}

#[tokio::test]
async fn clients_that_hang_up_leave_no_connection_inside_a_transaction() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let mut games = begin_games(&app, &ana, &ben, 30).await;
    for round in 0u64..30 {
        // Cut off at another moment each time: before, in and after the work.
        let cut = std::time::Duration::from_micros(round * 150);
        let (app, ana) = (&app, &ana);
        let requests = games.iter().flat_map(|game| {
            let posts = [
                (format!("/v1/games/{game}/moves"), json!({ "move": "e1e5", "ply": 1 })),
                (format!("/v1/games/{game}/abort"), json!({})),
                ("/v1/tables".to_owned(), json!({})),
                ("/v1/guests".to_owned(), json!({})),
            ];
            posts
                .map(|(path, body)| async move { drop(tokio::time::timeout(cut, app.post_as(ana, &path, body)).await) })
        });
        join_all(requests).await;
        games.rotate_left(7);
    }
    // What was sent is judged all the same, so every game comes to one of two states.
    for game in &games {
        app.post_as(&ana, &format!("/v1/games/{game}/abort"), json!({})).await.expect(200);
    }
    let mut conn = connect(&app.database).await;
    #[expect(clippy::disallowed_methods, reason = "the server's own view of its sessions")]
    let inside: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert_eq!(inside, 0);
    // A write through each pooled connection is seen by everybody.
    for _ in 0..12 {
        let game = app.begin(&ana, &ben, json!({ "rated": false })).await;
        app.play(&game, &ana, "e1e5", 1).await.expect(201);
        assert_eq!(log(&app, &game).await, "e1e5");
    }
}

#[tokio::test]
async fn a_full_queue_turns_moves_away_and_recovers() {
    let database = new_database().await;
    let app = TestApp::start_on(database.clone()).await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let game = app.begin(&ana, &ben, json!({})).await;
    let (service, _) = Service::start(database.clone(), 4, b"a secret that nobody here needs.").unwrap();
    let request = PlayMove {
        game_id: game.parse::<GameId>().unwrap(),
        by: Mover::Player(ana.id.parse::<PlayerId>().unwrap()),
        mv: "e1e5".parse().unwrap(),
        ply: 1,
    };
    let mut conn = connect(&database).await;
    sqlx::raw_sql("begin; lock table games in access exclusive mode").execute(&mut conn).await.unwrap();
    let outcomes = join_all((0..6000).map(|_| service.lane.play(request))).await;
    let overloaded = outcomes.iter().filter(|o| matches!(o, Err(Error::Overloaded))).count();
    let unknown = outcomes.iter().filter(|o| matches!(o, Err(Error::Unavailable(_)))).count();
    assert!(overloaded >= 1000 && overloaded + unknown == 6000, "{overloaded} overloaded, {unknown} unknown");
    sqlx::raw_sql("rollback").execute(&mut conn).await.unwrap();
    // The queue empties by itself, and what was sent has been played.
    let state: Value = loop {
        match service.lane.play(request).await {
            Ok(played) => break json!({ "created": played.created, "ply": played.game.game.ply() }),
            Err(Error::Overloaded | Error::Unavailable(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(state, json!({ "created": false, "ply": 1 }));
    assert_eq!(log(&app, &game).await, "e1e5");
}
