//! The crate against the oracle over random play, and what has to hold for every position.

use std::collections::BTreeSet;

use hasami_rules::{
    Board, Game, GameOptions, IllegalMove, MAX_PLIES, Move, Outcome, PlayError, Position, Side, Square, SquareSet,
    Termination, WinRule, perft,
};
use oracle::Oracle;
use proptest::prelude::*;
use random::{any_position, cells, choices, choose, options, position, taste};

mod oracle;
mod random;

fn all_moves() -> impl Iterator<Item = Move> {
    Square::ALL.into_iter().flat_map(|from| Square::ALL.into_iter().map(move |to| Move::new(from, to)))
}

fn sorted(squares: SquareSet) -> Vec<String> {
    let mut texts: Vec<_> = squares.into_iter().map(|s| s.to_string()).collect();
    texts.sort();
    texts
}

/// Compares all 6561 moves with the oracle: which are legal, why the others are not, what they capture.
fn compare_moves(position: &Position) {
    let oracle = Oracle::at(&position.to_string(), "captureall", None);
    let mut generated: Vec<_> = position.legal_moves().map(|mv| mv.to_string()).collect();
    assert_eq!(position.legal_moves().count(), generated.len());
    assert_eq!(position.has_legal_move(), !generated.is_empty());
    let mut rest = position.legal_moves();
    for begun in 1..=generated.len() {
        rest.next();
        assert_eq!(rest.clone().count(), generated.len() - begun);
    }
    generated.sort();
    assert_eq!(generated, oracle.legal_moves(), "{position}");
    let generated: BTreeSet<Move> = position.legal_moves().collect();
    for mv in all_moves() {
        assert_eq!(position.is_legal(mv), generated.contains(&mv), "{position} {mv}");
        assert_eq!(position.destinations(mv.from).contains(mv.to), generated.contains(&mv), "{position} {mv}");
        let refusal = position.check(mv).err();
        assert_eq!(refusal.map(IllegalMove::as_str), oracle.refusal(&mv.to_string()), "{position} {mv}");
        assert_eq!(position.play(mv).err(), refusal, "{position} {mv}");
    }
    for mv in generated {
        let (next, captured) = position.play_unchecked(mv);
        let mut oracle = oracle.clone();
        assert_eq!(sorted(captured), oracle.play(&mv.to_string()), "{position} {mv}");
        assert_eq!(next.to_string(), oracle.position(), "{position} {mv}");
        check_change(position, &next, captured);
    }
}

/// What a move may change: it takes enemy pieces and nothing else, and keeps the hash in step.
fn check_change(before: &Position, after: &Position, captured: SquareSet) {
    let mover = before.side();
    let enemy = mover.other();
    assert_eq!(after.side(), enemy);
    assert_eq!(after.board().pieces(mover).len(), before.board().pieces(mover).len());
    assert_eq!(after.board().pieces(enemy).bits(), before.board().pieces(enemy).bits() & !captured.bits());
    assert_eq!(after.board().pieces(enemy).len() + captured.len(), before.board().pieces(enemy).len());
    assert_eq!(*after, Position::new(after.board(), after.side()));
    assert_eq!(after.hash(), Position::new(after.board(), after.side()).hash());
}

/// The board turned by half a turn, with the sides exchanged.
fn exchanged(before: &Position) -> Position {
    let mut cells = cells(before).map(|cell| match cell {
        'x' => 'o',
        'o' => 'x',
        empty => empty,
    });
    cells.reverse();
    position(cells, before.side().other())
}

/// The board with file `a` where `i` was.
fn mirrored(before: &Position) -> Position {
    let mut cells = cells(before);
    cells.chunks_mut(9).for_each(<[char]>::reverse);
    position(cells, before.side())
}

/// The board with files and ranks exchanged.
fn transposed(before: &Position) -> Position {
    let before_cells = cells(before);
    let cells = std::array::from_fn(|index| before_cells[index % 9 * 9 + index / 9]);
    position(cells, before.side())
}

