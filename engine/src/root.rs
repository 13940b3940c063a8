//! What is searched: a position, and what its past and the options of the game have to do with its future.

use hasami_rules::{Game, GameOptions, Position, WinRule};

/// A position to search from.
pub struct Root {
    pub position: Position,
    pub win_rule: WinRule,
    /// After so many plies more the game is drawn. Not 0.
    pub plies_left: usize,
    /// Keys of the positions that have stood three times: once more, and the game is drawn.
    pub thrice: Vec<u64>,
}

impl Root {
    /// The present position of a game, `None` after its end.
    pub fn of_game(game: &Game) -> Option<Self> {
        game.to_move()?;
        let plies_left = usize::from(game.options().last_ply() - game.ply());
        Some(Self { position: *game.position(), win_rule: game.options().win_rule, plies_left, thrice: thrice(game) })
    }

    /// A position without a past, as at the start of a game, `None` where it is over.
    pub fn of_position(position: &Position, options: GameOptions) -> Option<Self> {
        if position.outcome(options.win_rule).is_some() {
            return None;
        }
        let plies_left = usize::from(options.last_ply()).max(1);
        Some(Self { position: *position, win_rule: options.win_rule, plies_left, thrice: Vec::new() })
    }
}

/// The positions since the last capture that have stood three times. Captured pieces never return, so none from before
/// can stand again.
fn thrice(game: &Game) -> Vec<u64> {
    let mut position = Position::START;
    let mut stood = vec![position.hash()];
    for &mv in game.moves() {
        let (next, captured) = position.play_unchecked(mv);
        position = next;
        if !captured.is_empty() {
            stood.clear();
        }
        stood.push(position.hash());
    }
    stood.sort_unstable();
    let mut thrice: Vec<u64> = stood.windows(3).filter(|same| same[0] == same[2]).map(|same| same[0]).collect();
    thrice.dedup();
    thrice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_standings_since_the_last_capture() {
        let mut game = Game::new(GameOptions::default());
        let shuttle = ["a1a2", "a9a8", "a2a1", "a8a9"];
        for mv in shuttle.iter().cycle().take(8) {
            let root = Root::of_game(&game).unwrap();
            assert_eq!(root.thrice, [0; 0]);
            game.play(mv.parse().unwrap()).unwrap();
        }
        assert_eq!(Root::of_game(&game).unwrap().thrice, [Position::START.hash()]);
        assert_eq!(Root::of_game(&game).unwrap().plies_left, 1992);
    }
}
