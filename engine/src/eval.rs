//! What a position is worth without looking ahead: material as the win rule sees it, room to move, pieces in danger,
//! and where the pieces stand.

use hasami_rules::WinRule;

use crate::bits::{self, CENTRE, CORNERS};
use crate::scene::Scene;

/// Pieces that each side starts with.
pub const PIECES: usize = 9;

/// What the pieces on the board are worth under a win rule.
pub struct Material {
    /// By the pieces of the side to move and those of its opponent, from the view of the former.
    worth: [[i16; PIECES + 1]; PIECES + 1],
    /// Whether the opponent, having just moved, has won.
    lost: [[bool; PIECES + 1]; PIECES + 1],
    /// All must be taken, so the last pieces have to be hunted down.
    hunt: bool,
    /// What each square is worth that pieces can go to.
    room: i32,
    /// What a piece in the middle is worth more. It is worth nothing: there it falls more easily. Weaker levels do not
    /// know that.
    forward: i32,
}

/// What the n-th captured piece adds up to: the nearer the end, the more one is worth.
const CAPTURE_5: [i16; PIECES + 1] = [0, 100, 205, 320, 450, 600, 600, 600, 600, 600];
/// Steeper where all must be taken: of fewer pieces each is missed more, by hunters and hunted alike.
const CAPTURE_ALL: [i16; PIECES + 1] = [0, 100, 240, 420, 640, 900, 1200, 1540, 1920, 2340];
/// How much of that counts, in tenths, by the pieces of whoever leads: few do not catch the last ones.
const HUNTERS: [i16; PIECES + 1] = [4, 4, 4, 6, 8, 9, 10, 10, 10, 10];
/// What a lead is worth.
const LEAD: [i16; PIECES + 1] = [0, 100, 220, 360, 360, 360, 360, 360, 360, 360];

impl Material {
    /// The tables of a win rule.
    pub fn new(win_rule: WinRule, forward: i32) -> Self {
        let mut material = Self {
            worth: [[0; PIECES + 1]; PIECES + 1],
            lost: [[false; PIECES + 1]; PIECES + 1],
            hunt: win_rule == WinRule::CaptureAll,
            room: if win_rule == WinRule::CaptureAll { 2 } else { 1 },
            forward,
        };
        for own in 0..=PIECES {
            for theirs in 0..=PIECES {
                let (won, lost) = (PIECES - theirs, PIECES - own);
                material.worth[own][theirs] = match win_rule {
                    WinRule::Capture5 => CAPTURE_5[won] - CAPTURE_5[lost],
                    WinRule::CaptureAll => (CAPTURE_ALL[won] - CAPTURE_ALL[lost]) / 10 * HUNTERS[own.max(theirs)],
                    WinRule::Lead3 if won >= lost => LEAD[won - lost],
                    WinRule::Lead3 => -LEAD[lost - won],
                };
                material.lost[own][theirs] = win_rule.is_won(lost as u8, won as u8);
            }
        }
        material
    }

    /// The worth of so many pieces against so many, to the owner of the former.
    #[inline]
    pub fn worth(&self, own: usize, theirs: usize) -> i32 {
        i32::from(self.worth[own % 10][theirs % 10])
    }

    /// Whether the side to move, with so many pieces against so many, has lost by the last capture.
    #[inline]
    pub fn is_lost(&self, own: usize, theirs: usize) -> bool {
        self.lost[own % 10][theirs % 10]
    }
}

/// In a corner a piece falls to two and can hardly move.
const CORNER: i32 = -12;
/// Part of what the opponent could take with the next move: one piece can nearly always be saved.
const DANGER: i32 = 4;
/// The most that all but material makes, for a quick look.
pub const MARGIN: i32 = 200;

