//! What time does to a game, and when: a pure function of what is stored.

use chrono::{DateTime, TimeDelta, Utc};
use hasami_rules::{Outcome, Side, Termination};

use super::judge::mover;
use super::settle::Ending;
use crate::ids::PlayerId;
use crate::options::{Absence, TableOptions};
use crate::store::clocks::Clock;

/// A running game without a ply for so long is over.
pub const IDLE: TimeDelta = TimeDelta::days(7);
/// A first move that is never made aborts the game: plies 1 and 2.
const FIRST_MOVES: i16 = 2;
/// A game where somebody may become due at once with the next ply is looked at this often, however long that ply takes.
const GLANCE: (TimeDelta, TimeDelta) = (TimeDelta::seconds(2), TimeDelta::seconds(60));

/// Nobody takes so long for what is due at once, unless there is much of it.
const LATE: TimeDelta = TimeDelta::seconds(5);

/// Signs of life are written no more often, and count for as much longer.
pub const COARSE: TimeDelta = TimeDelta::seconds(3);

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// The game is aborted.
    Abort,
    /// The side to move loses on time.
    Forfeit,
    /// The computer makes one ply for the side to move.
    StandIn,
    /// The computer, whose seat it is, makes its ply.
    CpuTurn,
}

/// What happens next if nobody moves before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The instant that is enforced, and stamped.
    pub at: DateTime<Utc>,
    /// What happens then.
    pub deed: Deed,
    /// The side to move.
    pub side: Side,
}

impl Due {
    /// What is due in a running game.
    #[must_use]
    pub fn of(clock: &Clock) -> Self {
        let side = mover(clock.ply.cast_unsigned() + 1);
        let (player, seen_at, away) = seat(clock, side);
        let due = |at, deed| Self { at, deed, side };
        if player.is_computer() {
            return due(clock.ply_at, Deed::CpuTurn);
        }
        let idle = clock.idle_from.map_or(clock.ply_at, |from| from.max(clock.ply_at)) + IDLE;
        let too_long = if clock.ply <= FIRST_MOVES { Deed::Abort } else { Deed::Forfeit };
        // Within the first moves no sign of life is written, so this is when the wait began.
        let absent_at = if seen_at > clock.ply_at { seen_at + COARSE } else { clock.ply_at } + absence(clock);
        if clock.ply < FIRST_MOVES {
            return due(clock.deadline_at.unwrap_or(absent_at), Deed::Abort);
        }
        let against_computer = seat(clock, side.other()).0.is_computer();
        let deed = match clock.absence {
            Absence::Wait => return due(idle, too_long),
            // Nobody waits for this move: the computer is not to play against itself.
            Absence::Cpu if against_computer && clock.deadline_at.is_none() => return due(idle, too_long),
            Absence::Cpu => Deed::StandIn,
            Absence::Forfeit => Deed::Forfeit,
        };
        match clock.deadline_at {
            Some(deadline) => due(deadline, deed),
            None if away => due(clock.ply_at.max(seen_at), deed),
            None if idle < absent_at => due(idle, too_long),
            None => due(absent_at, deed),
        }
    }

    /// Whether it is due by now. A move that comes at the very instant is in time.
    #[must_use]
    pub fn is_over(&self, clock: &Clock) -> bool {
        self.at < clock.now || self.deed == Deed::CpuTurn
    }

    /// Whether a turn timer has brought it about, which comes before whatever is asked for later.
    #[must_use]
    pub fn is_past_deadline(&self, clock: &Clock) -> bool {
        clock.deadline_at.is_some() && self.deed != Deed::CpuTurn && self.is_over(clock)
    }

