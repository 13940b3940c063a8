//! One game: its log, its end, its two ledger rows, its rerun.

use chrono::TimeDelta;
use hasami_rules::{Outcome, Side, Termination};

use super::finding::{Checks, Mismatch, ledger_key, or_null};
use crate::elo::{self, Reason, Score, Stake};
use crate::ids::PlayerId;
use crate::ladder::replay::{Corrupt, Loaded};
use crate::ladder::settle::{self, Ending};
use crate::store::audit::{LedgerRow, Links};
use crate::store::games::{GameRow, GameStatus};
use crate::store::ratings::Entry;

const SIDES: [Side; 2] = [Side::First, Side::Second];

/// Replays a game and compares all that follows from it.
pub(super) fn check(row: GameRow, ledger: &[&LedgerRow], links: Option<&Links>) -> Vec<Mismatch> {
    let mut checks = Checks::new("games", row.game_id.to_string());
    if let Err(option) = row.options().validate() {
        checks.fail(option.name, "a value that is not allowed", option.why);
    }
    let loaded = match Loaded::check(row) {
        Ok(loaded) => loaded,
        Err(corrupt) => {
            match corrupt {
                Corrupt::Log(why) => checks.fail("log", why, "a log that replays"),
                Corrupt::Ply { log, row } => checks.fail("ply", row, log),
                Corrupt::PositionHash { log, row } => {
                    checks.fail("position_hash", row.cast_signed(), log.cast_signed());
                }
                Corrupt::Status => checks.fail("status", "playing", "finished: the board says so"),
            }
            return checks.take();
        }
    };
    let ending = Ending::of_row(&loaded);
    check_times(&mut checks, &loaded);
    check_ending(&mut checks, &loaded, ending);
    check_links(&mut checks, &loaded, ending, links);
    let mut mismatches = checks.take();
    mismatches.extend(check_ledger(&loaded, ending, ledger));
    mismatches
}

fn check_times(checks: &mut Checks, loaded: &Loaded) {
    let row = &loaded.row;
    let elapsed: i64 = loaded.records.iter().map(|r| r.elapsed_ms.cast_signed()).sum();
    checks.same("ply_at", row.ply_at, row.started_at + TimeDelta::milliseconds(elapsed));
    if let Some(ended_at) = row.ended_at {
        if ended_at < row.ply_at {
            checks.fail("ended_at", ended_at, format!("not before the last ply at {}", row.ply_at));
        }
        checks.same_or_null("draw_offer", row.draw_offer.map(|d| d.0), None);
        checks.same_or_null("deadline_at", row.deadline_at, None);
    } else if let Some(seconds) = row.turn_seconds {
        // Later only where an outage was given back.
        let earliest = row.ply_at + TimeDelta::seconds(seconds.into());
        if row.deadline_at.is_none_or(|deadline| deadline < earliest) {
            checks.fail("deadline_at", or_null(row.deadline_at), format!("not before {earliest}"));
        }
    } else {
        checks.same_or_null("deadline_at", row.deadline_at, None);
    }
}

/// What the row says of the end, against the board; endings away from the board must at least make sense.
fn check_ending(checks: &mut Checks, loaded: &Loaded, ending: Option<Ending>) {
    let row = &loaded.row;
    let winner = row.winner.map(|w| w.0);
    let status = row.status.as_str();
    let Some(ending) = ending else {
        checks.same("status", status, GameStatus::Playing.as_str());
        return checks.same_or_null("winner", winner, None);
    };
    if let Some(board) = Ending::of_board(loaded) {
        checks.same("status", status, GameStatus::Finished.as_str());
        checks.same("termination", ending.termination, board.termination);
        checks.same_or_null("winner", winner, board.outcome.and_then(Outcome::winner));
        return checks.same("ended_at", ending.at, board.at);
    }
    let finished = match ending.termination {
        Termination::Captures | Termination::NoMoves | Termination::Repetition | Termination::MoveLimit => {
            return checks.fail("termination", ending.termination, "another: on the board the game goes on");
        }
        Termination::Resignation | Termination::Timeout => {
            if winner.is_none() {
                checks.fail("winner", "null", "a side");
            }
            GameStatus::Finished
        }
        Termination::Agreement => {
            checks.same_or_null("winner", winner, None);
            GameStatus::Finished
        }
        Termination::Abort => {
            checks.same_or_null("winner", winner, None);
            if loaded.game.ply() > 2 {
                checks.fail("termination", ending.termination, "another: after its second ply no game is aborted");
            }
            GameStatus::Aborted
        }
    };
    checks.same("status", status, finished.as_str());
}

