//! Tokens: refresh, reuse, logout, and what is no token.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::app::{Answer, Player, TestApp, header};

async fn refresh(app: &TestApp, token: &str) -> Answer {
    app.post("/v1/sessions/refresh", json!({ "refresh_token": token })).await
}

async fn log_in(app: &TestApp, username: &str) -> Player {
    let body = json!({ "username": username, "password": "correct horse" });
    Player::from(&app.post("/v1/sessions", body).await.expect(200))
}

#[tokio::test]
async fn refreshing_trades_one_token_for_the_next() {
    let app = TestApp::start().await;
    let mut player = app.guest().await;
    for _ in 0..3 {
        let next = Player::from(&refresh(&app, &player.refresh_token).await.expect(200));
        assert_ne!(next.refresh_token, player.refresh_token);
        assert_ne!(next.token, player.token);
        assert_eq!(app.get_as(&next, "/v1/me").await.expect(200)["id"].as_str(), Some(&*player.id));
        player = next;
    }
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_ends_its_session_and_no_other() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let elsewhere = log_in(&app, "Ana").await;
    let second = Player::from(&refresh(&app, &ana.refresh_token).await.expect(200));
    let third = Player::from(&refresh(&app, &second.refresh_token).await.expect(200));
    refresh(&app, &ana.refresh_token).await.problem(401, "unauthenticated");
    for dead in [&third, &second, &ana] {
        refresh(&app, &dead.refresh_token).await.problem(401, "unauthenticated");
    }
    refresh(&app, &elsewhere.refresh_token).await.expect(200);
}

#[tokio::test]
async fn of_many_refreshes_at_once_exactly_one_wins() {
    let app = TestApp::start().await;
    for _ in 0..5 {
        let player = app.guest().await;
        let answers = join_all((0..6).map(|_| refresh(&app, &player.refresh_token))).await;
        let (won, lost): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(|a| a.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 5));
        for answer in lost {
            answer.problem(401, "unauthenticated");
        }
        // The token came more than once, so the session is over, for the winner too.
        refresh(&app, won[0].body["refresh_token"].as_str().unwrap()).await.problem(401, "unauthenticated");
    }
}

#[tokio::test]
async fn logging_out_ends_this_session_or_all() {
    let app = TestApp::start().await;
    let one = app.register("Ana").await;
    let (two, three) = (log_in(&app, "Ana").await, log_in(&app, "Ana").await);
    let other = app.register("Ben").await;

    app.delete_as(&one, "/v1/sessions").await.expect(204);
    refresh(&app, &one.refresh_token).await.problem(401, "unauthenticated");
    // An access token lives out its minutes: it is checked without a look at the database.
    app.get_as(&one, "/v1/me").await.expect(200);
    let two = Player::from(&refresh(&app, &two.refresh_token).await.expect(200));

    app.delete_as(&one, "/v1/sessions?all=true").await.expect(204);
    for dead in [&two, &three] {
        refresh(&app, &dead.refresh_token).await.problem(401, "unauthenticated");
    }
    refresh(&app, &other.refresh_token).await.expect(200);
    refresh(&app, &log_in(&app, "Ana").await.refresh_token).await.expect(200);
}

#[tokio::test]
async fn no_kind_of_token_passes_for_another() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    refresh(&app, &ana.token).await.problem(401, "unauthenticated");
    let swapped = Player { token: ana.refresh_token.clone(), ..ana.clone() };
    app.get_as(&swapped, "/v1/me").await.problem(401, "unauthenticated");
    for bad in ["", "x", "AAAA", &"A".repeat(43), &"A".repeat(5000), "\0"] {
        refresh(&app, bad).await.problem(401, "unauthenticated");
    }
    refresh(&app, &ana.refresh_token).await.expect(200);
}

#[tokio::test]
async fn without_a_good_token_nothing_opens() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    let flipped = {
        let (head, tail) = ana.token.split_at(ana.token.len() - 4);
        format!("{head}{}", if tail == "AAAA" { "BBBB" } else { "AAAA" })
    };
    let token = &ana.token;
    for value in [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(token.clone()),
        Some(format!("Basic {token}")),
        Some(format!("Bearer {flipped}")),
        Some(format!("Bearer {token} {token}")),
        Some(format!("Bearer {token},")),
    ] {
        let mut request = app.request(Method::GET, "/v1/me");
        if let Some(value) = &value {
            request = request.header("authorization", value);
        }
        let answer = app.send(request).await;
        assert_eq!(header(&answer, "www-authenticate"), r#"Bearer error="invalid_token""#, "{value:?}");
        answer.problem(401, "unauthenticated");
    }
    // The scheme's name is one without regard to case.
    let lower = app.request(Method::GET, "/v1/me").header("authorization", format!("bearer {token}"));
    app.send(lower).await.expect(200);
    // Where a token is not needed, a bad one is refused all the same.
    app.send(app.request(Method::GET, "/v1/tables").bearer_auth(&flipped)).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_token_in_a_query_is_no_token() {
    let app = TestApp::start().await;
    let ana = app.register("Ana").await;
    for name in ["access_token", "token", "authorization"] {
        app.get(&format!("/v1/me?{name}={}", ana.token)).await.problem(401, "unauthenticated");
    }
    let form = app
        .request(Method::POST, "/v1/tables")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("access_token={}", ana.token));
    app.send(form).await.problem(401, "unauthenticated");
    assert_eq!(app.get("/v1/tables").await.expect(200)["items"], json!([]));
}
