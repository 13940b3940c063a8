use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::board::{Board, PIECES, ParseBoardError};
use crate::capture::captured;
use crate::movegen::{self, IllegalMove, LegalMoves};
use crate::moves::Move;
use crate::options::WinRule;
use crate::outcome::{Outcome, Termination};
use crate::side::Side;
use crate::square::{Square, SquareSet};
use crate::zobrist;

/// A board and the side to move, without any history.
///
/// The text is the board, a blank and the side: `ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first`.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    board: Board,
    side: Side,
    hash: u64,
}

impl Position {
    /// The position at the beginning of every game.
    pub const START: Self = Self::new(Board::START, Side::First);

    /// The position with this board and side to move.
    #[must_use]
    pub const fn new(board: Board, side: Side) -> Self {
        let hash = zobrist::hash(board, side);
        Self { board, side, hash }
    }

    /// The pieces.
    #[must_use]
    pub const fn board(&self) -> Board {
        self.board
    }

    /// The side to move.
    #[must_use]
    pub const fn side(&self) -> Side {
        self.side
    }

    /// The 64-bit key of this position. It is the same in every build, and made to be stored.
    ///
    /// Different positions can share a key; compare the positions themselves where that matters.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// How many pieces this side has captured: those that the opponent is short of nine.
    #[must_use]
    pub const fn captured_by(&self, side: Side) -> u8 {
        PIECES - self.board.pieces(side.other()).len()
    }

    /// Says whether a move is legal here, and if not, why.
    ///
    /// # Errors
    ///
    /// The first reason that applies, in the order of [`IllegalMove::ALL`].
    pub fn check(&self, mv: Move) -> Result<(), IllegalMove> {
        movegen::check(&self.board, self.side, mv)
    }

    /// Whether a move is legal here.
    #[must_use]
    pub fn is_legal(&self, mv: Move) -> bool {
        self.check(mv).is_ok()
    }

    /// All legal moves. The pieces come in the order of their squares, and so do the targets of each.
    #[must_use]
    pub fn legal_moves(&self) -> LegalMoves {
        LegalMoves::new(&self.board, self.side)
    }

    /// Where the piece on this square can go; empty when it is not a piece of the side to move.
    #[must_use]
    pub fn destinations(&self, from: Square) -> SquareSet {
        if self.board.pieces(self.side).contains(from) {
            SquareSet(movegen::slides(from, self.board.occupied()))
        } else {
            SquareSet::EMPTY
        }
    }

    /// Whether the side to move has any legal move.
    #[must_use]
    pub const fn has_legal_move(&self) -> bool {
        // Whoever can move at all can move by one square.
        let reachable = movegen::neighbours(self.board.pieces(self.side).bits());
        reachable & !self.board.occupied() != 0
    }

    /// What the board alone decides, `None` while the game can go on: the side that has just moved wins when it fulfils
    /// the win rule, and then when its opponent has no legal move.
    #[must_use]
    pub const fn outcome(&self, win_rule: WinRule) -> Option<(Outcome, Termination)> {
        let mover = self.side.other();
        if win_rule.is_won(self.captured_by(mover), self.captured_by(self.side)) {
            Some((Outcome::Win(mover), Termination::Captures))
        } else if !self.has_legal_move() {
            Some((Outcome::Win(mover), Termination::NoMoves))
        } else {
            None
        }
    }

    /// Makes a move and returns what follows, with the squares on which pieces were captured.
    ///
    /// # Errors
    ///
    /// The reason why the move is not legal, as [`check`](Self::check) gives it.
    pub fn play(&self, mv: Move) -> Result<(Self, SquareSet), IllegalMove> {
        self.check(mv)?;
        Ok(self.play_unchecked(mv))
    }

    /// Makes a move that is known to be legal, such as one of [`legal_moves`](Self::legal_moves).
    ///
    /// After any other move the position means nothing. Where a move comes from elsewhere, use [`play`](Self::play).
    #[must_use]
    pub fn play_unchecked(&self, mv: Move) -> (Self, SquareSet) {
        let mut next = *self;
        let captured = next.advance(mv);
        (next, captured)
    }

    /// Makes a legal move in place, for a game that has no use for the position before.
    #[inline]
    pub(crate) fn advance(&mut self, mv: Move) -> SquareSet {
        let own = self.side;
        let enemy = own.other();
        self.toggle(own, mv.from);
        self.toggle(own, mv.to);
        let captured = captured(mv.to, self.board.pieces(own).bits(), self.board.pieces(enemy).bits());
        for square in captured {
            self.toggle(enemy, square);
        }
        self.side = enemy;
        self.hash ^= zobrist::CHANGE_OF_SIDE;
        captured
    }

    /// A position with another hash, to stage a collision.
    #[cfg(test)]
    pub(crate) fn with_hash(self, hash: u64) -> Self {
        Self { hash, ..self }
    }

    /// Puts a piece on a square or takes it away. The only place where the pieces of a position change, and so the
    /// only one that has to keep the hash in step.
    #[inline]
    fn toggle(&mut self, side: Side, square: Square) {
        self.board.toggle(side, square);
        self.hash ^= zobrist::piece(side, square);
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Self) -> bool {
        // The hash first: it nearly always decides.
        self.hash == other.hash && self.side == other.side && self.board == other.board
    }
}

impl Eq for Position {}

impl Hash for Position {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.board, self.side)
    }
}

impl FromStr for Position {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (board, side) = text.split_once(' ').ok_or(ParsePositionError::Side)?;
        let board = board.parse().map_err(ParsePositionError::Board)?;
        let side = side.parse().map_err(|_| ParsePositionError::Side)?;
        Ok(Self::new(board, side))
    }
}

/// Why a text is not a board, a blank and a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsePositionError {
    /// The board is none.
    Board(ParseBoardError),
    /// No side to move follows it.
    Side,
}

impl fmt::Display for ParsePositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Board(error) => write!(f, "not a position: {error}"),
            Self::Side => {
                f.write_str("not a position: expected a board, one blank, and the side to move, first or second")
            }
        }
    }
}

impl Error for ParsePositionError {}
