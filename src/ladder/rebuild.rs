//! The ledger computed anew, from the logs and results of the games alone.
//!
//! Of the old ledger only the order is taken: a player's games are rated in the order of their numbers, for times may
//! be equal or cross. Games are read in the order of their ends; one that comes before its turn waits.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use hasami_rules::{Side, WinRule};
use sqlx::postgres::PgConnectOptions;

use super::replay::Loaded;
use super::settle::{self, Ending};
use super::verify::{Checks, Mismatch, Report, ledger_key, stray};
use crate::elo::{self, Entrant, Milli, Reason, START, Score};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId};
use crate::store;
use crate::store::audit::{self, LedgerRow, Place};
use crate::store::games::GameRow;
use crate::store::ratings::Entry;
use crate::store::snapshot::Snapshot;
use crate::store::{Word, archive, rebuilt};

const NAME: &str = "hasami-ladder rebuild-ratings";
/// Games read together.
const PAGE: usize = 500;
/// Pairs that have not met for long are forgotten every so many games.
const FORGET: usize = 100_000;

/// Fills `ledger_rebuilt` and tells each difference from the ledger; how many rows it has.
///
/// # Errors
/// The database cannot be read or written. Then the relation is as it was.
pub async fn rebuild(options: PgConnectOptions, report: Report) -> Result<usize> {
    let snapshot = Snapshot::take(options.clone(), NAME).await?;
    let (mut ordered, mut conn) = (snapshot.connect().await?, snapshot.connect().await?);
    if audit::has_annulments(&mut conn).await? {
        return Err(Error::Internal("the ledger has annulled games, which this program cannot rebuild yet".to_owned()));
    }
    let counts = audit::count(&mut conn).await?;
    report.progress.total.store(counts.games, Ordering::Relaxed);
    let mut writer = archive::begin(options, NAME).await?;
    rebuilt::create(&mut writer).await?;
    let mut copy = rebuilt::fill(&mut writer).await?;

    let (mut walk, mut seen) = (Walk::default(), 0);
    let mut places = audit::places(&mut ordered);
    loop {
        let page = next_page(&mut places).await?;
        if page.is_empty() {
            break;
        }
        let ids: Vec<GameId> = page.iter().map(|p| p.game_id).collect();
        let rows = store::games::find_many(&mut conn, &ids).await?;
        let ledger = audit::ledger_of(&mut conn, &ids).await?;
        seen += ledger.len();
        let games = tokio::task::spawn_blocking(move || replay_page(page, rows, ledger)).await;
        for game in games.map_err(|e| Error::Internal(format!("a replay ended: {e}")))? {
            walk.offer(game);
        }
        walk.forget_pairs();
        report.progress.add(ids.len());
        report.tell(std::mem::take(&mut walk.mismatches)).await?;
        if !walk.lines.is_empty() {
            copy.send(std::mem::take(&mut walk.lines).into_bytes()).await?;
        }
    }
    drop(places);
    report.tell(walk.never_due()).await?;
    if seen as i64 != counts.ledger {
        let mut strays = audit::strays(&mut conn);
        while let Some(row) = strays.try_next().await? {
            report.tell(vec![stray(&row)]).await?;
        }
    }
    copy.finish().await?;
    archive::commit(writer).await?;
    Ok(walk.rows)
}

async fn next_page(places: &mut BoxStream<'_, Result<Place>>) -> Result<Vec<Place>> {
    let mut page = Vec::with_capacity(PAGE);
    while page.len() < PAGE
        && let Some(place) = places.try_next().await?
    {
        page.push(place);
    }
    Ok(page)
}

/// A game that ratings follow from, or that has ledger rows all the same.
#[derive(Debug)]
struct Rated {
    place: Place,
    ladder: WinRule,
    players: [PlayerId; 2],
    /// What `first` made of it and when it ended; `None` where no ratings follow.
    result: Option<(Score, DateTime<Utc>)>,
    stood_in: [bool; 2],
    /// What the ledger says of it.
    ledger: [Option<LedgerRow>; 2],
}

