//! What games make of ratings: each number recomputed, from both sides.

use serde_json::{Value, json};

use crate::app::{Player, TestApp, id};
use crate::formula::{NEW, Standing, after, points, worth};

/// Rated games of `a` and `b` at a table each; `a` moves first and wins.
async fn beat_times(app: &TestApp, a: &Player, b: &Player, times: usize) {
    for _ in 0..times {
        app.beat(a, b, json!({})).await;
    }
}

/// The seat of a finished game as ratings make it.
fn seat(before: Standing, after: Standing) -> Value {
    json!([points(before.rating), before.rating, points(after.rating), after.rating])
}

fn seat_of(game: &Value, side: &str) -> Value {
    let seat = &game["seats"][side];
    json!([seat["rating_before"], seat["rating_before_milli"], seat["rating_after"], seat["rating_after_milli"]])
}

/// A ledger row with its expected score cut to nine digits.
fn row_of(row: &Value) -> Value {
    let mut row = row.clone();
    row["expected"] = json!((row["expected"].as_f64().unwrap() * 1e9).round());
    row
}

#[tokio::test]
async fn two_games_are_worth_what_the_policy_says_to_both_sides() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let one = app.beat(&ana, &ben, json!({})).await;
    // The second game is drawn by its limit, and Ben moves first.
    let two = app.begin(&ben, &ana, json!({ "move_limit": 4 })).await;
    let two = app.play_line(&two, [&ben, &ana], "a1a2 a9a8 b1b2 b9b8").await;
    assert_eq!((&two["termination"], &two["winner"]), (&json!("move_limit"), &json!(null)));

    let won = worth(NEW, NEW.rating, 1.0, 0);
    assert_eq!((won.expected, won.k, won.change), (0.5, 40.0, 20_000));
    let (ana1, ben1) = (after(NEW, 20_000, 1.0), after(NEW, -20_000, 0.0));
    // d = 40: E = 1 / (1 + 10^0.1) = 0.442688; 40 * (0.5 - 0.442688) = 2.292.
    let drawn = worth(ben1, ana1.rating, 0.5, 0);
    assert_eq!(drawn.change, 2_292);
    let (ana2, ben2) = (after(ana1, -2_292, 0.5), after(ben1, 2_292, 0.5));
    assert_eq!([seat_of(&one, "first"), seat_of(&one, "second")], [seat(NEW, ana1), seat(NEW, ben1)]);
    assert_eq!([seat_of(&two, "first"), seat_of(&two, "second")], [seat(ben1, ben2), seat(ana1, ana2)]);
    assert_eq!([app.game(&id(&one)).await, app.game(&id(&two)).await], [one.clone(), two.clone()]);

    let row = |number: u32,
               game: &Value,
               opponent: &str,
               opponent_milli: i64,
               score: f64,
               expected: f64,
               steps: [i64; 2]| {
        json!({
            "number": number, "game_id": game["id"], "opponent": { "username": opponent, "rating_milli": opponent_milli },
            "score": score, "expected": (expected * 1e9).round(), "k": 40.0, "before_milli": steps[0],
            "after_milli": steps[1], "change_milli": steps[1] - steps[0], "reason": null, "at": game["ended_at"]
        })
    };
    let [ana_rows, ben_rows] = [app.ledger("Ana", "capture5").await, app.ledger("Ben", "capture5").await];
    let expected = drawn.expected;
    assert_eq!(
        ana_rows.iter().map(row_of).collect::<Vec<_>>(),
        [
            row(1, &one, "Ben", 1_500_000, 1.0, 0.5, [1_500_000, 1_520_000]),
            row(2, &two, "Ben", 1_480_000, 0.5, 1.0 - expected, [1_520_000, 1_517_708])
        ]
    );
    assert_eq!(
        ben_rows.iter().map(row_of).collect::<Vec<_>>(),
        [
            row(1, &one, "Ana", 1_500_000, 0.0, 0.5, [1_500_000, 1_480_000]),
            row(2, &two, "Ana", 1_520_000, 0.5, expected, [1_480_000, 1_482_292])
        ]
    );
    let page = json!({
        "rating": 1518, "rating_milli": 1_517_708, "games": 2, "wins": 1, "draws": 1, "losses": 0, "peak": 1520,
        "provisional": true, "rank": null
    });
    let ratings = app.get("/v1/players/ana").await.expect(200)["ratings"].take();
    assert_eq!(ratings, json!({ "capture5": page }), "only the ladder that was played on");
    assert_eq!(app.check_ratings("Ana", "capture5", NEW).await, ana2);
    assert_eq!(app.check_ratings("Ben", "capture5", NEW).await, ben2);
}

#[tokio::test]
async fn each_ladder_has_ratings_of_its_own() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    for ladder in ["capture5", "lead3", "captureall"] {
        app.beat(&ana, &ben, json!({ "win_rule": ladder })).await;
    }
    for ladder in ["capture5", "lead3", "captureall"] {
        let end = app.check_ratings("Ana", ladder, NEW).await;
        assert_eq!(end, Standing { rating: 1_520_000, peak: 1_520_000, wins: 1, ..NEW }, "{ladder}");
        assert_eq!(app.ledger("Ana", ladder).await.len(), 1);
    }
}

