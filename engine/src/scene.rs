//! What the eye sees on a board: where both sides can go, what they can take. Moves are ordered by it, and positions
//! judged.

use crate::bits;
use crate::captures;

/// A board as the side to move sees it.
pub struct Scene {
    pub own: u128,
    pub theirs: u128,
    /// Where the side to move can slide to.
    pub reach: u128,
    /// Where the opponent could.
    pub their_reach: u128,
    /// The squares on which a move captures, were there a piece to get there.
    pub capturing: u128,
    /// The pieces of the side to move that the opponent would take if nothing happened.
    pub hanging: u128,
}

impl Scene {
    /// Looks.
    #[inline]
    pub fn new(own: u128, theirs: u128) -> Self {
        let empty = bits::BOARD & !(own | theirs);
        let reach = bits::slides(own, empty);
        let their_reach = bits::slides(theirs, empty);
        let capturing = captures::squares(own, theirs);
        let hanging = captures::all_taken(captures::squares(theirs, own) & their_reach, theirs, own);
        Self { own, theirs, reach, their_reach, capturing, hanging }
    }
}