fn replay_page(places: Vec<Place>, rows: Vec<GameRow>, ledger: Vec<LedgerRow>) -> Vec<Rated> {
    let mut rows: HashMap<GameId, GameRow> = rows.into_iter().map(|row| (row.game_id, row)).collect();
    let mut ledger: HashMap<(GameId, PlayerId), LedgerRow> =
        ledger.into_iter().map(|row| ((row.game_id, row.player_id), row)).collect();
    let replayed = places.into_iter().filter_map(|place| {
        let row = rows.remove(&place.game_id)?;
        let (ladder, players) = (row.win_rule.0, [row.first_id, row.second_id]);
        // `verify` tells what is wrong with a log that does not replay; no rating follows from it.
        let loaded = Loaded::new(row).ok();
        let result = loaded.as_ref().and_then(|loaded| {
            let ending = Ending::of_row(loaded)?;
            Some((settle::rated_score(loaded, ending)?, ending.at))
        });
        let stood_in = [Side::First, Side::Second].map(|side| loaded.as_ref().is_some_and(|l| l.stood_in(side)));
        let ledger = players.map(|player| ledger.remove(&(place.game_id, player)));
        let matters = result.is_some() || ledger.iter().any(Option::is_some);
        matters.then_some(Rated { place, ladder, players, result, stood_in, ledger })
    });
    replayed.collect()
}

/// A player in a ladder, so far.
#[derive(Debug, Clone, Copy)]
struct Standing {
    rating: Milli,
    peak: Milli,
    games: i32,
    /// The number that the ledger gives to the last game that was rated.
    last: Option<i32>,
}

const NEW: Standing = Standing { rating: START, peak: START, games: 0, last: None };

type Account = (WinRule, PlayerId);

/// Goes through the games in an order that fits every player's numbers.
#[derive(Debug, Default)]
struct Walk {
    standings: HashMap<Account, Standing>,
    /// When each pair's games ended, in the order of time.
    pairs: HashMap<(WinRule, [PlayerId; 2]), Vec<DateTime<Utc>>>,
    /// Games that wait for the game of this number.
    waiting: HashMap<(Account, i32), Vec<Rated>>,
    latest: Option<DateTime<Utc>>,
    since_forgotten: usize,
    rows: usize,
    lines: String,
    mismatches: Vec<Mismatch>,
}

impl Walk {
    /// Takes a game in its turn, and those that waited for it; or lets it wait.
    fn offer(&mut self, game: Rated) {
        let mut due = vec![game];
        while let Some(game) = due.pop() {
            if let Some(turn) = self.awaited(&game) {
                self.waiting.entry(turn).or_default().push(game);
                continue;
            }
            match game.result {
                Some((score, at)) => self.rate(&game, score, at),
                None => self.mismatches.extend(game.ledger.iter().flatten().map(not_rated)),
            }
            for (player, number) in accounts(&game) {
                if let Some(number) = number {
                    self.standings.entry((game.ladder, player)).or_insert(NEW).last = Some(number);
                    due.extend(self.waiting.remove(&((game.ladder, player), number)).into_iter().flatten());
                }
            }
        }
    }

    /// A game that must come first.
    fn awaited(&self, game: &Rated) -> Option<(Account, i32)> {
        let before = [game.place.before_first, game.place.before_second];
        game.players.into_iter().zip(before).find_map(|(player, before)| {
            let account = (game.ladder, player);
            let last = self.standings.get(&account).and_then(|s| s.last);
            before.filter(|before| last != Some(*before)).map(|before| (account, before))
        })
    }

