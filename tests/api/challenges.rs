//! Challenges to a named player.

use futures_util::future::{join, join_all};
use hasami_ladder::ladder::challenges;
use hasami_ladder::store;
use serde_json::{Value, json};

use crate::app::{Answer, Player, TestApp, header, id};
use crate::races::{statuses, two_instances};

const REASONS: [&str; 10] =
    ["generic", "later", "too_fast", "too_slow", "rated", "casual", "win_rule", "options", "no_bots", "only_bots"];

async fn challenge(app: &TestApp, player: &Player, opponent: &str, options: Value) -> Answer {
    let mut body = options;
    body["opponent"] = json!(opponent);
    app.post_as(player, "/v1/challenges", body).await
}

async fn read(app: &TestApp, player: &Player, challenge: &str) -> Value {
    app.get_as(player, &format!("/v1/challenges/{challenge}")).await.expect(200)
}

async fn accept(app: &TestApp, player: &Player, challenge: &str) -> Answer {
    app.post_as(player, &format!("/v1/challenges/{challenge}/accept"), json!({})).await
}

async fn decline(app: &TestApp, player: &Player, challenge: &str, body: Value) -> Answer {
    app.post_as(player, &format!("/v1/challenges/{challenge}/decline"), body).await
}

async fn cancel(app: &TestApp, player: &Player, challenge: &str) -> Answer {
    app.delete_as(player, &format!("/v1/challenges/{challenge}")).await
}

async fn listed(app: &TestApp, player: &Player, query: &str) -> Vec<String> {
    let page = app.get_as(player, &format!("/v1/challenges?{query}")).await.expect(200);
    page["items"].as_array().unwrap().iter().map(id).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// As the other one sees it.
fn seen_from(direction: &str, challenge: &Value) -> Value {
    let mut seen = challenge.clone();
    seen["direction"] = json!(direction);
    seen
}

#[tokio::test]
async fn a_challenge_is_seen_by_its_two_players() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.guest().await);
    let options = json!({ "win_rule": "lead3", "move_limit": 300, "rated": false, "visibility": "unlisted" });
    let answer = challenge(&app, &ana, "bEN", options.clone()).await;
    let location = header(&answer, "location").to_owned();
    let made = answer.expect(201);
    assert_eq!(location, format!("/v1/challenges/{}", id(&made)));
    assert_eq!((&made["status"], &made["direction"]), (&json!("pending"), &json!("outgoing")));
    assert_eq!(made["challenger"], json!({ "username": "Ana", "kind": "human" }));
    assert_eq!(made["challenged"], json!({ "username": "Ben", "kind": "human" }));
    assert_eq!((&made["ladder"], &made["options"]["show_destinations"]), (&json!("lead3"), &json!(true)));
    for (name, value) in options.as_object().unwrap() {
        assert_eq!(&made["options"][name], value, "{name}");
    }
    for name in ["reason", "ended_at", "table_id", "game_id"] {
        assert_eq!(made[name], json!(null), "{name}");
    }
    let time = |name| chrono::DateTime::parse_from_rfc3339(text(&made, name)).unwrap();
    assert_eq!((time("expires_at") - time("created_at")).num_seconds(), 86_400);

    assert_eq!(app.get_as(&ana, &location).await.expect(200), made);
    assert_eq!(app.get_as(&ben, &location).await.expect(200), seen_from("incoming", &made));
    app.get(&location).await.problem(401, "unauthenticated");
    app.get_as(&eva, &location).await.problem(404, "challenge_not_found");
    for answer in [
        accept(&app, &eva, &id(&made)).await,
        decline(&app, &eva, &id(&made), json!({})).await,
        cancel(&app, &eva, &id(&made)).await,
    ] {
        answer.problem(404, "challenge_not_found");
    }
    for (player, query, there) in [
        (&ana, "", true),
        (&ana, "direction=outgoing", true),
        (&ana, "direction=incoming", false),
        (&ben, "direction=incoming&status=pending", true),
        (&ben, "direction=outgoing", false),
        (&ben, "status=expired", false),
        (&eva, "", false),
    ] {
        let expected = if there { vec![id(&made)] } else { vec![] };
        assert_eq!(listed(&app, player, query).await, expected, "{} {query}", player.username);
    }
}