/// What the position is worth to the side to move, which has so many pieces against so many.
#[inline]
pub fn evaluate(scene: &Scene, material: &Material, own: usize, theirs: usize) -> i32 {
    let worth = material.worth(own, theirs);
    let mut place = material.room * (bits::count(scene.reach) - bits::count(scene.their_reach));
    place += CORNER * (bits::count(scene.own & CORNERS) - bits::count(scene.theirs & CORNERS));
    let hanging = scene.hanging;
    if hanging != 0 {
        let left = own - bits::count(hanging) as usize;
        place -= (worth - material.worth(left, theirs)) / DANGER + 10;
    }
    if material.hunt && own.abs_diff(theirs) >= 2 {
        place += match own > theirs {
            true => hunt(scene.own, scene.theirs, scene.their_reach),
            false => -hunt(scene.theirs, scene.own, scene.reach),
        };
    } else {
        place += material.forward * (bits::count(scene.own & CENTRE) - bits::count(scene.theirs & CENTRE));
    }
    worth + place.clamp(-MARGIN, MARGIN)
}

/// How far the hunt for the last pieces has come: hunters near them, and little room to run.
fn hunt(hunters: u128, hunted: u128, room: u128) -> i32 {
    let near = bits::neighbours(hunted) | bits::diagonals(hunted);
    let nearer = near | bits::neighbours(near) | bits::diagonals(near);
    4 * bits::count(hunters & near) + 2 * bits::count(hunters & nearer) - bits::count(room)
}

#[cfg(test)]
mod tests {
    use hasami_rules::{Position, Side};

    use super::*;
    use crate::samples;

    fn worth(position: &Position, win_rule: WinRule) -> i32 {
        let board = position.board();
        let [own, theirs] = [position.side(), position.side().other()].map(|side| board.pieces(side));
        let scene = Scene::new(own.bits(), theirs.bits());
        evaluate(&scene, &Material::new(win_rule, 5), usize::from(own.len()), usize::from(theirs.len()))
    }

    /// The same board for the other side, seen in a mirror.
    fn mirrored(position: &Position, upside_down: bool) -> Position {
        let board = position.board().to_string();
        let swapped = |c| match c {
            'x' => 'o',
            'o' => 'x',
            other => other,
        };
        let ranks = board.split('/').map(|rank| -> String {
            match upside_down {
                true => rank.chars().map(swapped).collect(),
                false => rank.chars().rev().collect(),
            }
        });
        let ranks: Vec<String> = if upside_down { ranks.rev().collect() } else { ranks.collect() };
        let side = if upside_down { position.side().other() } else { position.side() };
        Position::new(ranks.join("/").parse().unwrap(), side)
    }

    #[test]
    fn mirrored_positions_are_worth_the_same() {
        for position in samples::positions(500).chain(samples::crowded_positions(500)) {
            for win_rule in WinRule::ALL {
                for upside_down in [false, true] {
                    let other = mirrored(&position, upside_down);
                    assert_eq!(worth(&position, win_rule), worth(&other, win_rule), "{position} | {other}");
                }
            }
        }
    }

    #[test]
    fn more_pieces_are_worth_more() {
        for win_rule in WinRule::ALL {
            let material = Material::new(win_rule, 0);
            for own in 1..=PIECES {
                for theirs in 0..=PIECES {
                    assert_eq!(material.worth(own, theirs), -material.worth(theirs, own));
                    assert!(material.worth(own - 1, theirs) <= material.worth(own, theirs));
                }
            }
        }
    }

    /// Where all must be taken, whoever leads by one loses by each exchange once few are left.
    #[test]
    fn few_hunters_do_not_exchange() {
        let material = Material::new(WinRule::CaptureAll, 0);
        assert!((2..=3).all(|own| material.worth(own, own - 1) < material.worth(own + 1, own)));
    }

    /// Hunters close in on the last piece, and it is worth more in a corner than in the open.
    #[test]
    fn the_last_piece_is_hunted() {
        let [far, near] = ["8o/9/9/9/9/9/9/9/xxxxxx3", "4x3o/9/8x/5x3/9/9/9/9/xxx6"];
        let [far, near] = [far, near].map(|board| Position::new(board.parse().unwrap(), Side::First));
        assert!(worth(&near, WinRule::CaptureAll) > worth(&far, WinRule::CaptureAll));
    }
}
