//! The kinds of damage: what is to be named, relation and column, and the statement that does it. They are done to a copy of
//! the database of `integrity.rs`, and know its players.

/// A finished, rated game that was resigned after four plies, and so has records of four bytes.
const RESIGNED: &str =
    "(select game_id from games where rated and termination = 'resignation' and ply = 4 and octet_length(log) = 16
                         and win_rule = 'capture5' order by game_id limit 1)";
/// A game decided on the board.
const WON: &str = "(select game_id from games where termination = 'captures' order by game_id limit 1)";
const DRAWN: &str = "(select game_id from games where termination = 'repetition' order by game_id limit 1)";
const RERUN: &str = "(select game_id from games where rerun_of is not null order by game_id limit 1)";
const RUNNING: &str = "(select game_id from games where status = 'playing' order by game_id limit 1)";
const CASUAL: &str = "(select game_id from games where not rated order by game_id limit 1)";
/// Ana, whose ledger in `capture5` has more than twenty rows.
const ANA: &str = "(select player_id from players where username = 'Ana')";

/// Damage to games: what `verify` names, and the statement that does it.
pub fn games() -> Vec<(&'static str, String)> {
    let set = |game: &str, change: &str| format!("update games set {change} where game_id = {game}");
    vec![
        // The newest move from another square, the time it took, the newest and the oldest move gone.
        ("games log", set(RESIGNED, "log = set_byte(log, 1, get_byte(log, 1) # 255)")),
        ("games log", set(RESIGNED, "log = substr(log, 1, 3)")),
        ("games ply_at", set(RESIGNED, "log = set_byte(log, 3, get_byte(log, 3) # 1)")),
        ("games ply", set(RESIGNED, "log = substr(log, 5)")),
        ("games log", set(RESIGNED, "log = substr(log, 1, 12)")),
        ("games position_hash", set(RESIGNED, "position_hash = position_hash # 1")),
        ("games ply", set(RESIGNED, "ply = ply + 1")),
        ("games ply_at", set(RESIGNED, "ply_at = ply_at - interval '1 millisecond'")),
        ("games ply_at", set(RESIGNED, "started_at = started_at - interval '1 millisecond'")),
        ("games winner", set(WON, "winner = case winner when 'first' then 'second' else 'first' end")),
        ("games winner", set(WON, "winner = null")),
        ("games winner", set(RESIGNED, "winner = null")),
        ("ledger score", set(RESIGNED, "winner = case winner when 'first' then 'second' else 'first' end")),
        ("games termination", set(WON, "termination = 'resignation'")),
        ("games termination", set(RESIGNED, "termination = 'captures'")),
        ("games termination", set(RESIGNED, "termination = 'abort', status = 'aborted', winner = null")),
        ("games winner", set(RESIGNED, "termination = 'agreement'")),
        ("games status", set(RESIGNED, "status = 'aborted'")),
        ("games status", set(WON, "status = 'playing', termination = null, ended_at = null")),
        ("games ended_at", set(WON, "ended_at = ended_at + interval '1 millisecond'")),
        ("games ended_at", set(CASUAL, "ended_at = ply_at - interval '1 millisecond'")),
        ("ledger at", set(RESIGNED, "ended_at = ended_at + interval '1 millisecond'")),
        ("games first_before_milli", set(RESIGNED, "first_before_milli = first_before_milli + 1")),
        ("games second_before_milli", set(RESIGNED, "second_before_milli = null")),
        ("games first_after_milli", set(RESIGNED, "first_after_milli = null")),
        ("games second_after_milli", set(RESIGNED, "second_after_milli = second_after_milli - 1")),
        ("games first_after_milli", set(CASUAL, "first_after_milli = 1500000")),
        ("games second_before_milli", set(CASUAL, "second_before_milli = 1500000")),
        ("ledger row", set(CASUAL, "rated = true")),
        ("ledger row", set(RESIGNED, "rated = false")),
        ("ledger ladder", set(RESIGNED, "win_rule = 'lead3'")),
        ("games rerun", set(DRAWN, "rerun = null")),
        ("games rerun", set(RESIGNED, &format!("rerun = {WON}"))),
        ("games rerun_of", set(RERUN, "rerun_of = null")),
        ("games rerun_of", set(RERUN, &format!("rerun_of = {WON}"))),
        ("games rerun_of", set(RESIGNED, &format!("rerun_of = {DRAWN}"))),
        ("games number", set(RERUN, "number = number + 5")),
        ("games draw_offer", set(RESIGNED, "draw_offer = 'first'")),
        ("games deadline_at", set(RESIGNED, "deadline_at = ended_at")),
        ("games check_at", set(RUNNING, "check_at = null")),
        ("games deadline_at", set(RUNNING, "deadline_at = ply_at + interval '1 hour'")),
        ("games deadline_at", set(RUNNING, "turn_seconds = 30, absence = 'cpu', absence_seconds = null")),
        (
            "games deadline_at",
            set(
                RUNNING,
                "turn_seconds = 30, absence = 'cpu', absence_seconds = null, deadline_at = ply_at + interval '29.999 seconds'",
            ),
        ),
        ("games absence_seconds", set(RESIGNED, "absence_seconds = 5")),
        ("games row", set(RESIGNED, "visibility = 'private'")),
        ("tables games", format!("delete from games where game_id = {CASUAL}")),
        ("ledger game_id", format!("delete from games where game_id = {WON}")),
    ]
}

