use crate::movegen::{Direction, neighbours, ray, reach};
use crate::square::{Square, SquareSet, WIDTH};

/// A corner of the board and the two squares next to it.
struct Corner {
    corner: u128,
    flanks: u128,
}

const CORNERS: [Corner; 4] = {
    const fn corner(index: u8) -> Corner {
        let corner = 1 << index;
        Corner { corner, flanks: neighbours(corner) }
    }
    let top = 8 * WIDTH;
    [corner(0), corner(8), corner(top), corner(top + 8)]
};

/// For each square, the squares next to it.
static NEIGHBOURS: [u128; Square::COUNT] = {
    let mut table = [0; Square::COUNT];
    let mut index = 0;
    while index < Square::COUNT {
        table[index] = neighbours(Square::ALL[index].bit());
        index += 1;
    }
    table
};

/// What falls when a piece has just landed on `to`: `own` and `theirs` are the boards right after the slide.
pub(crate) fn captured(to: Square, own: u128, theirs: u128) -> SquareSet {
    // Whatever falls, one of it stands next to the moved piece. Most moves end here.
    if NEIGHBOURS[usize::from(to.index())] & theirs == 0 {
        return SquareSet::EMPTY;
    }
    let mut fallen = 0;
    for direction in Direction::ALL {
        let run = reach(to, direction, own);
        let anchored = ray(to, direction) & own != 0;
        if anchored && run & !theirs == 0 {
            fallen |= run;
        }
    }
    for Corner { corner, flanks } in CORNERS {
        if theirs & corner != 0 && flanks & to.bit() != 0 && flanks & !own == 0 {
            fallen |= corner;
        }
    }
    SquareSet(fallen)
}
