//! Two players who meet too often within a day: K fades, and comes back.

use serde_json::{Value, json};

use crate::app::{Player, TestApp};
use crate::formula::{NEW, Standing};

fn ks(rows: &[Value]) -> Vec<f64> {
    rows.iter().map(|r| r["k"].as_f64().unwrap()).collect()
}

/// Whether each row says that K was halved.
fn halved(rows: &[Value]) -> Vec<bool> {
    let reasons = rows.iter().map(|r| match r["reason"].as_str() {
        None => false,
        Some("repeated_pair") => true,
        Some(other) => panic!("{other}"),
    });
    reasons.collect()
}

#[tokio::test]
async fn k_is_halved_from_the_sixth_game_again_from_the_eleventh_and_not_after_a_day() {
    let app = TestApp::start().await;
    let (ana, ben, cleo) = (app.register("Ana").await, app.register("Ben").await, app.register("Cleo").await);
    for round in 0..11 {
        // Either side may move first, and either may win.
        match round % 3 {
            0 => app.beat(&ana, &ben, json!({})).await,
            1 => app.beat(&ben, &ana, json!({})).await,
            _ => {
                let game = app.begin(&ben, &ana, json!({ "move_limit": 4 })).await;
                app.play_line(&game, [&ben, &ana], "a1a2 a9a8 b1b2 b9b8").await
            }
        };
    }
    let expected = [[40.0; 5].as_slice(), &[20.0; 5], &[10.0; 1]].concat();
    for name in ["Ana", "Ben"] {
        let rows = app.ledger(name, "capture5").await;
        assert_eq!(ks(&rows), expected);
        assert_eq!(halved(&rows), expected.iter().map(|k| *k < 40.0).collect::<Vec<_>>());
        app.check_ratings(name, "capture5", NEW).await;
    }
    // Other opponents and other ladders are no repetition.
    app.beat(&ana, &cleo, json!({})).await;
    app.beat(&ana, &ben, json!({ "win_rule": "lead3" })).await;
    assert_eq!(app.ledger("Ana", "capture5").await[11]["k"], 40.0);
    assert_eq!(app.ledger("Ana", "lead3").await[0]["k"], 40.0);

    // The first seven games come to lie a day back: four are left of the day before, and K is whole again.
    app.sql("update ledger set at = at - interval '24 hours' where number <= 7 and ladder = 'capture5'").await;
    app.beat(&ana, &ben, json!({})).await;
    app.beat(&ben, &ana, json!({})).await;
    let rows = app.ledger("Ana", "capture5").await;
    assert_eq!(ks(&rows[12..]), [40.0, 20.0], "five in the day before the second");
    assert_eq!(halved(&rows[12..]), [false, true]);
}

/// Lets a pair have had so many rated games in the last hour, at which nothing changed.
async fn have_met(app: &TestApp, [a, b]: [&Player; 2], times: u32, standing: Standing) {
    for (own, other) in [(a, b), (b, a)] {
        app.set_standing(own, "capture5", standing).await;
        app.sql(&format!(
            "delete from ledger where player_id = '{0}';
             insert into ledger (player_id, ladder, number, entry, game_id, opponent_id, opponent_milli, score, expected, k,
                                 before_milli, after_milli, change_milli, at)
             select '{0}', 'capture5', number, 'result', gen_random_uuid(), '{1}', {2}, 0.5, 0.5, 0, {2}, {2}, 0,
                    date_trunc('milliseconds', clock_timestamp()) - interval '1 hour'
             from generate_series(1, {times}) as number;
             update ratings set number = {times} where player_id = '{0}'",
            own.id, other.id, standing.rating
        ))
        .await;
    }
}

#[tokio::test]
async fn half_a_thousandth_is_rounded_away_from_zero_on_both_sides() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    // Between equals 20 / 2^5 makes 312.5 thousandths, and 40 / 2^6 as well.
    for (met, games) in [(25, 60), (30, 20)] {
        for ana_first in [true, false] {
            have_met(&app, [&ana, &ben], met, Standing::with(1_600_000, games)).await;
            let game = if ana_first {
                app.beat(&ana, &ben, json!({})).await
            } else {
                let game = app.begin(&ben, &ana, json!({})).await;
                app.play_line(&game, [&ben, &ana], "a1a2 a9a8 b1b2 b9b8").await;
                app.resign(&game, &ben).await.expect(200)
            };
            let (winner, loser) = if ana_first { ("first", "second") } else { ("second", "first") };
            assert_eq!(game["seats"][winner]["rating_after_milli"], 1_600_313);
            assert_eq!(game["seats"][loser]["rating_after_milli"], 1_599_687);
            for (name, change) in [("Ana", 313), ("Ben", -313)] {
                let row = app.ledger(name, "capture5").await.pop().unwrap();
                assert_eq!((&row["k"], &row["change_milli"]), (&json!(0.625), &json!(change)));
            }
        }
    }
}

#[tokio::test]
async fn a_pair_that_plays_on_and_on_gains_next_to_nothing() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    for _ in 0..20 {
        app.beat(&ana, &ben, json!({})).await;
    }
    let rows = app.ledger(&ana.username, "capture5").await;
    assert_eq!(ks(&rows), [[40.0; 5], [20.0; 5], [10.0; 5], [5.0; 5]].concat());
    let gains: Vec<i64> = rows.iter().map(|r| r["change_milli"].as_i64().unwrap()).collect();
    assert!(gains.windows(2).all(|two| two[1] < two[0]), "{gains:?}");
    let end = app.check_ratings(&ana.username, "capture5", NEW).await;
    // No more than the sum of all K that are left, 5 * (40 + 20 + 10 + ...), however long they go on.
    assert!(end.rating < NEW.rating + 200_000, "{end:?}");
    // Established by now, but guests stay off the board.
    assert_eq!(app.rating(&ana.username, "capture5").await["rank"], json!(null));
    assert_eq!(app.get("/v1/ladders/capture5/leaderboard").await.expect(200)["items"], json!([]));
}
