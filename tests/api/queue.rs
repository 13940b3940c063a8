//! The queue: tickets, windows, pairs.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{join, join_all};
use futures_util::stream;
use hasami_ladder::ids::{PlayerId, SessionId};
use hasami_ladder::ladder::queue;
use hasami_ladder::store;
use hasami_ladder::tokens::{Bearer, Tokens};
use serde_json::{Value, json};

use crate::app::{Answer, Player, SECRET, TestApp, header, id};
use crate::races::{statuses, two_instances};

async fn enter(app: &TestApp, player: &Player, wish: Value) -> Answer {
    app.post_as(player, "/v1/queue", wish).await
}

async fn ticket(app: &TestApp, player: &Player) -> Value {
    app.get_as(player, "/v1/queue").await.expect(200)
}

async fn leave(app: &TestApp, player: &Player) -> Answer {
    app.delete_as(player, "/v1/queue").await
}

/// Pairs whoever fits, as the worker does once a second.
async fn pair(app: &TestApp) {
    let pool = store::pool(app.database.clone(), 1);
    queue::pair_all(&pool).await.unwrap();
    pool.close().await;
}

/// The ticket once it is paired. Somebody pairs within a second; here nobody waits for that for long.
async fn paired(app: &TestApp, player: &Player) -> Value {
    for _ in 0..200 {
        let ticket = ticket(app, player).await;
        if ticket["status"] == "paired" {
            return ticket;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} is not paired", player.username);
}

/// Takes a ticket that fits one which waits. The answer says so at once, unless somebody pairs others at that instant.
async fn enter_paired(app: &TestApp, player: &Player, wish: Value) -> Value {
    let taken = enter(app, player, wish).await.expect(201);
    if taken["status"] == "paired" { taken } else { paired(app, player).await }
}

/// Lets a player's ticket have waited for some more seconds.
async fn age(app: &TestApp, player: &Player, seconds: i32) {
    app.sql(&format!(
        "update tickets set created_at = created_at - interval '{seconds} s' where player_id = '{}'",
        player.id
    ))
    .await;
}

async fn rate(app: &TestApp, player: &Player, rating: i32) {
    app.sql(&format!(
        "insert into ratings (player_id, ladder, username, kind, rating_milli, peak_milli)
         select player_id, 'capture5', username, kind, {rating}000, {rating}000 from players where player_id = '{}'",
        player.id
    ))
    .await;
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

#[tokio::test]
async fn a_ticket_waits_with_the_defaults_of_a_table() {
    let app = TestApp::start().await;
    let ana = app.guest().await;
    app.get_as(&ana, "/v1/queue").await.problem(404, "ticket_not_found");
    leave(&app, &ana).await.problem(404, "ticket_not_found");
    let answer = enter(&app, &ana, json!({})).await;
    assert_eq!(header(&answer, "location"), "/v1/queue");
    let taken = answer.expect(201);
    let table = app.post_as(&ana, "/v1/tables", json!({})).await.expect(201);
    assert_eq!((&taken["options"], &taken["ladder"]), (&table["options"], &json!("capture5")));
    assert_eq!(
        (&taken["status"], &taken["rating"], &taken["rating_milli"]),
        (&json!("waiting"), &json!(1500), &json!(1_500_000))
    );
    assert_eq!(
        (&taken["window"], &taken["max_window"], &taken["waited_seconds"]),
        (&json!(100), &json!(null), &json!(0))
    );
    for name in ["estimate_seconds", "ended_at", "table_id", "game_id"] {
        assert_eq!(taken[name], json!(null), "{name}");
    }
    let time = |name| chrono::DateTime::parse_from_rfc3339(text(&taken, name)).unwrap();
    assert_eq!((time("expires_at") - time("created_at")).num_milliseconds(), 600_000);
    // Nobody is an opponent to themselves, and asking again changes nothing.
    pair(&app).await;
    for mut again in [ticket(&app, &ana).await, enter(&app, &ana, json!({})).await.expect(200)] {
        assert!(again["waited_seconds"].as_i64().unwrap() < 10);
        again["waited_seconds"] = json!(0);
        assert_eq!(again, taken);
    }
}

#[tokio::test]
async fn two_who_want_the_same_play_and_the_longer_wait_moves_first() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let wish = json!({ "win_rule": "lead3", "move_limit": 300, "show_destinations": false, "absence_seconds": 60 });
    assert_eq!(enter(&app, &ana, wish.clone()).await.expect(201)["status"], "waiting");
    // The ladder by its other name.
    let mut same = wish.clone();
    same["ladder"] = same.as_object_mut().unwrap().remove("win_rule").unwrap();
    let second = enter_paired(&app, &ben, same).await;
    let first = ticket(&app, &ana).await;
    assert_eq!(
        (&first["status"], &first["game_id"], &first["table_id"]),
        (&json!("paired"), &second["game_id"], &second["table_id"])
    );
    assert!(first["ended_at"].is_string());

    let game = app.game(text(&first, "game_id")).await;
    let names = ["first", "second"].map(|side| text(&game["seats"][side], "username"));
    assert_eq!((names, &game["number"], &game["rated"]), (["Ana", "Ben"], &json!(1), &json!(true)));
    assert_eq!((&game["options"], &game["table_id"]), (&first["options"], &first["table_id"]));
    assert_eq!(game["options"]["visibility"], "public");
    assert_eq!(game["seats"]["first"]["rating_before"], 1500);
    for (name, value) in wish.as_object().unwrap() {
        assert_eq!(&game["options"][name], value, "{name}");
    }
    let table = app.get(&format!("/v1/tables/{}", text(&first, "table_id"))).await.expect(200);
    assert_eq!((&table["host"], &table["running"], &table["games"]), (&json!("Ana"), &json!(true), &json!(1)));
    assert_eq!([0, 1].map(|n| text(&table["seats"][n], "username")), ["Ana", "Ben"]);

    // It is a game like any other, and its table goes on.
    app.play_line(text(&game, "id"), [&ana, &ben], "c1c5 d9d5 g1g4 e9e5 i1i2 f9f5 g4g5").await;
    assert_eq!(app.game(text(&game, "id")).await["seats"]["first"]["rating_after"], 1520);
    for player in [&ana, &ben] {
        app.post_as(player, &format!("/v1/tables/{}/next", id(&table)), json!({})).await.expect(200);
    }
    let table = app.get(&format!("/v1/tables/{}", id(&table))).await.expect(200);
    assert_eq!(app.game(text(&table, "game_id")).await["seats"]["first"]["username"], "Ben", "it alternates");
}

#[tokio::test]
async fn who_wants_something_else_waits_on() {
    let app = TestApp::start().await;
    let wishes = [
        json!({}),
        json!({ "ladder": "lead3" }),
        json!({ "rated": false }),
        json!({ "move_limit": 100 }),
        json!({ "move_limit": 101 }),
        json!({ "show_destinations": false }),
        json!({ "alternate_first": false }),
        json!({ "absence_seconds": 60 }),
    ];
    for wish in &wishes {
        assert_eq!(enter(&app, &app.guest().await, wish.clone()).await.expect(201)["status"], "waiting", "{wish}");
    }
    for wish in &wishes {
        enter_paired(&app, &app.guest().await, wish.clone()).await;
    }
}

#[tokio::test]
async fn a_window_widens_until_each_lies_in_the_others() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    rate(&app, &ben, 1900).await;
    enter(&app, &ana, json!({})).await.expect(201);
    let taken = enter(&app, &ben, json!({})).await.expect(201);
    assert_eq!((&taken["status"], &taken["rating"]), (&json!("waiting"), &json!(1900)));
    for (seconds, window) in [(6, 100), (6, 200), (5, 200), (5, 400)] {
        age(&app, &ana, seconds).await;
        assert_eq!(ticket(&app, &ana).await["window"], window);
    }
    pair(&app).await;
    assert_eq!(ticket(&app, &ana).await["status"], "waiting", "Ben's window does not hold Ana");
    age(&app, &ben, 20).await;
    // Whichever instance looks next.
    let found = paired(&app, &ana).await;
    assert_eq!((&found["game_id"], &found["window"]), (&paired(&app, &ben).await["game_id"], &json!(400)));

    let (ana, ben) = (app.guest().await, app.guest().await);
    rate(&app, &ben, 1900).await;
    enter(&app, &ana, json!({ "window": 50, "max_window": 399 })).await.expect(201);
    enter(&app, &ben, json!({})).await.expect(201);
    for player in [&ana, &ben] {
        age(&app, player, 300).await;
    }
    pair(&app).await;
    assert_eq!(ticket(&app, &ana).await["window"], 399);
    assert_eq!(ticket(&app, &ben).await["window"], 10_000);
    assert_eq!(ticket(&app, &ben).await["status"], "waiting");
}

