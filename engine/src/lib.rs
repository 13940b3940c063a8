//! The computer player. Knows the rules alone: the same game gives the same move.

#![warn(missing_docs)]

use hasami_rules::{Game, Move};

/// A legal move, or `None` where the game is over: the first one that captures, else the first.
#[must_use]
pub fn best_move(game: &Game) -> Option<Move> {
    game.to_move()?;
    let position = game.position();
    let captures = |mv: &Move| !position.play_unchecked(*mv).1.is_empty();
    position.legal_moves().find(captures).or_else(|| position.legal_moves().next())
}

#[cfg(test)]
mod tests {
    use hasami_rules::GameOptions;
    use hasami_rules::WinRule;

    use super::*;

    #[test]
    fn plays_whole_games() {
        for win_rule in WinRule::ALL {
            let mut game = Game::new(GameOptions { win_rule, move_limit: Some(200) });
            while let Some(mv) = best_move(&game) {
                assert!(game.play(mv).is_ok());
            }
            assert!(game.outcome().is_some());
        }
    }
}
