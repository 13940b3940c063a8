//! Positions to test with.

use hasami_rules::{Game, GameOptions, Position, Side, WinRule};

/// Numbers that look random and are the same each time: a splitmix64 generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % count as u64) as usize
    }
}

/// A game of so many random plies, or fewer if it ends.
pub fn game(options: GameOptions, plies: u16, seed: u64) -> Game {
    let mut game = Game::new(options);
    let mut chance = Chance(seed);
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

/// Boards that are crowded alone.
pub fn crowded_positions(count: u64) -> impl Iterator<Item = Position> {
    (0..count).map(crowded)
}

/// Up to nine pieces a side in a rectangle.
fn crowded(seed: u64) -> Position {
    let mut chance = Chance(seed);
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