#[tokio::test]
async fn the_longest_wait_gets_the_nearest() {
    let app = TestApp::start().await;
    let mut players = Vec::new();
    let mut ages = Vec::new();
    // Out of each other's windows at first. Later 20 points are 160, and 320 for 1820.
    for (rating, seconds) in [(1500, 34), (1700, 33), (1640, 32), (1300, 31), (1820, 40), (2400, 30)] {
        let player = app.guest().await;
        rate(&app, &player, rating).await;
        enter(&app, &player, json!({ "window": 20 })).await.expect(201);
        ages.push(format!("('{}'::uuid, {seconds})", player.id));
        players.push(player);
    }
    app.sql(&format!(
        "update tickets t set created_at = created_at - make_interval(secs => seconds)
         from (values {}) as v (player_id, seconds) where t.player_id = v.player_id",
        ages.join(", ")
    ))
    .await;
    for n in [0, 4] {
        paired(&app, &players[n]).await;
    }
    let mut games = Vec::new();
    for player in &players {
        games.push(ticket(&app, player).await["game_id"].clone());
    }
    // 1820 chooses first: 1700. Then 1500: 1640, and 1300 is left.
    assert_eq!(games[4], games[1]);
    assert_eq!(games[0], games[2]);
    assert!(games[0].is_string() && games[4].is_string() && games[0] != games[4]);
    assert_eq!((&games[3], &games[5]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn a_ticket_given_up_is_paired_with_nobody() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.guest().await, app.guest().await, app.guest().await);
    let taken = enter(&app, &ana, json!({})).await.expect(201);
    let cancelled = leave(&app, &ana).await.expect(200);
    assert_eq!((&cancelled["status"], &cancelled["id"]), (&json!("cancelled"), &taken["id"]));
    assert!(cancelled["ended_at"].is_string());
    assert_eq!(leave(&app, &ana).await.expect(200), cancelled, "again");
    assert_eq!(ticket(&app, &ana).await, cancelled);
    assert_eq!(enter(&app, &ben, json!({})).await.expect(201)["status"], "waiting");
    // A new one has a place of its own.
    let again = enter_paired(&app, &ana, json!({})).await;
    assert_ne!(again["id"], taken["id"]);
    for player in [&ana, &ben] {
        leave(&app, player).await.problem(409, "already_paired");
    }
    assert_eq!(ticket(&app, &ben).await["game_id"], again["game_id"]);
    leave(&app, &eva).await.problem(404, "ticket_not_found");
}

#[tokio::test]
async fn a_ticket_expires_by_itself() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let taken = enter(&app, &ana, json!({ "expires_seconds": 3600 })).await.expect(201);
    let back = |hours: i32| {
        format!(
            "update tickets set created_at = created_at - interval '{hours} h', expires_at = expires_at - interval '{hours} h'"
        )
    };
    app.sql(&back(1)).await;
    let expired = ticket(&app, &ana).await;
    assert_eq!((&expired["status"], &expired["id"]), (&json!("expired"), &taken["id"]));
    assert_eq!((&expired["waited_seconds"], &expired["ended_at"]), (&json!(3600), &json!(null)));
    assert_eq!(leave(&app, &ana).await.expect(200), expired, "nothing is left to cancel");
    assert_eq!(enter(&app, &ben, json!({})).await.expect(201)["status"], "waiting");
    enter_paired(&app, &ana, json!({})).await;
    // What is over is known for a day.
    let pool = store::pool(app.database.clone(), 1);
    for (hours, gone) in [(24, 0), (1, 2)] {
        app.sql(&back(hours)).await;
        assert_eq!(queue::forget_old(&pool).await.unwrap(), gone);
    }
    pool.close().await;
    app.get_as(&ana, "/v1/queue").await.problem(404, "ticket_not_found");
}

