//! Strengths of play.

use hasami_rules::{Game, Move, WinRule};

use crate::chance::Chance;
use crate::order::unpack;
use crate::root::Root;
use crate::score::{DECIDED, Score};
use crate::search::deepen;
use crate::tree::Tree;

/// How strongly the computer plays: 1, who has just learnt the rules, to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

/// What a level does.
struct Strength {
    /// Positions it looks at for a move.
    nodes: u64,
    /// Of a hundred moves, so many are not the best it sees.
    weaker: usize,
    /// Such a move is worse than the best by at most so many hundredths of a piece, as far as one sees without looking
    /// ahead.
    worse: i32,
    /// How much it likes to stand in the middle, where pieces fall easily, in hundredths of a piece; by win rule, in the
    /// order of [`WinRule::ALL`], for some forgive it more than others.
    forward: [i32; 3],
}

impl Strength {
    const fn forward(&self, win_rule: WinRule) -> i32 {
        self.forward[win_rule as usize]
    }
}

const STRENGTHS: [Strength; 8] = [
    Strength { nodes: 250, weaker: 40, worse: 250, forward: [20, 44, 60] },
    Strength { nodes: 500, weaker: 20, worse: 150, forward: [20, 42, 52] },
    Strength { nodes: 1_200, weaker: 10, worse: 120, forward: [20, 39, 44] },
    Strength { nodes: 4_000, weaker: 7, worse: 100, forward: [20, 34, 34] },
    Strength { nodes: 12_000, weaker: 5, worse: 90, forward: [18, 28, 26] },
    Strength { nodes: 40_000, weaker: 4, worse: 80, forward: [15, 17, 18] },
    Strength { nodes: 150_000, weaker: 1, worse: 80, forward: [9, 9, 8] },
    Strength { nodes: 1_000_000, weaker: 0, worse: 0, forward: [0, 0, 0] },
];

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Self; 8] = [Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7), Self(8)];

    /// The level with this number, 1 to 8.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number >= 1 && number <= 8 { Some(Self(number)) } else { None }
    }

    /// 1 to 8.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Positions that it looks at for a move, at most.
    #[must_use]
    pub const fn nodes(self) -> u64 {
        self.strength().nodes
    }

    const fn strength(self) -> &'static Strength {
        &STRENGTHS[self.0 as usize - 1]
    }
}

/// The move that a level plays in a game, `None` after its end. The same game, the same move.
#[must_use]
pub fn choose(game: &Game, level: Level) -> Option<Move> {
    let strength = level.strength();
    let root = Root::of_game(game)?;
    let found = deepen(&root, strength.nodes, strength.forward(root.win_rule))?;
    let mut chance = Chance::new(seed(game, level));
    // Nobody overlooks a win that was seen.
    if matches!(found.score, Score::WinIn(_)) || chance.below(100) >= strength.weaker {
        return Some(found.best);
    }
    let others = others(&root, found.best, strength.worse);
    if others.is_empty() { Some(found.best) } else { Some(others[chance.below(others.len())]) }
}

/// All that makes one game different from another, in a number.
fn seed(game: &Game, level: Level) -> u64 {
    let start = u64::from(level.number()) << 32;
    game.moves()
        .iter()
        .fold(start, |seed, mv| Chance::new(seed ^ u64::from(mv.from.index()) << 8 ^ u64::from(mv.to.index())).next())
}

/// The moves but the best that are not much worse. None of them loses at once.
fn others(root: &Root, best: Move, worse: i32) -> Vec<Move> {
    let rated = Tree::new(root, 10_000, 0).rate();
    let highest = rated.iter().map(|(_, value)| *value).max().unwrap_or_default();
    let near = rated.into_iter().filter(|(_, value)| *value > -DECIDED && *value >= highest - worse);
    near.map(|(mv, _)| unpack(mv)).filter(|mv| *mv != best).collect()
}

#[cfg(test)]
mod tests {
    use hasami_rules::GameOptions;

    use super::*;
    use crate::samples;

    #[test]
    fn there_are_eight_levels() {
        assert_eq!(Level::ALL.map(Level::number), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(Level::ALL.iter().all(|level| Level::new(level.number()) == Some(*level)));
        assert_eq!((Level::new(0), Level::new(9)), (None, None));
        assert!(Level::ALL.windows(2).all(|pair| pair[0].nodes() < pair[1].nodes()));
    }

    /// About as many moves as the table says are not the best, and other games have other ones.
    #[test]
    fn weaker_moves_are_a_share() {
        let level = Level::ALL[0];
        let games = (0..400).map(|seed| samples::game(GameOptions::default(), 8, seed));
        let weaker = games.filter(|game| {
            let root = Root::of_game(game).unwrap();
            let found = deepen(&root, level.nodes(), level.strength().forward(root.win_rule)).unwrap();
            choose(game, level) != Some(found.best)
        });
        let weaker = weaker.count();
        assert!((100..200).contains(&weaker), "{weaker} of 400");
    }

    #[test]
    fn weaker_moves_do_not_lose_at_once() {
        let mut weaker = 0;
        for seed in 0..60 {
            let game = samples::game(GameOptions::default(), 60, seed);
            let Some(root) = Root::of_game(&game) else { continue };
            let win_rule = game.options().win_rule;
            let best = deepen(&root, 1000, 0).unwrap().best;
            for mv in others(&root, best, 250) {
                let after = game.position().play_unchecked(mv).0;
                let mut answers = after.legal_moves();
                let lost = answers.any(|mv| after.play_unchecked(mv).0.outcome(win_rule).is_some());
                assert!(!lost, "{}: {mv}", game.position());
                weaker += 1;
            }
        }
        assert!(weaker > 100, "{weaker}");
    }
}