/// Damage to rows of the ledger.
pub fn ledger() -> Vec<(&'static str, String)> {
    let set = |change: &str| {
        format!(
            "alter table ledger drop constraint ledger_sum, drop constraint ledger_reason, drop constraint ledger_score;
             update ledger set {change} where player_id = {ANA} and ladder = 'capture5' and number = 8"
        )
    };
    let insert = |number: &str, entry: &str, game: &str| {
        format!(
            "insert into ledger select player_id, ladder, {number}, '{entry}', {game}, opponent_id, opponent_milli, score, expected,
             k, before_milli, after_milli, change_milli, reason, at from ledger
             where player_id = {ANA} and ladder = 'capture5' and number = 8"
        )
    };
    let next = "(select max(number) + 1 from ledger where player_id = l.player_id and ladder = l.ladder)"
        .replace("l.player_id", ANA);
    let next = next.replace("l.ladder", "'capture5'");
    vec![
        ("ledger before_milli", set("before_milli = before_milli + 1")),
        ("ledger after_milli", set("after_milli = after_milli + 1")),
        ("ledger change_milli", set("change_milli = change_milli + 1")),
        ("ledger change_milli", set("change_milli = change_milli + 1, after_milli = after_milli + 1")),
        ("ledger k", set("k = k * 2")),
        ("ledger expected", set("expected = expected + 1e-15")),
        ("ledger score", set("score = 1 - score")),
        ("ledger score", set("score = 0.25")),
        ("ledger reason", set("reason = null")),
        ("ledger reason", set("reason = 'stand_in'")),
        ("ledger reason", set("reason = 'annulled'")),
        ("ledger at", set("at = at + interval '1 millisecond'")),
        ("ledger opponent_id", set("opponent_id = (select player_id from players where username = 'Dora')")),
        ("ledger opponent_milli", set("opponent_milli = opponent_milli + 1")),
        ("ledger ladder", set("ladder = 'captureall'")),
        (
            "ratings row",
            set("ladder = 'captureall', player_id = (select player_id from players where username = 'Dora')"),
        ),
        ("ledger game_id", set("game_id = gen_random_uuid()")),
        (
            "ledger game_id",
            set("player_id = (select player_id from players where username = 'Dora'), ladder = 'lead3'"),
        ),
        ("ledger number", set("number = 1000")),
        ("ledger entry", set("entry = 'annulment'")),
        ("ledger row", format!("delete from ledger where player_id = {ANA} and ladder = 'capture5' and number = 8")),
        ("ledger number", format!("delete from ledger where player_id = {ANA} and ladder = 'capture5' and number = 1")),
        ("ratings number", format!("delete from ledger where game_id = {WON}")),
        ("ledger row", format!("delete from ledger where game_id = {WON}")),
        ("ledger game_id", insert(&next, "result", "gen_random_uuid()")),
        ("ledger row", insert(&next, "result", CASUAL)),
        ("ledger reason", insert(&next, "annulment", "game_id")),
        ("ledger change_milli", insert(&next, "annulment", "game_id")),
    ]
}

/// Damage to what is summed up from games and ledger.
pub fn sums() -> Vec<(&'static str, String)> {
    let ratings = |change: &str| format!("update ratings set {change} where player_id = {ANA} and ladder = 'capture5'");
    let tables = |change: &str| format!("update tables set {change} where running");
    vec![
        ("ratings rating_milli", ratings("rating_milli = rating_milli + 1")),
        ("ratings peak_milli", ratings("peak_milli = peak_milli - 1")),
        ("ratings number", ratings("number = number + 1")),
        ("ratings wins", ratings("wins = wins + 1")),
        ("ratings draws", ratings("draws = draws + 1")),
        ("ratings losses", ratings("losses = losses - 1")),
        ("ratings last_rated_at", ratings("last_rated_at = last_rated_at + interval '1 day'")),
        ("ratings last_rated_at", ratings("last_rated_at = null")),
        ("ratings listed", ratings("listed = false")),
        ("ratings listed", "update ratings set listed = true where wins + draws + losses < 10".to_owned()),
        ("ratings username", ratings("username = 'Anna'")),
        ("ratings kind", ratings("kind = 'bot'")),
        ("ratings row", format!("delete from ratings where player_id = {ANA} and ladder = 'capture5'")),
        // Played in this ladder, but nothing that counts.
        ("ratings wins", "update ratings set wins = 1 where number = 0".to_owned()),
        ("rank_buckets players", "update rank_buckets set players = players + 1 where level = 1".to_owned()),
        ("rank_buckets players", "delete from rank_buckets where level = 2".to_owned()),
        ("rank_buckets players", "insert into rank_buckets values ('lead3', 2, 17, -1)".to_owned()),
        ("rank_deltas change", "insert into rank_deltas values ('lead3', 1500000, 1)".to_owned()),
        ("tables running", tables("running = false")),
        ("tables running", "update tables set running = true where not running and game_id is not null".to_owned()),
        ("tables game_id", tables("game_id = gen_random_uuid()")),
        ("tables games", tables("games = games + 1")),
        ("tables moved_first_id", "update tables set moved_first_id = null where not running".to_owned()),
        ("tables absence", "update tables set absence = 'wait', turn_seconds = 30, absence_seconds = null".to_owned()),
        (
            "tables absence_seconds",
            "update tables set absence = 'forfeit', turn_seconds = null, absence_seconds = null".to_owned(),
        ),
    ]
}
