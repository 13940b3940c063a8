//! Deeper and deeper until the budget of nodes is used up.

use hasami_rules::{Game, GameOptions, Move, Position};

use crate::order::unpack;
use crate::root::Root;
use crate::score::{DECIDED, Score, WON};
use crate::tree::{DEPTH, Tree};

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best move, which is legal.
    pub best: Move,
    /// What the position is worth to the side to move.
    pub score: Score,
    /// How the game should go on: `best`, then the best answer, and so on. All moves are legal, one after the other.
    pub line: Vec<Move>,
    /// Plies that were searched in full; captures further, and the next ply perhaps in part.
    pub depth: u8,
    /// Positions looked at.
    pub nodes: u64,
}

/// The best move in a game, `None` after its end. It looks at so many positions at most, and always finds a move.
///
/// The past of the game counts: a position that stands for the fourth time is a draw, and so is the move limit.
#[must_use]
pub fn search(game: &Game, nodes: u64) -> Option<Found> {
    deepen(&Root::of_game(game)?, nodes, 0)
}

/// The best move in a position that has no past, `None` where it ends a game. The move limit counts from here.
#[must_use]
pub fn search_position(position: &Position, options: GameOptions, nodes: u64) -> Option<Found> {
    deepen(&Root::of_position(position, options)?, nodes, 0)
}

/// Half the window of values around the last one in which the next is looked for first.
const WINDOW: i32 = 30;

/// Searches. `forward` is a weakness, as [`Material`](crate::eval::Material) has it.
pub(crate) fn deepen(root: &Root, nodes: u64, forward: i32) -> Option<Found> {
    let mut tree = Tree::new(root, nodes, forward);
    let (first, value) = tree.first_look();
    let best = unpack(first?);
    let mut found = Found { best, score: Score::new(value), line: vec![best], depth: 0, nodes: 0 };
    let mut value = value;
    for depth in 1..=DEPTH {
        let mut width = WINDOW;
        let (mut alpha, mut beta) =
            if depth < 4 { (-WON, WON) } else { ((value - width).max(-WON), (value + width).min(WON)) };
        let done = loop {
            let searched = tree.search(depth, alpha, beta);
            // What was found before the budget ran out counts too: the best move so far is searched first.
            let (line, of_line) = tree.line();
            if of_line > alpha && !line.is_empty() {
                found.line = line.iter().map(|&mv| unpack(mv)).collect();
                found.score = Score::new(of_line);
            }
            let Ok(searched) = searched else { break false };
            width *= 4;
            if searched <= alpha && alpha > -WON {
                alpha = if width > 500 { -WON } else { searched - width };
            } else if searched >= beta && beta < WON {
                beta = if width > 500 { WON } else { searched + width };
            } else {
                value = searched;
                break true;
            }
        };
        if !done {
            break;
        }
        found.depth = depth as u8;
        // Nothing more to find out.
        if value.abs() >= DECIDED && WON - value.abs() <= depth {
            break;
        }
    }
    found.best = found.line[0];
    found.nodes = tree.nodes;
    Some(found)
}
