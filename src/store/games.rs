//! Games: one row each, the packed move log inside.

use chrono::{DateTime, Utc};
use hasami_rules::{Side, Termination, WinRule};
use sqlx::PgConnection;

use super::Word;
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
        TableOptions {
            win_rule: self.win_rule.0,
            turn_seconds: self.turn_seconds,
            move_limit: self.move_limit,
            show_destinations: self.show_destinations,
            alternate_first: self.alternate_first,
            rated: self.rated,
            visibility: self.visibility,
            absence: self.absence,
            absence_seconds: self.absence_seconds,
        }
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
                            visibility, absence, absence_seconds, started_at, ply_at, first_seen_at, second_seen_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, now_ms, now_ms, now_ms, now_ms
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
    /// The ply that the move becomes.
    pub ply: i16,
    pub position_hash: i64,
    pub ply_at: DateTime<Utc>,
    /// The packed record to put before the log.
    pub record: Vec<u8>,
}

/// Writes one ply in each game that still stands at the ply before it; the ids of those.
///
/// # Errors
/// The database's.
pub async fn append_many(conn: &mut PgConnection, appends: &[Append]) -> Result<Vec<GameId>> {
    let game_ids: Vec<GameId> = appends.iter().map(|a| a.game_id).collect();
    let plies: Vec<i16> = appends.iter().map(|a| a.ply).collect();
    let hashes: Vec<i64> = appends.iter().map(|a| a.position_hash).collect();
    let times: Vec<DateTime<Utc>> = appends.iter().map(|a| a.ply_at).collect();
    let records: Vec<&[u8]> = appends.iter().map(|a| a.record.as_slice()).collect();
    Ok(sqlx::query_scalar!(
        r#"
        update games g
        set ply = m.ply, position_hash = m.position_hash, ply_at = m.ply_at, log = m.record || g.log
        from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::timestamptz[], $5::bytea[])
             as m (game_id, ply, position_hash, ply_at, record)
        where g.game_id = m.game_id and g.ply = m.ply - 1 and g.status = 'playing'
        returning g.game_id as "game_id: GameId"
        "#,
        &game_ids as &[GameId],
        &plies,
        &hashes,
        &times,
        &records as &[&[u8]],
    )
    .fetch_all(conn)
    .await?)
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
    pub ended_at: DateTime<Utc>,
    pub first_before_milli: Option<i32>,
    pub second_before_milli: Option<i32>,
    pub first_after_milli: Option<i32>,
    pub second_after_milli: Option<i32>,
    pub rerun: Option<GameId>,
}

/// Ends a game that still stands at the ply before. `false` where it does not.
///
/// # Errors
/// The database's.
pub async fn finish(conn: &mut PgConnection, end: &Finish) -> Result<bool> {
    let done = sqlx::query!(
        "update games
         set ply = $3, position_hash = $4, ply_at = $5, log = $6::bytea || log, status = $7, winner = $8, termination = $9,
             ended_at = $10, first_before_milli = $11, second_before_milli = $12, first_after_milli = $13,
             second_after_milli = $14, rerun = $15, draw_offer = null, deadline_at = null, check_at = null
         where game_id = $1 and ply = $2 and status = 'playing'",
        end.game_id.0,
        end.ply_before,
        end.ply,
        end.position_hash,
        end.ply_at,
        end.record,
        end.status as GameStatus,
        end.winner.map(Side::as_str),
        end.termination.as_str(),
        end.ended_at,
        end.first_before_milli,
        end.second_before_milli,
        end.first_after_milli,
        end.second_after_milli,
        end.rerun.map(|g| g.0),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Which games a list shows. Unlisted ones are shown to their players only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listing {
    /// Who asks.
    pub viewer: Option<PlayerId>,
    /// Only games of this player.
    pub player: Option<PlayerId>,
    /// Only games at this table.
    pub table: Option<TableId>,
    /// Only games in this state.
    pub status: Option<GameStatus>,
    /// Only games of this ladder.
    pub ladder: Option<WinRule>,
    /// Only rated or only casual ones.
    pub rated: Option<bool>,
}

/// Ids of games before `before`, newest first. Each kind of listing has a statement of its own, so that each walks
/// an index in the order of the list.
///
/// # Errors
/// The database's.
pub async fn list(
    conn: &mut PgConnection,
    listing: Listing,
    before: Option<GameId>,
    limit: i64,
) -> Result<Vec<GameId>> {
    let before = before.map_or(uuid::Uuid::max(), |id| id.0);
    let viewer = listing.viewer.map(|p| p.0);
    let status = listing.status.map(GameStatus::as_str);
    let ladder = listing.ladder.map(WinRule::as_str);
    let ids = match (listing.player, listing.table, listing.status) {
        (Some(player), table, _) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id!: GameId" from (
                    (select game_id from games
                     where first_id = $1 and game_id < $2 and (visibility = 'public' or first_id = $3 or second_id = $3)
                       and ($4::text is null or status = $4) and ($5::text is null or win_rule = $5)
                       and ($6::boolean is null or rated = $6) and ($7::uuid is null or table_id = $7)
                     order by game_id desc limit $8)
                    union all
                    (select game_id from games
                     where second_id = $1 and game_id < $2 and (visibility = 'public' or first_id = $3 or second_id = $3)
                       and ($4::text is null or status = $4) and ($5::text is null or win_rule = $5)
                       and ($6::boolean is null or rated = $6) and ($7::uuid is null or table_id = $7)
                     order by game_id desc limit $8)
                ) both_sides
                order by game_id desc limit $8
                "#,
                player.0,
                before,
                viewer,
                status,
                ladder,
                listing.rated,
                table.map(|t| t.0),
                limit,
            )
            .fetch_all(conn)
            .await?
        }
        (None, Some(table), _) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id: GameId" from games
                where table_id = $1 and game_id < $2 and (visibility = 'public' or first_id = $3 or second_id = $3)
                  and ($4::text is null or status = $4) and ($5::text is null or win_rule = $5)
                  and ($6::boolean is null or rated = $6)
                order by game_id desc limit $7
                "#,
                table.0,
                before,
                viewer,
                status,
                ladder,
                listing.rated,
                limit,
            )
            .fetch_all(conn)
            .await?
        }
        (None, None, Some(GameStatus::Playing)) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id: GameId" from games
                where status = 'playing' and game_id < $1 and (visibility = 'public' or first_id = $2 or second_id = $2)
                  and ($3::text is null or win_rule = $3) and ($4::boolean is null or rated = $4)
                order by game_id desc limit $5
                "#,
                before,
                viewer,
                ladder,
                listing.rated,
                limit,
            )
            .fetch_all(conn)
            .await?
        }
        (None, None, _) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id: GameId" from games
                where game_id < $1 and (visibility = 'public' or first_id = $2 or second_id = $2)
                  and ($3::text is null or status = $3) and ($4::text is null or win_rule = $4)
                  and ($5::boolean is null or rated = $5)
                order by game_id desc limit $6
                "#,
                before,
                viewer,
                status,
                ladder,
                listing.rated,
                limit,
            )
            .fetch_all(conn)
            .await?
        }
    };
    Ok(ids)
}
