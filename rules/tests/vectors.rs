//! The positions and games of `vectors/`: every field of every record.

use std::collections::{BTreeMap, BTreeSet};

use hasami_rules::{
    Game, GameOptions, Move, Outcome, PlayError, Position, ReplayError, Side, Square, SquareSet, Termination, WinRule,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Positions {
    kind: String,
    format: u32,
    not_a_move: Vec<String>,
    positions: Vec<PositionRecord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionRecord {
    name: String,
    note: String,
    win: String,
    board: String,
    side: u8,
    captured: [u8; 2],
    outcome: Option<End>,
    legal_count: usize,
    legal: String,
    captures: BTreeMap<String, Vec<String>>,
    ends: BTreeMap<String, End>,
    #[serde(default)]
    illegal: Vec<String>,
    #[serde(default)]
    unreachable: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Games {
    kind: String,
    format: u32,
    games: Vec<GameRecord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GameRecord {
    name: String,
    note: String,
    win: String,
    move_limit: Option<u16>,
    moves: String,
    captured: BTreeMap<u16, Vec<String>>,
    legal_counts: Vec<usize>,
    resign: Option<u8>,
    outcome: Option<End>,
    plies: u16,
    final_board: String,
    final_side: u8,
    final_captured: [u8; 2],
    stood_at: Vec<u16>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct End {
    winner: Option<u8>,
    reason: String,
}

impl End {
    /// In the words of the crate. The reason of a win by captures has to be the win rule of the record.
    fn read(&self, win: &str) -> (Outcome, Termination) {
        let outcome = self.winner.map_or(Outcome::Draw, |player| Outcome::Win(side(player)));
        let termination = match self.reason.as_str() {
            "resign" => Termination::Resignation,
            reason if reason == win => Termination::Captures,
            reason => reason.parse().expect(reason),
        };
        (outcome, termination)
    }
}

fn side(player: u8) -> Side {
    Side::ALL[usize::from(player - 1)]
}

fn mv(text: &str) -> Move {
    text.parse().expect(text)
}

fn captured_pair(position: &Position) -> [u8; 2] {
    Side::ALL.map(|side| position.captured_by(side))
}

fn sorted(squares: SquareSet) -> Vec<String> {
    let mut texts: Vec<_> = squares.into_iter().map(|s| s.to_string()).collect();
    texts.sort();
    texts
}

fn all_moves() -> impl Iterator<Item = Move> {
    Square::ALL.into_iter().flat_map(|from| Square::ALL.into_iter().map(move |to| Move::new(from, to)))
}

fn check_position(record: &PositionRecord) {
    let name = &record.name;
    assert!(!record.note.is_empty(), "{name}");
    let win_rule: WinRule = record.win.parse().expect(name);
    let text = format!("{} {}", record.board, side(record.side));
    let position: Position = text.parse().expect(name);
    assert_eq!(position.to_string(), text, "{name}");
    assert_eq!(captured_pair(&position), record.captured, "{name}");
    let outcome = record.outcome.as_ref().map(|end| end.read(&record.win));
    assert_eq!(position.outcome(win_rule), outcome, "{name}");

    let mut legal: Vec<_> = position.legal_moves().map(|mv| mv.to_string()).collect();
    legal.sort();
    assert_eq!(legal.join(" "), record.legal, "{name}");
    assert_eq!(legal.len(), record.legal_count, "{name}");
    assert_eq!(position.legal_moves().count(), record.legal_count, "{name}");
    let legal: BTreeSet<_> = legal.into_iter().collect();
    for text in record.captures.keys().chain(record.ends.keys()) {
        assert!(legal.contains(text), "{name} {text}");
    }
    for text in &record.illegal {
        assert!(!legal.contains(text), "{name} {text}");
        assert!(!position.is_legal(mv(text)), "{name} {text}");
    }

    for mv in all_moves() {
        let text = mv.to_string();
        let Ok((next, captured)) = position.play(mv) else {
            assert!(!legal.contains(&text), "{name} {text}");
            continue;
        };
        assert!(legal.contains(&text), "{name} {text}");
        let expected = record.captures.get(&text).cloned().unwrap_or_default();
        assert_eq!(sorted(captured), expected, "{name} {text}");
        let end = record.ends.get(&text).map(|end| end.read(&record.win));
        assert_eq!(next.outcome(win_rule), end, "{name} {text}");
    }

    // The one way for a position to be out of reach that rule 3 has to do with: the side to move could only have come
    // to hold both squares next to an enemy corner by a move that takes it.
    let flanked = [("a1", "a2", "b1"), ("i1", "h1", "i2"), ("a9", "a8", "b9"), ("i9", "h9", "i8")].into_iter().any(
        |(corner, one, two)| {
            let [corner, one, two] =
                [corner, one, two].map(|text| position.board().piece_at(text.parse().expect(text)));
            corner == Some(position.side().other()) && [one, two] == [Some(position.side()); 2]
        },
    );
    assert_eq!(record.unreachable, flanked, "{name}");
}

#[test]
fn positions() {
    let file: Positions = serde_json::from_str(include_str!("vectors/positions.json")).expect("positions.json");
    assert_eq!((file.kind.as_str(), file.format), ("positions", 1));
    assert_eq!(file.positions.len(), 75);
    file.positions.iter().for_each(check_position);
    for text in &file.not_a_move {
        assert!(text.parse::<Move>().is_err(), "{text:?}");
    }
}

fn check_game(record: &GameRecord) {
    let name = &record.name;
    assert!(!record.note.is_empty(), "{name}");
    let options = GameOptions { win_rule: record.win.parse().expect(name), move_limit: record.move_limit };
    let moves: Vec<_> = record.moves.split_whitespace().map(mv).collect();
    assert_eq!(moves.len(), usize::from(record.plies), "{name}");
    assert_eq!(moves.len(), record.legal_counts.len(), "{name}");
    assert!(record.captured.keys().all(|ply| *ply <= record.plies), "{name}");

    let mut game = Game::new(options);
    for (&mv, &legal) in moves.iter().zip(&record.legal_counts) {
        let ply = game.ply() + 1;
        assert_eq!(game.outcome(), None, "{name} {ply}");
        assert_eq!(game.to_move(), Some(game.position().side()), "{name} {ply}");
        assert_eq!(game.position().legal_moves().count(), legal, "{name} {ply}");
        let captured = game.play(mv).expect(name);
        let expected = record.captured.get(&ply).cloned().unwrap_or_default();
        assert_eq!(sorted(captured), expected, "{name} {ply}");
    }
    check_end(&game, record);

    let mut replayed = Game::replay(options, moves.iter().copied()).expect(name);
    assert_eq!(replayed.moves(), moves, "{name}");
    check_end(&replayed, record);

    if game.outcome().is_some() {
        let late = mv("a1a1");
        assert_eq!(replayed.play(late), Err(PlayError::GameOver), "{name}");
        let error = Game::replay(options, moves.into_iter().chain([late])).map(drop);
        let expected = ReplayError { ply: record.plies + 1, reason: PlayError::GameOver };
        assert_eq!(error, Err(expected), "{name}");
    }
}

fn check_end(game: &Game, record: &GameRecord) {
    let name = &record.name;
    let outcome = record.outcome.as_ref().map(|end| end.read(&record.win));
    match record.resign {
        // Resigning is not a matter of the board: there the game goes on.
        Some(player) => {
            let resigned = (Outcome::Win(side(player).other()), Termination::Resignation);
            assert_eq!(outcome, Some(resigned), "{name}");
            assert_eq!(game.outcome(), None, "{name}");
        }
        None => assert_eq!(game.outcome(), outcome, "{name}"),
    }
    assert_eq!(game.to_move().is_none(), game.outcome().is_some(), "{name}");
    assert_eq!(game.ply(), record.plies, "{name}");
    let text = format!("{} {}", record.final_board, side(record.final_side));
    assert_eq!(game.position().to_string(), text, "{name}");
    assert_eq!(captured_pair(game.position()), record.final_captured, "{name}");
    assert_eq!(Side::ALL.map(|side| game.captured_by(side)), record.final_captured, "{name}");
    assert_eq!(game.stood_at(), record.stood_at, "{name}");
    assert_eq!(usize::from(game.repetitions()), record.stood_at.len(), "{name}");
}

#[test]
fn games() {
    let file: Games = serde_json::from_str(include_str!("vectors/games.json")).expect("games.json");
    assert_eq!((file.kind.as_str(), file.format), ("games", 1));
    assert_eq!(file.games.len(), 97);
    file.games.iter().for_each(check_game);
}
