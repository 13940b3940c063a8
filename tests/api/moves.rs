//! Posting a move: retries, refusals, lost answers.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::app::{Answer, Player, TestApp};

const POSITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/tests/vectors/positions.json");
/// Ana wins with the fifth capture at ply 13.
const WON: &str = "e1e5 b9b8 a1a8 i9i5 c1c8 h9h2 b1b9 e9e8 g1g2 i5i9 i1i2 e8i8 e5e9";

struct Board {
    app: TestApp,
    ana: Player,
    ben: Player,
    game: String,
}

impl Board {
    async fn new() -> Self {
        let app = TestApp::start().await;
        let (ana, ben) = (app.register("Ana").await, app.register("Ben").await);
        let game = app.begin(&ana, &ben, json!({})).await;
        Self { app, ana, ben, game }
    }

    async fn play(&self, player: &Player, mv: &str, ply: u64) -> Answer {
        self.app.play(&self.game, player, mv, ply).await
    }

    async fn line(&self, moves: &str) -> Value {
        self.app.play_line(&self.game, [&self.ana, &self.ben], moves).await
    }

    /// Game and history, byte for byte.
    async fn bytes(&self) -> (String, String) {
        let game = self.app.get(&format!("/v1/games/{}", self.game)).await.text;
        (game, self.app.get(&format!("/v1/games/{}/moves", self.game)).await.text)
    }
}

#[tokio::test]
async fn a_repeated_move_is_answered_as_the_first_time() {
    let board = Board::new().await;
    let first = board.play(&board.ana, "e1e5", 1).await.expect(201);
    assert_eq!(board.play(&board.ana, "e1e5", 1).await.expect(200), first);
    let second = board.play(&board.ben, "a9a8", 2).await.expect(201);
    let later = board.play(&board.ana, "e1e5", 1).await.expect(200);
    assert_eq!(later["ply"], first["ply"], "the same row");
    assert_eq!(later["game"], second["game"], "and the game as it stands now");
    board.app.resign(&board.game, &board.ana).await.expect(200);
    let over = board.bytes().await;
    for (player, mv, ply, row) in [(&board.ana, "e1e5", 1, &first["ply"]), (&board.ben, "a9a8", 2, &second["ply"])] {
        let again = board.play(player, mv, ply).await.expect(200);
        assert_eq!((&again["ply"], &again["game"]["status"]), (row, &json!("finished")));
    }
    assert_eq!(board.bytes().await, over);
}

