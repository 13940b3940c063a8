use std::error::Error;
use std::fmt;

use crate::movegen::IllegalMove;
use crate::moves::Move;
use crate::options::GameOptions;
use crate::outcome::{Outcome, Termination};
use crate::position::Position;
use crate::record::Record;
use crate::side::Side;
use crate::square::SquareSet;

/// How often a position stands before the game is drawn.
const REPETITIONS: u8 = 4;

/// A game from the starting position: its options, all its moves, and what follows from them.
#[derive(Clone, Debug)]
pub struct Game {
    options: GameOptions,
    moves: Vec<Move>,
    position: Position,
    record: Record,
    end: Option<(Outcome, Termination)>,
}

impl Game {
    /// A game without moves.
    #[must_use]
    pub fn new(options: GameOptions) -> Self {
        Self::with_capacity(options, 0)
    }

    fn with_capacity(options: GameOptions, plies: usize) -> Self {
        let plies = plies.min(usize::from(options.last_ply()));
        Self {
            options,
            // A replayed game is mostly one that a ply is about to be added to.
            moves: Vec::with_capacity(plies + 1),
            position: Position::START,
            record: Record::new(&Position::START, plies + 1),
            end: None,
        }
    }

    /// A game with these moves.
    ///
    /// # Errors
    ///
    /// The first move that cannot be made, with its ply.
    pub fn replay(options: GameOptions, moves: impl IntoIterator<Item = Move>) -> Result<Self, ReplayError> {
        let moves = moves.into_iter();
        let mut game = Self::with_capacity(options, moves.size_hint().0);
        for mv in moves {
            game.play(mv).map_err(|reason| ReplayError { ply: game.ply() + 1, reason })?;
        }
        Ok(game)
    }

    /// Makes a move for the side to move and returns the squares on which pieces were captured.
    ///
    /// # Errors
    ///
    /// [`PlayError::GameOver`] after the end, whatever the move, else the reason why the move is not legal. The game
    /// stays as it was.
    pub fn play(&mut self, mv: Move) -> Result<SquareSet, PlayError> {
        if self.end.is_some() {
            return Err(PlayError::GameOver);
        }
        self.position.check(mv).map_err(PlayError::Illegal)?;
        let captured = self.position.advance(mv);
        if !captured.is_empty() {
            self.record.forget();
        }
        self.record.add(&self.position);
        self.moves.push(mv);
        self.end = self.judge();
        Ok(captured)
    }

    /// Decides whether the ply just made ended the game. The first ending that applies counts: the win rule and no
    /// legal move, which the position knows, then the fourth repetition, then the limit.
    fn judge(&self) -> Option<(Outcome, Termination)> {
        match self.position.outcome(self.options.win_rule) {
            Some(end) => Some(end),
            None if self.repetitions() >= REPETITIONS => Some((Outcome::Draw, Termination::Repetition)),
            None if self.ply() >= self.options.last_ply() => Some((Outcome::Draw, Termination::MoveLimit)),
            None => None,
        }
    }

    /// What the players agreed on.
    #[must_use]
    pub const fn options(&self) -> GameOptions {
        self.options
    }

    /// The position after the last move.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The side to move, `None` after the end.
    #[must_use]
    pub const fn to_move(&self) -> Option<Side> {
        match self.end {
            Some(_) => None,
            None => Some(self.position.side()),
        }
    }

    /// How many plies have been made, at most [`MAX_PLIES`](crate::MAX_PLIES).
    #[must_use]
    pub const fn ply(&self) -> u16 {
        self.moves.len() as u16
    }

    /// All moves from the first.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// How many pieces this side has captured.
    #[must_use]
    pub const fn captured_by(&self, side: Side) -> u8 {
        self.position.captured_by(side)
    }

    /// Who won and how, `None` while the game goes on.
    #[must_use]
    pub const fn outcome(&self) -> Option<(Outcome, Termination)> {
        self.end
    }

    /// How often the present position has stood in this game, itself included: 1 to 4.
    #[must_use]
    pub fn repetitions(&self) -> u8 {
        self.record.times()
    }

    /// After which plies the present position stood, in ascending order; 0 is the start of the game.
    #[must_use]
    pub fn stood_at(&self) -> Vec<u16> {
        self.record.stood_at(&self.position)
    }
}

/// Why a move was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlayError {
    /// The rules do not allow the move.
    Illegal(IllegalMove),
    /// The game had ended before.
    GameOver,
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal(reason) => reason.fmt(f),
            Self::GameOver => f.pad("The game is over."),
        }
    }
}

impl Error for PlayError {}

/// A list of moves that is not a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The ply that could not be made, 1 for the first move.
    pub ply: u16,
    /// Why not.
    pub reason: PlayError,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ply {}: {}", self.ply, self.reason)
    }
}

impl Error for ReplayError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.reason)
    }
}