#[tokio::test]
async fn a_lost_answer_loses_no_game() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.guest().await, app.guest().await);
    let wish = json!({ "rated": false, "window": 200 });
    enter(&app, &ana, wish.clone()).await.expect(201);
    for other in [
        json!({ "window": 200 }),
        json!({ "rated": false }),
        json!({ "rated": false, "window": 200, "max_window": 300 }),
    ] {
        enter(&app, &ana, other).await.problem(409, "already_queued");
    }
    let one = enter_paired(&app, &ben, wish.clone()).await;
    let game = text(&one, "game_id").to_owned();
    // As long as the game runs the wish is answered with it.
    for _ in 0..2 {
        assert_eq!(enter(&app, &ana, wish.clone()).await.expect(200)["game_id"], one["game_id"]);
    }
    enter(&app, &ana, json!({})).await.problem(409, "already_queued");
    // Whoever plays several games at once says which they know of.
    let with = |after: &str| json!({ "rated": false, "window": 200, "after": after });
    // The ticket's own id is no game, and another's game is not hers.
    let (eva, fred) = (app.guest().await, app.guest().await);
    let others = app.begin(&eva, &fred, json!({})).await;
    for wrong in [text(&one, "id"), &others] {
        enter(&app, &ana, with(wrong)).await.refuses(422, "invalid_field", "/after");
    }
    let two = enter(&app, &ana, with(&game)).await.expect(201);
    assert_eq!(two["status"], "waiting");
    assert_eq!(enter(&app, &ana, with(&game)).await.expect(200)["id"], two["id"], "again");
    let found = enter_paired(&app, &ben, with(&game)).await;
    assert_ne!(found["game_id"], one["game_id"]);
    assert_eq!(enter(&app, &ana, with(&game)).await.expect(200)["game_id"], found["game_id"], "also now");
    // After its end the next wish is a new one.
    app.resign(text(&found, "game_id"), &ben).await.expect(200);
    assert_eq!(ticket(&app, &ana).await["game_id"], found["game_id"]);
    assert_eq!(enter(&app, &ana, wish.clone()).await.expect(201)["status"], "waiting");
    assert_eq!(app.game(&game).await["status"], "playing");
}