#[tokio::test]
async fn accepting_begins_the_game_and_the_challenger_moves_first() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.guest().await, app.guest().await);
    let made =
        challenge(&app, &ana, &ben.username, json!({ "visibility": "unlisted", "move_limit": 100 })).await.expect(201);
    accept(&app, &ana, &id(&made)).await.problem(403, "forbidden");
    let accepted = accept(&app, &ben, &id(&made)).await.expect(200);
    assert_eq!((&accepted["status"], &accepted["id"]), (&json!("accepted"), &made["id"]));
    assert_eq!(read(&app, &ana, &id(&made)).await, seen_from("outgoing", &accepted));

    let game = format!("/v1/games/{}", text(&accepted, "game_id"));
    app.get_as(&eva, &game).await.problem(404, "game_not_found");
    let begun = app.get_as(&ana, &game).await.expect(200);
    assert_eq!(["first", "second"].map(|side| text(&begun["seats"][side], "username")), ["Ana", &*ben.username]);
    assert_eq!((&begun["options"], &begun["rated"], &begun["number"]), (&made["options"], &json!(true), &json!(1)));
    let table = format!("/v1/tables/{}", text(&accepted, "table_id"));
    let shown = app.get_as(&ben, &table).await.expect(200);
    assert_eq!(
        (&shown["host"], &shown["game_id"], &shown["running"]),
        (&json!("Ana"), &accepted["game_id"], &json!(true))
    );
    let code = text(&shown, "join_code");
    app.get_as(&eva, &format!("{game}?join_code={code}")).await.expect(200);
    app.play(text(&accepted, "game_id"), &ana, "e1e5", 1).await.expect(201);

    // Once more changes nothing, and it cannot be undone.
    assert_eq!(accept(&app, &ben, &id(&made)).await.expect(200), accepted);
    decline(&app, &ben, &id(&made), json!({})).await.problem(409, "challenge_over");
    cancel(&app, &ana, &id(&made)).await.problem(409, "challenge_over");
    assert_eq!(read(&app, &ben, &id(&made)).await, accepted);
    assert_eq!(
        app.get(&format!("/v1/games?player={}", ana.username)).await.expect(200)["items"].as_array().unwrap().len(),
        0,
        "unlisted"
    );
}

#[tokio::test]
async fn declining_gives_a_reason_of_the_list() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    for reason in REASONS {
        let made = challenge(&app, &ana, "Ben", json!({})).await.expect(201);
        let declined = decline(&app, &ben, &id(&made), json!({ "reason": reason })).await.expect(200);
        assert_eq!((&declined["status"], &declined["reason"]), (&json!("declined"), &json!(reason)));
        assert_eq!(declined["game_id"], json!(null));
        assert_eq!(read(&app, &ana, &id(&made)).await, seen_from("outgoing", &declined));
    }
    let made = id(&challenge(&app, &ana, "Ben", json!({})).await.expect(201));
    for reason in [json!("Later"), json!("because"), json!(""), json!(7)] {
        decline(&app, &ben, &made, json!({ "reason": reason })).await.refuses(400, "malformed_request", "/reason");
    }
    decline(&app, &ana, &made, json!({})).await.problem(403, "forbidden");
    let declined = decline(&app, &ben, &made, json!({})).await.expect(200);
    assert_eq!(declined["reason"], "generic");
    assert_eq!(decline(&app, &ben, &made, json!({ "reason": "later" })).await.expect(200), declined, "the first stays");
    accept(&app, &ben, &made).await.problem(409, "challenge_over");
    cancel(&app, &ana, &made).await.problem(409, "challenge_over");
    assert_eq!(listed(&app, &ben, "status=declined").await.len(), REASONS.len() + 1);
}

