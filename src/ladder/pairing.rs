//! Who of those who wait plays whom; pure.

use std::collections::{BTreeSet, HashMap};

use chrono::TimeDelta;

use crate::elo::Milli;
use crate::options::TableOptions;
use crate::store::queue::TicketRow;

/// Points that the opponent's rating may be away at first, where the player said nothing else.
pub const START_WINDOW: i32 = 100;
/// Points that a player may say at most.
pub const MOST_WINDOW: i32 = 4000;
/// After so many seconds the window is twice as wide, and again after as many.
pub const DOUBLES_AFTER: i64 = 10;
/// Wider than any two ratings are apart.
const WIDEST: i32 = 10_000;

/// Points that the opponent's rating may be away after a time: `start`, doubled each ten seconds, at most `max`.
#[must_use]
pub fn window(start: i32, max: Option<i32>, waited: TimeDelta) -> i32 {
    let doublings = (waited.num_seconds() / DOUBLES_AFTER).clamp(0, 30);
    let wide = i64::from(start) << doublings;
    i32::try_from(wide).unwrap_or(WIDEST).min(max.unwrap_or(WIDEST))
}

/// A ticket's window in thousandths at the time at which it was read.
fn reach(ticket: &TicketRow) -> Milli {
    window(ticket.start_window, ticket.max_window, ticket.waited()) * 1000
}

/// Tickets that want the same: their ratings, and behind these their places in the order of age.
type Free = BTreeSet<(Milli, usize)>;

/// Whom to pair, the older ticket of a pair first.
///
/// In the order in which they came each gets the opponent nearest in rating who wants the same options, where each
/// one's rating lies within the other's window; of several as near the one who has waited longest.
#[must_use]
pub fn pairs(tickets: &[TicketRow]) -> Vec<[&TicketRow; 2]> {
    let mut by_age: Vec<&TicketRow> = tickets.iter().collect();
    by_age.sort_by_key(|t| (t.created_at, t.ticket_id));
    let mut by_options: HashMap<TableOptions, Free> = HashMap::new();
    for (age, ticket) in by_age.iter().enumerate() {
        by_options.entry(ticket.options()).or_default().insert((ticket.rating_milli, age));
    }
    let mut pairs = Vec::new();
    for (age, ticket) in by_age.iter().enumerate() {
        let free = by_options.entry(ticket.options()).or_default();
        // Not there: paired with an older one. Whoever finds nobody now fits nobody who comes later either.
        if free.remove(&(ticket.rating_milli, age))
            && let Some(found) = nearest(ticket, free, &by_age)
        {
            free.remove(&found);
            pairs.push([*ticket, by_age[found.1]]);
        }
    }
    pairs
}