fn check_links(checks: &mut Checks, loaded: &Loaded, ending: Option<Ending>, links: Option<&Links>) {
    let row = &loaded.row;
    let again = ending.is_some_and(|ending| settle::is_played_again(loaded, ending));
    match (row.rerun, again) {
        (None, true) => checks.fail("rerun", "null", "a game: the draw by repetition is played again"),
        (Some(rerun), false) => checks.fail("rerun", rerun, "null"),
        _ => {}
    }
    let Some(links) = links else { return };
    if let Some(rerun) = row.rerun {
        let mut next = Checks::new("games", rerun.to_string());
        next.same_or_null("rerun_of", links.next_rerun_of, Some(row.game_id));
        next.same_or_null("table_id", links.next_table_id, Some(row.table_id));
        next.same_or_null("number", links.next_number, Some(row.number + 1));
        checks.extend(next);
    }
    if let Some(previous) = row.rerun_of
        && links.previous_rerun != Some(row.game_id)
    {
        checks.fail("rerun_of", previous, "the game whose rerun this is");
    }
}

fn check_ledger(loaded: &Loaded, ending: Option<Ending>, ledger: &[&LedgerRow]) -> Vec<Mismatch> {
    let row = &loaded.row;
    let of = |player: PlayerId, entry| ledger.iter().copied().find(|l| l.player_id == player && l.entry == entry);
    let results = SIDES.map(|side| of(row.player(side), Entry::Result));
    let score = ending.and_then(|ending| settle::rated_score(loaded, ending));
    let mut mismatches = Vec::new();
    let mut game = Checks::new("games", row.game_id.to_string());
    let before = [row.first_before_milli, row.second_before_milli];
    let after = [row.first_after_milli, row.second_after_milli];
    let columns = [["first_before_milli", "first_after_milli"], ["second_before_milli", "second_after_milli"]];
    for (n, side) in SIDES.into_iter().enumerate() {
        let player = row.player(side);
        match (results[n], score) {
            (Some(result), Some(_)) => {
                game.same_or_null(columns[n][0], before[n], Some(result.before_milli));
                game.same_or_null(columns[n][1], after[n], Some(result.after_milli));
            }
            (None, Some(_)) => {
                let key = format!("{player}/{}/game {}", row.win_rule.0, row.game_id);
                let mut missing = Checks::new("ledger", key);
                missing.fail("row", "none", "the result of this rated game");
                mismatches.extend(missing.take());
            }
            (result, None) => {
                if let Some(result) = result {
                    let mut extra = Checks::new("ledger", ledger_key(result));
                    extra.fail(
                        "row",
                        format!("a result of game {}", row.game_id),
                        "none: ratings don't follow from it",
                    );
                    mismatches.extend(extra.take());
                }
                game.same_or_null(columns[n][1], after[n], None);
                if !row.rated {
                    game.same_or_null(columns[n][0], before[n], None);
                }
            }
        }
        if let (None, Some(annulment)) = (results[n], of(player, Entry::Annulment)) {
            let mut extra = Checks::new("ledger", ledger_key(annulment));
            extra.fail("entry", "annulment", "a result of the game as well");
            mismatches.extend(extra.take());
        }
    }
    mismatches.extend(game.take());
    if let (Some(score), Some(ending), [Some(first), Some(second)]) = (score, ending, results) {
        mismatches.extend(check_results(loaded, ending, score, [first, second]));
    }
    mismatches
}

/// Both rows against the game and each other. K and what follows from earlier games are the account's.
fn check_results(loaded: &Loaded, ending: Ending, score: Score, rows: [&LedgerRow; 2]) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let stake = |n: usize| Stake { rating: rows[n].before_milli, k: rows[n].k, stood_in: loaded.stood_in(SIDES[n]) };
    let worth = elo::exchange([stake(0), stake(1)], score);
    for (n, score) in [score, score.other()].into_iter().enumerate() {
        let (own, other) = (rows[n], rows[1 - n]);
        let mut checks = Checks::new("ledger", ledger_key(own));
        checks.same("ladder", own.ladder.0, loaded.row.win_rule.0);
        checks.same("opponent_id", own.opponent_id, other.player_id);
        checks.same("opponent_milli", own.opponent_milli, other.before_milli);
        checks.same_float("score", own.score, score.value());
        checks.same_float("expected", own.expected, worth[n].expected);
        checks.same("change_milli", own.change_milli, worth[n].change);
        checks.same("at", own.at, ending.at);
        let capped = own.reason == Some(Reason::StandIn);
        if capped != worth[n].capped {
            let reason = own.reason.map_or("null", Reason::as_str);
            checks.fail("reason", reason, if capped { "another: no gain was taken away" } else { "stand_in" });
        }
        mismatches.extend(checks.take());
    }
    mismatches
}
