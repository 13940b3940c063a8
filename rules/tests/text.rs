//! Text in and out: what is read is exactly what is printed.

use std::collections::BTreeSet;

use hasami_rules::{
    Board, IllegalMove, Move, Outcome, ParseBoardError, ParsePositionError, Position, Side, Square, SquareSet,
    Termination, WinRule,
};

#[test]
fn squares() {
    let mut texts = BTreeSet::new();
    for (index, square) in (0..).zip(Square::ALL) {
        assert_eq!(square.index(), index);
        assert_eq!(square.rank() * 9 + square.file(), index);
        assert_eq!(Square::from_index(index), Some(square));
        assert_eq!(square.to_string().parse(), Ok(square));
        texts.insert(square.to_string());
    }
    assert_eq!(texts.len(), Square::COUNT);
    for (text, index) in [("a1", 0), ("b1", 1), ("a2", 9), ("e5", 40), ("i9", 80)] {
        assert_eq!(text.parse().map(Square::index), Ok(index));
    }
    assert_eq!(Square::from_index(81), None);
    assert_eq!(Square::from_index(255), None);
    for text in ["", "a", "1", "a0", "j1", "A1", "a10", " a1", "a1 ", "1a", "é", "a1a"] {
        assert!(text.parse::<Square>().is_err(), "{text:?}");
    }
}

#[test]
fn square_sets() {
    let start = Board::START.pieces(Side::First);
    let squares: Vec<_> = start.into_iter().collect();
    assert_eq!(squares, Square::ALL[..9]);
    assert_eq!(start.into_iter().len(), 9);
    assert_eq!((start.len(), start.is_empty()), (9, false));
    assert_eq!(start.bits(), 0x1ff);
    assert!(start.contains(Square::ALL[8]) && !start.contains(Square::ALL[9]));
    assert_eq!((SquareSet::EMPTY.len(), SquareSet::EMPTY.is_empty()), (0, true));
    assert_eq!(SquareSet::EMPTY.into_iter().next(), None);
}

#[test]
fn moves() {
    let parsed = "e1i9".parse::<Move>().map(|mv| (mv.from.index(), mv.to.index()));
    assert_eq!(parsed, Ok((4, 80)));
    for from in Square::ALL {
        for to in Square::ALL {
            let mv = Move::new(from, to);
            assert_eq!(mv.to_string(), format!("{from}{to}"));
            assert_eq!(mv.to_string().parse(), Ok(mv));
        }
    }
    for text in ["", "e1e", "e1e55", "E1e5", "e1E5", "e1 5", "éé", "e1e0", " e1e5", "e1e5\n"] {
        assert!(text.parse::<Move>().is_err(), "{text:?}");
    }
}

#[test]
fn boards() {
    let start = "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx";
    assert_eq!(Board::START.to_string(), start);
    assert_eq!(start.parse(), Ok(Board::START));
    for text in ["9/9/9/9/9/9/9/9/9", "x8/9/9/9/1o1x1o1x1/9/9/9/8x"] {
        assert_eq!(text.parse::<Board>().expect(text).to_string(), text);
    }
    let squares = |rank| ParseBoardError::Squares { rank };
    let symbol = |rank, symbol| ParseBoardError::Symbol { rank, symbol };
    for (text, why) in [
        ("", squares(9)),
        ("9", ParseBoardError::Ranks),
        ("ooooooooo/9/9/9/9/9/9/xxxxxxxxx", ParseBoardError::Ranks),
        ("ooooooooo/9/9/9/9/9/9/9/9/xxxxxxxxx", ParseBoardError::Ranks),
        ("ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx/", ParseBoardError::Ranks),
        ("/ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx", squares(9)),
        ("ooooooooo/9/9/9/9/9/9//xxxxxxxxx", squares(2)),
        ("ooooooooo/9/9/9/9/9/9/8/xxxxxxxxx", squares(2)),
        ("ooooooooo/9/9/9/9/9/9/9x/xxxxxxxxx", squares(2)),
        ("ooooooooo/9/9/9/9/9/9/54/xxxxxxxxx", symbol(2, '4')),
        ("ooooooooo/9/9/9/9/9/9/09/xxxxxxxxx", symbol(2, '0')),
        ("ooooooooo/9/9/9/9/9/9/90/xxxxxxxxx", symbol(2, '0')),
        ("ooooooooo/9/9/9/9/9/9/x9/xxxxxxxx1", squares(2)),
        ("ooooooooo/9/9/9/9/9/9/99999999999999999999999999999999/xxxxxxxxx", symbol(2, '9')),
        ("ooooooooo/9/9/9/9/9/9/9/xxxxxxxxX", symbol(1, 'X')),
        ("ooooooooo/9/9/9/9/9/9/9/xxxxxxxx ", symbol(1, ' ')),
        ("ooooooooo/9/9/9/9/9/9/x8/xxxxxxxxx", ParseBoardError::Pieces(Side::First)),
        ("ooooooooo/o8/9/9/9/9/9/9/xxxxxxxxx", ParseBoardError::Pieces(Side::Second)),
        ("ooooooooo/9/9/9/9/9/9/9/xxxxxxxxé", symbol(1, 'é')),
    ] {
        assert_eq!(text.parse::<Board>(), Err(why), "{text:?}");
    }
}

#[test]
fn positions() {
    let start = "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first";
    assert_eq!(Position::START.to_string(), start);
    assert_eq!(start.parse(), Ok(Position::START));
    for text in [
        "",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx ",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx  first",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx\tfirst",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx First",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first ",
        "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx 1",
        "first",
    ] {
        assert_eq!(text.parse::<Position>(), Err(ParsePositionError::Side), "{text:?}");
    }
    let wide = "ooooooooo/9/9/9/9/9/9/91/xxxxxxxxx first".parse::<Position>().expect_err("a digit too many");
    assert_eq!(
        wide.to_string(),
        "not a position: '1' in rank 2: expected x, o, or one digit for the empty squares up to the next piece"
    );
}

/// The words are stored and sent: a change of any is a change of the service.
#[test]
fn words() {
    assert_eq!(Side::ALL.map(Side::as_str), ["first", "second"]);
    assert_eq!(WinRule::ALL.map(WinRule::as_str), ["capture5", "lead3", "captureall"]);
    assert_eq!(
        Termination::ALL.map(Termination::as_str),
        ["captures", "no_moves", "repetition", "move_limit", "resignation", "timeout", "agreement", "abort"]
    );
    assert_eq!(
        IllegalMove::ALL.map(IllegalMove::as_str),
        ["null_move", "empty_square", "not_your_piece", "diagonal", "blocked", "occupied"]
    );
    for side in Side::ALL {
        assert_eq!(side.to_string().parse(), Ok(side));
        assert_ne!(side.other(), side);
        assert_eq!(Outcome::Win(side).winner(), Some(side));
    }
    for rule in WinRule::ALL {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    for termination in Termination::ALL {
        assert_eq!(termination.to_string().parse(), Ok(termination));
    }
    assert_eq!(Outcome::Draw.winner(), None);
    for text in ["", "First", "first ", "capture 5", "no-moves"] {
        assert!(text.parse::<Side>().is_err(), "{text:?}");
        assert!(text.parse::<WinRule>().is_err(), "{text:?}");
        assert!(text.parse::<Termination>().is_err(), "{text:?}");
    }
}
