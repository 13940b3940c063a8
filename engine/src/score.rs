//! What a position is worth.

/// What a position is worth to the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// The side to move wins in this many plies at the latest, whatever the opponent does: 1 is a win with the next move.
    WinIn(u8),
    /// The side to move loses in this many plies, unless the opponent errs: 2 is a loss by the opponent's next move.
    LossIn(u8),
    /// Neither is seen: an estimate in hundredths of a piece. 0 is a draw, or even.
    Pieces(i16),
}

impl Score {
    /// Plies until the game is decided; positive where the side to move wins, negative where it loses.
    #[must_use]
    pub const fn mate_in(self) -> Option<i16> {
        match self {
            Self::WinIn(plies) => Some(plies as i16),
            Self::LossIn(plies) => Some(-(plies as i16)),
            Self::Pieces(_) => None,
        }
    }

    /// From a number of the search.
    pub(crate) const fn new(value: i32) -> Self {
        if value >= DECIDED {
            Self::WinIn((WON - value) as u8)
        } else if value <= -DECIDED {
            Self::LossIn((WON + value) as u8)
        } else {
            Self::Pieces(value as i16)
        }
    }
}

/// Inside the search scores are plain numbers: a position won here and now, less one for each ply until then.
pub(crate) const WON: i32 = 30_000;
/// From here on, and from its negative on down, a value tells a decided game.
pub(crate) const DECIDED: i32 = WON - 200;
/// Nobody is better.
pub(crate) const DRAW: i32 = 0;

/// A decided value counts from the root in the tree, and from its own position in the table.
pub(crate) const fn to_here(value: i32, ply: usize) -> i32 {
    if value >= DECIDED {
        value + ply as i32
    } else if value <= -DECIDED {
        value - ply as i32
    } else {
        value
    }
}

/// [`to_here`] the other way.
pub(crate) const fn from_here(value: i32, ply: usize) -> i32 {
    if value >= DECIDED {
        value - ply as i32
    } else if value <= -DECIDED {
        value + ply as i32
    } else {
        value
    }
}