#[tokio::test]
async fn a_challenge_taken_back_or_expired_begins_no_game() {
    let app = TestApp::start().await;
    let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
    let made = id(&challenge(&app, &ana, "Ben", json!({})).await.expect(201));
    cancel(&app, &ben, &made).await.problem(403, "forbidden");
    let cancelled = cancel(&app, &ana, &made).await.expect(200);
    assert_eq!((&cancelled["status"], &cancelled["reason"]), (&json!("cancelled"), &json!(null)));
    assert_eq!(cancel(&app, &ana, &made).await.expect(200), cancelled);

    let late = challenge(&app, &ana, "Ben", json!({ "expires_seconds": 60 })).await.expect(201);
    app.sql("update challenges set created_at = created_at - interval '1 minute', expires_at = expires_at - interval '1 minute'").await;
    let expired = read(&app, &ana, &id(&late)).await;
    assert_eq!((&expired["status"], &expired["ended_at"]), (&json!("expired"), &json!(null)));
    for (query, expected) in
        [("status=expired", vec![id(&late)]), ("status=pending", vec![]), ("status=cancelled", vec![made.clone()])]
    {
        for player in [&ana, &ben] {
            assert_eq!(listed(&app, player, query).await, expected, "{query}");
        }
    }
    for challenge in [&made, &id(&late)] {
        accept(&app, &ben, challenge).await.problem(409, "challenge_over");
        decline(&app, &ben, challenge, json!({})).await.problem(409, "challenge_over");
    }
    cancel(&app, &ana, &id(&late)).await.problem(409, "challenge_over");
    assert_eq!(app.get("/v1/games").await.expect(200)["items"], json!([]));
    // Neither stands in the way of another one.
    let third = challenge(&app, &ana, "Ben", json!({ "rated": false })).await.expect(201);

    let pool = store::pool(app.database.clone(), 1);
    for (days, gone) in [(6, 0), (1, 1), (1, 2)] {
        app.sql(&format!("update challenges set expires_at = expires_at - interval '{days} days'")).await;
        assert_eq!(challenges::forget_old(&pool).await.unwrap(), gone, "{days}");
    }
    pool.close().await;
    for challenge in [&made, &id(&late), &id(&third)] {
        app.get_as(&ana, &format!("/v1/challenges/{challenge}")).await.problem(404, "challenge_not_found");
    }
}

#[tokio::test]
async fn the_same_challenge_again_is_the_same() {
    let app = TestApp::start().await;
    let (ana, ben, eva) = (app.register("Ana").await, app.register("Ben").await, app.register("Eva").await);
    let made = challenge(&app, &ana, "Ben", json!({})).await.expect(201);
    assert_eq!(challenge(&app, &ana, "ben", json!({ "win_rule": "capture5" })).await.expect(200), made);
    challenge(&app, &ana, "Ben", json!({ "win_rule": "lead3" })).await.problem(409, "challenge_pending");
    // To somebody else, by somebody else and the other way round are others, and each may be accepted.
    challenge(&app, &ana, "Eva", json!({ "win_rule": "lead3" })).await.expect(201);
    challenge(&app, &eva, "Ben", json!({})).await.expect(201);
    let back = challenge(&app, &ben, "Ana", json!({})).await.expect(201);
    let games = [accept(&app, &ben, &id(&made)).await, accept(&app, &ana, &id(&back)).await]
        .map(|a| a.expect(200)["game_id"].clone());
    assert_ne!(games[0], games[1]);
    // The first waits no more.
    assert_ne!(challenge(&app, &ana, "Ben", json!({ "win_rule": "lead3" })).await.expect(201)["id"], made["id"]);
}

#[tokio::test]
async fn bad_challenges_are_refused_by_name() {
    let app = TestApp::start().await;
    let (ana, _) = (app.register("Ana").await, app.register("Ben").await);
    for own in ["Ana", "aNA"] {
        challenge(&app, &ana, own, json!({})).await.refuses(422, "invalid_field", "/opponent");
    }
    for nobody in ["nobody", "", "b", "Ben ", "ben\u{0}", &ana.id, "b\u{e9}n"] {
        challenge(&app, &ana, nobody, json!({})).await.refuses(404, "player_not_found", "/opponent");
    }
    app.post_as(&ana, "/v1/challenges", json!({})).await.refuses(400, "malformed_request", "/opponent");
    for (options, code, part) in [
        (json!({ "move_limit": 1 }), "invalid_option", "/move_limit"),
        (json!({ "turn_seconds": 7 }), "invalid_option", "/turn_seconds"),
        (json!({ "absence_seconds": null }), "invalid_option", "/absence_seconds"),
        (json!({ "expires_seconds": 59 }), "invalid_field", "/expires_seconds"),
        (json!({ "expires_seconds": 604_801 }), "invalid_field", "/expires_seconds"),
        (json!({ "expires_seconds": -60 }), "invalid_field", "/expires_seconds"),
    ] {
        challenge(&app, &ana, "Ben", options).await.refuses(422, code, part);
    }
    app.sql(&format!(
        "insert into players (player_id, kind, username) values ('{}', 'cpu', 'cpu-3')",
        uuid::Uuid::now_v7()
    ))
    .await;
    challenge(&app, &ana, "cpu-3", json!({})).await.refuses(422, "invalid_field", "/opponent");
    assert_eq!(listed(&app, &ana, "").await, [""; 0]);
}

