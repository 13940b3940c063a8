//! The keys that make up the hash of a position.
//!
//! The hash is stored with each game, so the keys are part of the stored format: changing the seed, the generator or
//! the order of the table is a migration. `tests/zobrist.csv` pins them.

use crate::board::Board;
use crate::side::Side;
use crate::square::Square;

const SEED: u64 = 0x4861_7361_6d69_5368;
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// One key for each side and square.
static PIECES: [[u64; Square::COUNT]; 2] = piece_keys();

/// Turns the hash of a position into that of the same board with the other side to move. With the first player to move
/// it is not part of the hash.
pub(crate) const CHANGE_OF_SIDE: u64 = key(2 * Square::COUNT as u64);

const fn piece_keys() -> [[u64; Square::COUNT]; 2] {
    let mut keys = [[0; Square::COUNT]; 2];
    let mut number = 0;
    while number < 2 * Square::COUNT {
        keys[number / Square::COUNT][number % Square::COUNT] = key(number as u64);
        number += 1;
    }
    keys
}

/// The output of a splitmix64 generator after `number` others.
const fn key(number: u64) -> u64 {
    let mut z = SEED.wrapping_add(INCREMENT.wrapping_mul(number + 1));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The key of a piece on a square.
pub(crate) const fn piece(side: Side, square: Square) -> u64 {
    PIECES[side as usize][square.index() as usize]
}

/// The hash of a position, from nothing.
pub(crate) const fn hash(board: Board, side: Side) -> u64 {
    let mut hash = match side {
        Side::First => 0,
        Side::Second => CHANGE_OF_SIDE,
    };
    let mut index = 0;
    while index < Square::COUNT {
        let square = Square::ALL[index];
        if board.pieces(Side::First).contains(square) {
            hash ^= piece(Side::First, square);
        }
        if board.pieces(Side::Second).contains(square) {
            hash ^= piece(Side::Second, square);
        }
        index += 1;
    }
    hash
}
