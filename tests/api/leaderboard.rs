//! The board: who stands on it, in which order, at which rank, and that every view says the same.

use std::collections::HashMap;

use hasami_ladder::ladder::ranks;
use hasami_ladder::store;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::board::{Board, Entry};
use crate::formula::{NEW, Standing};

const BOARD: &str = "/v1/ladders/capture5/leaderboard";

#[tokio::test]
async fn five_hundred_equals_are_paged_once_each_in_one_order() {
    let app = TestApp::start().await;
    let board = Board::new((0..500).map(|n| Entry::listed(format!("p{:03}", n * 7 % 500), 1_500_000)));
    board.arrange(&app).await;
    let expected = board.ranked(None);
    assert!(expected.iter().all(|e| e["rank"] == 1) && expected.len() == 500);
    for _ in 0..2 {
        assert_eq!(app.board_pages(BOARD, "limit=7").await, expected);
    }
    assert_eq!(app.board_pages(BOARD, "limit=100").await, expected);
    assert_eq!(app.board_pages(BOARD, "limit=100&kind=human").await, expected);
}

#[tokio::test]
async fn equal_ratings_share_a_rank_and_names_order_by_bytes() {
    let app = TestApp::start().await;
    let entries = [
        ("bob", 1_600_000),
        ("Zoe", 1_600_000),
        ("ann", 1_600_001),
        ("a-b", 1_599_999),
        ("a_b", 1_599_999),
        ("aBb", 1_599_999),
        ("low", 100_000),
    ];
    let board = Board::new(entries.map(|(name, rating)| Entry::listed(name.to_owned(), rating)));
    board.arrange(&app).await;
    let items = app.board_pages(BOARD, "limit=2").await;
    let said: Vec<_> = items.iter().map(|e| json!([e["rank"], e["username"], e["rating"]])).collect();
    assert_eq!(
        json!(said),
        json!([
            [1, "ann", 1600],
            [2, "Zoe", 1600],
            [2, "bob", 1600],
            [4, "a-b", 1600],
            [4, "aBb", 1600],
            [4, "a_b", 1600],
            [7, "low", 100]
        ])
    );
}

#[tokio::test]
async fn the_board_of_a_kind_keeps_the_ranks_of_the_whole_board() {
    let app = TestApp::start().await;
    let board = Board::mixed(300);
    board.arrange(&app).await;
    for kind in ["human", "bot", "guest", "cpu"] {
        let expected = board.ranked(Some(kind));
        assert_eq!(app.board_pages(BOARD, &format!("limit=7&kind={kind}")).await, expected, "{kind}");
        assert_eq!(expected.is_empty(), ["guest", "cpu"].contains(&kind));
    }
    app.get(&format!("{BOARD}?kind=robot")).await.refuses(400, "malformed_request", "kind");
}

#[tokio::test]
async fn page_neighbourhood_and_profile_agree_however_far_ranks_are_folded() {
    let app = TestApp::start().await;
    let board = Board::mixed(600);
    let expected = board.ranked(None);
    let pool = store::pool(app.database.clone(), 2);
    // Holds back whoever folds, the service's own worker too.
    let mut hold = app.hold_folding().await;
    board.arrange_players(&app).await;
    board.arrange_deltas(&app, 0..300).await;
    assert_eq!(ranks::fold(&pool).await.unwrap(), 0, "held back");
    board.arrange_deltas(&app, 300..600).await;
    check_everywhere(&app, &expected, 0).await;

    // Now half of them are folded, and half are not.
    app.sql("delete from rank_deltas").await;
    board.arrange_deltas(&app, 0..300).await;
    hold.release().await;
    while ranks::fold(&pool).await.unwrap() > 0 {}
    hold.hold().await;
    board.arrange_deltas(&app, 300..600).await;
    check_everywhere(&app, &expected, 1).await;

    hold.release().await;
    while ranks::fold(&pool).await.unwrap() > 0 {}
    check_everywhere(&app, &expected, 2).await;
}