    fn rate(&mut self, game: &Rated, score: Score, at: DateTime<Utc>) {
        let before = game.players.map(|p| *self.standings.entry((game.ladder, p)).or_insert(NEW));
        let entrant = |n: usize| Entrant {
            rating: before[n].rating,
            peak: before[n].peak,
            games: before[n].games,
            stood_in: game.stood_in[n],
        };
        let pair_games = self.count_pair(game, at);
        let (first, second) = elo::rate(entrant(0), entrant(1), score, pair_games);
        for (n, (change, score)) in [(first, score), (second, score.other())].into_iter().enumerate() {
            let after = before[n].rating + change.change;
            let row = LedgerRow {
                player_id: game.players[n],
                ladder: Word(game.ladder),
                number: before[n].games + 1,
                entry: Entry::Result,
                game_id: game.place.game_id,
                opponent_id: game.players[1 - n],
                opponent_milli: before[1 - n].rating,
                score: score.value(),
                expected: change.expected,
                k: change.k,
                before_milli: before[n].rating,
                after_milli: after,
                change_milli: change.change,
                reason: change.reason,
                at,
            };
            let standing = self.standings.entry((game.ladder, game.players[n])).or_insert(NEW);
            standing.rating = after;
            standing.peak = standing.peak.max(after);
            standing.games += 1;
            self.mismatches.extend(compare(game.ledger[n].as_ref(), &row));
            rebuilt::write(&mut self.lines, &row);
            self.rows += 1;
        }
    }

    /// The pair's games within the day before; this one is noted.
    fn count_pair(&mut self, game: &Rated, at: DateTime<Utc>) -> i64 {
        let mut pair = game.players;
        pair.sort();
        let times = self.pairs.entry((game.ladder, pair)).or_default();
        let until = |end: DateTime<Utc>| times.partition_point(|other| *other <= end);
        let count = until(at) - until(at - TimeDelta::hours(24));
        times.insert(until(at), at);
        self.latest = self.latest.max(Some(at));
        self.since_forgotten += 1;
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// Times never cross by as much as a day, so what is two days old counts no more.
    fn forget_pairs(&mut self) {
        if self.since_forgotten < FORGET {
            return;
        }
        self.since_forgotten = 0;
        let Some(end) = self.latest.map(|at| at - TimeDelta::days(2)) else { return };
        self.pairs.retain(|_, times| {
            times.drain(..times.partition_point(|at| *at < end));
            !times.is_empty()
        });
    }

    /// The games that still wait when there are no more.
    fn never_due(&mut self) -> Vec<Mismatch> {
        let never = |row: &LedgerRow| {
            let mut checks = Checks::new("ledger", ledger_key(row));
            checks.fail("number", row.number, "one that fits the order of both players' games");
            checks.take()
        };
        let games = self.waiting.values().flatten();
        games.flat_map(|game| game.ledger.iter().flatten()).flat_map(never).collect()
    }
}

/// Both players with their numbers.
fn accounts(game: &Rated) -> [(PlayerId, Option<i32>); 2] {
    [(game.players[0], game.place.first), (game.players[1], game.place.second)]
}

fn not_rated(row: &LedgerRow) -> Mismatch {
    let (found, expected) = ("a result".to_owned(), format!("none: ratings don't follow from game {}", row.game_id));
    Mismatch { relation: "ledger", key: ledger_key(row), column: "row", found, expected }
}

fn compare(found: Option<&LedgerRow>, rebuilt: &LedgerRow) -> Vec<Mismatch> {
    let Some(found) = found else {
        let mut checks = Checks::new("ledger", ledger_key(rebuilt));
        checks.fail("row", "none", format!("the result of game {}", rebuilt.game_id));
        return checks.take();
    };
    let mut checks = Checks::new("ledger", ledger_key(found));
    checks.same("ladder", found.ladder.0, rebuilt.ladder.0);
    checks.same("number", found.number, rebuilt.number);
    checks.same("opponent_id", found.opponent_id, rebuilt.opponent_id);
    checks.same("opponent_milli", found.opponent_milli, rebuilt.opponent_milli);
    checks.same_float("score", found.score, rebuilt.score);
    checks.same_float("expected", found.expected, rebuilt.expected);
    checks.same_float("k", found.k, rebuilt.k);
    checks.same("before_milli", found.before_milli, rebuilt.before_milli);
    checks.same("after_milli", found.after_milli, rebuilt.after_milli);
    checks.same("change_milli", found.change_milli, rebuilt.change_milli);
    checks.same_or_null("reason", found.reason.map(Reason::as_str), rebuilt.reason.map(Reason::as_str));
    checks.same("at", found.at, rebuilt.at);
    checks.take()
}