fn nearest(ticket: &TicketRow, free: &Free, by_age: &[&TicketRow]) -> Option<(Milli, usize)> {
    let (own, reach) = (ticket.rating_milli, reach(ticket));
    let fits = |other: &&(Milli, usize)| {
        let other = by_age[other.1];
        (other.rating_milli - own).abs() <= self::reach(other) && other.player_id != ticket.player_id
    };
    let above = free.range((own, 0)..(own + reach + 1, 0)).find(fits);
    let reach = above.map_or(reach, |(rating, _)| rating - own);
    let below = free.range((own - reach, 0)..(own, 0)).rev().find(fits);
    // Equal ratings lie in the order of age, and going down one meets the youngest first.
    let below = below.and_then(|(rating, _)| free.range((*rating, 0)..(*rating + 1, 0)).find(fits));
    above.into_iter().chain(below).min_by_key(|(rating, age)| ((rating - own).abs(), *age)).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use chrono::DateTime;
    use hasami_rules::WinRule;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{PlayerId, TicketId};
    use crate::options::Absence;
    use crate::store::Word;
    use crate::store::queue::TicketStatus;

    /// A ticket with the default options, by rating in points, window, and seconds of waiting.
    fn ticket(rating: i32, start: i32, waited: i64) -> TicketRow {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let options = TableOptions::default();
        TicketRow {
            player_id: PlayerId::new(),
            ticket_id: TicketId::new(),
            win_rule: Word(options.win_rule),
            turn_seconds: options.turn_seconds,
            move_limit: options.move_limit,
            show_destinations: options.show_destinations,
            alternate_first: options.alternate_first,
            rated: options.rated,
            absence: options.absence,
            absence_seconds: options.absence_seconds,
            rating_milli: rating * 1000,
            start_window: start,
            max_window: None,
            stored_status: TicketStatus::Waiting,
            created_at: now - TimeDelta::seconds(waited),
            expires_at: now + TimeDelta::seconds(3600),
            ended_at: None,
            table_id: None,
            game_id: None,
            now,
        }
    }

    /// The pairs as places in the list.
    fn places(tickets: &[TicketRow]) -> Vec<[usize; 2]> {
        let place = |own: &TicketRow| tickets.iter().position(|t| t.ticket_id == own.ticket_id).unwrap();
        pairs(tickets).into_iter().map(|pair| pair.map(place)).collect()
    }

    #[test]
    fn a_window_doubles_each_ten_seconds_up_to_its_limit() {
        let at = |seconds| window(100, None, TimeDelta::milliseconds(seconds * 1000 + 999));
        assert_eq!([0, 9, 10, 19, 20, 30, 40, 50].map(at), [100, 100, 200, 200, 400, 800, 1600, 3200]);
        assert_eq!([70, 3600, i64::from(u32::MAX)].map(at), [10_000; 3]);
        assert_eq!(window(100, Some(250), TimeDelta::seconds(19)), 200);
        assert_eq!(window(100, Some(250), TimeDelta::seconds(20)), 250);
        assert_eq!(window(100, None, TimeDelta::seconds(-5)), 100);
    }

    #[test]
    fn the_longest_wait_chooses_first_and_the_nearest() {
        // 1490 is nearer to 1500 than 1520 is, and waits for a shorter time.
        assert_eq!(places(&[ticket(1490, 100, 1), ticket(1500, 100, 3), ticket(1520, 100, 2)]), [[1, 0]]);
        // 1520 came first, and so 1490 is left.
        assert_eq!(places(&[ticket(1490, 100, 1), ticket(1500, 100, 2), ticket(1520, 100, 3)]), [[2, 1]]);
    }

    #[test]
    fn of_several_as_near_the_longest_wait_is_chosen() {
        for (near, expected) in [([1510, 1490], [2, 1]), ([1490, 1490], [2, 1]), ([1500, 1500], [2, 1])] {
            let tickets = [ticket(near[0], 100, 1), ticket(near[1], 100, 2), ticket(1500, 100, 3)];
            assert_eq!(places(&tickets), [expected], "{near:?}");
        }
    }

    #[test]
    fn each_must_lie_in_the_others_window() {
        assert_eq!(places(&[ticket(1500, 400, 0), ticket(1700, 100, 0)]), [[0; 2]; 0]);
        assert_eq!(places(&[ticket(1500, 200, 1), ticket(1700, 200, 0)]), [[0, 1]]);
        assert_eq!(places(&[ticket(1500, 199, 1), ticket(1700, 200, 0)]), [[0; 2]; 0]);
        assert_eq!(places(&[ticket(1500, 199, 11), ticket(1700, 200, 0)]), [[0, 1]]);
        let mut most = ticket(1500, 199, 11);
        most.max_window = Some(199);
        assert_eq!(places(&[most, ticket(1700, 200, 0)]), [[0; 2]; 0]);
    }

    #[test]
    fn each_option_must_be_the_same() {
        type Change = fn(&mut TicketRow);
        let changes: [Change; 8] = [
            |t| t.win_rule = Word(WinRule::Lead3),
            |t| t.turn_seconds = Some(30),
            |t| t.move_limit = Some(300),
            |t| t.show_destinations = false,
            |t| t.alternate_first = false,
            |t| t.rated = false,
            |t| t.absence = Absence::Forfeit,
            |t| t.absence_seconds = Some(60),
        ];
        for (n, change) in changes.iter().enumerate() {
            let mut other = ticket(1500, 100, 1);
            change(&mut other);
            assert_eq!(places(&[ticket(1500, 100, 0), other.clone()]), [[0; 2]; 0], "change {n}");
            let mut same = ticket(1500, 100, 0);
            change(&mut same);
            assert_eq!(places(&[same, other]), [[1, 0]], "change {n}");
        }
    }

    #[test]
    fn nobody_plays_alone() {
        let (one, mut two) = (ticket(1500, 100, 0), ticket(1500, 100, 0));
        two.player_id = one.player_id;
        assert_eq!(places(&[one, two]), [[0; 2]; 0]);
    }

    /// Ten thousand tickets, among them many that fit nobody, take milliseconds.
    #[test]
    fn a_full_queue_is_paired() {
        let tickets: Vec<TicketRow> =
            (0..10_000).map(|n| ticket(1000 + n * 7919 % 1000, 1 + n % 50, i64::from(n % 40))).collect();
        let found = pairs(&tickets);
        let players: HashSet<PlayerId> = found.iter().flatten().map(|t| t.player_id).collect();
        assert_eq!(players.len(), found.len() * 2);
        assert!(found.len() > 4900, "{}", found.len());
    }

    proptest! {
        /// Against the rule as it reads: the longest wait first, among all that fit the nearest, then the oldest.
        #[test]
        fn pairs_are_those_of_the_plain_rule(
            given in vec((0..80_i32, prop::sample::select(vec![1, 5, 20, 400]), 0..45_i64, any::<bool>()), 0..60)
        ) {
            let mut tickets: Vec<TicketRow> = given.into_iter().map(|(rating, start, waited, rated)| {
                let mut ticket = ticket(1500 + rating, start, waited);
                ticket.rated = rated;
                ticket
            }).collect();
            let ids = |pair: [&TicketRow; 2]| pair.map(|t| t.ticket_id);
            let found: Vec<[TicketId; 2]> = pairs(&tickets).into_iter().map(ids).collect();
            let fits = |a: &TicketRow, b: &TicketRow| {
                let apart = (a.rating_milli - b.rating_milli).abs();
                a.rated == b.rated && apart <= reach(a) && apart <= reach(b)
            };
            let mut expected = Vec::new();
            tickets.sort_by_key(|t| (t.created_at, t.ticket_id));
            while !tickets.is_empty() {
                let own = tickets.remove(0);
                let others = tickets.iter().filter(|t| fits(&own, t));
                let best = others.min_by_key(|t| ((t.rating_milli - own.rating_milli).abs(), t.created_at, t.ticket_id));
                if let Some(other) = best.map(|t| t.ticket_id) {
                    expected.push([own.ticket_id, other]);
                    tickets.retain(|t| t.ticket_id != other);
                }
            }
            let players: HashSet<TicketId> = found.iter().flatten().copied().collect();
            prop_assert_eq!(players.len(), found.len() * 2, "nobody twice");
            prop_assert_eq!(found, expected);
        }
    }
}
