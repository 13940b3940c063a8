//! A finished game becomes a result, two ledger rows, new ratings, and perhaps a rerun: one transaction.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use hasami_rules::{Outcome, Side, Termination, WinRule};
use sqlx::PgConnection;

use super::log;
use super::replay::Loaded;
use super::tables;
use crate::elo::{self, Change, Entrant, Score};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId};
use crate::player::PlayerKind;
use crate::store;
use crate::store::games::{Finish, GameStatus};
use crate::store::ranks::Delta;
use crate::store::ratings::{Entry, NewLedgerRow, Pair, RatingRow};
use crate::store::tables::GameEnd;

/// How a game ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Who won, if anybody.
    pub outcome: Option<Outcome>,
    /// How.
    pub termination: Termination,
    /// When.
    pub at: DateTime<Utc>,
}

impl Ending {
    /// The ending that the last move of a game brought about, if it did.
    #[must_use]
    pub fn of_board(loaded: &Loaded) -> Option<Self> {
        let (outcome, termination) = loaded.game.outcome()?;
        Some(Self { outcome: Some(outcome), termination, at: loaded.row.ply_at })
    }

    /// An end without a result.
    #[must_use]
    pub fn abort(at: DateTime<Utc>) -> Self {
        Self { outcome: None, termination: Termination::Abort, at }
    }

    /// The ending that a row tells of, if it does.
    #[must_use]
    pub fn of_row(loaded: &Loaded) -> Option<Self> {
        let row = &loaded.row;
        let outcome = match row.status {
            GameStatus::Playing => return None,
            GameStatus::Aborted => None,
            GameStatus::Finished => Some(row.winner.map_or(Outcome::Draw, |winner| Outcome::Win(winner.0))),
        };
        Some(Self { outcome, termination: row.termination?.0, at: row.ended_at? })
    }

    fn status(&self) -> GameStatus {
        match self.outcome {
            Some(_) => GameStatus::Finished,
            None => GameStatus::Aborted,
        }
    }
}

/// A game to be ended, as it was read at ply `ply_before`, or with one ply more.
#[derive(Debug, Clone)]
pub struct ToEnd {
    /// The game, its last ply made.
    pub loaded: Loaded,
    /// Plies made when it was read.
    pub ply_before: u16,
    /// How it ends.
    pub ending: Ending,
}

/// Ends a game, with all that follows. The game as it then stands; `None` where somebody was faster, and nothing was
/// changed.
///
/// # Errors
/// The database's.
pub async fn finish(
    conn: &mut PgConnection,
    loaded: Loaded,
    ply_before: u16,
    ending: Ending,
) -> Result<Option<Loaded>> {
    Ok(finish_many(conn, vec![ToEnd { loaded, ply_before, ending }]).await?.pop())
}

/// Ends games, with all that follows; those that were ended, as they then stand. No player and no table may be among
/// them twice: each rating is read once.
///
/// Locks are taken in the order ratings (by player id), games, tables.
///
/// # Errors
/// The database's.
pub async fn finish_many(conn: &mut PgConnection, mut ends: Vec<ToEnd>) -> Result<Vec<Loaded>> {
    let mut settled = rate(conn, &ends).await?;
    let mut rows = Vec::with_capacity(ends.len());
    for end in &mut ends {
        let row = &mut end.loaded.row;
        row.status = end.ending.status();
        row.winner = end.ending.outcome.and_then(Outcome::winner).map(store::Word);
        row.termination = Some(store::Word(end.ending.termination));
        row.ended_at = Some(end.ending.at);
        row.deadline_at = None;
        if let Some(settled) = settled.get(&row.game_id) {
            [row.first_before_milli, row.second_before_milli] = settled.each_ref().map(|s| Some(s.before.rating_milli));
            [row.first_after_milli, row.second_after_milli] = settled.each_ref().map(|s| Some(s.after.rating_milli));
        }
        end.loaded.row.rerun = is_played_again(&end.loaded, end.ending).then(GameId::new);
        rows.push(finish_row(end));
        end.loaded.row.draw_offer = None;
    }
    let ended: HashSet<GameId> = store::games::finish_many(conn, &rows).await?.into_iter().collect();
    ends.retain(|end| ended.contains(&end.loaded.row.game_id));
    settled.retain(|game_id, _| ended.contains(game_id));
    write(conn, &settled).await?;
    let freed: Vec<GameEnd> = ends.iter().map(freed).collect();
    store::tables::end_games(conn, &freed).await?;
    for ToEnd { loaded, .. } in &ends {
        let row = &loaded.row;
        if let Some(rerun) = row.rerun {
            let (first, second) =
                if row.alternate_first { (row.second_id, row.first_id) } else { (row.first_id, row.second_id) };
            let next =
                tables::NextGame { game_id: rerun, number: row.number + 1, first, second, rerun_of: Some(row.game_id) };
            tables::begin_game(conn, row.table_id, &row.options(), next).await?;
        }
    }
    Ok(ends.into_iter().map(|end| end.loaded).collect())
}

