//! The moves of a position, the most promising first: what makes alpha-beta fast.

use hasami_rules::{Move, Position, Square};

use crate::bits;
use crate::captures;

/// A move in 14 bits: the from-square above the to-square. 0, which stays on a1, is no move.
pub type Packed = u16;

/// Moves that can be told apart by their bits.
const MOVES: usize = 1 << 14;

/// Packs a move.
#[inline]
pub const fn pack(mv: Move) -> Packed {
    (mv.from.index() as u16) << 7 | mv.to.index() as u16
}

/// The move again.
#[inline]
pub const fn unpack(mv: Packed) -> Move {
    Move::new(Square::ALL[(mv >> 7) as usize % Square::COUNT], Square::ALL[(mv & 127) as usize % Square::COUNT])
}

/// Moves with their rank: higher first. Nine pieces have at most sixteen moves each.
pub struct List {
    /// The rank above, the move below.
    moves: [u32; 144],
    len: usize,
}

/// Ranks of kinds of moves. What history says stays within [`Memory::MOST`] of [`QUIET`].
const CAPTURE: i32 = 200_000;
const KILLER: i32 = 150_000;
const QUIET: i32 = 60_000;
/// A piece that would be taken gets away.
const ESCAPE: i32 = 8_000;

impl List {
    /// Without moves.
    pub const fn new() -> Self {
        Self { moves: [0; 144], len: 0 }
    }

    #[inline]
    fn push(&mut self, rank: i32, mv: Packed) {
        self.moves[self.len] = (rank as u32) << 14 | u32::from(mv);
        self.len += 1;
    }

    /// The captures among the moves, those that take most first. `reach` is where `own` can slide to.
    #[inline]
    pub fn add_captures(&mut self, position: &Position, own: u128, theirs: u128, reach: u128) {
        let mut squares = captures::squares(own, theirs) & reach;
        while squares != 0 {
            let to = bits::pop(&mut squares);
            let taken = bits::count(captures::taken(to, own, theirs));
            // Whoever slides from there to a piece could as well slide from the piece to there.
            let mut from = sources(position, to) & own;
            while from != 0 {
                let from = bits::pop(&mut from);
                self.push(CAPTURE + taken, (from << 7 | to) as Packed);
            }
        }
    }

    /// All moves. `hanging` are the pieces of `own` that the opponent would take if nothing happened.
    pub fn add_all(
        &mut self,
        position: &Position,
        own: u128,
        theirs: u128,
        hanging: u128,
        memory: &Memory,
        ply: usize,
    ) {
        let capturing = captures::squares(own, theirs);
        let killers = memory.killers[ply];
        let history = &memory.history[position.side() as usize];
        for from in position.board().pieces(position.side()) {
            let escape = if hanging >> from.index() & 1 == 1 { ESCAPE } else { 0 };
            for to in position.destinations(from) {
                let mv = pack(Move::new(from, to));
                let rank = if capturing >> to.index() & 1 == 1 {
                    CAPTURE + bits::count(captures::taken(usize::from(to.index()), own, theirs))
                } else if mv == killers[0] {
                    KILLER + 1
                } else if mv == killers[1] {
                    KILLER
                } else {
                    QUIET + escape + i32::from(history[usize::from(mv)])
                };
                self.push(rank, mv);
            }
        }
    }

    /// Takes the best move out, and says how many pieces it captures.
    #[inline]
    pub fn next(&mut self) -> Option<(Packed, i32)> {
        let moves = &mut self.moves[..self.len];
        let (at, &best) = moves.iter().enumerate().max_by_key(|(_, key)| **key)?;
        self.len -= 1;
        moves[at] = moves[self.len];
        let taken = ((best >> 14) as i32 - CAPTURE).max(0);
        Some(((best & (MOVES as u32 - 1)) as Packed, taken))
    }
}

/// The pieces that can slide to an empty square.
#[inline]
fn sources(position: &Position, to: usize) -> u128 {
    let board = position.board();
    let occupied = hasami_rules::Side::ALL.map(|side| board.pieces(side).bits());
    let occupied = occupied[0] | occupied[1];
    bits::first_met(to, occupied)
}

/// What proved good elsewhere in the tree.
pub struct Memory {
    /// By ply: the last two quiet moves that were too good for the opponent to let happen.
    killers: Vec<[Packed; 2]>,
    /// By side and move: how often it was so, the deeper the more.
    history: Vec<[i16; MOVES]>,
}

impl Memory {
    /// What history says of a move is between this and its negative.
    const MOST: i32 = 16_000;

    /// Nothing yet, for trees of this height.
    pub fn new(plies: usize) -> Self {
        Self { killers: vec![[0; 2]; plies], history: vec![[0; MOVES]; 2] }
    }

    /// A quiet move was good enough, those before it were not.
    pub fn learn(&mut self, side: usize, ply: usize, depth: i32, good: Packed, before: &[Packed]) {
        let killers = &mut self.killers[ply];
        if killers[0] != good {
            *killers = [good, killers[0]];
        }
        let bonus = (depth * depth * 16).min(1600);
        self.shift(side, good, bonus);
        for &mv in before {
            self.shift(side, mv, -bonus);
        }
    }

    /// The more has been said, the less is added.
    fn shift(&mut self, side: usize, mv: Packed, bonus: i32) {
        let said = &mut self.history[side][usize::from(mv) % MOVES];
        let old = i32::from(*said);
        *said = (old + bonus - old * bonus.abs() / Self::MOST) as i16;
    }

    /// What history says of a move.
    #[inline]
    pub fn said(&self, side: usize, mv: Packed) -> i32 {
        i32::from(self.history[side][usize::from(mv) % MOVES])
    }
}
