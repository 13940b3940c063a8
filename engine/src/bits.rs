//! Sets of squares as bits, as [`SquareSet::bits`](hasami_rules::SquareSet::bits) numbers them, and what many pieces do
//! at once. A search asks where nine pieces can go far more often than where one can.

/// The whole board.
pub const BOARD: u128 = (1 << 81) - 1;

/// The four corners.
pub const CORNERS: u128 = 1 | 1 << 8 | 1 << 72 | 1 << 80;

/// The middle, five by five.
pub const CENTRE: u128 = 0x7c << 18 | 0x7c << 27 | 0x7c << 36 | 0x7c << 45 | 0x7c << 54;

/// Leftmost file, `a`.
const FILE_A: u128 = {
    let mut file = 0;
    let mut rank = 0;
    while rank < 9 {
        file |= 1 << (rank * 9);
        rank += 1;
    }
    file
};

/// Where a step to the right can end, and where one to the left can. Any other end has gone round the edge.
const NOT_A: u128 = BOARD & !FILE_A;
const NOT_I: u128 = BOARD & !(FILE_A << 8);

/// The squares of `through` that are reached from `from` by steps of `STEP` bits up, each step landing in `through`.
///
/// Each line doubles the length of the ways, so that eight steps take four lines.
#[inline]
const fn up<const STEP: u32>(from: u128, through: u128) -> u128 {
    let (mut fill, mut free) = (from, through);
    fill |= free & (fill << STEP);
    free &= free << STEP;
    fill |= free & (fill << (2 * STEP));
    free &= free << (2 * STEP);
    fill |= free & (fill << (4 * STEP));
    (fill << STEP) & through
}

/// [`up`] the other way.
#[inline]
const fn down<const STEP: u32>(from: u128, through: u128) -> u128 {
    let (mut fill, mut free) = (from, through);
    fill |= free & (fill >> STEP);
    free &= free >> STEP;
    fill |= free & (fill >> (2 * STEP));
    free &= free >> (2 * STEP);
    fill |= free & (fill >> (4 * STEP));
    (fill >> STEP) & through
}

/// Where any of the pieces can slide to.
#[inline]
pub const fn slides(pieces: u128, empty: u128) -> u128 {
    up::<1>(pieces, empty & NOT_A)
        | down::<1>(pieces, empty & NOT_I)
        | up::<9>(pieces, empty)
        | down::<9>(pieces, empty)
}

/// The squares next to a square of the set.
#[inline]
pub const fn neighbours(set: u128) -> u128 {
    ((set << 1) & NOT_A) | ((set >> 1) & NOT_I) | ((set << 9) & BOARD) | (set >> 9)
}

/// The squares that touch a square of the set by a corner.
#[inline]
pub const fn diagonals(set: u128) -> u128 {
    let (right, left) = ((set << 1) & NOT_A, (set >> 1) & NOT_I);
    let sides = right | left;
    ((sides << 9) & BOARD) | (sides >> 9)
}

/// The empty squares on which a piece would capture in line: an unbroken run of theirs lies between it and one of ours.
#[inline]
pub const fn closing(own: u128, theirs: u128, empty: u128) -> u128 {
    let right = (up::<1>(own, theirs & NOT_A) << 1) & NOT_A;
    let left = (down::<1>(own, theirs & NOT_I) >> 1) & NOT_I;
    let top = up::<9>(own, theirs) << 9;
    let bottom = down::<9>(own, theirs) >> 9;
    (right | left | top | bottom) & empty
}

/// The number of the lowest square, which is taken out of the set. The set is not empty.
#[inline]
pub const fn pop(set: &mut u128) -> usize {
    let index = set.trailing_zeros() as usize;
    *set &= *set - 1;
    index
}

/// How many squares.
#[inline]
pub const fn count(set: u128) -> i32 {
    set.count_ones() as i32
}

/// The unbroken run of `theirs` next to a square, if one of `own` ends it, else nothing. `STEP` in one direction.
#[inline]
pub const fn run<const STEP: u32, const UP: bool>(from: u128, own: u128, theirs: u128) -> u128 {
    // Where the step ends, seen from the edge it must not cross.
    let inside = match (STEP, UP) {
        (1, true) => NOT_A,
        (1, false) => NOT_I,
        _ => BOARD,
    };
    let mut run = 0;
    let mut at = from;
    loop {
        at = (if UP { at << STEP } else { at >> STEP }) & inside;
        if at & theirs == 0 {
            return if at & own == 0 { 0 } else { run };
        }
        run |= at;
    }
}

/// The occupied squares that a piece on a square would meet first, in each direction.
#[inline]
pub const fn first_met(square: usize, occupied: u128) -> u128 {
    let at = 1 << square;
    let empty = BOARD & !occupied;
    let right = ((at | up::<1>(at, empty & NOT_A)) << 1) & NOT_A;
    let left = ((at | down::<1>(at, empty & NOT_I)) >> 1) & NOT_I;
    let top = (at | up::<9>(at, empty)) << 9;
    let bottom = (at | down::<9>(at, empty)) >> 9;
    (right | left | top | bottom) & occupied
}
