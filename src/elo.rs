//! Elo arithmetic. Pure: numbers in, numbers out.
//!
//! The formula is Arpad Elo's in the logistic form that chess federations use (A. Elo, *The Rating of
//! Chessplayers, Past and Present*, 1978; FIDE Rating Regulations, chapter 8). Ratings are whole milli-points,
//! so that sums are exact.

/// A rating in thousandths of a point.
pub type Milli = i32;

/// Where everybody starts.
pub const START: Milli = 1_500_000;
/// No rating falls below this.
pub const FLOOR: Milli = 100_000;
/// Who reached this once has the small K for good.
pub const MASTER: Milli = 2_400_000;
/// Differences count up to this, either way.
pub const MAX_DIFFERENCE: Milli = 400_000;
/// Fewer rated games than this are provisional.
pub const ESTABLISHED_GAMES: i32 = 10;
/// Rated games with the large K.
pub const NEW_GAMES: i32 = 30;
/// A rated game has at least this many plies.
pub const MIN_PLIES: u16 = 4;
/// After each so many rated games of the same two players within a day, K is halved.
pub const PAIR_GAMES: i64 = 5;

/// What a side made of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    /// 1
    Win,
    /// 1/2
    Draw,
    /// 0
    Loss,
}

impl Score {
    /// As a number.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Win => 1.0,
            Self::Draw => 0.5,
            Self::Loss => 0.0,
        }
    }

    /// The opponent's.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Win => Self::Loss,
            Self::Draw => Self::Draw,
            Self::Loss => Self::Win,
        }
    }
}

/// The rule that changed a number last, beside the formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Reason {
    /// K was halved: these two played each other often within a day.
    RepeatedPair,
    /// The computer moved for this side, which therefore gains nothing.
    StandIn,
    /// The game was annulled.
    Annulled,
}

impl Reason {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RepeatedPair => "repeated_pair",
            Self::StandIn => "stand_in",
            Self::Annulled => "annulled",
        }
    }
}

/// What a side brings to a game.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entrant {
    /// The rating before.
    pub rating: Milli,
    /// The highest rating held in this ladder.
    pub peak: Milli,
    /// Rated games in this ladder before this one.
    pub games: i32,
    /// Whether the computer moved for this side.
    pub stood_in: bool,
}

/// What a game makes of a side's rating.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The score that was expected of it, 0 to 1.
    pub expected: f64,
    /// The K-factor used, in points.
    pub k: f64,
    /// After minus before.
    pub change: Milli,
    /// The last rule that changed the number.
    pub reason: Option<Reason>,
}

/// E = 1 / (1 + 10^(d / 400)), d being the opponent's rating minus one's own, at most 400 points either way.
#[must_use]
pub fn expected_score(own: Milli, opponent: Milli) -> f64 {
    let d = (opponent - own).clamp(-MAX_DIFFERENCE, MAX_DIFFERENCE);
    1.0 / (1.0 + 10f64.powf(f64::from(d) / 400_000.0))
}

/// K before any halving: 10 for good once 2400 was reached, else 40 for the first 30 games, else 20.
#[must_use]
pub fn k_factor(peak: Milli, games: i32) -> f64 {
    if peak >= MASTER {
        10.0
    } else if games < NEW_GAMES {
        40.0
    } else {
        20.0
    }
}

/// K halved for a pair that played `pair_games` rated games against each other within the day before.
#[must_use]
pub fn damped(k: f64, pair_games: i64) -> f64 {
    k * 0.5f64.powi(halvings(pair_games))
}

fn halvings(pair_games: i64) -> i32 {
    i32::try_from(pair_games / PAIR_GAMES).unwrap_or(i32::MAX)
}

/// The rule that changed a number last, where the halving may be followed by the stand-in cap.
#[must_use]
pub fn reason(pair_games: i64, capped: bool) -> Option<Reason> {
    match capped {
        true => Some(Reason::StandIn),
        false => (halvings(pair_games) > 0).then_some(Reason::RepeatedPair),
    }
}

/// The changes of both sides after a game in which `first` made `score`; `pair_games` counts their rated games
/// against each other within the day before.
#[must_use]
pub fn rate(first: Entrant, second: Entrant, score: Score, pair_games: i64) -> (Change, Change) {
    let stake =
        |e: Entrant| Stake { rating: e.rating, k: damped(k_factor(e.peak, e.games), pair_games), stood_in: e.stood_in };
    let stakes = [stake(first), stake(second)];
    let change = |stake: Stake, worth: Worth| Change {
        expected: worth.expected,
        k: stake.k,
        change: worth.change,
        reason: reason(pair_games, worth.capped),
    };
    let worth = exchange(stakes, score);
    (change(stakes[0], worth[0]), change(stakes[1], worth[1]))
}

/// A side whose K is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stake {
    /// The rating before.
    pub rating: Milli,
    /// The K-factor, in points.
    pub k: f64,
    /// Whether the computer moved for this side.
    pub stood_in: bool,
}

