//! Random games and random boards.

use hasami_rules::{Game, GameOptions, Move, Position, Side, Square, WinRule};
use proptest::prelude::*;

/// What a random player likes best.
#[derive(Clone, Copy, Debug)]
pub enum Taste {
    Anything,
    Captures,
    /// To take back the own last move.
    Shuttling,
}

pub fn taste() -> impl Strategy<Value = Taste> {
    prop_oneof![Just(Taste::Anything), Just(Taste::Captures), Just(Taste::Shuttling)]
}

pub fn options() -> impl Strategy<Value = GameOptions> {
    let win_rule = proptest::sample::select(WinRule::ALL.to_vec());
    let move_limit = prop_oneof![3 => Just(None), 1 => (1..60u16).prop_map(Some)];
    (win_rule, move_limit).prop_map(|(win_rule, move_limit)| GameOptions { win_rule, move_limit })
}

/// One number a ply, by which the players choose.
pub fn choices() -> impl Strategy<Value = Vec<u16>> {
    proptest::collection::vec(any::<u16>(), 1..200)
}

pub fn choose(game: &Game, taste: Taste, choice: u16) -> Move {
    let position = game.position();
    let moves: Vec<_> = position.legal_moves().collect();
    let liked = match (taste, game.moves()) {
        // One time in eight anything goes, so that the game does not stand still.
        _ if choice.is_multiple_of(8) => None,
        (Taste::Captures, _) => moves.iter().find(|&&mv| !position.play_unchecked(mv).1.is_empty()),
        (Taste::Shuttling, [.., last, _]) => moves.iter().find(|mv| (mv.from, mv.to) == (last.to, last.from)),
        _ => None,
    };
    *liked.unwrap_or(&moves[usize::from(choice / 8) % moves.len()])
}

fn play(options: GameOptions, taste: Taste, choices: &[u16]) -> Game {
    let mut game = Game::new(options);
    for &choice in choices {
        if game.outcome().is_some() {
            break;
        }
        game.play(choose(&game, taste, choice)).expect("a generated move is legal");
    }
    game
}

fn played() -> impl Strategy<Value = Position> {
    (options(), taste(), choices()).prop_map(|(options, taste, choices)| *play(options, taste, &choices).position())
}

/// Up to nine pieces a side, crowded into a rectangle in a corner: long runs, held corners, hardly a free square.
/// Few games lead there.
fn crowded() -> impl Strategy<Value = Position> {
    let rectangle = (2..=9u8, 2..=9u8, any::<bool>(), any::<bool>());
    // Of each square's numbers, one means `x` and one `o`.
    let squares = (3..=8u8).prop_flat_map(|numbers| proptest::collection::vec(0..numbers, 81));
    let side = proptest::sample::select(Side::ALL.to_vec());
    (rectangle, squares, side).prop_map(|((files, ranks, right, top), numbers, side)| {
        let mut cells = ['.'; Square::COUNT];
        let mut left = [9; 2];
        for (square, number) in Square::ALL.into_iter().zip(numbers) {
            let [file, rank] = [square.file(), square.rank()];
            let file = if right { 8 - file } else { file };
            let rank = if top { 8 - rank } else { rank };
            let number = usize::from(number);
            if number < 2 && left[number] > 0 && file < files && rank < ranks {
                left[number] -= 1;
                cells[usize::from(square.index())] = ['x', 'o'][number];
            }
        }
        position(cells, side)
    })
}

pub fn any_position() -> impl Strategy<Value = Position> {
    prop_oneof![played(), crowded()]
}

/// Cells in the order of the index: `x`, `o` or `.`.
pub fn position(cells: [char; Square::COUNT], side: Side) -> Position {
    let ranks: Vec<String> = cells.chunks(9).rev().map(|rank| rank.iter().collect()).collect();
    let mut text = ranks.join("/");
    for empty in (1..=9).rev() {
        text = text.replace(&".".repeat(empty), &empty.to_string());
    }
    Position::new(text.parse().expect("a board"), side)
}

pub fn cells(position: &Position) -> [char; Square::COUNT] {
    Square::ALL.map(|square| match position.board().piece_at(square) {
        Some(Side::First) => 'x',
        Some(Side::Second) => 'o',
        None => '.',
    })
}
