//! Turn timers, absence, the stand-in and outages. Time passes by moving what is stored back.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::app::{Player, TestApp, id};

/// Lets time pass for a game.
pub async fn pass(app: &TestApp, game: &str, seconds: i64) {
    app.sql(&format!(
        "update games set started_at = started_at - d, ply_at = ply_at - d, first_seen_at = first_seen_at - d,
                          second_seen_at = second_seen_at - d, deadline_at = deadline_at - d, check_at = check_at - d
         from make_interval(secs => {seconds}) as d where game_id = '{game}'"
    ))
    .await;
}

/// The game as soon as it is as wanted. Nobody's sign of life: no token is sent.
pub async fn until(app: &TestApp, game: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let state = app.game(game).await;
        if wanted(&state) {
            return state;
        }
        assert!(std::time::Instant::now() < deadline, "it never comes: {state}");
    }
}

/// A move that the side on turn can make.
pub async fn possible(app: &TestApp, game: &str) -> String {
    let moves = app.get(&format!("/v1/games/{game}/destinations")).await.expect(200);
    let (from, to) = moves["destinations"].as_object().unwrap().iter().next().unwrap();
    format!("{from}{}", to[0].as_str().unwrap())
}

/// Plays some move; the game afterwards.
async fn play_on(app: &TestApp, game: &str, player: &Player, ply: u64) -> Value {
    app.play(game, player, &possible(app, game).await, ply).await.expect(201)["game"].take()
}

fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

async fn history(app: &TestApp, game: &str) -> Vec<Value> {
    let history = app.get(&format!("/v1/games/{game}/moves")).await.expect(200);
    history["items"].as_array().unwrap().clone()
}

const FOUR: &str = "a1a2 a9a8 b1b2 b9b8";

async fn players(app: &TestApp) -> (Player, Player) {
    (app.register("Ana").await, app.register("Ben").await)
}

#[tokio::test]
async fn a_timer_tells_its_deadline_after_each_ply() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    for seconds in [30, 60] {
        let game = app.begin(&ana, &ben, json!({ "turn_seconds": seconds })).await;
        let state = app.game(&game).await;
        assert_eq!(state["options"]["absence_seconds"], json!(null));
        assert_eq!(instant(&state["deadline_at"]) - instant(&state["started_at"]), TimeDelta::seconds(seconds));
        let played = app.play(&game, &ana, "e1e5", 1).await.expect(201);
        assert_eq!(
            instant(&played["game"]["deadline_at"]) - instant(&played["ply"]["at"]),
            TimeDelta::seconds(seconds)
        );
        assert_eq!(app.game(&game).await, played["game"]);
        assert_eq!(app.resign(&game, &ben).await.expect(200)["deadline_at"], json!(null));
    }
}

#[tokio::test]
async fn a_forfeit_is_stamped_with_the_deadline() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "turn_seconds": 30, "absence": "forfeit" })).await;
    let before = app.play_line(&game, [&ana, &ben], &format!("{FOUR} c1c2")).await;
    pass(&app, &game, 100).await;
    let deadline = instant(&before["deadline_at"]) - TimeDelta::seconds(100);
    let ended = until(&app, &game, |g| g["status"] == "finished").await;
    assert_eq!((&ended["termination"], &ended["winner"]), (&json!("timeout"), &json!("first")));
    assert_eq!(instant(&ended["ended_at"]), deadline);
    let ledger = app.get("/v1/players/Ben/ratings/capture5/history").await.expect(200);
    assert_eq!((ledger["items"].as_array().unwrap().len(), instant(&ledger["items"][0]["at"])), (1, deadline));
    // A move that comes afterwards, and one that came at once before the sweep, get the same answer.
    app.play(&game, &ben, "c9c8", 6).await.problem(409, "game_over");
    app.play(&game, &ana, "c1c2", 5).await.expect(200);
}

#[tokio::test]
async fn a_late_move_settles_first_what_was_due() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    for (absence, code) in [("forfeit", "game_over"), ("cpu", "stale_ply")] {
        for _ in 0..5 {
            let game = app.begin(&ana, &ben, json!({ "turn_seconds": 30, "absence": absence })).await;
            app.play_line(&game, [&ana, &ben], FOUR).await;
            // The move is on its way while the sweep may or may not have been there.
            pass(&app, &game, 31).await;
            app.play(&game, &ana, "c1c2", 5).await.problem(409, code);
            app.resign(&game, &ben).await;
        }
    }
    let game = app.begin(&ana, &ben, json!({ "turn_seconds": 30 })).await;
    pass(&app, &game, 31).await;
    app.play(&game, &ana, "e1e5", 1).await.problem(409, "game_over");
    assert_eq!(app.game(&game).await["status"], "aborted");
}

