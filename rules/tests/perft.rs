//! The move counts of `vectors/perft.json`.
//!
//! Rows above a number of nodes are left out, so that the tests stay quick; `HASAMI_PERFT_NODES` sets another number.
//! Twelve billion test every column of every row but the two deepest of the starting position, in a few minutes.

use std::env;

use hasami_rules::{Position, Side, Square, WinRule, perft};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kind: String,
    format: u32,
    perft: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    note: String,
    win: String,
    board: String,
    side: u8,
    depths: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    depth: u32,
    nodes: u64,
    capturing: Option<u64>,
    captured: Option<u64>,
    corners: Option<u64>,
    ended: Option<u64>,
}

/// What the last plies of all sequences did.
#[derive(Default, Debug, PartialEq)]
struct Tally {
    nodes: u64,
    capturing: u64,
    captured: u64,
    corners: u64,
    ended: u64,
}

impl Tally {
    fn add(&mut self, position: Position, win_rule: WinRule, depth: u32) {
        if position.outcome(win_rule).is_some() {
            return;
        }
        for mv in position.legal_moves() {
            let (next, captured) = position.play_unchecked(mv);
            if depth > 1 {
                self.add(next, win_rule, depth - 1);
                continue;
            }
            self.nodes += 1;
            self.capturing += u64::from(!captured.is_empty());
            self.captured += u64::from(captured.len());
            self.corners += u64::from(captured.into_iter().any(is_corner));
            self.ended += u64::from(next.outcome(win_rule).is_some());
        }
    }
}

fn is_corner(square: Square) -> bool {
    [square.file(), square.rank()].iter().all(|line| [0, 8].contains(line))
}

#[test]
fn counts() {
    let limit = match env::var("HASAMI_PERFT_NODES") {
        Ok(text) => text.parse().expect("HASAMI_PERFT_NODES is a number"),
        Err(_) => 30_000_000,
    };
    let file: File = serde_json::from_str(include_str!("vectors/perft.json")).expect("perft.json");
    assert_eq!((file.kind.as_str(), file.format), ("perft", 1));
    assert_eq!(file.perft.len(), 12);
    for record in &file.perft {
        let name = &record.name;
        assert!(!record.note.is_empty(), "{name}");
        let win_rule = record.win.parse().expect(name);
        let board = record.board.parse().expect(name);
        let position = Position::new(board, Side::ALL[usize::from(record.side - 1)]);
        for row in record.depths.iter().filter(|row| row.nodes <= limit) {
            check(name, position, win_rule, row, limit);
        }
    }
}

fn check(name: &str, position: Position, win_rule: WinRule, row: &Row, limit: u64) {
    let depth = row.depth;
    assert_eq!(perft(position, win_rule, depth), row.nodes, "{name} {depth}");
    // Making every last move takes ten times as long as counting it.
    if row.nodes > limit / 10 {
        return;
    }
    let Row {
        capturing: Some(capturing), captured: Some(captured), corners: Some(corners), ended: Some(ended), ..
    } = *row
    else {
        return;
    };
    let expected = Tally { nodes: row.nodes, capturing, captured, corners, ended };
    let mut tally = Tally::default();
    tally.add(position, win_rule, depth);
    assert_eq!(tally, expected, "{name} {depth}");
}
