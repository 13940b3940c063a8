//! A position as the search needs it: seen by the side to move, with the pieces counted.

use hasami_rules::Position;

use crate::bits;
use crate::order::{Packed, unpack};

/// A position in the tree.
#[derive(Clone, Copy)]
pub struct Node {
    pub position: Position,
    /// The pieces of the side to move, and how many they are.
    pub own: u128,
    pub own_count: usize,
    pub theirs: u128,
    pub their_count: usize,
}

impl Node {
    /// At a position.
    pub fn new(position: Position) -> Self {
        let board = position.board();
        let (own, theirs) = (board.pieces(position.side()), board.pieces(position.side().other()));
        Self {
            position,
            own: own.bits(),
            own_count: usize::from(own.len()),
            theirs: theirs.bits(),
            their_count: usize::from(theirs.len()),
        }
    }

    /// After a legal move.
    #[inline]
    pub fn play(&self, mv: Packed) -> Self {
        let (position, captured) = self.position.play_unchecked(unpack(mv));
        let board = position.board();
        Self {
            position,
            own: board.pieces(position.side()).bits(),
            own_count: self.their_count - if captured.is_empty() { 0 } else { usize::from(captured.len()) },
            theirs: board.pieces(position.side().other()).bits(),
            their_count: self.own_count,
        }
    }

    /// Whether the side to move has a legal move.
    #[inline]
    pub const fn can_move(&self) -> bool {
        bits::neighbours(self.own) & !(self.own | self.theirs) != 0
    }
}