#[tokio::test]
async fn bad_wishes_are_refused_by_name() {
    let app = TestApp::start().await;
    let ana = app.guest().await;
    for (wish, code, part) in [
        (json!({ "ladder": "lead3", "win_rule": "capture5" }), "invalid_option", "/ladder"),
        (json!({ "visibility": "unlisted" }), "invalid_option", "/visibility"),
        (json!({ "move_limit": 1 }), "invalid_option", "/move_limit"),
        (json!({ "move_limit": 2001 }), "invalid_option", "/move_limit"),
        (json!({ "turn_seconds": 31 }), "invalid_option", "/turn_seconds"),
        (json!({ "absence_seconds": 9 }), "invalid_option", "/absence_seconds"),
        (json!({ "window": 0 }), "invalid_field", "/window"),
        (json!({ "window": -1 }), "invalid_field", "/window"),
        (json!({ "window": 4001 }), "invalid_field", "/window"),
        (json!({ "max_window": 99 }), "invalid_field", "/max_window"),
        (json!({ "window": 500, "max_window": 499 }), "invalid_field", "/max_window"),
        (json!({ "max_window": 4001 }), "invalid_field", "/max_window"),
        (json!({ "expires_seconds": 9 }), "invalid_field", "/expires_seconds"),
        (json!({ "expires_seconds": 3601 }), "invalid_field", "/expires_seconds"),
        (json!({ "after": "x" }), "invalid_field", "/after"),
    ] {
        enter(&app, &ana, wish).await.refuses(422, code, part);
    }
    for (wish, part) in [
        (json!({ "ladder": "chess" }), "/ladder"),
        (json!({ "window": 1.5 }), "/window"),
        (json!({ "window": 1_u64 << 31 }), "/window"),
        (json!({ "sit": true }), "/sit"),
    ] {
        enter(&app, &ana, wish).await.refuses(400, "malformed_request", part);
    }
    app.get_as(&ana, "/v1/queue").await.problem(404, "ticket_not_found");
    let wish =
        json!({ "ladder": "lead3", "win_rule": "lead3", "window": 4000, "max_window": 4000, "expires_seconds": 10 });
    assert_eq!(enter(&app, &ana, wish).await.expect(201)["window"], 4000);
    for request in [app.get("/v1/queue").await, app.post("/v1/queue", json!({})).await] {
        request.problem(401, "unauthenticated");
    }
}

