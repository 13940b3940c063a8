//! Small tasks with one answer.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use hasami_engine::{Found, Level, Score, choose, search, search_position};
use hasami_rules::{Game, GameOptions, Move, Position, WinRule};

const NODES: u64 = 20_000;

fn mv(text: &str) -> Move {
    text.parse().unwrap()
}

fn options(win_rule: WinRule) -> GameOptions {
    GameOptions { win_rule, move_limit: None }
}

fn solve(position: &str, win_rule: WinRule, nodes: u64) -> Found {
    search_position(&position.parse().unwrap(), options(win_rule), nodes).unwrap()
}

/// A game in which the first player is one piece ahead, and then `then` is played.
fn ahead(win_rule: WinRule, then: &[&str]) -> Game {
    let moves = ["d1d5", "e9e5", "f1f5"].iter().chain(then);
    Game::replay(options(win_rule), moves.map(|text| mv(text))).unwrap()
}

#[test]
fn takes_the_hanging_run() {
    for win_rule in WinRule::ALL {
        for nodes in [10, 100, 1000, NODES] {
            let found = solve("ooooo4/9/9/9/xooo5/9/9/9/xx1xx1xxx first", win_rule, nodes);
            assert_eq!(found.best, mv("e1e5"), "{win_rule} {nodes}");
        }
    }
}

#[test]
fn takes_the_run_of_three_rather_than_the_one() {
    // f5 closes the run c5 to e5 that b5 holds at its other end; g8 would take one piece.
    for win_rule in [WinRule::Capture5, WinRule::CaptureAll] {
        let found = solve("oo2o4/4x2o1/9/9/1xooo4/9/9/6x2/xx3xx1x first", win_rule, NODES);
        assert_eq!(found.best, mv("f1f5"), "{win_rule}");
    }
}

#[test]
fn wins_at_once() {
    // Four are taken, or two more than lost, or eight: f5 takes the last that is needed.
    for (win_rule, position) in [
        (WinRule::Capture5, "oo1o5/9/9/9/3xo4/9/9/9/xxx2x2x first"),
        (WinRule::Lead3, "ooo3o2/8o/9/9/3xo4/8o/9/x8/xxx2xxxx first"),
        (WinRule::CaptureAll, "9/9/9/9/3xo4/9/9/9/xxx2x2x first"),
    ] {
        for nodes in [70, 1000, NODES] {
            let found = solve(position, win_rule, nodes);
            assert_eq!((found.best, found.score), (mv("f1f5"), Score::WinIn(1)), "{win_rule} {nodes}");
            assert_eq!(found.line, [mv("f1f5")]);
        }
    }
}

/// Every level from the third up takes a win at hand, whatever its share of weaker moves.
#[test]
fn levels_take_a_win() {
    let mut won = 0;
    for win_rule in [WinRule::Capture5, WinRule::Lead3] {
        for number in 1..=5 {
            let mut game = ahead(win_rule, &[]);
            while game.to_move().is_some() && game.ply() < 300 {
                let position = *game.position();
                let wins = |mv: &Move| position.play_unchecked(*mv).0.outcome(win_rule).is_some();
                let at_hand = position.legal_moves().any(|mv| wins(&mv));
                let chosen = choose(&game, Level::new(number).unwrap()).unwrap();
                if at_hand && number >= 3 {
                    assert!(wins(&chosen), "level {number}: {position}");
                    won += 1;
                }
                game.play(chosen).unwrap();
            }
        }
    }
    assert!(won > 0);
}

#[test]
fn avoids_a_repetition_when_ahead() {
    for win_rule in WinRule::ALL {
        let mut game = ahead(win_rule, &[]);
        for text in ["a9a8", "a1a2", "a8a9", "a2a1"].iter().cycle().take(11) {
            game.play(mv(text)).unwrap();
        }
        let mut drawn = game.clone();
        drawn.play(mv("a2a1")).unwrap();
        assert!(drawn.outcome().is_some(), "the move to be avoided draws");
        for nodes in [500, 5000, 100_000] {
            let found = search(&game, nodes).unwrap();
            assert_ne!(found.best, mv("a2a1"), "{win_rule} {nodes}");
            assert!(matches!(found.score, Score::Pieces(worth) if worth > 30), "{win_rule}: {:?}", found.score);
        }
    }
}

/// However the opponent shuttles, whoever is ahead finds a way on.
#[test]
fn does_not_go_round_for_ever() {
    for win_rule in WinRule::ALL {
        let mut game = ahead(win_rule, &[]);
        while game.outcome().is_none() && game.ply() < 60 {
            let shuttle = ["a9a8", "a8a9"].map(mv).into_iter().find(|mv| game.position().is_legal(*mv));
            let own = game.ply().is_multiple_of(2);
            let next = if own { None } else { shuttle };
            game.play(next.unwrap_or_else(|| search(&game, 3000).unwrap().best)).unwrap();
        }
        assert!(game.outcome().is_none_or(|(outcome, _)| outcome.winner().is_some()), "{win_rule}");
    }
}

#[test]
fn seeks_a_repetition_when_behind() {
    for win_rule in WinRule::ALL {
        let mut game = ahead(win_rule, &["i9i8"]);
        for text in ["a1a2", "a9a8", "a2a1", "a8a9"].iter().cycle().take(11) {
            game.play(mv(text)).unwrap();
        }
        for nodes in [500, 5000, 100_000] {
            let found = search(&game, nodes).unwrap();
            assert_eq!((found.best, found.score), (mv("a8a9"), Score::Pieces(0)), "{win_rule} {nodes}");
        }
        game.play(mv("a8a9")).unwrap();
        assert!(game.outcome().is_some(), "it draws");
    }
}

#[test]
fn the_limit_is_a_draw() {
    for win_rule in WinRule::ALL {
        let options = GameOptions { win_rule, move_limit: Some(2) };
        let behind: Position = "oooooooo1/9/9/9/9/9/9/9/xxxxxxx2 first".parse().unwrap();
        let found = search_position(&behind, options, NODES).unwrap();
        assert_eq!(found.score, Score::Pieces(0), "{win_rule}");
    }
}

#[test]
fn nothing_is_found_after_the_end() {
    let over: Position = "9/9/9/9/3x5/9/9/9/xxx2x2x second".parse().unwrap();
    assert_eq!(search_position(&over, options(WinRule::CaptureAll), NODES), None);
    let mut game = Game::new(GameOptions { win_rule: WinRule::Lead3, move_limit: Some(1) });
    game.play(mv("a1a2")).unwrap();
    assert_eq!(search(&game, NODES), None);
    assert_eq!(choose(&game, Level::ALL[0]), None);
}