fn freed(end: &ToEnd) -> GameEnd {
    let row = &end.loaded.row;
    let moved_first = (end.ending.status() == GameStatus::Finished).then_some(row.first_id);
    GameEnd { table_id: row.table_id, game_id: row.game_id, moved_first }
}

/// Whether a rerun follows: after a repetition draw, unless neither player showed a sign of life.
pub(super) fn is_played_again(loaded: &Loaded, ending: Ending) -> bool {
    let row = &loaded.row;
    let seen = row.first_seen_at > row.started_at || row.second_seen_at > row.started_at;
    ending.termination == Termination::Repetition && (seen || loaded.records.iter().any(|r| !r.by_cpu))
}

fn finish_row(end: &ToEnd) -> Finish {
    let ToEnd { loaded, ply_before, ending } = end;
    let row = &loaded.row;
    let moved = loaded.game.ply() > *ply_before;
    let record = loaded.records.last().filter(|_| moved);
    Finish {
        game_id: row.game_id,
        ply_before: ply_before.cast_signed(),
        ply: row.ply,
        position_hash: row.position_hash,
        ply_at: row.ply_at,
        record: record.map(|r| log::pack(*r)).unwrap_or_default(),
        status: row.status,
        winner: row.winner.map(|w| w.0),
        termination: ending.termination,
        draw_offer: row.draw_offer.map(|d| d.0).filter(|_| ending.termination == Termination::Agreement),
        ended_at: ending.at,
        first_before_milli: row.first_before_milli,
        second_before_milli: row.second_before_milli,
        first_after_milli: row.first_after_milli,
        second_after_milli: row.second_after_milli,
        rerun: row.rerun,
    }
}

/// What `first` made of the game, if ratings follow from it.
pub(super) fn rated_score(loaded: &Loaded, ending: Ending) -> Option<Score> {
    let row = &loaded.row;
    let cpu = row.first_kind == PlayerKind::Cpu || row.second_kind == PlayerKind::Cpu;
    if !row.rated || cpu || loaded.game.ply() < elo::MIN_PLIES {
        return None;
    }
    Some(match ending.outcome? {
        Outcome::Win(Side::First) => Score::Win,
        Outcome::Win(Side::Second) => Score::Loss,
        Outcome::Draw => Score::Draw,
    })
}

/// A side's rating before and after.
#[derive(Debug)]
struct Settled {
    before: RatingRow,
    after: RatingRow,
    change: Change,
    score: Score,
    at: DateTime<Utc>,
}