/// What a game is worth for a side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// The score that was expected of it, 0 to 1.
    pub expected: f64,
    /// After minus before.
    pub change: Milli,
    /// Whether a gain was taken away since the computer moved for this side.
    pub capped: bool,
}

/// What a game in which `first` made `score` is worth for `first` and `second`.
///
/// `second` gets the exact negative where both K are equal, so that nothing is made or lost.
#[must_use]
pub fn exchange([first, second]: [Stake; 2], score: Score) -> [Worth; 2] {
    let side = |own: Stake, other: Stake, score: Score| {
        let expected = expected_score(own.rating, other.rating);
        // `round` is half away from zero.
        #[expect(clippy::cast_possible_truncation, reason = "at most 40,000 either way")]
        let change = (1000.0 * own.k * (score.value() - expected)).round() as Milli;
        Worth { expected, change, capped: false }
    };
    let a = side(first, second, score);
    let mut b = side(second, first, score.other());
    #[expect(clippy::float_cmp, reason = "both come from the same few constants")]
    if first.k == second.k {
        b.change = -a.change;
    }
    [bounded(first, a), bounded(second, b)]
}

/// The stand-in cap, then the floor.
fn bounded(stake: Stake, mut worth: Worth) -> Worth {
    if stake.stood_in && worth.change > 0 {
        worth.change = 0;
        worth.capped = true;
    }
    worth.change = worth.change.max(FLOOR - stake.rating);
    worth
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(rating: Milli) -> Entrant {
        Entrant { rating, peak: rating.max(START), games: 0, stood_in: false }
    }

    #[test]
    fn equals_move_half_of_k() {
        let (a, b) = rate(entrant(START), entrant(START), Score::Win, 0);
        assert_eq!((a.change, b.change, a.k, a.expected), (20_000, -20_000, 40.0, 0.5));
        let (a, b) = rate(entrant(START), entrant(START), Score::Draw, 0);
        assert_eq!((a.change, b.change), (0, 0));
    }

    #[test]
    fn known_values() {
        // 1500 against 1600: E = 1 / (1 + 10^0.25) = 0.359935; 40 * 0.640065 = 25.6026.
        let (a, b) = rate(entrant(1_500_000), entrant(1_600_000), Score::Win, 0);
        assert_eq!((a.change, b.change), (25_603, -25_603));
        // 400 points and more are one: E = 1/11.
        for gap in [400_000, 400_001, 2_000_000] {
            let (a, _) = rate(entrant(START), entrant(START + gap), Score::Loss, 0);
            assert_eq!(a.change, -3_636);
        }
    }

    #[test]
    fn k_shrinks_with_experience_and_for_masters() {
        assert_eq!(
            [(START, 29), (START, 30), (MASTER, 0), (MASTER - 1, 30)].map(|(p, g)| k_factor(p, g)),
            [40.0, 20.0, 10.0, 20.0]
        );
        let master = Entrant { rating: 2_000_000, peak: MASTER, games: 500, stood_in: false };
        let (a, b) = rate(master, Entrant { rating: 2_000_000, ..entrant(0) }, Score::Loss, 0);
        assert_eq!((a.change, b.change), (-5_000, 20_000));
    }

    #[test]
    fn repeated_pairs_fade() {
        let ks: Vec<f64> =
            [0, 4, 5, 9, 10, 15, 500].map(|n| rate(entrant(START), entrant(START), Score::Win, n).0.k).to_vec();
        assert_eq!(ks[..6], [40.0, 40.0, 20.0, 20.0, 10.0, 5.0]);
        assert!(ks[6] > 0.0 && ks[6] < 1e-20);
        assert_eq!(rate(entrant(START), entrant(START), Score::Win, 4).0.reason, None);
        assert_eq!(rate(entrant(START), entrant(START), Score::Win, 5).1.reason, Some(Reason::RepeatedPair));
    }

    #[test]
    fn a_side_that_was_stood_in_for_gains_nothing() {
        let helped = Entrant { stood_in: true, ..entrant(START) };
        let (a, b) = rate(helped, entrant(START), Score::Win, 5);
        assert_eq!((a.change, a.reason, b.change), (0, Some(Reason::StandIn), -10_000));
        let (a, b) = rate(helped, entrant(START), Score::Loss, 0);
        assert_eq!((a.change, a.reason, b.change), (-20_000, None, 20_000));
    }

    #[test]
    fn the_floor_holds() {
        let (a, b) = rate(entrant(FLOOR + 100), entrant(FLOOR), Score::Loss, 0);
        assert_eq!((a.change, b.change), (-100, 20_006));
    }

    #[test]
    fn points_are_neither_made_nor_lost_between_equal_k() {
        let (mut a, mut b) = (START, START + 123_457);
        for n in 0..10_000 {
            let score = [Score::Win, Score::Draw, Score::Loss, Score::Loss][n % 4];
            let (x, y) = rate(Entrant { games: 40, ..entrant(a) }, Entrant { games: 40, ..entrant(b) }, score, 0);
            (a, b) = (a + x.change, b + y.change);
            assert_eq!(a + b, 2 * START + 123_457);
        }
    }
}
