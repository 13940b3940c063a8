use std::error::Error;
use std::fmt;

use crate::board::Board;
use crate::moves::Move;
use crate::side::Side;
use crate::square::{Square, SquareSet, Squares, WIDTH};

/// Why a move is not legal. When several reasons apply, the first in the order of [`IllegalMove::ALL`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IllegalMove {
    /// Both squares are the same.
    NullMove,
    /// There is no piece to move.
    EmptySquare,
    /// The piece belongs to the other side.
    NotYourPiece,
    /// The squares share neither rank nor file.
    Diagonal,
    /// A piece of either side stands between the squares.
    Blocked,
    /// The way is free, but a piece of either side stands on the target.
    Occupied,
}

impl IllegalMove {
    /// All reasons in the order in which they are tested.
    pub const ALL: [Self; 6] =
        [Self::NullMove, Self::EmptySquare, Self::NotYourPiece, Self::Diagonal, Self::Blocked, Self::Occupied];

    /// The reason as a stable `snake_case` word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NullMove => "null_move",
            Self::EmptySquare => "empty_square",
            Self::NotYourPiece => "not_your_piece",
            Self::Diagonal => "diagonal",
            Self::Blocked => "blocked",
            Self::Occupied => "occupied",
        }
    }
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NullMove => "The piece has to leave its square.",
            Self::EmptySquare => "There is no piece on this square.",
            Self::NotYourPiece => "This piece belongs to the other side.",
            Self::Diagonal => "Pieces move only along ranks and files.",
            Self::Blocked => "Another piece is in the way.",
            Self::Occupied => "The target square is occupied.",
        })
    }
}

impl Error for IllegalMove {}

/// The four ways to slide. Along `East` and `North` the index of the square grows.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    East,
    North,
    West,
    South,
}

impl Direction {
    pub(crate) const ALL: [Self; 4] = [Self::East, Self::North, Self::West, Self::South];
}

const fn ray_from(square: Square, direction: Direction) -> u128 {
    let (last, step) = match direction {
        Direction::East => (square.rank() * WIDTH + 8, 1),
        Direction::North => (square.file() + 8 * WIDTH, WIDTH as i8),
        Direction::West => (square.rank() * WIDTH, -1),
        Direction::South => (square.file(), -(WIDTH as i8)),
    };
    let mut ray = 0;
    let mut index = square.index();
    while index != last {
        index = index.wrapping_add_signed(step);
        ray |= 1 << index;
    }
    ray
}

/// For each direction and square, the squares from there to the edge.
static RAYS: [[u128; Square::COUNT]; 4] = {
    let mut rays = [[0; Square::COUNT]; 4];
    let mut index = 0;
    while index < Square::COUNT {
        let mut direction = 0;
        while direction < 4 {
            rays[direction][index] = ray_from(Square::ALL[index], Direction::ALL[direction]);
            direction += 1;
        }
        index += 1;
    }
    rays
};

/// The squares from `square` to the edge.
pub(crate) fn ray(square: Square, direction: Direction) -> u128 {
    RAYS[direction as usize][usize::from(square.index())]
}

/// The squares from `square` up to, and without, the first of the `stops`, or the edge.
pub(crate) fn reach(square: Square, direction: Direction, stops: u128) -> u128 {
    let ray = ray(square, direction);
    let stops = ray & stops;
    match direction {
        // The bits below the lowest stop; all of them when there is none.
        Direction::East | Direction::North => ray & !stops & stops.wrapping_sub(1),
        // The bits above the highest stop. The top bits are never in use, so the shift stays below 128.
        Direction::West | Direction::South => ray & (u128::MAX << (128 - stops.leading_zeros())),
    }
}

/// Where a piece on `square` can slide to.
pub(crate) fn slides(square: Square, occupied: u128) -> u128 {
    reach(square, Direction::East, occupied)
        | reach(square, Direction::North, occupied)
        | reach(square, Direction::West, occupied)
        | reach(square, Direction::South, occupied)
}

/// The squares next to a square of the set.
pub(crate) const fn neighbours(set: u128) -> u128 {
    const FILE_A: u128 = {
        let mut file = 0;
        let mut rank = 0;
        while rank < WIDTH {
            file |= 1 << (rank * WIDTH);
            rank += 1;
        }
        file
    };
    const BOARD: u128 = (1 << Square::COUNT) - 1;
    let east = (set << 1) & !FILE_A;
    let west = (set & !FILE_A) >> 1;
    (east | west | set << WIDTH | set >> WIDTH) & BOARD
}

/// Tests a move without generating others, so that the generator has something to be compared with.
pub(crate) fn check(board: &Board, side: Side, mv: Move) -> Result<(), IllegalMove> {
    let Move { from, to } = mv;
    if from == to {
        return Err(IllegalMove::NullMove);
    }
    if !board.pieces(side).contains(from) {
        return Err(if board.pieces(side.other()).contains(from) {
            IllegalMove::NotYourPiece
        } else {
            IllegalMove::EmptySquare
        });
    }
    let between = if from.rank() == to.rank() {
        between(from, to, Direction::East, Direction::West)
    } else if from.file() == to.file() {
        between(from, to, Direction::North, Direction::South)
    } else {
        return Err(IllegalMove::Diagonal);
    };
    let occupied = board.occupied();
    if between & occupied != 0 {
        Err(IllegalMove::Blocked)
    } else if to.bit() & occupied != 0 {
        Err(IllegalMove::Occupied)
    } else {
        Ok(())
    }
}

/// The squares strictly between two squares of one line.
fn between(one: Square, two: Square, up: Direction, down: Direction) -> u128 {
    ray(one.min(two), up) & ray(one.max(two), down)
}

/// All legal moves of a position, by the index of the from-square, then of the to-square.
#[derive(Clone, Debug)]
pub struct LegalMoves {
    occupied: u128,
    pieces: Squares,
    from: Square,
    targets: Squares,
}

impl LegalMoves {
    pub(crate) fn new(board: &Board, side: Side) -> Self {
        Self {
            occupied: board.occupied(),
            pieces: board.pieces(side).into_iter(),
            from: Square::ALL[0],
            targets: SquareSet::EMPTY.into_iter(),
        }
    }
}

impl Iterator for LegalMoves {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        loop {
            if let Some(to) = self.targets.next() {
                return Some(Move::new(self.from, to));
            }
            self.from = self.pieces.next()?;
            self.targets = SquareSet(slides(self.from, self.occupied)).into_iter();
        }
    }

    fn count(self) -> usize {
        let Self { occupied, pieces, targets, .. } = self;
        pieces.fold(targets.len(), |count, from| count + slides(from, occupied).count_ones() as usize)
    }
}
