//! Positions to test with.

use hasami_rules::{Game, GameOptions, Position, Side, WinRule};

use crate::chance::Chance;

/// The pieces of the side to move, and of its opponent.
pub fn pieces(position: &Position) -> (u128, u128) {
    let board = position.board();
    (board.pieces(position.side()).bits(), board.pieces(position.side().other()).bits())
}

/// A game of so many random plies, or fewer if it ends.
pub fn game(options: GameOptions, plies: u16, seed: u64) -> Game {
    let mut game = Game::new(options);
    let mut chance = Chance::new(seed);
    while game.ply() < plies && game.to_move().is_some() {
        let position = game.position();
        let moves: Vec<_> = position.legal_moves().collect();
        let captures = moves.iter().find(|mv| !position.play_unchecked(**mv).1.is_empty());
        let any = moves[chance.below(moves.len())];
        // Pieces that come close make for captures.
        let mv = match captures {
            Some(&mv) if chance.below(3) == 0 => mv,
            _ => any,
        };
        game.play(mv).unwrap();
    }
    game
}

/// Positions to try everything on: every other one out of a random game, some with few pieces left, the others crowded
/// into a rectangle, with long runs and held corners.
pub fn positions(count: u64) -> impl Iterator<Item = Position> {
    let options = GameOptions { win_rule: WinRule::CaptureAll, move_limit: None };
    (0..count).map(move |seed| match seed % 2 {
        0 => *game(options, (seed * 7 % 200) as u16, seed).position(),
        _ => crowded(seed),
    })
}

/// Up to nine pieces a side in a rectangle.
fn crowded(seed: u64) -> Position {
    let mut chance = Chance::new(seed);
    let [width, height] = [2 + chance.below(8), 2 + chance.below(8)];
    let [left, bottom] = [chance.below(10 - width), chance.below(10 - height)];
    let kinds = 3 + chance.below(4);
    let mut pieces = [9; 2];
    let rank = |rank: usize| -> String {
        let square = |file: usize| {
            let inside = (left..left + width).contains(&file) && (bottom..bottom + height).contains(&rank);
            let kind = chance.below(kinds);
            if !inside || kind > 1 || pieces[kind] == 0 {
                return '.';
            }
            pieces[kind] -= 1;
            ['x', 'o'][kind]
        };
        (0..9).map(square).collect()
    };
    let ranks: Vec<String> = (0..9).rev().map(rank).collect();
    position(&ranks.join("/"), Side::ALL[seed as usize / 2 % 2])
}

/// The position of a board whose empty squares are dots.
pub fn position(board: &str, side: Side) -> Position {
    let digits = |text: String, empty: usize| text.replace(&".".repeat(empty), &empty.to_string());
    let board = (1..=9).rev().fold(board.to_owned(), digits);
    Position::new(board.parse().unwrap(), side)
}
