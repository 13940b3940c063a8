//! The ledger, player by player and ladder by ladder, and the sum of each in `ratings`.

use std::cmp::Ordering;
use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt as _;
use sqlx::PgConnection;
use uuid::Uuid;

use super::Report;
use super::finding::{Checks, Mismatch, ledger_key};
use crate::elo::{self, FLOOR, Milli, Reason, START};
use crate::error::Result;
use crate::ids::{GameId, PlayerId};
use crate::ladder::players::LISTED_DAYS;
use crate::ladder::settle;
use crate::store::audit::{self, LedgerRow, RatingRow};
use crate::store::ratings::Entry;

/// Progress is told every so many rows.
const STEP: usize = 1000;

/// Walks the ledger on one connection and `ratings` on another, both in the same order.
pub(super) async fn check_all(mut one: PgConnection, mut two: PgConnection, report: Report) -> Result<i64> {
    let since = audit::board_since(&mut one, LISTED_DAYS).await?;
    let mut ratings = audit::ratings(&mut one);
    let mut ledger = audit::ledger(&mut two);
    let mut rating = ratings.try_next().await?;
    let mut entry = ledger.try_next().await?;
    let mut seen = 0;
    while rating.is_some() || entry.is_some() {
        let side = match (&rating, &entry) {
            (Some(rating), Some(entry)) => key_of_rating(rating).cmp(&key(entry)),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let mut account = Account::default();
        if let (Ordering::Equal | Ordering::Greater, Some(first)) = (side, &entry) {
            let whose = (first.player_id, first.ladder.0);
            if side == Ordering::Greater {
                let mut missing = Checks::new("ratings", format!("{}/{}", whose.0, whose.1));
                missing.fail("row", "none", "the sum of the ledger");
                report.tell(missing.take()).await?;
            }
            while let Some(row) = entry.take_if(|row| (row.player_id, row.ladder.0) == whose) {
                report.tell(account.add(&row)).await?;
                entry = ledger.try_next().await?;
                seen += 1;
                if seen % STEP == 0 {
                    report.progress.add(STEP);
                }
            }
        }
        if let (Ordering::Less | Ordering::Equal, Some(row)) = (side, &rating) {
            report.tell(account.check(row, since)).await?;
            rating = ratings.try_next().await?;
            seen += 1;
            if seen % STEP == 0 {
                report.progress.add(STEP);
            }
        }
    }
    report.progress.add(seen % STEP);
    Ok(0)
}

fn key(row: &LedgerRow) -> (Uuid, &'static str) {
    (row.player_id.0, row.ladder.0.as_str())
}

fn key_of_rating(row: &RatingRow) -> (Uuid, &'static str) {
    (row.player_id.0, row.ladder.0.as_str())
}

/// What a rated game was.
#[derive(Debug, Clone, Copy)]
struct Played {
    opponent: PlayerId,
    score: f64,
    change: Milli,
    at: DateTime<Utc>,
}

/// A player's ledger in a ladder, summed up so far.
#[derive(Debug)]
struct Account {
    rating: Milli,
    peak: Milli,
    number: i32,
    wins: i32,
    draws: i32,
    losses: i32,
    last_rated_at: Option<DateTime<Utc>>,
    /// The games that count.
    played: HashMap<GameId, Played>,
    /// When games against each opponent ended, in the order of time.
    pairs: HashMap<PlayerId, Vec<DateTime<Utc>>>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            rating: START,
            peak: START,
            number: 0,
            wins: 0,
            draws: 0,
            losses: 0,
            last_rated_at: None,
            played: HashMap::new(),
            pairs: HashMap::new(),
        }
    }
}

impl Account {
    fn games(&self) -> i32 {
        self.wins + self.draws + self.losses
    }