#[tokio::test]
async fn fifty_challenges_may_wait_for_an_answer() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let rows = (0..52).map(|n| format!("('{}', 'human', 'p{n:02}')", uuid::Uuid::now_v7()));
    app.sql(&format!("insert into players (player_id, kind, username) values {}", rows.collect::<Vec<_>>().join(", ")))
        .await;
    let make = async |n: usize| challenge(&app, &ana, &format!("p{n:02}"), json!({})).await;
    let mut made = Vec::new();
    for n in 0..46 {
        made.push(id(&make(n).await.expect(201)));
    }
    // Of six at once four come through.
    let answers = join_all((46..52).map(make)).await;
    assert_eq!(statuses(&answers), [201, 201, 201, 201, 409, 409]);
    let left = 46 + answers.iter().position(|a| a.status == 409).unwrap();
    challenge(&app, &ana, &format!("p{left}"), json!({})).await.problem(409, "too_many_challenges");
    cancel(&app, &ana, &made[0]).await.expect(200);
    let last = challenge(&app, &ana, &format!("p{left}"), json!({})).await.expect(201);

    // Pages of a list without gaps and doubles.
    let all = app.get_as(&ana, "/v1/challenges?limit=100").await.expect(200);
    let all: Vec<String> = all["items"].as_array().unwrap().iter().map(id).collect();
    assert_eq!((all.len(), &all[0]), (51, &id(&last)));
    for (limit, query, count) in [(7, "", 51), (10, "&status=pending", 50), (50, "&direction=outgoing", 51)] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = app.get_as(&ana, &format!("/v1/challenges?limit={limit}{query}{cursor}")).await.expect(200);
            seen.extend(page["items"].as_array().unwrap().iter().map(id));
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let expected: Vec<String> = all.iter().filter(|id| count == 51 || **id != made[0]).cloned().collect();
        assert_eq!((seen.len(), seen), (count, expected));
    }
}

#[tokio::test]
async fn two_answers_at_once_end_a_challenge_one_way() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].register("Ana").await, apps[0].register("Ben").await);
    let mut accepted = 0;
    for round in 0..50 {
        let made = id(&challenge(&apps[0], &ana, "Ben", json!({ "rated": round % 2 == 0 })).await.expect(201));
        let other = &apps[round % 2];
        let (yes, no) = if round % 5 == 4 {
            join(accept(&apps[0], &ben, &made), decline(other, &ben, &made, json!({ "reason": "later" }))).await
        } else {
            join(accept(&apps[0], &ben, &made), cancel(other, &ana, &made)).await
        };
        let end = read(&apps[1], &ben, &made).await;
        if end["status"] == "accepted" {
            assert_eq!(yes.expect(200), end);
            no.problem(409, "challenge_over");
            accepted += 1;
        } else {
            assert_eq!(no.expect(200)["status"], end["status"]);
            yes.problem(409, "challenge_over");
            assert_eq!(end["game_id"], json!(null));
        }
    }
    assert_eq!(apps[1].board_pages("/v1/games", "limit=100").await.len(), accepted);
}

#[tokio::test]
async fn the_same_at_once_is_done_once() {
    let apps = two_instances().await;
    let (ana, ben) = (apps[0].register("Ana").await, apps[0].register("Ben").await);
    for round in 1..=5 {
        let made = join_all((0..12).map(|n| challenge(&apps[n % 2], &ana, "Ben", json!({})))).await;
        assert_eq!(statuses(&made), [[200; 11].as_slice(), &[201]].concat());
        let made = id(&made[0].body);
        let answers = join_all((0..12).map(|n| accept(&apps[n % 2], &ben, &made))).await;
        assert_eq!(statuses(&answers), [200; 12]);
        assert!(answers.iter().all(|a| a.body["game_id"] == answers[0].body["game_id"]));
        assert_eq!(apps[0].get("/v1/games").await.expect(200)["items"].as_array().unwrap().len(), round);
        assert_eq!(listed(&apps[1], &ana, "status=accepted").await.len(), round);
    }
}