#[tokio::test]
async fn at_a_deadline_the_computer_makes_one_ply() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "turn_seconds": 30, "absence": "cpu" })).await;
    let before = app.play_line(&game, [&ana, &ben], FOUR).await;
    pass(&app, &game, 31).await;
    let after = until(&app, &game, |g| g["ply"] == 5).await;
    let deadline = instant(&before["deadline_at"]) - TimeDelta::seconds(31);
    let rows = history(&app, &game).await;
    assert_eq!((&rows[4]["by"], &rows[4]["elapsed_ms"]), (&json!("cpu"), &json!(30_000)));
    assert_eq!(instant(&rows[4]["at"]), deadline);
    assert_eq!(
        instant(&after["deadline_at"]),
        deadline + TimeDelta::seconds(30),
        "the next deadline counts from there"
    );
    assert!(rows[..4].iter().all(|row| row["by"] == "player"));
    // Ben is there; Ana's seat is judged at its next deadline only.
    play_on(&app, &game, &ben, 6).await;
    play_on(&app, &game, &ana, 7).await;
}

#[tokio::test]
async fn an_absent_seat_is_played_for_until_its_owner_is_back() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "absence_seconds": 20 })).await;
    app.play_line(&game, [&ana, &ben], FOUR).await;
    pass(&app, &game, 21).await;
    until(&app, &game, |g| g["ply"] == 5).await;
    let rows = history(&app, &game).await;
    assert_eq!((&rows[4]["by"], &rows[4]["elapsed_ms"]), (&json!("cpu"), &json!(20_000)));
    // Absent at once on each of its turns.
    play_on(&app, &game, &ben, 6).await;
    until(&app, &game, |g| g["ply"] == 7).await;
    let rows = history(&app, &game).await;
    assert_eq!((&rows[6]["by"], &rows[6]["elapsed_ms"]), (&json!("cpu"), &json!(0)));
    // Ana sees what was played for her, which is a sign of life, and takes over.
    app.get_as(&ana, &format!("/v1/games/{game}")).await.expect(200);
    app.sees_row(&format!("select 1 from games where game_id = '{game}' and not first_away")).await;
    play_on(&app, &game, &ben, 8).await;
    play_on(&app, &game, &ana, 9).await;
    let rows = history(&app, &game).await;
    assert_eq!(rows[8]["by"], "player");
    assert_eq!(rows[5]["by"], "player");
}

#[tokio::test]
async fn a_posted_move_takes_the_seat_back() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "absence_seconds": 20 })).await;
    app.play_line(&game, [&ana, &ben], FOUR).await;
    app.delete_as(&ana, &format!("/v1/tables/{}/seat", app.game(&game).await["table_id"].as_str().unwrap()))
        .await
        .expect(200);
    until(&app, &game, |g| g["ply"] == 5).await;
    play_on(&app, &game, &ben, 6).await;
    until(&app, &game, |g| g["ply"] == 7).await;
    // Too late for this ply, and back for the next.
    app.play(&game, &ana, &possible(&app, &game).await, 7).await.problem(409, "stale_ply");
    app.sees_row(&format!("select 1 from games where game_id = '{game}' and not first_away")).await;
    play_on(&app, &game, &ben, 8).await;
    play_on(&app, &game, &ana, 9).await;
}

#[tokio::test]
async fn signs_of_life_keep_an_absence_away() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "absence_seconds": 20, "absence": "forfeit" })).await;
    app.play_line(&game, [&ana, &ben], FOUR).await;
    pass(&app, &game, 15).await;
    app.get_as(&ana, &format!("/v1/games/{game}/destinations")).await.expect(200);
    app.sees_row(&format!("select 1 from games where game_id = '{game}' and first_seen_at > ply_at")).await;
    pass(&app, &game, 10).await;
    app.play(&game, &ana, "c1c2", 5).await.expect(201);
    // The other side's signs keep nobody's seat.
    pass(&app, &game, 15).await;
    app.get_as(&ana, &format!("/v1/games/{game}")).await.expect(200);
    pass(&app, &game, 6).await;
    let ended = until(&app, &game, |g| g["status"] == "finished").await;
    assert_eq!((&ended["termination"], &ended["winner"]), (&json!("timeout"), &json!("first")));
}

