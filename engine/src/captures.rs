//! Where captures are, and what they take.
//!
//! What falls depends on the square alone on which a piece lands, and not on where it came from: whoever slides to a
//! square has nothing but empty squares behind it, so its old place ends no run, and the two squares next to a corner
//! share no line. So captures are looked for square by square.

use crate::bits::{self, CORNERS};

/// A corner and the two squares next to it.
struct Corner {
    corner: u128,
    flanks: u128,
}

const ALL_CORNERS: [Corner; 4] = {
    const fn at(index: u32) -> Corner {
        let corner = 1 << index;
        Corner { corner, flanks: bits::neighbours(corner) }
    }
    [at(0), at(8), at(72), at(80)]
};

/// The empty squares on which a piece of `own` would capture, whether one can get there or not.
#[inline]
pub fn squares(own: u128, theirs: u128) -> u128 {
    // Without a pair of neighbours nothing can fall. Most positions end here.
    if bits::neighbours(own) & theirs == 0 {
        return 0;
    }
    let empty = bits::BOARD & !(own | theirs);
    let mut squares = bits::closing(own, theirs, empty);
    if theirs & CORNERS != 0 {
        for Corner { corner, flanks } in ALL_CORNERS {
            if theirs & corner != 0 && flanks & own != 0 {
                squares |= flanks & empty;
            }
        }
    }
    squares
}

/// What falls when a piece of `own` lands on the square.
#[inline]
pub fn taken(square: usize, own: u128, theirs: u128) -> u128 {
    let to = 1 << square;
    let mut taken = bits::run::<1, true>(to, own, theirs)
        | bits::run::<1, false>(to, own, theirs)
        | bits::run::<9, true>(to, own, theirs)
        | bits::run::<9, false>(to, own, theirs);
    if theirs & CORNERS != 0 {
        for Corner { corner, flanks } in ALL_CORNERS {
            if theirs & corner != 0 && flanks & to != 0 && flanks & !(own | to) == 0 {
                taken |= corner;
            }
        }
    }
    taken
}

/// What falls on landings of `own` on any of the squares.
#[inline]
pub fn all_taken(mut squares: u128, own: u128, theirs: u128) -> u128 {
    let mut fallen = 0;
    while squares != 0 {
        fallen |= taken(bits::pop(&mut squares), own, theirs);
    }
    fallen
}

#[cfg(test)]
mod tests {
    use hasami_rules::Position;

    use super::*;
    use crate::samples;

    fn pieces(position: &Position) -> (u128, u128) {
        let board = position.board();
        (board.pieces(position.side()).bits(), board.pieces(position.side().other()).bits())
    }

    /// The rules say the same, move by move.
    #[test]
    fn agrees_with_the_rules() {
        let mut captures = 0;
        for position in samples::positions(3000) {
            let (own, theirs) = pieces(&position);
            let squares = squares(own, theirs);
            let reach = bits::slides(own, bits::BOARD & !(own | theirs));
            let (mut all, mut targets) = (0, 0);
            for mv in position.legal_moves() {
                let (_, taken_by_rules) = position.play_unchecked(mv);
                let to = usize::from(mv.to.index());
                assert_eq!(taken(to, own, theirs), taken_by_rules.bits(), "{position}: {mv}");
                assert_eq!(squares >> to & 1 == 1, !taken_by_rules.is_empty(), "{position}: {mv}");
                all |= taken_by_rules.bits();
                targets |= 1 << to;
                captures += u32::from(!taken_by_rules.is_empty());
            }
            assert_eq!(reach, targets, "{position}");
            assert_eq!(all_taken(squares & reach, own, theirs), all, "{position}");
        }
        assert!(captures > 1000, "{captures}");
    }

    #[test]
    fn nothing_hangs_at_the_start() {
        let (own, theirs) = pieces(&Position::START);
        assert_eq!(squares(own, theirs), 0);
    }
}
