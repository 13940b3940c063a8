//! What a game answers to moves that cannot be made.

use hasami_rules::{Game, GameOptions, IllegalMove, Move, Outcome, PlayError, ReplayError, Termination, WinRule};

const OPTIONS: GameOptions = GameOptions { win_rule: WinRule::Capture5, move_limit: Some(3) };

fn moves(text: &str) -> impl Iterator<Item = Move> {
    text.split(' ').map(|mv| mv.parse().expect(mv))
}

#[test]
fn options_left_out_are_the_usual_ones() {
    let options = GameOptions { win_rule: WinRule::Capture5, move_limit: None };
    assert_eq!(GameOptions::default(), options);
}

#[test]
fn a_refused_move_changes_nothing() {
    let mut game = Game::replay(OPTIONS, moves("a1a2 a9a8")).expect("two moves");
    let before = format!("{game:?}");
    for (mv, reason) in moves("b1b1 a1a3 b9b8 b1c2 b1d1 b1c1").zip(IllegalMove::ALL) {
        assert_eq!(game.play(mv), Err(PlayError::Illegal(reason)));
    }
    assert_eq!(format!("{game:?}"), before);
    assert_eq!(game.options(), OPTIONS);
}

#[test]
fn after_the_end_every_move_is_too_late() {
    let mut game = Game::replay(OPTIONS, moves("a1a2 a9a8 b1b2")).expect("three moves");
    assert_eq!(game.outcome(), Some((Outcome::Draw, Termination::MoveLimit)));
    let before = format!("{game:?}");
    for mv in moves("b9b8 b9b9") {
        assert_eq!(game.play(mv), Err(PlayError::GameOver));
    }
    assert_eq!(format!("{game:?}"), before);
}

#[test]
fn a_replay_names_the_ply_that_fails() {
    let replay = |text| Game::replay(OPTIONS, moves(text)).map(drop);
    let error = |ply, reason| Err(ReplayError { ply, reason });
    let illegal = PlayError::Illegal;
    assert_eq!(replay("a1a9"), error(1, illegal(IllegalMove::Occupied)));
    assert_eq!(replay("a1a2 a1a3"), error(2, illegal(IllegalMove::EmptySquare)));
    assert_eq!(replay("a1a2 a9a8 b1b2 b9b9 b1b1"), error(4, PlayError::GameOver));
}