#[tokio::test]
async fn the_estimate_is_what_others_had_left_to_wait() {
    let app = TestApp::start().await;
    for seconds in [1000, 2000, 4000] {
        let (ana, ben) = (app.guest().await, app.guest().await);
        assert_eq!(enter(&app, &ana, json!({ "ladder": "lead3" })).await.expect(201)["status"], "waiting");
        enter_paired(&app, &ben, json!({ "ladder": "lead3" })).await;
        for player in [&ana, &ben] {
            app.sql(&format!(
                "update tickets set created_at = ended_at - interval '{seconds} s' where player_id = '{}'",
                player.id
            ))
            .await;
        }
    }
    let (eva, other) = (app.guest().await, app.guest().await);
    let taken = enter(&app, &eva, json!({ "ladder": "lead3" })).await.expect(201);
    let near = |ticket: &Value, expected: i64| {
        let estimate = ticket["estimate_seconds"].as_i64().unwrap();
        assert!((expected - 10..=expected).contains(&estimate), "{estimate}, not {expected}");
    };
    near(&taken, 2000);
    age(&app, &eva, 500).await;
    near(&ticket(&app, &eva).await, 1500);
    app.sql("update tickets set expires_at = expires_at + interval '2 h'").await;
    age(&app, &eva, 1000).await;
    near(&ticket(&app, &eva).await, 1500);
    age(&app, &eva, 3000).await;
    assert_eq!(ticket(&app, &eva).await["estimate_seconds"], json!(null), "nobody waited that long");
    assert_eq!(enter(&app, &other, json!({})).await.expect(201)["estimate_seconds"], json!(null), "another ladder");
}

#[tokio::test]
async fn the_same_wish_many_times_at_once_is_one_ticket() {
    let apps = two_instances().await;
    let player = apps[0].guest().await;
    for _ in 0..5 {
        let answers = join_all((0..12).map(|n| enter(&apps[n % 2], &player, json!({})))).await;
        assert_eq!(statuses(&answers), [[200; 11].as_slice(), &[201]].concat());
        let ids: HashSet<String> = answers.iter().map(|a| id(&a.body)).collect();
        assert_eq!(ids.len(), 1);
        assert_eq!(leave(&apps[1], &player).await.expect(200)["status"], "cancelled");
    }
}