    /// How the game ends by it, if it does.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        match self.deed {
            Deed::Abort => Some(Ending::abort(self.at)),
            Deed::Forfeit => Some(Ending {
                outcome: Some(Outcome::Win(self.side.other())),
                termination: Termination::Timeout,
                at: self.at,
            }),
            Deed::StandIn | Deed::CpuTurn => None,
        }
    }

    /// When to look at a game again that has nothing due now: never later than something can become due.
    #[must_use]
    pub fn check_at(&self, clock: &Clock) -> DateTime<Utc> {
        let at_once = |side| {
            let (player, _, away) = seat(clock, side);
            player.is_computer() || (away && clock.deadline_at.is_none() && clock.absence != Absence::Wait)
        };
        if !at_once(self.side.other()) {
            return self.at;
        }
        // Whoever takes the ply before it says so; this is for the case that its instance died at that moment.
        let idle = (clock.now - clock.ply_at) / 2;
        self.at.min(clock.now + idle.clamp(GLANCE.0, GLANCE.1))
    }
}

/// Whether something is due at once with the ply just made: the computer's, or the end of a game whose next player left.
#[must_use]
pub fn is_at_once(clock: &Clock) -> bool {
    Due::of(clock).at <= clock.ply_at
}

/// Whether something was due at once and has not been done for so long that whoever was to do it may be gone.
#[must_use]
pub fn is_late(clock: &Clock) -> bool {
    is_at_once(clock) && clock.now - clock.ply_at > LATE
}

/// Whether a sign of life of a side would change when something is due.
#[must_use]
pub fn heeds_signs_of(clock: &Clock, side: Side) -> bool {
    let (_, seen_at, away) = seat(clock, side);
    let on_turn = mover(clock.ply.cast_unsigned() + 1) == side;
    clock.deadline_at.is_none()
        && clock.absence != Absence::Wait
        && clock.ply >= FIRST_MOVES
        && (away || on_turn && clock.now - seen_at.max(clock.ply_at) > COARSE)
}

/// Who sits there, when last seen, and whether away.
fn seat(clock: &Clock, side: Side) -> (PlayerId, DateTime<Utc>, bool) {
    match side {
        Side::First => (clock.first_id, clock.first_seen_at, clock.first_away),
        Side::Second => (clock.second_id, clock.second_seen_at, clock.second_away),
    }
}

