//! A finished game becomes a result, two ledger rows, new ratings, and perhaps a rerun: one transaction.

use chrono::{DateTime, Utc};
use hasami_rules::{Outcome, Side, Termination, WinRule};
use sqlx::PgConnection;

use super::log;
use super::replay::Loaded;
use super::tables;
use crate::elo::{self, Change, Entrant, Score};
use crate::error::Result;
use crate::ids::GameId;
use crate::player::PlayerKind;
use crate::store;
use crate::store::games::{Finish, GameStatus};
use crate::store::ranks::Delta;
use crate::store::ratings::{Entry, NewLedgerRow, RatingRow};

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

/// Ends a game that was read at ply `ply_before`, with all that follows. The game as it then stands; `None` where
/// somebody was faster, and nothing was changed.
///
/// Locks are taken in the order ratings (by player id), game, table.
///
/// # Errors
/// The database's.
pub async fn finish(
    conn: &mut PgConnection,
    mut loaded: Loaded,
    ply_before: u16,
    ending: Ending,
) -> Result<Option<Loaded>> {
    let settled = match rated_score(&loaded, ending) {
        Some(score) => Some(rate(conn, &loaded, score, ending.at).await?),
        None => None,
    };
    let row = &mut loaded.row;
    row.status = ending.status();
    row.winner = ending.outcome.and_then(Outcome::winner).map(store::Word);
    row.termination = Some(store::Word(ending.termination));
    row.ended_at = Some(ending.at);
    row.draw_offer = None;
    row.deadline_at = None;
    if let Some(settled) = &settled {
        [row.first_before_milli, row.second_before_milli] = settled.each_ref().map(|s| Some(s.before.rating_milli));
        [row.first_after_milli, row.second_after_milli] = settled.each_ref().map(|s| Some(s.after.rating_milli));
    }
    let rerun = is_played_again(&loaded, ending).then(GameId::new);
    loaded.row.rerun = rerun;

    if !store::games::finish(conn, &finish_row(&loaded, ply_before, ending)).await? {
        return Ok(None);
    }
    if let Some(settled) = &settled {
        write(conn, &loaded, settled, ending.at).await?;
    }
    let row = &loaded.row;
    let moved_first = (ending.status() == GameStatus::Finished).then_some(row.first_id);
    store::tables::end_game(conn, row.table_id, row.game_id, moved_first).await?;
    if let Some(rerun) = rerun {
        let (first, second) =
            if row.alternate_first { (row.second_id, row.first_id) } else { (row.first_id, row.second_id) };
        let next =
            tables::NextGame { game_id: rerun, number: row.number + 1, first, second, rerun_of: Some(row.game_id) };
        tables::begin_game(conn, row.table_id, &row.options(), next).await?;
    }
    Ok(Some(loaded))
}

/// Whether a rerun follows: after a repetition draw, unless neither player showed a sign of life.
pub(super) fn is_played_again(loaded: &Loaded, ending: Ending) -> bool {
    let row = &loaded.row;
    let seen = row.first_seen_at > row.started_at || row.second_seen_at > row.started_at;
    ending.termination == Termination::Repetition && (seen || loaded.records.iter().any(|r| !r.by_cpu))
}

fn finish_row(loaded: &Loaded, ply_before: u16, ending: Ending) -> Finish {
    let row = &loaded.row;
    let moved = loaded.game.ply() > ply_before;
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
}

/// Locks both ratings and computes what the game makes of them; nothing is written yet.
async fn rate(conn: &mut PgConnection, loaded: &Loaded, score: Score, at: DateTime<Utc>) -> Result<[Settled; 2]> {
    let row = &loaded.row;
    let ladder = row.win_rule.0;
    let rows = store::ratings::lock(conn, ladder, [row.first_id, row.second_id]).await?;
    let of = |id| {
        rows.iter().find(|r| r.player_id == id).cloned().ok_or_else(|| {
            crate::error::Error::Internal(format!("player {id} of a rated game has no rating in {ladder}"))
        })
    };
    let (first, second) = (of(row.first_id)?, of(row.second_id)?);
    let pair_games = store::ratings::count_pair(conn, ladder, row.first_id, row.second_id, at).await?;
    let entrant = |r: &RatingRow, side| Entrant {
        rating: r.rating_milli,
        peak: r.peak_milli,
        games: r.games(),
        stood_in: loaded.stood_in(side),
    };
    let (a, b) = elo::rate(entrant(&first, Side::First), entrant(&second, Side::Second), score, pair_games);
    Ok([settle(first, a, score, at), settle(second, b, score.other(), at)])
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
    Settled { before, after, change, score }
}

/// Whether the board shows somebody who has just had a rated game.
pub(super) fn is_listed(kind: PlayerKind, games: i32) -> bool {
    kind != PlayerKind::Guest && games >= elo::ESTABLISHED_GAMES
}

/// Writes ledger, ratings and the deltas of the ranks.
async fn write(conn: &mut PgConnection, loaded: &Loaded, settled: &[Settled; 2], at: DateTime<Utc>) -> Result<()> {
    let mut deltas = Vec::new();
    for (own, other) in [(&settled[0], &settled[1]), (&settled[1], &settled[0])] {
        let ladder = own.after.ladder.0;
        let row = NewLedgerRow {
            player_id: own.after.player_id,
            ladder,
            number: own.after.number,
            entry: Entry::Result,
            game_id: loaded.row.game_id,
            opponent_id: other.before.player_id,
            opponent_milli: other.before.rating_milli,
            score: own.score.value(),
            expected: own.change.expected,
            k: own.change.k,
            before_milli: own.before.rating_milli,
            after_milli: own.after.rating_milli,
            reason: own.change.reason,
            at,
        };
        store::ratings::insert_ledger(conn, &row).await?;
        deltas.extend(moves_on_board(ladder, own));
    }
    // In the order of ids, like the locks.
    let mut order = [&settled[0].after, &settled[1].after];
    order.sort_by_key(|r| r.player_id);
    for row in order {
        store::ratings::update(conn, row).await?;
    }
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
