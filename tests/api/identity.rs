//! Who plays: guests, accounts, claimed names, profiles.

use serde_json::{Value, json};

use crate::app::{Answer, Player, TestApp, header};

const PASSWORD: &str = "correct horse";

fn credentials(username: &str, password: &str) -> Value {
    json!({ "username": username, "password": password })
}

#[tokio::test]
async fn a_guest_needs_nothing() {
    let app = TestApp::start().await;
    let bare = app.send(app.request(reqwest::Method::POST, "/v1/guests")).await.expect(201);
    let empty = app.post("/v1/guests", json!({})).await.expect(201);
    for session in [&bare, &empty] {
        assert_eq!(session["player"]["kind"], "guest");
        assert_eq!(session["player"]["display_name"], session["player"]["username"]);
        let me = app.get_as(&Player::from(session), "/v1/me").await.expect(200);
        assert_eq!(me, session["player"]);
    }
    assert_ne!(bare["player"]["id"], empty["player"]["id"]);
    assert_ne!(bare["player"]["username"], empty["player"]["username"]);
    for field in ["rating", "kind", "username"] {
        app.post("/v1/guests", json!({ field: "x" })).await.refuses(400, "malformed_request", &format!("/{field}"));
    }
}

#[tokio::test]
async fn every_way_in_answers_with_a_pair_of_tokens_that_nobody_stores() {
    let app = TestApp::start().await;
    let fits = |answer: Answer, status: u16| {
        assert_eq!(header(&answer, "cache-control"), "no-store");
        let body = answer.expect(status);
        assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(900)));
        Player::from(&body)
    };
    let guest = fits(app.post("/v1/guests", json!({})).await, 201);
    let ben = fits(app.post("/v1/players", credentials("Ben", PASSWORD)).await, 201);
    let ana = fits(app.post_as(&guest, "/v1/me/claim", credentials("Ana", PASSWORD)).await, 200);
    let again = fits(app.post("/v1/sessions", credentials("ben", PASSWORD)).await, 200);
    let fresh = fits(app.post("/v1/sessions/refresh", json!({ "refresh_token": again.refresh_token })).await, 200);
    assert_eq!((guest.id, ben.id.clone(), ben.id), (ana.id, again.id, fresh.id));
}

#[tokio::test]
async fn a_name_is_one_without_regard_to_case() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let guest = app.guest().await;
    for other in ["Ana", "ana", "ANA", "aNa"] {
        app.post("/v1/players", credentials(other, PASSWORD)).await.problem(409, "name_taken");
        app.post_as(&guest, "/v1/me/claim", credentials(other, PASSWORD)).await.problem(409, "name_taken");
        let found = app.post("/v1/sessions", credentials(other, PASSWORD)).await.expect(200);
        assert_eq!((found["player"]["id"].as_str(), &found["player"]["username"]), (Some(&*ana.id), &json!("Ana")));
    }
    let me = app.get_as(&guest, "/v1/me").await.expect(200);
    assert_eq!((&me["kind"], me["username"].as_str()), (&json!("guest"), Some(&*guest.username)));
}

#[tokio::test]
async fn a_name_that_passes_for_another_is_refused() {
    let app = TestApp::start().await;
    let guest = app.guest().await;
    let long = "a".repeat(21);
    for bad in [
        "Аna",
        "ａｎａ",
        "Ana\u{301}",
        "An\u{e1}",
        "ana\u{200b}",
        "ana\0b",
        "",
        "an",
        &long,
        "9ana",
        "-ana",
        "an a",
        "ana.b",
        "ana/b",
        "admin",
        "Adm1n",
        "guest",
        "guest-23456789",
        "cpu-1",
        "me",
        "null",
    ] {
        for answer in [
            app.post("/v1/players", credentials(bad, PASSWORD)).await,
            app.post_as(&guest, "/v1/me/claim", credentials(bad, PASSWORD)).await,
        ] {
            answer.refuses(422, "invalid_field", "/username");
        }
    }
    assert_eq!(app.get_as(&guest, "/v1/me").await.expect(200)["kind"], "guest");
}

#[tokio::test]
async fn a_password_is_counted_and_compared_in_nfc() {
    let app = TestApp::start().await;
    let (apart, whole) = ("e\u{301}", "\u{e9}");
    for bad in [String::new(), apart.repeat(7), whole.repeat(129), "x".repeat(5000), "correct\0horse".to_owned()] {
        app.post("/v1/players", credentials("Ana", &bad)).await.refuses(422, "invalid_field", "/password");
    }
    let ana = Player::from(&app.post("/v1/players", credentials("Ana", &apart.repeat(8))).await.expect(201));
    let same = app.post("/v1/sessions", credentials("Ana", &whole.repeat(8))).await.expect(200);
    assert_eq!(same["player"]["id"].as_str(), Some(&*ana.id));
    app.post("/v1/players", credentials("Ben", &apart.repeat(128))).await.expect(201);
}