#[tokio::test]
async fn who_was_played_for_gains_nothing() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "absence_seconds": 20 })).await;
    app.play_line(&game, [&ana, &ben], FOUR).await;
    pass(&app, &game, 21).await;
    until(&app, &game, |g| g["ply"] == 5).await;
    app.resign(&game, &ben).await.expect(200);
    let change = async |name: &str| {
        let ledger = app.get(&format!("/v1/players/{name}/ratings/capture5/history")).await.expect(200);
        (ledger["items"][0]["change_milli"].clone(), ledger["items"][0]["reason"].clone())
    };
    assert_eq!(change("Ana").await, (json!(0), json!("stand_in")));
    assert_eq!(change("Ben").await, (json!(-20_000), json!(null)));
}

#[tokio::test]
async fn first_moves_that_are_never_made_abort_the_game() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    for options in [
        json!({ "absence": "wait", "absence_seconds": 20 }),
        json!({ "absence": "cpu", "absence_seconds": 20 }),
        json!({ "absence": "forfeit", "turn_seconds": 30 }),
    ] {
        for plies in [0, 1] {
            let game = app.begin(&ana, &ben, options.clone()).await;
            if plies == 1 {
                app.play(&game, &ana, "e1e5", 1).await.expect(201);
            }
            // Neither a sign of life nor leaving makes the wait any longer.
            let waiting = [&ana, &ben][plies];
            app.get_as(waiting, &format!("/v1/games/{game}")).await.expect(200);
            pass(&app, &game, 31).await;
            let ended = until(&app, &game, |g| g["status"] == "aborted").await;
            assert_eq!(
                (&ended["termination"], &ended["winner"], &ended["ply"]),
                (&json!("abort"), &json!(null), &json!(plies))
            );
        }
    }
    assert_eq!(app.get("/v1/players/Ana/ratings/capture5/history").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_game_that_waits_ends_after_a_week() {
    const WEEK: i64 = 7 * 86_400;
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "absence": "wait" })).await;
    app.play_line(&game, [&ana, &ben], &format!("{FOUR} c1c2")).await;
    let short = app.begin(&ana, &ben, json!({ "absence": "wait" })).await;
    app.play_line(&short, [&ana, &ben], "a1a2 a9a8").await;
    for game in [&game, &short] {
        pass(&app, game, WEEK - 60).await;
    }
    app.sees_row(&format!("select 1 from games where game_id = '{game}' and check_at > now()")).await;
    assert_eq!(app.game(&game).await["status"], "playing");
    for game in [&game, &short] {
        pass(&app, game, 61).await;
    }
    let ended = until(&app, &game, |g| g["status"] == "finished").await;
    assert_eq!((&ended["termination"], &ended["winner"]), (&json!("timeout"), &json!("first")));
    let aborted = until(&app, &short, |g| g["status"] == "aborted").await;
    assert_eq!((&aborted["termination"], &aborted["ply"]), (&json!("abort"), &json!(2)));
}

#[tokio::test]
async fn a_table_without_a_second_seat_closes_after_a_day() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let (old, left, young) =
        (app.open(&ana, json!({})).await, app.open(&ana, json!({})).await, app.open(&ana, json!({})).await);
    // Waits again since its second player left, and not since it was opened.
    app.sql("update tables set waits_since = waits_since - interval '25 hours', created_at = created_at - interval '25 hours'").await;
    app.sql(&format!("update tables set waits_since = now() - interval '23 hours' where table_id = '{young}'")).await;
    app.sit(&ben, &left).await.expect(201);
    let game = app.get(&format!("/v1/tables/{left}")).await.expect(200)["game_id"].as_str().unwrap().to_owned();
    app.resign(&game, &ana).await.expect(200);
    app.delete_as(&ben, &format!("/v1/tables/{left}/seat")).await.expect(200);
    // What looks once a minute looks at its start.
    let other = TestApp::start_on(app.database.clone()).await;
    app.sees_row(&format!("select 1 from tables where table_id = '{old}' and closed_at is not null")).await;
    app.sit(&ben, &old).await.problem(410, "table_closed");
    assert_eq!(
        other.get("/v1/tables").await.expect(200)["items"].as_array().unwrap().iter().map(id).collect::<Vec<_>>(),
        [young, left]
    );
}

