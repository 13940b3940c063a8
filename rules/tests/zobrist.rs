//! The hash of a position is stored with every game, so its keys must stay what they are in `zobrist.csv`: the side and
//! square of a piece, or `second,to_move`, and the key in hexadecimal.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

use hasami_rules::{Board, Position, Side, Square};

fn hash(text: &str) -> u64 {
    text.parse::<Position>().expect(text).hash()
}

/// The hash of a lone piece, the first player to move: nothing but its key.
fn piece_key(side: Side, square: Square) -> u64 {
    let piece = match side {
        Side::First => 'x',
        Side::Second => 'o',
    };
    let digit = |empty: u8| match empty {
        0 => String::new(),
        _ => empty.to_string(),
    };
    let line = format!("{}{piece}{}", digit(square.file()), digit(8 - square.file()));
    let mut ranks = ["9"; 9];
    ranks[usize::from(8 - square.rank())] = &line;
    hash(&format!("{} first", ranks.join("/")))
}

#[test]
fn keys() {
    let mut table = String::new();
    let mut keys = BTreeSet::from([0]);
    for side in Side::ALL {
        for square in Square::ALL {
            let key = piece_key(side, square);
            writeln!(table, "{side},{square},{key:016x}").expect("writes to a string");
            keys.insert(key);
        }
    }
    let to_move = hash("9/9/9/9/9/9/9/9/9 second");
    writeln!(table, "second,to_move,{to_move:016x}").expect("writes to a string");
    keys.insert(to_move);
    assert_eq!(table, include_str!("zobrist.csv"));
    assert_eq!(keys.len(), 2 * Square::COUNT + 2, "a key is zero or occurs twice");
}

#[test]
fn hash_is_the_sum_of_keys() {
    let second_to_move = hash("9/9/9/9/9/9/9/9/9 second");
    assert_eq!(hash("9/9/9/9/9/9/9/9/9 first"), 0);
    let pieces = Side::ALL.into_iter().flat_map(|side| {
        let squares = Board::START.pieces(side).into_iter();
        squares.map(move |square| piece_key(side, square))
    });
    let start = pieces.fold(0, |hash, key| hash ^ key);
    assert_eq!(Position::START.hash(), start);
    assert_eq!(Position::new(Board::START, Side::Second).hash(), start ^ second_to_move);
}

/// A map of positions can use the hash as it is.
#[test]
fn hashing_writes_the_hash_alone() {
    #[derive(Default)]
    struct Written(Vec<u64>);

    impl Hasher for Written {
        fn write(&mut self, bytes: &[u8]) {
            panic!("{bytes:?}");
        }

        fn write_u64(&mut self, number: u64) {
            self.0.push(number);
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    let mut written = Written::default();
    Hash::hash(&Position::START, &mut written);
    assert_eq!(written.0, [Position::START.hash()]);
}