fn compare_states(game: &Game, oracle: &Oracle) {
    assert_eq!(game.position().to_string(), oracle.position());
    let outcome =
        game.outcome().map(|(outcome, termination)| (outcome.winner().map(Side::as_str), termination.as_str()));
    assert_eq!(outcome, oracle.outcome());
    assert_eq!(game.to_move().is_none(), outcome.is_some());
    let stood_at: Vec<_> = game.stood_at().into_iter().map(u32::from).collect();
    assert_eq!(stood_at, oracle.stood_at());
    assert_eq!(usize::from(game.repetitions()), stood_at.len());
    for side in Side::ALL {
        let captured = usize::from(game.captured_by(side));
        assert_eq!(captured, oracle.captured(side.as_str()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn games_agree(options in options(), taste in taste(), choices in choices()) {
        let limit = options.move_limit.map(u32::from);
        let mut oracle = Oracle::new(options.win_rule.as_str(), limit);
        let mut game = Game::new(options);
        compare_states(&game, &oracle);
        for choice in choices {
            if game.outcome().is_some() {
                let late = Move::new(Square::ALL[0], Square::ALL[0]);
                prop_assert_eq!(game.play(late), Err(PlayError::GameOver));
                break;
            }
            let mv = choose(&game, taste, choice);
            let before = *game.position();
            let captured = game.play(mv).expect("a generated move is legal");
            prop_assert_eq!(sorted(captured), oracle.play(&mv.to_string()));
            compare_states(&game, &oracle);
            check_change(&before, game.position(), captured);
        }
        let replayed = Game::replay(options, game.moves().iter().copied()).expect("a game");
        compare_states(&replayed, &oracle);
    }

    #[test]
    fn moves_agree(position in any_position()) {
        compare_moves(&position);
    }

    #[test]
    fn text_round_trips(position in any_position()) {
        let text = position.to_string();
        prop_assert_eq!(text.parse(), Ok(position));
        let board = position.board().to_string();
        prop_assert_eq!(board.parse::<Board>(), Ok(position.board()));
        prop_assert_eq!(&text, &format!("{board} {}", position.side()));
    }

    #[test]
    fn symmetric_positions_count_alike(position in any_position(), rule in 0..3usize) {
        let rule = WinRule::ALL[rule];
        let nodes = perft(position, rule, 2);
        prop_assert_eq!(perft(exchanged(&position), rule, 2), nodes);
        prop_assert_eq!(perft(mirrored(&position), rule, 2), nodes);
        prop_assert_eq!(perft(transposed(&position), rule, 2), nodes);
    }
}

/// A game in which nobody captures and no position stands too often runs into the last ply, whatever its limit.
#[test]
fn the_longest_game() {
    let options = GameOptions { win_rule: WinRule::CaptureAll, move_limit: None };
    let mut oracle = Oracle::new("captureall", None);
    let mut game = Game::new(options);
    let mut number = 1_u32;
    while game.outcome().is_none() {
        let quiet = |mv: &Move| {
            let (next, captured) = game.position().play_unchecked(*mv);
            captured.is_empty() && next.has_legal_move()
        };
        let moves: Vec<_> = game.position().legal_moves().filter(quiet).collect();
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mv = moves[(number >> 16) as usize % moves.len()];
        game.play(mv).expect("a generated move is legal");
        oracle.play(&mv.to_string());
    }
    compare_states(&game, &oracle);
    assert_eq!(game.ply(), MAX_PLIES);
    assert_eq!(game.outcome(), Some((Outcome::Draw, Termination::MoveLimit)));

    let moves = || game.moves().iter().copied();
    for (limit, end) in [(MAX_PLIES + 1, MAX_PLIES), (MAX_PLIES - 1, MAX_PLIES - 1)] {
        let options = GameOptions { move_limit: Some(limit), ..options };
        let shorter = Game::replay(options, moves().take(usize::from(end))).expect("a game");
        assert_eq!(shorter.outcome(), game.outcome());
    }
}