#[tokio::test]
async fn ranks_stay_while_deltas_come_and_are_folded() {
    let app = TestApp::start().await;
    let board = Board::mixed(300);
    board.arrange(&app).await;
    let expected = board.ranked(None);
    let pool = store::pool(app.database.clone(), 2);
    let reading = check_everywhere(&app, &expected, 3);
    let folding = async {
        let mut folded = 0;
        for n in 0.. {
            // Somebody leaves the board and comes back elsewhere and back again: nothing in sum.
            let rating = 1_400_000 + n % 200 * 1_111;
            app.sql(&format!(
                "insert into rank_deltas values ('capture5', {rating}, 1), ('capture5', {rating}, -1),
                                                ('capture5', 1500000, -1), ('capture5', 1500000, 1)"
            ))
            .await;
            folded += ranks::fold(&pool).await.unwrap();
            tokio::task::yield_now().await;
            if folded > 1_000_000 {
                break;
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = folding => panic!("folded for too long"),
    }
}

/// Holds list, neighbourhood, profile and count against what they should be, for 70 players from all over.
async fn check_everywhere(app: &TestApp, expected: &[Value], seed: usize) {
    assert_eq!(app.board_pages(BOARD, "limit=100").await, expected);
    let ladders = app.get("/v1/ladders").await.expect(200);
    assert_eq!(ladders["items"][0], json!({ "win_rule": "capture5", "players": expected.len() }));
    for n in 0..70 {
        let index = (n * 7919 + seed * 104_729) % expected.len();
        let own = &expected[index];
        let name = own["username"].as_str().unwrap();
        // Five above and five below, fewer where the board ends; an even number has the one more below.
        let limit = 10 + n % 2;
        let around = app.get(&format!("{BOARD}/around/{name}?limit={limit}")).await.expect(200);
        let near = index.saturating_sub((limit - 1) / 2)..expected.len().min(index + limit / 2 + 1);
        assert_eq!(around["items"], json!(expected[near]), "{name}");
        let page = app.rating(name, "capture5").await;
        assert_eq!((&page["rank"], &page["rating_milli"]), (&own["rank"], &own["rating_milli"]), "{name}");
    }
}

#[tokio::test]
async fn whoever_is_not_listed_has_no_rank_in_any_view_and_counts_for_nobody() {
    let app = TestApp::start().await;
    let board = Board::mixed(100);
    board.arrange(&app).await;
    let hidden: Vec<&Entry> = board.entries.iter().filter(|e| !e.listed).collect();
    assert!(hidden.len() > 20);
    for entry in hidden {
        let page = app.rating(&entry.name, "capture5").await;
        assert_eq!((&page["rank"], &page["provisional"]), (&json!(null), &json!(entry.games < 10)), "{}", entry.name);
        let around = app.get(&format!("{BOARD}/around/{}", entry.name)).await.expect(200);
        assert_eq!(around["items"], json!([]));
    }
    let around = app.get("/v1/ladders/lead3/leaderboard/around/p000").await.expect(200);
    assert_eq!(around["items"], json!([]), "not on this ladder");
    app.get(&format!("{BOARD}/around/nobody")).await.problem(404, "player_not_found");
}

#[tokio::test]
async fn players_leave_after_ninety_whole_days_and_come_back_with_a_rated_game() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let board = Board::new((0..6).map(|n| Entry::listed(format!("p{n}x"), 1_500_000 + 50_000 * i64::from(n))));
    board.arrange(&app).await;
    for (player, rating) in [(&ana, 1_620_000), (&ben, 1_660_000)] {
        app.set_standing(player, "capture5", Standing::with(rating, 20)).await;
    }
    app.beat(&ana, &ben, json!({})).await;
    let today = "date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'";
    // The first instant of the ninetieth day back still counts, the last one of the day before does not.
    app.sql(&format!(
        "update ratings set last_rated_at = {today} - interval '90 days' where username in ('p0x', 'p5x', 'Ben');
         update ratings set last_rated_at = {today} - interval '90 days 1 millisecond' where username in ('p3x', 'Ana')"
    ))
    .await;
    let names =
        |items: Vec<Value>| items.iter().map(|e| e["username"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let before = app.board_pages(BOARD, "limit=3").await;
    assert_eq!(names(before), ["p5x", "p4x", "p3x", "Ana", "Ben", "p2x", "p1x", "p0x"]);

    let pool = store::pool(app.database.clone(), 1);
    assert_eq!(ranks::unlist_lapsed(&pool).await.unwrap(), 2);
    assert_eq!(ranks::unlist_lapsed(&pool).await.unwrap(), 0);
    let after = app.board_pages(BOARD, "limit=3").await;
    let ranked: Vec<_> = after.iter().map(|e| json!([e["rank"], e["username"]])).collect();
    assert_eq!(json!(ranked), json!([[1, "p5x"], [2, "p4x"], [3, "Ben"], [4, "p2x"], [5, "p1x"], [6, "p0x"]]));
    assert_eq!(app.get("/v1/ladders").await.expect(200)["items"][0]["players"], 6);
    for gone in ["Ana", "p3x"] {
        assert_eq!(app.rating(gone, "capture5").await["rank"], json!(null));
        assert_eq!(app.get(&format!("{BOARD}/around/{gone}")).await.expect(200)["items"], json!([]));
    }
    assert_eq!(app.rating("p2x", "capture5").await["rank"], 4);
    assert_eq!(app.rating("Ana", "capture5").await["games"], 21, "the rating stays");

    app.beat(&ana, &ben, json!({})).await;
    let back = app.board_pages(BOARD, "limit=3").await;
    let own = back.iter().find(|e| e["username"] == "Ana").expect("listed again");
    assert_eq!(app.rating("Ana", "capture5").await["rank"], own["rank"]);
    assert_eq!(app.get("/v1/ladders").await.expect(200)["items"][0]["players"], 7);
}

#[tokio::test]
async fn ten_games_list_a_player_and_a_guest_once_a_name_is_claimed() {
    let app = TestApp::start().await;
    let (ana, guest) = (app.register("Ana").await, app.guest().await);
    for game in 1..=10 {
        assert_eq!(app.get(BOARD).await.expect(200)["items"], json!([]), "before game {game}");
        app.beat(&guest, &ana, json!({})).await;
        assert_eq!(app.rating("Ana", "capture5").await["provisional"], game < 10);
    }
    let board = app.get(BOARD).await.expect(200);
    let end = app.check_ratings("Ana", "capture5", NEW).await;
    assert_eq!(
        board["items"],
        json!([{
            "rank": 1, "username": "Ana", "kind": "human", "rating": end.rating / 1000 + i64::from(end.rating % 1000 >= 500),
            "rating_milli": end.rating, "games": 10
        }])
    );
    assert_eq!(app.rating(&guest.username, "capture5").await["rank"], json!(null));

    let body = json!({ "username": "Former-Guest-1", "password": "correct horse" });
    let body = app.post_as(&guest, "/v1/me/claim", body).await;
    let claimed = body.expect(200)["player"]["username"].as_str().unwrap().to_owned();
    let ranked: Vec<_> =
        app.board_pages(BOARD, "limit=1").await.iter().map(|e| json!([e["rank"], e["username"]])).collect();
    assert_eq!(json!(ranked), json!([[1, claimed], [2, "Ana"]]));
    assert_eq!(app.rating(&claimed, "capture5").await["rank"], 1);
    assert_eq!(app.rating("Ana", "capture5").await["rank"], 2);
    assert_eq!(app.get("/v1/ladders").await.expect(200)["items"][0]["players"], 2);
    assert_eq!(app.check_ratings(&claimed, "capture5", NEW).await.wins, 10, "the games stay");
    app.get(&format!("/v1/players/{}", guest.username)).await.problem(404, "player_not_found");
}

#[tokio::test]
async fn a_bot_is_one_before_its_first_rated_game_and_stands_on_the_board_as_such() {
    let app = TestApp::start().await;
    let (ana, bot) = (app.register("Ana").await, app.register("Robot").await);
    // A rated game that has begun, and a casual one that has ended, are none that has ended.
    let running = app.begin(&bot, &ana, json!({})).await;
    app.beat(&ana, &bot, json!({ "rated": false })).await;
    for _ in 0..2 {
        let me = app.patch_as(&bot, "/v1/me", json!({ "bot": true })).await.expect(200);
        assert_eq!(me["kind"], "bot");
    }
    app.play_line(&running, [&bot, &ana], "a1a2 a9a8 b1b2 b9b8").await;
    app.resign(&running, &ana).await.expect(200);
    app.sql("update ratings set wins = 9").await;
    app.beat(&bot, &ana, json!({})).await;
    app.patch_as(&ana, "/v1/me", json!({ "bot": true })).await.problem(409, "too_late");
    assert_eq!(app.get_as(&ana, "/v1/me").await.expect(200)["kind"], "human");
    let kinds: HashMap<String, Value> = app
        .board_pages(BOARD, "limit=100")
        .await
        .into_iter()
        .map(|mut e| (e["username"].as_str().unwrap().to_owned(), e["kind"].take()))
        .collect();
    assert_eq!(kinds, HashMap::from([("Ana".to_owned(), json!("human")), ("Robot".to_owned(), json!("bot"))]));
    assert_eq!(app.board_pages(BOARD, "kind=bot").await.len(), 1);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_board_only() {
    let app = TestApp::start().await;
    Board::mixed(100).arrange(&app).await;
    let page = app.get(&format!("{BOARD}?limit=5")).await.expect(200);
    let cursor = page["next"].as_str().unwrap();
    for elsewhere in [
        format!("{BOARD}?kind=human&cursor={cursor}"),
        format!("/v1/ladders/lead3/leaderboard?cursor={cursor}"),
        format!("/v1/players/p000/ratings/capture5/history?cursor={cursor}"),
        format!("/v1/games?cursor={cursor}"),
        format!("{BOARD}?cursor={}", &cursor[1..]),
        format!("{BOARD}?cursor="),
    ] {
        app.get(&elsewhere).await.refuses(400, "malformed_request", "cursor");
    }
    let human = app.get(&format!("{BOARD}?kind=human&limit=5")).await.expect(200);
    let human = human["next"].as_str().unwrap();
    app.get(&format!("{BOARD}?cursor={human}")).await.refuses(400, "malformed_request", "cursor");
    let other_size = app.get(&format!("{BOARD}?limit=9&cursor={cursor}")).await.expect(200);
    assert_eq!(other_size["items"].as_array().unwrap().len(), 9, "a page may be of another size");
}