#[tokio::test]
async fn giving_up_while_being_paired_ends_one_way() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].guest().await, apps[0].guest().await);
    let mut games = 0;
    for round in 0..50 {
        let wish = json!({ "rated": round % 4 == 0 });
        enter(&apps[0], &ana, wish.clone()).await.expect(201);
        let delay = tokio::time::sleep(Duration::from_micros(round * 50));
        let leaving = async {
            delay.await;
            leave(&apps[round as usize % 2], &ana).await
        };
        let (left, entered) = join(leaving, enter(&apps[0], &ben, wish)).await;
        let entered = entered.expect(201);
        if left.status == 200 {
            assert_eq!(left.expect(200)["status"], "cancelled");
            pair(&apps[1]).await;
            for (player, status) in [(&ana, "cancelled"), (&ben, "waiting")] {
                let ticket = ticket(&apps[1], player).await;
                assert_eq!((&ticket["status"], &ticket["game_id"]), (&json!(status), &json!(null)));
            }
            leave(&apps[0], &ben).await.expect(200);
        } else {
            left.problem(409, "already_paired");
            let [one, two] = [ticket(&apps[1], &ana).await, ticket(&apps[1], &ben).await];
            assert_eq!((&one["status"], &one["game_id"]), (&json!("paired"), &two["game_id"]));
            assert_eq!(id(&entered), id(&two));
            apps[0].post_as(&ana, &format!("/v1/games/{}/abort", text(&one, "game_id")), json!({})).await.expect(200);
            games += 1;
        }
        let all = apps[0].get(&format!("/v1/games?player={}", ana.username)).await.expect(200);
        assert_eq!(all["items"].as_array().unwrap().len(), games);
    }
}

/// Players with a rating, put there by SQL: their logins would take longer than all that is tested here.
async fn many_players(app: &TestApp, count: usize) -> Vec<Player> {
    let tokens = Tokens::new(SECRET).unwrap();
    let players: Vec<Player> = (0..count)
        .map(|n| {
            let bearer = Bearer { player_id: PlayerId::new(), session_id: SessionId::new() };
            let token = tokens.issue(bearer).unwrap();
            Player {
                id: bearer.player_id.to_string(),
                username: format!("p{n:04}"),
                token,
                refresh_token: String::new(),
            }
        })
        .collect();
    let rows = players
        .iter()
        .enumerate()
        .map(|(n, p)| format!("('{}'::uuid, '{}', {})", p.id, p.username, 1000 + n * 7919 % 1000));
    app.sql(&format!(
        "create temporary table new as select * from (values {}) as v (player_id, username, rating);
         insert into players (player_id, kind, username) select player_id, 'human', username from new;
         insert into ratings (player_id, ladder, username, kind, rating_milli)
         select player_id, 'capture5', username, 'human', rating * 1000 from new;",
        rows.collect::<Vec<_>>().join(", ")
    ))
    .await;
    players
}

#[tokio::test]
async fn of_a_thousand_tickets_through_two_instances_each_is_in_one_pair() {
    let apps = two_instances().await;
    let players = many_players(&apps[0], 1000).await;
    let began = std::time::Instant::now();
    // Every window holds everybody, so that nobody has to wait for it.
    let wish = json!({ "window": 4000 });
    let entering = stream::iter(players.iter().enumerate()).map(|(n, player)| {
        let (app, wish) = (&apps[n % 2], wish.clone());
        async move {
            loop {
                let answer = enter(app, player, wish.clone()).await;
                // A busy instance says so, and the request is repeated as documented.
                if answer.status != 503 {
                    assert!([200, 201].contains(&answer.status.as_u16()), "{}", answer.text);
                    return;
                }
            }
        }
    });
    entering.buffer_unordered(250).collect::<Vec<()>>().await;
    let entered = began.elapsed();
    let tickets = stream::iter(players.iter().enumerate()).map(|(n, player)| paired(&apps[n % 2], player));
    let tickets: Vec<Value> = tickets.buffered(50).collect().await;
    eprintln!("1,000 tickets: taken after {entered:?}, all read as paired after {:?}", began.elapsed());

    let mut games: HashMap<&str, Vec<&str>> = HashMap::new();
    for (player, ticket) in players.iter().zip(&tickets) {
        games.entry(text(ticket, "game_id")).or_default().push(&player.username);
    }
    assert_eq!(games.len(), 500);
    // There are no games but theirs, and each seats the two whose tickets name it.
    let all = apps[1].board_pages("/v1/games", "limit=100").await;
    assert_eq!(all.len(), 500);
    for game in &all {
        let mut seated = ["first", "second"].map(|side| text(&game["seats"][side], "username"));
        seated.sort_unstable();
        let mut named = games[text(game, "id")].clone();
        named.sort_unstable();
        assert_eq!(seated.as_slice(), named);
    }
}