#[tokio::test]
async fn an_outage_is_given_back_once() {
    let app = TestApp::start().await;
    let other = TestApp::start_on(app.database.clone()).await;
    let (ana, ben) = players(&app).await;
    let timed = app.begin(&ana, &ben, json!({ "turn_seconds": 30, "absence": "forfeit" })).await;
    let untimed = app.begin(&ana, &ben, json!({ "absence_seconds": 20, "absence": "forfeit" })).await;
    let start = std::time::Instant::now();
    let before = app.play_line(&timed, [&ana, &ben], FOUR).await;
    app.play_line(&untimed, [&ana, &ben], FOUR).await;
    app.sees_row("select 1 where (select count(*) from instances) = 2").await;
    // Both instances stand still for 40 s, and everything else with them.
    app.sql(&format!(
        "begin; lock table instances in exclusive mode;
         update instances set beat_at = beat_at - interval '40 seconds';
         update games set started_at = started_at - d, ply_at = ply_at - d, first_seen_at = first_seen_at - d,
                second_seen_at = second_seen_at - d, deadline_at = deadline_at - d, check_at = check_at - d
         from (values (interval '40 seconds')) as s (d) where game_id in ('{timed}', '{untimed}');
         commit"
    ))
    .await;
    app.sees_row("select 1 from instances where beat_at > now() - interval '5 seconds'").await;
    let later = instant(&app.game(&timed).await["deadline_at"]) - instant(&before["deadline_at"]);
    // Less by what passed between the last beat and the outage, or more by what this test itself took.
    let took = start.elapsed().as_secs().cast_signed();
    assert!((-6..=took).contains(&later.num_seconds()), "the deadline is off by {later}");
    for game in [&timed, &untimed] {
        app.play(game, &ana, "c1c2", 5).await.expect(201);
    }
    drop(other);
}

#[tokio::test]
async fn two_sweeps_settle_each_game_once() {
    let app = TestApp::start().await;
    let other = TestApp::start_on(app.database.clone()).await;
    let (ana, ben) = players(&app).await;
    let mut games = Vec::new();
    for i in 0..30 {
        let pair = if i % 2 == 0 { [&ana, &ben] } else { [&ben, &ana] };
        let game = app.begin(pair[0], pair[1], json!({ "turn_seconds": 30, "absence": "forfeit" })).await;
        app.play_line(&game, pair, FOUR).await;
        games.push(game);
    }
    app.sql(
        "update games set started_at = started_at - d, ply_at = ply_at - d, deadline_at = deadline_at - d, check_at = check_at - d
         from make_interval(secs => 31) as d",
    )
    .await;
    for game in &games {
        until(&other, game, |g| g["termination"] == "timeout" && g["winner"] == "second").await;
    }
    for name in ["Ana", "Ben"] {
        let ledger = app.get(&format!("/v1/players/{name}/ratings/capture5/history?limit=100")).await.expect(200);
        let rows = ledger["items"].as_array().unwrap();
        assert_eq!(rows.len(), 30);
    }
}

#[tokio::test]
async fn a_leave_holds_against_a_sign_of_life_before_it() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    for _ in 0..3 {
        let game = app.begin(&ana, &ben, json!({ "absence_seconds": 20 })).await;
        app.play_line(&game, [&ana, &ben], FOUR).await;
        pass(&app, &game, 10).await;
        // The page is read, and left before the sign of it is written.
        let state = app.get_as(&ana, &format!("/v1/games/{game}")).await.expect(200);
        let seat = format!("/v1/tables/{}/seat", state["table_id"].as_str().unwrap());
        app.delete_as(&ana, &seat).await.expect(200);
        until(&app, &game, |g| g["ply"] == 5).await;
        app.resign(&game, &ben).await.expect(200);
    }
}

#[tokio::test]
async fn leaving_makes_the_wait_for_a_first_move_no_longer() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    let game = app.begin(&ana, &ben, json!({ "absence_seconds": 20 })).await;
    pass(&app, &game, 15).await;
    let table = app.game(&game).await["table_id"].as_str().unwrap().to_owned();
    app.delete_as(&ana, &format!("/v1/tables/{table}/seat")).await.expect(200);
    pass(&app, &game, 6).await;
    let ended = until(&app, &game, |g| g["status"] == "aborted").await;
    assert_eq!(instant(&ended["ended_at"]) - instant(&ended["started_at"]), TimeDelta::seconds(20));
}

#[tokio::test]
async fn whose_time_is_over_neither_resigns_nor_agrees() {
    let app = TestApp::start().await;
    let (ana, ben) = players(&app).await;
    for (who, action) in [(&ana, "resign"), (&ben, "resign"), (&ana, "draw"), (&ben, "draw")] {
        let game = app.begin(&ana, &ben, json!({ "turn_seconds": 30, "absence": "forfeit" })).await;
        app.play_line(&game, [&ana, &ben], FOUR).await;
        pass(&app, &game, 31).await;
        let body = if action == "draw" { json!({ "action": "offer" }) } else { json!({}) };
        let answer = app.post_as(who, &format!("/v1/games/{game}/{action}"), body).await;
        let state = until(&app, &game, |g| g["status"] == "finished").await;
        assert_eq!((&state["termination"], &state["winner"]), (&json!("timeout"), &json!("second")), "{action}");
        answer.problem(409, "game_over");
    }
}