#[tokio::test]
async fn a_failed_login_tells_nothing() {
    let app = TestApp::start().await;
    app.register("Ana").await;
    let guest = app.guest().await;
    let mut bodies = Vec::new();
    for (name, password) in [
        ("Ana", "incorrect horse"),
        ("Ana", "Correct horse"),
        ("nobody", PASSWORD),
        ("Ana", ""),
        ("", PASSWORD),
        ("Аna", PASSWORD),
        ("Ana\0", PASSWORD),
        (&guest.username, PASSWORD),
    ] {
        let answer = app.post("/v1/sessions", credentials(name, password)).await;
        assert!(header(&answer, "www-authenticate").starts_with("Bearer"));
        let mut body = answer.problem(401, "unauthenticated");
        body.as_object_mut().unwrap().remove("request_id");
        bodies.push(body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
}

#[tokio::test]
async fn claiming_a_name_keeps_everything() {
    let app = TestApp::start().await;
    let (guest, ben) = (app.guest().await, app.register("Ben").await);
    app.beat(&guest, &ben, json!({})).await;
    let ratings = app.get(&format!("/v1/players/{}", guest.username)).await.expect(200)["ratings"].take();
    let table = app.open(&guest, json!({})).await;
    let game = app.sit(&ben, &table).await.expect(201)["game_id"].as_str().unwrap().to_owned();
    app.play(&game, &guest, "e1e5", 1).await.expect(201);
    app.play(&game, &ben, "a9a8", 2).await.expect(201);

    let session = app.post_as(&guest, "/v1/me/claim", credentials("Ana", PASSWORD)).await.expect(200);
    let ana = Player::from(&session);
    assert_eq!(ana.id, guest.id);
    assert_eq!(session["player"]["kind"], "human");
    assert_eq!(app.get("/v1/players/ana").await.expect(200)["ratings"], ratings);
    app.get(&format!("/v1/players/{}", guest.username)).await.problem(404, "player_not_found");

    let seen = app.game(&game).await;
    assert_eq!((&seen["seats"]["first"]["username"], &seen["status"]), (&json!("Ana"), &json!("playing")));
    // The tokens from before the claim speak for the same player.
    app.play(&game, &guest, "b1b2", 3).await.expect(201);
    app.play(&game, &ben, "b9b8", 4).await.expect(201);
    app.play(&game, &ana, "c1c2", 5).await.expect(201);
    app.resign(&game, &ana).await.expect(200);
    let changed = app.patch_as(&ana, &format!("/v1/tables/{table}"), json!({ "rated": false })).await.expect(200);
    assert_eq!((&changed["host"], &changed["seats"][0]["username"]), (&json!("Ana"), &json!("Ana")));

    app.post_as(&ana, "/v1/me/claim", credentials("Eva", PASSWORD)).await.problem(409, "already_done");
    app.post_as(&ben, "/v1/me/claim", credentials("Eva", PASSWORD)).await.problem(409, "already_done");
    app.get("/v1/players/eva").await.problem(404, "player_not_found");
    let login = app.post("/v1/sessions", credentials("ana", PASSWORD)).await.expect(200);
    assert_eq!(login["player"], session["player"]);
}

#[tokio::test]
async fn a_display_name_is_set_and_taken_back() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let me = app.patch_as(&ana, "/v1/me", json!({ "display_name": " Ana\u{301} 花 " })).await.expect(200);
    assert_eq!((&me["display_name"], &me["username"]), (&json!("An\u{e1} 花"), &json!("Ana")));
    for bad in ["", "   ", &"x".repeat(41), "a\0b", "a\u{202e}b", "a\u{200b}b", "a\nb", "a\u{feff}"] {
        app.patch_as(&ana, "/v1/me", json!({ "display_name": bad })).await.refuses(
            422,
            "invalid_field",
            "/display_name",
        );
    }
    assert_eq!(app.patch_as(&ana, "/v1/me", json!({})).await.expect(200), me);
    assert_eq!(app.get_as(&ana, "/v1/me").await.expect(200), me);
    let long = "花".repeat(40);
    assert_eq!(app.patch_as(&ana, "/v1/me", json!({ "display_name": long })).await.expect(200)["display_name"], *long);
    let plain = app.patch_as(&ana, "/v1/me", json!({ "display_name": null })).await.expect(200);
    assert_eq!(plain["display_name"], "Ana");
}

#[tokio::test]
async fn a_bot_says_so_before_its_first_rated_game() {
    let app = TestApp::start().await;
    let (bot, ana, guest) = (app.register("Deep_Hasami").await, app.register("Ana").await, app.guest().await);
    let say = json!({ "bot": true });
    app.patch_as(&guest, "/v1/me", say.clone()).await.problem(403, "forbidden");
    app.patch_as(&bot, "/v1/me", json!({ "bot": false })).await.refuses(422, "invalid_field", "/bot");
    // A casual game, and one too short to count, are no rated games.
    app.beat(&ana, &bot, json!({ "rated": false })).await;
    let short = app.begin(&ana, &bot, json!({})).await;
    app.resign(&short, &bot).await.expect(200);

    let mixed = json!({ "bot": true, "display_name": "Deep Hasami" });
    let me = app.patch_as(&bot, "/v1/me", mixed).await.expect(200);
    assert_eq!((&me["kind"], &me["display_name"]), (&json!("bot"), &json!("Deep Hasami")));
    assert_eq!(app.patch_as(&bot, "/v1/me", say.clone()).await.expect(200), me);

    app.beat(&ana, &bot, json!({})).await;
    assert_eq!(app.patch_as(&bot, "/v1/me", say.clone()).await.expect(200), me, "it is one already");
    let late = json!({ "bot": true, "display_name": "Not Ana" });
    app.patch_as(&ana, "/v1/me", late).await.problem(409, "too_late");
    let me = app.get_as(&ana, "/v1/me").await.expect(200);
    assert_eq!((&me["kind"], &me["display_name"]), (&json!("human"), &json!("Ana")), "a refusal changes nothing");
}