#[tokio::test]
async fn k_shrinks_after_thirty_games_and_for_good_at_2400() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let cases = [
        (Standing::with(1_500_000, 28), [40.0, 40.0, 20.0]),
        (Standing::with(1_700_000, 100), [20.0, 20.0, 20.0]),
        // Once at 2400, however far below now and however new.
        (Standing { peak: 2_400_000, ..Standing::with(1_900_000, 3) }, [10.0, 10.0, 10.0]),
        (Standing { peak: 2_399_999, ..Standing::with(1_900_000, 40) }, [20.0, 20.0, 20.0]),
        // Reaches 2400 with the first of these games.
        (Standing::with(2_399_000, 200), [20.0, 10.0, 10.0]),
    ];
    for (start, ks) in cases {
        app.sql("delete from ledger; update ratings set number = 0").await;
        let other = Standing::with(1_500_000, 50);
        app.set_standing(&ana, "capture5", start).await;
        app.set_standing(&ben, "capture5", other).await;
        beat_times(&app, &ana, &ben, 3).await;
        let used: Vec<f64> = app.ledger("Ana", "capture5").await.iter().map(|r| r["k"].as_f64().unwrap()).collect();
        assert_eq!(used, ks, "{start:?}");
        app.check_ratings("Ana", "capture5", start).await;
        app.check_ratings("Ben", "capture5", other).await;
    }
}

#[tokio::test]
async fn no_rating_falls_below_the_floor_and_the_winner_gains_as_ever() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let low = Standing { rating: 100_400, ..NEW };
    for player in [&ana, &ben] {
        app.set_standing(player, "capture5", low).await;
    }
    let game = app.beat(&ana, &ben, json!({})).await;
    assert_eq!(game["seats"]["first"]["rating_after_milli"], 120_400);
    assert_eq!(game["seats"]["second"]["rating_after_milli"], 100_000);
    let row = &app.ledger("Ben", "capture5").await[0];
    assert_eq!((&row["change_milli"], &row["reason"]), (&json!(-400), &json!(null)));
    app.beat(&ana, &ben, json!({})).await;
    assert_eq!(app.ledger("Ben", "capture5").await[1]["change_milli"], 0);
    app.check_ratings("Ana", "capture5", low).await;
    app.check_ratings("Ben", "capture5", low).await;
}

#[tokio::test]
async fn differences_beyond_400_points_count_as_400() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let (high, low) = (Standing::with(2_399_000, 40), Standing::with(900_000, 40));
    app.set_standing(&ana, "capture5", high).await;
    app.set_standing(&ben, "capture5", low).await;
    let game = app.beat(&ben, &ana, json!({})).await;
    // 20 * (1 - 1/11) = 18.1818.
    assert_eq!(game["seats"]["first"]["rating_after_milli"], 918_182);
    assert_eq!(game["seats"]["second"]["rating_after_milli"], 2_380_818);
    app.check_ratings("Ana", "capture5", high).await;
    app.check_ratings("Ben", "capture5", low).await;
}

#[tokio::test]
async fn the_sum_of_both_ratings_stays_while_their_k_are_equal() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let starts = [Standing::with(1_481_357, 30), Standing::with(1_633_333, 60)];
    app.set_standing(&ana, "capture5", starts[0]).await;
    app.set_standing(&ben, "capture5", starts[1]).await;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut scores = [0; 3];
    for game in 0..40 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [first, second] = if random >> 40 & 1 == 0 { [&ana, &ben] } else { [&ben, &ana] };
        let end = match (random >> 33) % 3 {
            0 => app.beat(first, second, json!({})).await,
            1 => {
                let game = app.begin(first, second, json!({ "move_limit": 4 })).await;
                app.play_line(&game, [first, second], "a1a2 a9a8 b1b2 b9b8").await
            }
            _ => {
                let game = app.begin(first, second, json!({})).await;
                app.play_line(&game, [first, second], "a1a2 a9a8 b1b2 b9b8").await;
                app.resign(&game, first).await.expect(200)
            }
        };
        scores[(random >> 33) as usize % 3] += 1;
        let sum = ["first", "second"].map(|s| end["seats"][s]["rating_after_milli"].as_i64().unwrap());
        assert_eq!(sum[0] + sum[1], starts[0].rating + starts[1].rating, "after game {game}");
    }
    assert!(scores.into_iter().all(|n| n > 5), "{scores:?}");
    app.check_ratings("Ana", "capture5", starts[0]).await;
    app.check_ratings("Ben", "capture5", starts[1]).await;
}

#[tokio::test]
async fn a_rating_is_new_everywhere_once_the_last_move_is_answered() {
    let app = TestApp::start().await;
    let other = TestApp::start_on(app.database.clone()).await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    for game in 1..=5 {
        let end = app.begin(&ana, &ben, json!({ "move_limit": 5 })).await;
        let end = app.play_line(&end, [&ana, &ben], "a1a2 a9a8 b1b2 b9b8 c1c2").await;
        for (side, name) in [("first", "ana"), ("second", "ben")] {
            let page = other.rating(name, "capture5").await;
            assert_eq!(page["rating_milli"], end["seats"][side]["rating_after_milli"]);
            assert_eq!(page["games"], game);
        }
    }
}

#[tokio::test]
async fn a_last_move_or_a_resignation_told_twice_counts_once() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let game = app.begin(&ana, &ben, json!({ "win_rule": "lead3" })).await;
    let end = app.play_line(&game, [&ana, &ben], "e1e3 d9d2 e3d3 a9a2 d3a3 i9i2 a3i3").await;
    assert_eq!((&end["winner"], &end["termination"]), (&json!("first"), &json!("captures")));
    for _ in 0..3 {
        let again = app.play(&game, &ana, "a3i3", 7).await.expect(200);
        assert_eq!(again["game"], end);
    }
    let resigned = app.beat(&ana, &ben, json!({ "win_rule": "lead3" })).await;
    for _ in 0..3 {
        assert_eq!(app.resign(&id(&resigned), &ben).await.expect(200), resigned);
    }
    assert_eq!(app.ledger("Ana", "lead3").await.len(), 2);
    assert_eq!(app.check_ratings("Ana", "lead3", NEW).await.wins, 2);
    assert_eq!(app.check_ratings("Ben", "lead3", NEW).await.losses, 2);
}