    /// Checks the next row and goes on from what it says, so that one fault is told once.
    fn add(&mut self, row: &LedgerRow) -> Vec<Mismatch> {
        let mut checks = Checks::new("ledger", ledger_key(row));
        checks.same("number", row.number, self.number + 1);
        checks.same("before_milli", row.before_milli, self.rating);
        checks.same("after_milli", row.after_milli, row.before_milli.saturating_add(row.change_milli));
        match row.entry {
            Entry::Result => self.add_result(&mut checks, row),
            Entry::Annulment => self.annul(&mut checks, row),
        }
        self.number = row.number;
        self.rating = row.after_milli;
        self.peak = self.peak.max(row.after_milli);
        checks.take()
    }

    fn add_result(&mut self, checks: &mut Checks, row: &LedgerRow) {
        let pair_games = self.count_pair(row);
        checks.same_float("k", row.k, elo::damped(elo::k_factor(self.peak, self.games()), pair_games));
        // A gain that was taken away is seen with the game.
        if row.reason != Some(Reason::StandIn) {
            let expected = elo::reason(pair_games, false);
            checks.same_or_null("reason", row.reason.map(Reason::as_str), expected.map(Reason::as_str));
        }
        self.count(row.score, 1);
        self.last_rated_at = self.last_rated_at.max(Some(row.at));
        let played = Played { opponent: row.opponent_id, score: row.score, change: row.change_milli, at: row.at };
        self.played.insert(row.game_id, played);
        let times = self.pairs.entry(row.opponent_id).or_default();
        times.insert(times.partition_point(|at| *at <= row.at), row.at);
    }

    /// Takes a game back: it counts no more, and neither does its change, down to the floor.
    fn annul(&mut self, checks: &mut Checks, row: &LedgerRow) {
        checks.same_or_null("reason", row.reason.map(Reason::as_str), Some(Reason::Annulled.as_str()));
        let Some(played) = self.played.remove(&row.game_id) else {
            return checks.fail("entry", "annulment", "a result of the game before it");
        };
        checks.same("change_milli", row.change_milli, played.change.saturating_neg().max(FLOOR - row.before_milli));
        self.count(played.score, -1);
        if let Some(times) = self.pairs.get_mut(&played.opponent)
            && let Ok(index) = times.binary_search(&played.at)
        {
            times.remove(index);
        }
    }

    fn count(&mut self, score: f64, by: i32) {
        let counter = match score {
            s if s > 0.75 => &mut self.wins,
            s if s > 0.25 => &mut self.draws,
            _ => &mut self.losses,
        };
        *counter += by;
    }

    /// Earlier games of the pair that ended within the day before this one's end.
    fn count_pair(&self, row: &LedgerRow) -> i64 {
        let Some(times) = self.pairs.get(&row.opponent_id) else { return 0 };
        let until = |end: DateTime<Utc>| times.partition_point(|at| *at <= end);
        let count = until(row.at) - until(row.at - TimeDelta::hours(24));
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// Holds the sum against what is stored. `since` is the start of the first day that counts for the board.
    fn check(&self, row: &RatingRow, since: DateTime<Utc>) -> Vec<Mismatch> {
        let mut checks = Checks::new("ratings", format!("{}/{}", row.player_id, row.ladder.0));
        checks.same("username", &row.username, &row.player_username);
        checks.same("kind", row.kind.as_str(), row.player_kind.as_str());
        checks.same("rating_milli", row.rating_milli, self.rating);
        checks.same("peak_milli", row.peak_milli, self.peak);
        checks.same("number", row.number, self.number);
        checks.same("wins", row.wins, self.wins);
        checks.same("draws", row.draws, self.draws);
        checks.same("losses", row.losses, self.losses);
        checks.same_or_null("last_rated_at", row.last_rated_at, self.last_rated_at);
        let listed = settle::is_listed(row.player_kind, self.games());
        // Whose days are over is still listed until the next sweep, and a stopped service sweeps nobody.
        let lapsed = self.last_rated_at.is_none_or(|at| at < since);
        if !(lapsed && listed) {
            checks.same("listed", row.listed, listed);
        }
        checks.take()
    }
}