#[tokio::test]
async fn the_winning_move_repeated_wins_once() {
    let board = Board::new().await;
    let won = board.line(WON).await;
    assert_eq!((&won["winner"], &won["termination"]), (&json!("first"), &json!("captures")));
    let before = board.bytes().await;
    let again = board.play(&board.ana, "e5e9", 13).await.expect(200);
    assert_eq!((&again["game"], &again["ply"]["captured"]), (&won, &json!(["c9", "d9"])));
    for (player, mv, ply) in
        [(&board.ben, "i9h9", 14), (&board.ana, "e5e8", 13), (&board.ben, "a1a2", 1), (&board.ana, "a1a2", 99)]
    {
        let refused = board.play(player, mv, ply).await.problem(409, "game_over");
        assert_eq!(refused["current_ply"], 13);
    }
    assert_eq!(board.bytes().await, before);
    let ledger = board.app.get("/v1/players/Ana/ratings/capture5/history").await.expect(200);
    assert_eq!(ledger["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_refused_move_says_where_the_game_stands_and_changes_nothing() {
    let board = Board::new().await;
    let eva = board.app.guest().await;
    let (ana, ben) = (&board.ana, &board.ben);
    for (made, cases) in [
        (
            "",
            vec![
                (ana, "e1e5", 2, 409, "stale_ply"),
                (ana, "e1e5", 2000, 409, "stale_ply"),
                (ana, "e1e5", 65535, 409, "stale_ply"),
                (ben, "e9e8", 1, 409, "not_your_turn"),
                (ben, "e1e5", 1, 409, "not_your_turn"),
                (&eva, "e1e5", 1, 403, "not_seated"),
            ],
        ),
        (
            "e1e5 a9a8 b1b2",
            vec![
                (ana, "e1e4", 1, 409, "stale_ply"),
                (ana, "b1b3", 3, 409, "stale_ply"),
                (ben, "e1e5", 1, 409, "stale_ply"),
                (ben, "b1b2", 3, 409, "stale_ply"),
                (ben, "a9a7", 2, 409, "stale_ply"),
                (ben, "b9b8", 5, 409, "stale_ply"),
                (ana, "a9a8", 2, 409, "stale_ply"),
                (ana, "c1c2", 4, 409, "not_your_turn"),
                (ana, "c1c2", 5, 409, "stale_ply"),
                // Whose turn it is comes before whether the move is legal.
                (ana, "c1c1", 4, 409, "not_your_turn"),
                (&eva, "e1e5", 1, 403, "not_seated"),
                (&eva, "e1e5", 9, 403, "not_seated"),
            ],
        ),
    ] {
        let plies = made.split_whitespace().count();
        board.line(made).await;
        let before = board.bytes().await;
        for (player, mv, ply, status, code) in cases {
            let refused = board.play(player, mv, ply).await.problem(status, code);
            let current = (status == 409).then_some(plies);
            assert_eq!(refused.get("current_ply"), current.map(|ply| json!(ply)).as_ref(), "{mv} {ply}");
        }
        assert_eq!(board.bytes().await, before);
    }
}

#[tokio::test]
async fn an_illegal_move_has_its_first_reason() {
    let board = Board::new().await;
    let (ana, ben) = (&board.ana, &board.ben);
    board.line("e1e5 a9a8").await;
    let before = board.bytes().await;
    for (mv, reason) in [
        ("e5e5", "null_move"),
        ("e3e3", "null_move"),
        ("e3e4", "empty_square"),
        ("e1d2", "empty_square"),
        ("a8a7", "not_your_piece"),
        ("b9c8", "not_your_piece"),
        ("e5f6", "diagonal"),
        ("a1b9", "diagonal"),
        ("a1a9", "blocked"),
        ("a1c1", "blocked"),
        ("a1b1", "occupied"),
        ("e5e9", "occupied"),
        ("a1a8", "occupied"),
    ] {
        let refused = board.play(ana, mv, 3).await.refuses(422, "illegal_move", "/move");
        assert_eq!(refused["reason"], reason, "{mv}");
    }
    assert_eq!(board.bytes().await, before);
    board.line_from(3, "a1a2").await;
    let refused = board.play(ben, "a2a3", 4).await.refuses(422, "illegal_move", "/move");
    assert_eq!(refused["reason"], "not_your_piece");
}

impl Board {
    async fn line_from(&self, ply: u64, mv: &str) {
        let player = if ply % 2 == 1 { &self.ana } else { &self.ben };
        self.play(player, mv, ply).await.expect(201);
    }
}

#[tokio::test]
async fn what_names_no_two_squares_is_no_move() {
    let board = Board::new().await;
    let file: Value = serde_json::from_str(&std::fs::read_to_string(POSITIONS).unwrap()).unwrap();
    let texts = file["not_a_move"].as_array().unwrap();
    assert!(texts.len() > 10);
    let before = board.bytes().await;
    let own = ["E1E5", "e1e5 ", " e1e5", "e1e5\n", "e1e5\0", "ｅ１ｅ５", "е1е5", "a0a1", "i9i10"];
    for text in texts.iter().map(|text| text.as_str().unwrap()).chain(own) {
        board.play(&board.ana, text, 1).await.refuses(400, "malformed_move", "/move");
    }
    for (body, pointer) in [
        (json!({ "move": "e1e5" }), "/ply"),
        (json!({ "ply": 1 }), "/move"),
        (json!({ "move": "e1e5", "ply": 0 }), "/ply"),
        (json!({ "move": "e1e5", "ply": -1 }), "/ply"),
        (json!({ "move": "e1e5", "ply": 65536 }), "/ply"),
        (json!({ "move": "e1e5", "ply": "1" }), "/ply"),
        (json!({ "move": "e1e5", "ply": 1.0 }), "/ply"),
        (json!({ "move": "e1e5", "ply": null }), "/ply"),
        (json!({ "move": ["e1", "e5"], "ply": 1 }), "/move"),
        (json!({ "move": "e1e5", "ply": 1, "by": "cpu" }), "/by"),
        (json!({ "move": "e1e5", "ply": 1, "side": "second" }), "/side"),
        (json!(["e1e5", 1]), ""),
    ] {
        let answer = board.app.post_as(&board.ana, &format!("/v1/games/{}/moves", board.game), body).await;
        answer.refuses(400, "malformed_request", pointer);
    }
    assert_eq!(board.bytes().await, before);
}

#[tokio::test]
async fn an_answer_that_got_lost_is_had_again() {
    let board = Board::new().await;
    let connection = board.post_raw("e1e5", 1).await;
    // Nobody reads the answer, but the move is made.
    let made = async { while board.app.game(&board.game).await["ply"] == 0 {} };
    tokio::time::timeout(Duration::from_secs(20), made).await.expect("the move is made though nobody waits for it");
    drop(connection);
    let again = board.play(&board.ana, "e1e5", 1).await.expect(200);
    assert_eq!((&again["ply"]["ply"], &again["game"]["ply"]), (&json!(1), &json!(1)));
    assert_eq!(again["game"], board.app.game(&board.game).await);
}

#[tokio::test]
async fn hanging_up_at_once_leaves_one_ply_or_none() {
    let board = Board::new().await;
    let moves = WON.split_whitespace().zip(1..);
    for (mv, ply) in moves {
        drop(board.post_raw(mv, ply).await);
        let player = if ply % 2 == 1 { &board.ana } else { &board.ben };
        let again = board.play(player, mv, ply).await;
        assert!([200, 201].contains(&again.status.as_u16()), "{}", again.text);
        assert_eq!(again.body["game"]["ply"], ply);
    }
    let text =
        board.app.request(Method::GET, &format!("/v1/games/{}/moves", board.game)).header("accept", "text/plain");
    assert_eq!(board.app.send(text).await.text, WON);
}

impl Board {
    /// Sends a move and reads nothing.
    async fn post_raw(&self, mv: &str, ply: u64) -> TcpStream {
        let token = if ply % 2 == 1 { &self.ana.token } else { &self.ben.token };
        let body = json!({ "move": mv, "ply": ply }).to_string();
        let request = format!(
            "POST /v1/games/{}/moves HTTP/1.1\r\nhost: ladder\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.game,
            body.len(),
        );
        let mut connection = TcpStream::connect(self.app.address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        connection
    }
}
