//! Who plays whom in the demo. Pure: the same seed, the same pairings.

use hasami_rules::WinRule;

use crate::commands::matches::mixed;

/// A game to be played to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairing {
    /// For which ladder.
    pub ladder: WinRule,
    /// Whether ratings follow.
    pub rated: bool,
    /// Numbers of the bots; the first moves first.
    pub bots: [usize; 2],
    /// Makes this game different from others.
    pub seed: u64,
}

/// The fewest games that put somebody on each board: a pair is listed after ten.
pub const FEWEST_GAMES: usize = 40;

/// So many games of so many bots: half of them in `capture5`, some casual, each ladder with at least one pair that ends up
/// on its board. In the order of play, in which the ladders are mixed.
pub fn pairings(games: usize, bots: usize, seed: u64) -> Vec<Pairing> {
    let (casual, all, lead) = (games / 12, (games / 6).max(10), (games / 4).max(10));
    let rated = [
        (WinRule::Capture5, games.saturating_sub(casual + all + lead)),
        (WinRule::Lead3, lead),
        (WinRule::CaptureAll, all),
    ];
    let mut planned = Vec::with_capacity(games);
    for (number, (ladder, games)) in rated.into_iter().enumerate() {
        // Not the same few in each ladder.
        let from = number * bots / 3;
        let tour = tour(games, bots).into_iter().map(|pair| pair.map(|bot| (from + bot) % bots));
        planned.extend(tour.map(|bots| Pairing { ladder, rated: true, bots, seed: 0 }));
    }
    let mut chance = seed;
    for number in 0..casual {
        chance = mixed(chance);
        let one = (chance % bots as u64) as usize;
        let other = (one + 1 + (mixed(chance) % (bots as u64 - 1)) as usize) % bots;
        let ladder = WinRule::ALL[number % WinRule::ALL.len()];
        planned.push(Pairing { ladder, rated: false, bots: [one, other], seed: 0 });
    }
    for pairing in &mut planned {
        chance = mixed(chance);
        pairing.seed = chance;
    }
    planned.sort_by_key(|pairing| pairing.seed);
    planned
}

/// Rounds in which everybody meets everybody: by the circle method, in which one stays where it is and the others go
/// round. As many take part as have ten games each then.
fn tour(games: usize, bots: usize) -> Vec<[usize; 2]> {
    let players = (games / 5).min(bots).max(2) & !1;
    let circle = players - 1;
    let pairs = (0..).flat_map(|round| {
        (0..players / 2).map(move |board| {
            let one = if board == 0 { circle } else { (round + board) % circle };
            let other = (round + circle - board) % circle;
            // A round trip is an odd number of rounds, so whoever meets again has the other side.
            if round % 2 == 0 { [one, other] } else { [other, one] }
        })
    });
    pairs.take(games).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn all_who_take_part_end_up_on_the_board() {
        for games in (FEWEST_GAMES..200).chain([300, 1000]) {
            for bots in 2..=24 {
                let planned = pairings(games, bots, 1);
                assert_eq!(planned.len(), games);
                let mut played: HashMap<(&str, usize), usize> = HashMap::new();
                for pairing in &planned {
                    let [one, other] = pairing.bots;
                    assert!(one != other && one < bots && other < bots, "{pairing:?}");
                    for bot in pairing.bots.into_iter().filter(|_| pairing.rated) {
                        *played.entry((pairing.ladder.as_str(), bot)).or_default() += 1;
                    }
                }
                assert!(played.values().all(|games| *games >= 10), "{games} games of {bots}: {played:?}");
                assert!(WinRule::ALL.iter().all(|ladder| played.keys().any(|(name, _)| *name == ladder.as_str())));
            }
        }
    }

    #[test]
    fn everybody_meets_everybody_with_both_sides() {
        let tour = tour(60, 6);
        for one in 0..6 {
            for other in (0..6).filter(|other| *other != one) {
                assert_eq!(tour.iter().filter(|pair| **pair == [one, other]).count(), 2, "{one} {other}");
            }
        }
    }

    #[test]
    fn another_seed_is_another_order() {
        assert_eq!(pairings(60, 8, 1), pairings(60, 8, 1));
        assert_ne!(pairings(60, 8, 1), pairings(60, 8, 2));
    }
}