/// Locks the ratings of those games that are rated and computes what they make of them; nothing is written yet.
async fn rate(conn: &mut PgConnection, ends: &[ToEnd]) -> Result<HashMap<GameId, [Settled; 2]>> {
    let mut rated = Vec::new();
    let (mut keys, mut pairs) = (Vec::new(), Vec::new());
    for end in ends {
        let Some(score) = rated_score(&end.loaded, end.ending) else { continue };
        let row = &end.loaded.row;
        let ladder = row.win_rule.0;
        keys.extend([(row.first_id, ladder), (row.second_id, ladder)]);
        pairs.push(Pair { ladder, player_id: row.first_id, opponent_id: row.second_id, end: end.ending.at });
        rated.push((end, score));
    }
    if rated.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = store::ratings::lock(conn, &keys).await?;
    let mut rows: HashMap<(PlayerId, WinRule), RatingRow> =
        rows.into_iter().map(|r| ((r.player_id, r.ladder.0), r)).collect();
    let pair_games = store::ratings::count_pairs(conn, &pairs).await?;
    let mut settled = HashMap::with_capacity(rated.len());
    for ((end, score), pair_games) in rated.into_iter().zip(pair_games) {
        let loaded = &end.loaded;
        let ladder = loaded.row.win_rule.0;
        let mut of = |id| {
            rows.remove(&(id, ladder)).ok_or_else(|| {
                Error::Internal(format!("player {id} of a rated game has no rating in {ladder}, or two games at once"))
            })
        };
        let (first, second) = (of(loaded.row.first_id)?, of(loaded.row.second_id)?);
        let entrant = |r: &RatingRow, side| Entrant {
            rating: r.rating_milli,
            peak: r.peak_milli,
            games: r.games(),
            stood_in: loaded.stood_in(side),
        };
        let (a, b) = elo::rate(entrant(&first, Side::First), entrant(&second, Side::Second), score, pair_games);
        let at = end.ending.at;
        settled.insert(loaded.row.game_id, [settle(first, a, score, at), settle(second, b, score.other(), at)]);
    }
    Ok(settled)
}

fn settle(before: RatingRow, change: Change, score: Score, at: DateTime<Utc>) -> Settled {
    let mut after = before.clone();
    after.rating_milli += change.change;
    after.peak_milli = after.peak_milli.max(after.rating_milli);
    after.number += 1;
    match score {
        Score::Win => after.wins += 1,
        Score::Draw => after.draws += 1,
        Score::Loss => after.losses += 1,
    }
    after.last_rated_at = after.last_rated_at.max(Some(at));
    after.listed = is_listed(after.kind, after.games());
    Settled { before, after, change, score, at }
}

/// Whether the board shows somebody who has just had a rated game.
pub(super) fn is_listed(kind: PlayerKind, games: i32) -> bool {
    kind != PlayerKind::Guest && games >= elo::ESTABLISHED_GAMES
}

/// Writes ledger, ratings and the deltas of the ranks.
async fn write(conn: &mut PgConnection, settled: &HashMap<GameId, [Settled; 2]>) -> Result<()> {
    if settled.is_empty() {
        return Ok(());
    }
    let (mut ledger, mut deltas, mut ratings) = (Vec::new(), Vec::new(), Vec::new());
    for (game_id, sides) in settled {
        for (own, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            let ladder = own.after.ladder.0;
            ledger.push(NewLedgerRow {
                player_id: own.after.player_id,
                ladder,
                number: own.after.number,
                entry: Entry::Result,
                game_id: *game_id,
                opponent_id: other.before.player_id,
                opponent_milli: other.before.rating_milli,
                score: own.score.value(),
                expected: own.change.expected,
                k: own.change.k,
                before_milli: own.before.rating_milli,
                after_milli: own.after.rating_milli,
                reason: own.change.reason,
                at: own.at,
            });
            ratings.push(&own.after);
            deltas.extend(moves_on_board(ladder, own));
        }
    }
    store::ratings::insert_ledger(conn, &ledger).await?;
    store::ratings::update(conn, &ratings).await?;
    if !deltas.is_empty() {
        store::ranks::insert_deltas(conn, &deltas).await?;
    }
    Ok(())
}

/// A player's step on the board, unless it stays within the narrowest bucket.
fn moves_on_board(ladder: WinRule, settled: &Settled) -> Vec<Delta> {
    let (before, after) = (&settled.before, &settled.after);
    if before.listed && after.listed && before.rating_milli / 100 == after.rating_milli / 100 {
        return Vec::new();
    }
    let delta = |r: &RatingRow, change| r.listed.then_some(Delta { ladder, rating_milli: r.rating_milli, change });
    [delta(before, -1), delta(after, 1)].into_iter().flatten().collect()
}
