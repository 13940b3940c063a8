//! What holds for every search, on many positions.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod samples;

use hasami_engine::{Found, Level, Score, choose, search, search_position};
use hasami_rules::{Game, GameOptions, Outcome, Position, WinRule};

fn options(win_rule: WinRule) -> GameOptions {
    GameOptions { win_rule, move_limit: None }
}

/// The line can be played, and ends as the score says.
fn check(position: &Position, win_rule: WinRule, found: &Found, budget: u64) {
    assert!(found.nodes <= budget, "{position}: {found:?}");
    assert_eq!(found.line.first(), Some(&found.best), "{position}: {found:?}");
    let mut at = *position;
    for (number, mv) in found.line.iter().enumerate() {
        assert!(at.outcome(win_rule).is_none(), "{position}: {found:?} goes on after the end at {number}");
        at = at.play(*mv).unwrap_or_else(|error| panic!("{position}: {found:?} at {number}: {error}")).0;
    }
    if let Score::WinIn(plies) | Score::LossIn(plies) = found.score {
        assert!(found.line.len() <= usize::from(plies), "{position}: {found:?}");
    }
}

#[test]
fn always_a_legal_move_within_the_budget() {
    for (number, position) in samples::positions(600).enumerate() {
        for win_rule in WinRule::ALL {
            let budget = [1, 2, 10, 64, 65, 200, 1000, 5000][number % 8];
            let found = search_position(&position, options(win_rule), budget);
            assert_eq!(found.is_none(), position.outcome(win_rule).is_some(), "{position}");
            if let Some(found) = found {
                check(&position, win_rule, &found, budget);
            }
        }
    }
}

#[test]
fn the_same_game_the_same_move() {
    for seed in 0..20 {
        let game = samples::game(options(WinRule::ALL[seed as usize % 3]), 10 + seed as u16, seed);
        let first = search(&game, 20_000);
        // What was searched in between leaves nothing behind.
        drop(search_position(&Position::START, options(WinRule::Capture5), 1000));
        assert_eq!(search(&game, 20_000), first);
        for level in &Level::ALL[..5] {
            assert_eq!(choose(&game, *level), choose(&game, *level));
        }
    }
}

/// The side to move wins in so many plies at the latest (positive), loses (negative), or neither within `depth` (0).
/// Looks at every move.
fn brute(position: &Position, win_rule: WinRule, depth: i32) -> i32 {
    match position.outcome(win_rule) {
        // Seen right after the last move: the loser is to move.
        Some((Outcome::Win(_), _)) => return -100,
        Some((Outcome::Draw, _)) => return 0,
        None if depth == 0 => return 0,
        None => {}
    }
    let mut best = -100;
    for mv in position.legal_moves() {
        let below = brute(&position.play_unchecked(mv).0, win_rule, depth - 1);
        // One ply further away from the end.
        best = best.max(-below + below.signum());
        if best == 99 {
            break;
        }
    }
    best
}

/// The same in the words of the engine.
fn solved(position: &Position, win_rule: WinRule, depth: i32) -> Option<Score> {
    let value = brute(position, win_rule, depth);
    match value.signum() {
        1 => Some(Score::WinIn((100 - value) as u8)),
        -1 => Some(Score::LossIn((100 + value) as u8)),
        _ => None,
    }
}

#[test]
fn wins_and_losses_are_those_of_a_search_of_everything() {
    const NODES: u64 = 10_000;
    let mut seen = [0; 4];
    for (number, position) in samples::crowded_positions(40_000).enumerate() {
        let win_rule = WinRule::ALL[number % 3];
        // Few moves, so that all can be looked at; most boards are far from any end.
        if position.legal_moves().count() > 26 || position.outcome(win_rule).is_some() {
            continue;
        }
        let truth = solved(&position, win_rule, 3);
        if truth.is_none_or(|score| score == Score::WinIn(1)) && number % 20 > 1 {
            continue;
        }
        let found = search_position(&position, options(win_rule), NODES).unwrap();
        check(&position, win_rule, &found, NODES);
        match truth {
            Some(score) => {
                assert_eq!(found.score, score, "{win_rule} {position}: {found:?}");
                seen[score.mate_in().unwrap().unsigned_abs() as usize] += 1;
            }
            None => {
                let plies = found.score.mate_in().map_or(i16::MAX, i16::abs);
                assert!(plies > 3, "{win_rule} {position}: {found:?} is not so");
            }
        }
        // Whoever need not lose at once does not.
        if !matches!(truth, Some(Score::LossIn(_))) {
            let after = position.play_unchecked(found.best).0;
            assert!(!matches!(solved(&after, win_rule, 1), Some(Score::WinIn(_))), "{win_rule} {position}: {found:?}");
        }
    }
    let [_, one, two, three] = seen;
    assert!(one > 20 && two > 20 && three > 20, "{seen:?}");
}

#[test]
fn whole_games_end() {
    for win_rule in WinRule::ALL {
        for (level, move_limit) in [(1, Some(400)), (2, None), (3, Some(150)), (4, Some(60))] {
            let mut game = samples::game(GameOptions { win_rule, move_limit }, 6, level);
            while let Some(mv) = choose(&game, Level::new(level as u8).unwrap()) {
                game.play(mv).unwrap();
            }
            assert!(game.outcome().is_some());
        }
    }
}

/// The last pieces are hunted down, not chased around until the limit.
#[test]
fn a_large_lead_is_won() {
    for seed in 0..4 {
        let mut game = Game::new(GameOptions { win_rule: WinRule::CaptureAll, move_limit: Some(400) });
        // The second player gives pieces away for a while.
        while let Some(side) = game.to_move() {
            let random = game.captured_by(hasami_rules::Side::First) < 6;
            let mv = match side {
                hasami_rules::Side::Second if random => {
                    let moves: Vec<_> = game.position().legal_moves().collect();
                    moves[(game.position().hash() ^ seed) as usize % moves.len()]
                }
                _ => choose(&game, Level::new(5).unwrap()).unwrap(),
            };
            game.play(mv).unwrap();
        }
        let (outcome, _) = game.outcome().unwrap();
        assert_eq!(outcome.winner(), Some(hasami_rules::Side::First), "{seed}: {} {}", game.ply(), game.position());
    }
}
