//! The moves of a position, the most promising first: what makes alpha-beta fast.

use hasami_rules::{Move, Position, Square};

use crate::bits;
use crate::captures;
use crate::scene::Scene;

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
    /// The rank above, the move below; signed, for processors compare such numbers faster.
    moves: [i32; 144],
    len: usize,
}

/// A piece that would be taken gets away: as good as history can say half.
const ESCAPE: i32 = 8_000;

impl List {
    /// Without moves.
    #[inline]
    pub const fn new() -> Self {
        Self { moves: [0; 144], len: 0 }
    }

    #[inline]
    fn push(&mut self, rank: i32, mv: Packed) {
        self.moves[self.len] = rank << 14 | mv as i32;
        self.len += 1;
    }

    /// The captures among the moves, those that take most first.
    #[inline]
    pub fn add_captures(&mut self, scene: &Scene) {
        let mut squares = scene.capturing & scene.reach;
        while squares != 0 {
            let to = bits::pop(&mut squares);
            let taken = bits::count(captures::taken(to, scene.own, scene.theirs));
            let mut from = bits::first_met(to, scene.own | scene.theirs) & scene.own;
            while from != 0 {
                let from = bits::pop(&mut from);
                self.push(taken, (from << 7 | to) as Packed);
            }
        }
    }

    /// The other moves.
    fn add_quiets(&mut self, position: &Position, scene: &Scene, memory: &Memory) {
        let history = &memory.history[position.side() as usize];
        for from in position.board().pieces(position.side()) {
            let escape = if scene.hanging >> from.index() & 1 == 1 { ESCAPE } else { 0 };
            let mut targets = position.destinations(from).bits() & !scene.capturing;
            while targets != 0 {
                let to = bits::pop(&mut targets);
                let mv = (from.index() as Packed) << 7 | to as Packed;
                self.push(escape + i32::from(history[usize::from(mv)]), mv);
            }
        }
    }

    /// Takes the best move out, with its rank: of a capture, how many pieces fall.
    #[inline]
    pub fn next(&mut self) -> Option<(Packed, i32)> {
        let moves = &mut self.moves[..self.len];
        let best = moves.iter().copied().max()?;
        let at = moves.iter().position(|key| *key == best)?;
        self.len -= 1;
        moves[at] = moves[self.len];
        Some(((best & (MOVES as i32 - 1)) as Packed, best >> 14))
    }
}

/// Which moves come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hinted,
    Captures,
    Killers(usize),
    Quiets,
    Others,
    End,
}

/// All moves of a position, one by one, each kind made only when it is asked for: often the first move is enough.
pub struct Picker {
    stage: Stage,
    list: List,
    hinted: Packed,
    killers: [Packed; 2],
    /// Captures are all that is wanted.
    captures_alone: bool,
}

impl Picker {
    /// Begins with a move that was best before, 0 if none is known.
    #[inline]
    pub const fn new(hinted: Packed, killers: [Packed; 2], captures_alone: bool) -> Self {
        Self { stage: Stage::Hinted, list: List::new(), hinted, killers, captures_alone }
    }

    /// The next move, and how many pieces it takes.
    #[inline]
    pub fn next(&mut self, position: &Position, scene: &Scene, memory: &Memory) -> Option<(Packed, i32)> {
        loop {
            match self.stage {
                Stage::Hinted => {
                    self.stage = Stage::Captures;
                    self.list.add_captures(scene);
                    if self.hinted != 0 && position.is_legal(unpack(self.hinted)) {
                        let to = usize::from(self.hinted & 127);
                        return Some((self.hinted, bits::count(captures::taken(to, scene.own, scene.theirs))));
                    }
                    self.hinted = 0;
                }
                Stage::Captures => match self.list.next() {
                    Some((mv, _)) if mv == self.hinted => {}
                    Some(other) => return Some(other),
                    None if self.captures_alone => self.stage = Stage::End,
                    None => self.stage = Stage::Killers(0),
                },
                Stage::Killers(number) => {
                    let killer = self.killers[number];
                    self.stage = if number == 0 { Stage::Killers(1) } else { Stage::Quiets };
                    // Elsewhere in the tree it took nothing; here it might, and then it has been tried.
                    let quiet = scene.capturing >> (killer & 127) & 1 == 0;
                    if killer != 0 && quiet && killer != self.hinted && position.is_legal(unpack(killer)) {
                        return Some((killer, 0));
                    }
                    self.killers[number] = 0;
                }
                Stage::Quiets => {
                    self.list.add_quiets(position, scene, memory);
                    self.stage = Stage::Others;
                }
                Stage::Others => match self.list.next() {
                    Some((mv, _)) if mv == self.hinted || self.killers.contains(&mv) => {}
                    Some((mv, _)) => return Some((mv, 0)),
                    None => self.stage = Stage::End,
                },
                Stage::End => return None,
            }
        }
    }
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

    /// The killers of a ply.
    #[inline]
    pub fn killers(&self, ply: usize) -> [Packed; 2] {
        self.killers[ply]
    }

    /// What history says of a move.
    #[inline]
    pub fn said(&self, side: usize, mv: Packed) -> i32 {
        i32::from(self.history[side][usize::from(mv) % MOVES])
    }
}