/// How long a seat without a turn timer is waited for.
fn absence(clock: &Clock) -> TimeDelta {
    TimeDelta::seconds(i64::from(clock.absence_seconds.unwrap_or(TableOptions::ABSENCE_SECONDS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::GameId;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    /// Ply 5 was made at 100 s; it is second's turn.
    fn clock(absence: Absence) -> Clock {
        Clock {
            game_id: GameId::new(),
            first_id: PlayerId::new(),
            second_id: PlayerId::new(),
            turn_seconds: None,
            absence,
            absence_seconds: Some(20),
            first_seen_at: at(0),
            second_seen_at: at(0),
            first_away: false,
            second_away: false,
            idle_from: None,
            deadline_at: None,
            ply_at: at(100),
            ply: 5,
            now: at(101),
        }
    }

    fn due(clock: &Clock) -> (Deed, i64) {
        let due = Due::of(clock);
        assert_eq!(due.side, mover(clock.ply.cast_unsigned() + 1));
        (due.deed, (due.at - at(0)).num_seconds())
    }

    const WEEK: i64 = 7 * 86_400;

    #[test]
    fn absence_counts_from_the_later_of_ply_and_sign_of_life() {
        for (absence, deed) in [(Absence::Cpu, Deed::StandIn), (Absence::Forfeit, Deed::Forfeit)] {
            let mut c = clock(absence);
            assert_eq!(due(&c), (deed, 120));
            // Three seconds more, since a sign within so many is not written.
            c.second_seen_at = at(110);
            assert_eq!(due(&c), (deed, 133));
            c.first_seen_at = at(115);
            assert_eq!(due(&c), (deed, 133));
            c.second_away = true;
            assert_eq!(due(&c), (deed, 110), "it was left at 110");
            c.second_seen_at = at(90);
            assert_eq!(due(&c), (deed, 100), "on each of its turns, at once");
        }
        assert_eq!(due(&clock(Absence::Wait)), (Deed::Forfeit, 100 + WEEK));
    }

    #[test]
    fn a_timer_is_its_deadline_whoever_is_away() {
        let mut c =
            Clock { turn_seconds: Some(30), absence_seconds: None, deadline_at: Some(at(130)), ..clock(Absence::Cpu) };
        assert_eq!(due(&c), (Deed::StandIn, 130));
        c.second_away = true;
        c.second_seen_at = at(125);
        assert_eq!(due(&c), (Deed::StandIn, 130));
        c.absence = Absence::Forfeit;
        assert_eq!(due(&c), (Deed::Forfeit, 130));
        assert_eq!(Due::of(&c).check_at(&c), at(130));
    }

    #[test]
    fn first_moves_that_are_never_made_abort() {
        for absence in [Absence::Cpu, Absence::Forfeit, Absence::Wait] {
            for ply in [0, 1] {
                let mut c = Clock { ply, ..clock(absence) };
                assert_eq!(due(&c), (Deed::Abort, 120));
                c.first_away = true;
                c.second_away = true;
                assert_eq!(due(&c), (Deed::Abort, 120));
                c.deadline_at = Some(at(130));
                assert_eq!(due(&c), (Deed::Abort, 130));
            }
        }
    }

    #[test]
    fn a_week_without_a_ply_ends_a_game() {
        let mut c = clock(Absence::Wait);
        for (ply, deed) in [(2, Deed::Abort), (3, Deed::Forfeit)] {
            c.ply = ply;
            assert_eq!(due(&c), (deed, 100 + WEEK));
        }
        c.idle_from = Some(at(500));
        assert_eq!(due(&c), (Deed::Forfeit, 500 + WEEK), "an outage is given back");
        // Watching without moving does not go on for ever.
        let c = Clock { second_seen_at: at(100 + WEEK), ..clock(Absence::Cpu) };
        assert_eq!(due(&c), (Deed::Forfeit, 100 + WEEK));
    }

    #[test]
    fn the_computers_seat_is_due_at_once() {
        let mut c = Clock { second_id: PlayerId::of_cpu(3), ..clock(Absence::Cpu) };
        assert_eq!(due(&c), (Deed::CpuTurn, 100));
        assert!(is_at_once(&c));
        assert!(!is_late(&c));
        assert!(is_late(&Clock { now: at(106), ..c.clone() }));
        // On the other's turn it is glanced at, ever less often.
        c.ply = 6;
        assert!(!is_at_once(&c));
        assert!(!is_late(&Clock { now: at(106), ..c.clone() }));
        assert_eq!(Due::of(&c).check_at(&c), at(103));
        assert_eq!(due(&c), (Deed::Forfeit, 100 + WEEK), "the computer does not play against itself");
        c.absence = Absence::Forfeit;
        c.now = at(119);
        assert_eq!(Due::of(&c).check_at(&c), at(120), "never later than what is due");
        c.absence_seconds = Some(86_400);
        c.now = at(10_000);
        assert_eq!(Due::of(&c).check_at(&c), at(10_060));
    }

    #[test]
    fn who_is_away_is_due_at_once() {
        let c = Clock { second_away: true, ..clock(Absence::Cpu) };
        assert!(is_at_once(&c));
        assert!(is_at_once(&Clock { absence: Absence::Forfeit, ..c.clone() }), "lost at once");
        assert!(!is_at_once(&Clock { absence: Absence::Wait, ..c.clone() }));
        let others_turn = Clock { ply: 6, ..c };
        assert_eq!(Due::of(&others_turn).check_at(&others_turn), at(103));
    }

    #[test]
    fn signs_of_life_are_heeded_where_they_matter() {
        let c = Clock { now: at(110), ..clock(Absence::Cpu) };
        assert!(heeds_signs_of(&c, Side::Second));
        assert!(!heeds_signs_of(&c, Side::First), "not on turn");
        assert!(heeds_signs_of(&Clock { first_away: true, ..c.clone() }, Side::First), "came back");
        assert!(!heeds_signs_of(&Clock { second_seen_at: at(108), ..c.clone() }, Side::Second), "just seen");
        assert!(!heeds_signs_of(&Clock { absence: Absence::Wait, ..c.clone() }, Side::Second));
        assert!(!heeds_signs_of(&Clock { deadline_at: Some(at(130)), ..c.clone() }, Side::Second));
        assert!(!heeds_signs_of(&Clock { ply: 1, ..c }, Side::Second));
    }
}
