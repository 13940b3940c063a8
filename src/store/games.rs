//! Games: one row each, the packed move log inside.

use chrono::{DateTime, Utc};
use hasami_rules::{Side, Termination, WinRule};
use sqlx::PgConnection;

use super::{Word, options_of};
use crate::error::Result;
use crate::ids::{GameId, PlayerId, TableId};
use crate::options::{Absence, TableOptions, Visibility};
use crate::player::PlayerKind;

/// Where a game stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum GameStatus {
    /// Under way.
    Playing,
    /// Ended with a result.
    Finished,
    /// Ended without one.
    Aborted,
}

impl GameStatus {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Playing => "playing",
            Self::Finished => "finished",
            Self::Aborted => "aborted",
        }
    }
}

/// A game, with the names of its players, as read at `now` by the database's clock.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `games`, which the migration explains, and the players'")]
pub struct GameRow {
    pub game_id: GameId,
    pub table_id: TableId,
    pub number: i32,
    pub win_rule: Word<WinRule>,
    pub turn_seconds: Option<i16>,
    pub move_limit: Option<i16>,
    pub show_destinations: bool,
    pub alternate_first: bool,
    pub rated: bool,
    pub visibility: Visibility,
    pub absence: Absence,
    pub absence_seconds: Option<i32>,
    pub first_id: PlayerId,
    pub first_username: String,
    pub first_kind: PlayerKind,
    pub second_id: PlayerId,
    pub second_username: String,
    pub second_kind: PlayerKind,
    pub started_at: DateTime<Utc>,
    pub rerun_of: Option<GameId>,
    pub rerun: Option<GameId>,
    pub winner: Option<Word<Side>>,
    pub termination: Option<Word<Termination>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub first_before_milli: Option<i32>,
    pub second_before_milli: Option<i32>,
    pub first_after_milli: Option<i32>,
    pub second_after_milli: Option<i32>,
    pub first_seen_at: DateTime<Utc>,
    pub second_seen_at: DateTime<Utc>,
    pub first_away: bool,
    pub second_away: bool,
    pub idle_from: Option<DateTime<Utc>>,
    pub status: GameStatus,
    pub draw_offer: Option<Word<Side>>,
    pub deadline_at: Option<DateTime<Utc>>,
    pub ply_at: DateTime<Utc>,
    pub position_hash: i64,
    pub ply: i16,
    pub log: Vec<u8>,
    pub now: DateTime<Utc>,
}

impl GameRow {
    /// The options that the game began with.
    #[must_use]
    pub fn options(&self) -> TableOptions {
        options_of!(self)
    }

    /// Plies made.
    #[must_use]
    pub fn ply(&self) -> u16 {
        self.ply.cast_unsigned()
    }

    /// The side that a player has, if any.
    #[must_use]
    pub fn side_of(&self, player: PlayerId) -> Option<Side> {
        if player == self.first_id {
            Some(Side::First)
        } else if player == self.second_id {
            Some(Side::Second)
        } else {
            None
        }
    }

    /// The player of a side.
    #[must_use]
    pub fn player(&self, side: Side) -> PlayerId {
        match side {
            Side::First => self.first_id,
            Side::Second => self.second_id,
        }
    }
}

/// A game about to begin.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `games`, which the migration explains")]
pub struct NewGame {
    pub game_id: GameId,
    pub table_id: TableId,
    pub number: i32,
    pub options: TableOptions,
    pub first_id: PlayerId,
    pub second_id: PlayerId,
    pub rerun_of: Option<GameId>,
    pub first_before_milli: Option<i32>,
    pub second_before_milli: Option<i32>,
    /// The hash of the starting position.
    pub position_hash: i64,
    /// Seconds from the start after which something may be due.
    pub check_seconds: i32,
}

/// Begins a game.
///
/// # Errors
/// The database's.
pub async fn insert(conn: &mut PgConnection, game: &NewGame) -> Result<()> {
    let options = &game.options;
    sqlx::query!(
        "insert into games (game_id, table_id, number, first_id, second_id, rerun_of, first_before_milli, second_before_milli,
                            position_hash, win_rule, turn_seconds, move_limit, show_destinations, alternate_first, rated,
                            visibility, absence, absence_seconds, started_at, ply_at, first_seen_at, second_seen_at,
                            deadline_at, check_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::smallint, $12, $13, $14, $15, $16, $17, $18, now_ms, now_ms, now_ms, now_ms,
                now_ms + make_interval(secs => $11::smallint), now_ms + make_interval(secs => $19)
         from date_trunc('milliseconds', clock_timestamp()) as now_ms",
        game.game_id.0,
        game.table_id.0,
        game.number,
        game.first_id.0,
        game.second_id.0,
        game.rerun_of.map(|g| g.0),
        game.first_before_milli,
        game.second_before_milli,
        game.position_hash,
        options.win_rule.as_str(),
        options.turn_seconds,
        options.move_limit,
        options.show_destinations,
        options.alternate_first,
        options.rated,
        options.visibility as Visibility,
        options.absence as Absence,
        options.absence_seconds,
        f64::from(game.check_seconds),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The games of these ids, in no order.
///
/// # Errors
/// The database's.
pub async fn find_many(conn: &mut PgConnection, game_ids: &[GameId]) -> Result<Vec<GameRow>> {
    Ok(sqlx::query_as!(
        GameRow,
        r#"
        select g.game_id as "game_id: GameId", g.table_id as "table_id: TableId", g.number,
               g.win_rule as "win_rule: Word<WinRule>", g.turn_seconds, g.move_limit, g.show_destinations,
               g.alternate_first, g.rated, g.visibility as "visibility: Visibility", g.absence as "absence: Absence",
               g.absence_seconds,
               g.first_id as "first_id: PlayerId", a.username as first_username, a.kind as "first_kind: PlayerKind",
               g.second_id as "second_id: PlayerId", b.username as second_username, b.kind as "second_kind: PlayerKind",
               g.started_at, g.rerun_of as "rerun_of: GameId", g.rerun as "rerun: GameId",
               g.winner as "winner: Word<Side>", g.termination as "termination: Word<Termination>", g.ended_at,
               g.first_before_milli, g.second_before_milli, g.first_after_milli, g.second_after_milli,
               g.first_seen_at, g.second_seen_at, g.first_away, g.second_away, g.idle_from,
               g.status as "status: GameStatus", g.draw_offer as "draw_offer: Word<Side>", g.deadline_at, g.ply_at,
               g.position_hash, g.ply, g.log, date_trunc('milliseconds', clock_timestamp()) as "now!"
        from games g
        join players a on a.player_id = g.first_id
        join players b on b.player_id = g.second_id
        where g.game_id = any($1)
        "#,
        game_ids as &[GameId],
    )
    .fetch_all(conn)
    .await?)
}

/// A ply to be written by a game that goes on.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `games` that a move changes")]
pub struct Append {
    pub game_id: GameId,
    /// Whether who moved is away: the computer did it.
    pub away: bool,
    pub deadline_at: Option<DateTime<Utc>>,
    /// The ply that the move becomes.
    pub ply: i16,
    pub position_hash: i64,
    pub ply_at: DateTime<Utc>,
    /// The packed record to put before the log.
    pub record: Vec<u8>,
}

/// Writes one ply in each game that still stands at the ply before it; the ids of those. What others may change
/// meanwhile, the opponent's being away and the opponent's offer, stays as it stands.
///
/// # Errors
/// The database's.
pub async fn append_many(conn: &mut PgConnection, appends: &[Append]) -> Result<Vec<GameId>> {
    let game_ids: Vec<GameId> = appends.iter().map(|a| a.game_id).collect();
    let away: Vec<bool> = appends.iter().map(|a| a.away).collect();
    let deadlines: Vec<Option<DateTime<Utc>>> = appends.iter().map(|a| a.deadline_at).collect();
    let plies: Vec<i16> = appends.iter().map(|a| a.ply).collect();
    let hashes: Vec<i64> = appends.iter().map(|a| a.position_hash).collect();
    let times: Vec<DateTime<Utc>> = appends.iter().map(|a| a.ply_at).collect();
    let records: Vec<&[u8]> = appends.iter().map(|a| a.record.as_slice()).collect();
    Ok(sqlx::query_scalar!(
        r#"
        update games g
        set first_away = case when m.ply % 2 = 1 then m.away else g.first_away end,
            second_away = case when m.ply % 2 = 1 then g.second_away else m.away end,
            draw_offer = nullif(g.draw_offer, case when m.ply % 2 = 1 then 'first' else 'second' end),
            deadline_at = m.deadline_at, ply = m.ply, position_hash = m.position_hash, ply_at = m.ply_at, log = m.record || g.log
        from unnest($1::uuid[], $2::boolean[], $3::timestamptz[], $4::smallint[], $5::bigint[], $6::timestamptz[], $7::bytea[])
             as m (game_id, away, deadline_at, ply, position_hash, ply_at, record)
        where g.game_id = m.game_id and g.ply = m.ply - 1 and g.status = 'playing'
        returning g.game_id as "game_id: GameId"
        "#,
        &game_ids as &[GameId],
        &away,
        &deadlines as &[Option<DateTime<Utc>>],
        &plies,
        &hashes,
        &times,
        &records as &[&[u8]],
    )
    .fetch_all(conn)
    .await?)
}

/// Sets or takes back the offer of a draw of a game that still stands at this ply. `false` where it does not.
///
/// # Errors
/// The database's.
pub async fn set_offer(
    conn: &mut PgConnection,
    game_id: GameId,
    ply: i16,
    before: Option<Side>,
    offer: Option<Side>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update games set draw_offer = $4
         where game_id = $1 and ply = $2 and status = 'playing' and draw_offer is not distinct from $3",
        game_id.0,
        ply,
        before.map(Side::as_str),
        offer.map(Side::as_str),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// How a game ends.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `games` that an ending sets")]
pub struct Finish {
    pub game_id: GameId,
    /// Plies made before; the guard.
    pub ply_before: i16,
    pub ply: i16,
    pub position_hash: i64,
    pub ply_at: DateTime<Utc>,
    /// The last ply's packed record; empty where the ending is none on the board.
    pub record: Vec<u8>,
    pub status: GameStatus,
    pub winner: Option<Side>,
    pub termination: Termination,
    /// The offer that was agreed to; the guard of an agreement.
    pub draw_offer: Option<Side>,
    pub ended_at: DateTime<Utc>,
    pub first_before_milli: Option<i32>,
    pub second_before_milli: Option<i32>,
    pub first_after_milli: Option<i32>,
    pub second_after_milli: Option<i32>,
    pub rerun: Option<GameId>,
}

/// Ends games that still stand at the ply before; the ids of those.
///
/// # Errors
/// The database's.
pub async fn finish_many(conn: &mut PgConnection, ends: &[Finish]) -> Result<Vec<GameId>> {
    let game_ids: Vec<GameId> = ends.iter().map(|e| e.game_id).collect();
    let plies_before: Vec<i16> = ends.iter().map(|e| e.ply_before).collect();
    let plies: Vec<i16> = ends.iter().map(|e| e.ply).collect();
    let hashes: Vec<i64> = ends.iter().map(|e| e.position_hash).collect();
    let times: Vec<DateTime<Utc>> = ends.iter().map(|e| e.ply_at).collect();
    let records: Vec<&[u8]> = ends.iter().map(|e| e.record.as_slice()).collect();
    let statuses: Vec<GameStatus> = ends.iter().map(|e| e.status).collect();
    let winners: Vec<Option<&str>> = ends.iter().map(|e| e.winner.map(Side::as_str)).collect();
    let terminations: Vec<&str> = ends.iter().map(|e| e.termination.as_str()).collect();
    let ended: Vec<DateTime<Utc>> = ends.iter().map(|e| e.ended_at).collect();
    let first_before: Vec<Option<i32>> = ends.iter().map(|e| e.first_before_milli).collect();
    let second_before: Vec<Option<i32>> = ends.iter().map(|e| e.second_before_milli).collect();
    let first_after: Vec<Option<i32>> = ends.iter().map(|e| e.first_after_milli).collect();
    let second_after: Vec<Option<i32>> = ends.iter().map(|e| e.second_after_milli).collect();
    let reruns: Vec<Option<GameId>> = ends.iter().map(|e| e.rerun).collect();
    let offers: Vec<Option<&str>> = ends.iter().map(|e| e.draw_offer.map(Side::as_str)).collect();
    Ok(sqlx::query_scalar!(
        r#"
        update games g
        set ply = m.ply, position_hash = m.position_hash, ply_at = m.ply_at, log = m.record || g.log, status = m.status,
            winner = m.winner, termination = m.termination, ended_at = m.ended_at, first_before_milli = m.first_before,
            second_before_milli = m.second_before, first_after_milli = m.first_after, second_after_milli = m.second_after,
            rerun = m.rerun, draw_offer = null, deadline_at = null, check_at = null
        from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::bigint[], $5::timestamptz[], $6::bytea[], $7::text[],
                    $8::text[], $9::text[], $10::timestamptz[], $11::integer[], $12::integer[], $13::integer[], $14::integer[],
                    $15::uuid[], $16::text[])
             as m (game_id, ply_before, ply, position_hash, ply_at, record, status, winner, termination, ended_at, first_before,
                   second_before, first_after, second_after, rerun, draw_offer)
        where g.game_id = m.game_id and g.ply = m.ply_before and g.status = 'playing'
          and (m.draw_offer is null or g.draw_offer = m.draw_offer)
        returning g.game_id as "game_id: GameId"
        "#,
        &game_ids as &[GameId],
        &plies_before,
        &plies,
        &hashes,
        &times,
        &records as &[&[u8]],
        &statuses as &[GameStatus],
        &winners as &[Option<&str>],
        &terminations as &[&str],
        &ended,
        &first_before as &[Option<i32>],
        &second_before as &[Option<i32>],
        &first_after as &[Option<i32>],
        &second_after as &[Option<i32>],
        &reruns as &[Option<GameId>],
        &offers as &[Option<&str>],
    )
    .fetch_all(conn)
    .await?)
}
