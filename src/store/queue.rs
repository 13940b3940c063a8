//! The queue: one ticket a player.

use chrono::{DateTime, TimeDelta, Utc};
use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::{Word, options_of};
use crate::elo::{Milli, START};
use crate::error::Result;
use crate::ids::{GameId, PlayerId, TableId, TicketId};
use crate::options::{Absence, TableOptions, Visibility};

/// What became of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum TicketStatus {
    /// No opponent yet.
    Waiting,
    /// The game has begun.
    Paired,
    /// Its player gave it up.
    Cancelled,
    /// Its time is over. Not stored: it follows from the time.
    Expired,
}

/// A ticket, and the database's time when it was read.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `tickets`, which the migration explains")]
pub struct TicketRow {
    pub player_id: PlayerId,
    pub ticket_id: TicketId,
    pub win_rule: Word<WinRule>,
    pub turn_seconds: Option<i16>,
    pub move_limit: Option<i16>,
    pub show_destinations: bool,
    pub alternate_first: bool,
    pub rated: bool,
    pub absence: Absence,
    pub absence_seconds: Option<i32>,
    pub rating_milli: Milli,
    pub start_window: i32,
    pub max_window: Option<i32>,
    pub stored_status: TicketStatus,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub table_id: Option<TableId>,
    pub game_id: Option<GameId>,
    pub now: DateTime<Utc>,
}

impl TicketRow {
    /// The options of the game to come.
    #[must_use]
    pub fn options(&self) -> TableOptions {
        options_of!(self, Visibility::Public)
    }

    /// What became of it by the time at which it was read.
    #[must_use]
    pub fn status(&self) -> TicketStatus {
        match self.stored_status {
            TicketStatus::Waiting if self.expires_at <= self.now => TicketStatus::Expired,
            status => status,
        }
    }

    /// How long it waited, or has waited so far.
    #[must_use]
    pub fn waited(&self) -> TimeDelta {
        self.ended_at.unwrap_or(self.now).min(self.expires_at) - self.created_at
    }
}

/// A ticket about to be taken.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `tickets`, which the migration explains")]
pub struct NewTicket {
    pub player_id: PlayerId,
    pub ticket_id: TicketId,
    pub options: TableOptions,
    pub start_window: i32,
    pub max_window: Option<i32>,
    pub expires_seconds: i32,
}

/// Takes a player's ticket: with `replace` in the place of the one there is, which the transaction holds. Without,
/// `false` where there is one.
///
/// # Errors
/// The database's.
pub async fn put(conn: &mut PgConnection, new: &NewTicket, replace: bool) -> Result<bool> {
    let options = &new.options;
    let done = sqlx::query!(
        "insert into tickets (player_id, ticket_id, win_rule, turn_seconds, move_limit, show_destinations,
                              alternate_first, rated, absence, absence_seconds, start_window, max_window,
                              rating_milli, created_at, expires_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                coalesce((select rating_milli from ratings where player_id = $1 and ladder = $3), $13),
                now_ms, now_ms + make_interval(secs => $14)
         from date_trunc('milliseconds', clock_timestamp()) as now_ms
         on conflict on constraint tickets_pkey do update set
             ticket_id = excluded.ticket_id, win_rule = excluded.win_rule, turn_seconds = excluded.turn_seconds,
             move_limit = excluded.move_limit, show_destinations = excluded.show_destinations,
             alternate_first = excluded.alternate_first, rated = excluded.rated, absence = excluded.absence,
             absence_seconds = excluded.absence_seconds, start_window = excluded.start_window,
             max_window = excluded.max_window, rating_milli = excluded.rating_milli, created_at = excluded.created_at,
             expires_at = excluded.expires_at, status = 'waiting', ended_at = null, table_id = null, game_id = null
         where $15",
        new.player_id.0,
        new.ticket_id.0,
        options.win_rule.as_str(),
        options.turn_seconds,
        options.move_limit,
        options.show_destinations,
        options.alternate_first,
        options.rated,
        options.absence as Absence,
        options.absence_seconds,
        new.start_window,
        new.max_window,
        START,
        f64::from(new.expires_seconds),
        replace,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A player's ticket.
///
/// # Errors
/// The database's.
pub async fn find(conn: &mut PgConnection, player_id: PlayerId) -> Result<Option<TicketRow>> {
    Ok(sqlx::query_as!(
        TicketRow,
        r#"
        select player_id as "player_id: PlayerId", ticket_id as "ticket_id: TicketId", win_rule as "win_rule: Word<WinRule>",
               turn_seconds, move_limit, show_destinations, alternate_first, rated, absence as "absence: Absence",
               absence_seconds, rating_milli, start_window, max_window, status as "stored_status: TicketStatus", created_at,
               expires_at, ended_at, table_id as "table_id: TableId", game_id as "game_id: GameId",
               clock_timestamp() as "now!"
        from tickets where player_id = $1
        "#,
        player_id.0,
    )
    .fetch_optional(conn)
    .await?)
}

/// Holds a player's ticket until the transaction ends. Whether there is one.
///
/// # Errors
/// The database's.
pub async fn lock(conn: &mut PgConnection, player_id: PlayerId) -> Result<bool> {
    let row =
        sqlx::query!(r#"select true as "there!" from tickets where player_id = $1 for no key update"#, player_id.0)
            .fetch_optional(conn)
            .await?;
    Ok(row.is_some())
}

/// Gives a ticket up that waits. One whose time is over too: whoever pairs may hold it, and then comes first.
///
/// # Errors
/// The database's.
pub async fn cancel(conn: &mut PgConnection, player_id: PlayerId) -> Result<()> {
    sqlx::query!(
        "update tickets set status = 'cancelled', ended_at = date_trunc('milliseconds', clock_timestamp())
         where player_id = $1 and status = 'waiting' and expires_at > clock_timestamp()",
        player_id.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether a game runs.
///
/// # Errors
/// The database's.
pub async fn is_running(conn: &mut PgConnection, game_id: GameId) -> Result<bool> {
    let running =
        sqlx::query_scalar!(r#"select status = 'playing' as "running!" from games where game_id = $1"#, game_id.0)
            .fetch_optional(conn)
            .await?;
    Ok(running == Some(true))
}

/// Whether a game is a player's.
///
/// # Errors
/// The database's.
pub async fn is_game_of(conn: &mut PgConnection, game_id: GameId, player_id: PlayerId) -> Result<bool> {
    let own = sqlx::query_scalar!(
        r#"select $2 in (first_id, second_id) as "own!" from games where game_id = $1"#,
        game_id.0,
        player_id.0
    );
    Ok(own.fetch_optional(conn).await? == Some(true))
}

/// The ladders in which tickets wait. None waits longer than `seconds`.
///
/// # Errors
/// The database's.
pub async fn ladders(conn: &mut PgConnection, seconds: i32) -> Result<Vec<WinRule>> {
    let all = WinRule::ALL.map(WinRule::as_str);
    let rows = sqlx::query_scalar!(
        r#"
        select ladder as "ladder!: Word<WinRule>" from unnest($1::text[]) as l (ladder)
        where exists (select from tickets where win_rule = ladder and status = 'waiting'
                      and created_at > statement_timestamp() - make_interval(secs => $2))
        "#,
        &all as &[&str],
        f64::from(seconds),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|word| word.0).collect())
}

/// Makes this transaction the one that pairs in a ladder, until it ends. `false` where another one is.
///
/// # Errors
/// The database's.
pub async fn try_lock_ladder(conn: &mut PgConnection, ladder: WinRule) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtextextended('hasami-ladder: pair in ' || $1::text, 0)) as "mine!""#,
        ladder.as_str(),
    )
    .fetch_one(conn)
    .await?)
}

/// The tickets that wait in a ladder, the longest first, at most `limit`. None waits longer than `seconds`, so that
/// expired ones cost nothing. One that is about to expire is left out, so that nobody who was told so finds themselves
/// in a game.
///
/// # Errors
/// The database's.
pub async fn waiting(conn: &mut PgConnection, ladder: WinRule, seconds: i32, limit: i64) -> Result<Vec<TicketRow>> {
    Ok(sqlx::query_as!(
        TicketRow,
        r#"
        select player_id as "player_id: PlayerId", ticket_id as "ticket_id: TicketId", win_rule as "win_rule: Word<WinRule>",
               turn_seconds, move_limit, show_destinations, alternate_first, rated, absence as "absence: Absence",
               absence_seconds, rating_milli, start_window, max_window, status as "stored_status: TicketStatus", created_at,
               expires_at, ended_at, table_id as "table_id: TableId", game_id as "game_id: GameId",
               clock_timestamp() as "now!"
        from tickets
        where win_rule = $1 and status = 'waiting' and expires_at > clock_timestamp() + interval '2 seconds'
          and created_at > statement_timestamp() - make_interval(secs => $2)
        order by created_at limit $3
        "#,
        ladder.as_str(),
        f64::from(seconds),
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// Holds those of these tickets that still wait, until the transaction ends; which they are.
///
/// # Errors
/// The database's.
pub async fn hold(conn: &mut PgConnection, tickets: &[(PlayerId, TicketId)]) -> Result<Vec<TicketId>> {
    let (players, ids): (Vec<PlayerId>, Vec<TicketId>) = tickets.iter().copied().unzip();
    Ok(sqlx::query_scalar!(
        r#"
        select ticket_id as "ticket_id: TicketId" from tickets
        where player_id = any($1) and ticket_id = any($2) and status = 'waiting' and expires_at > clock_timestamp()
        order by player_id for no key update
        "#,
        &players as &[PlayerId],
        &ids as &[TicketId],
    )
    .fetch_all(conn)
    .await?)
}

/// A ticket that found its game.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the columns of `tickets`")]
pub struct Paired {
    pub player_id: PlayerId,
    pub table_id: TableId,
    pub game_id: GameId,
}

/// Writes to tickets that the transaction holds which games they found.
///
/// # Errors
/// The database's.
pub async fn set_paired(conn: &mut PgConnection, paired: &[Paired]) -> Result<()> {
    let players: Vec<PlayerId> = paired.iter().map(|p| p.player_id).collect();
    let tables: Vec<TableId> = paired.iter().map(|p| p.table_id).collect();
    let games: Vec<GameId> = paired.iter().map(|p| p.game_id).collect();
    sqlx::query!(
        "update tickets t set status = 'paired', table_id = p.table_id, game_id = p.game_id,
                              ended_at = date_trunc('milliseconds', clock_timestamp())
         from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as p (player_id, table_id, game_id)
         where t.player_id = p.player_id and t.status = 'waiting'",
        &players as &[PlayerId],
        &tables as &[TableId],
        &games as &[GameId],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The median of what was left to wait, in seconds, to those paired lately in a ladder who had waited as long as
/// this. `None` where nobody had.
///
/// # Errors
/// The database's.
pub async fn estimate(conn: &mut PgConnection, ladder: WinRule, waited: TimeDelta) -> Result<Option<f64>> {
    const LATELY: i64 = 100;
    let waited = waited.as_seconds_f64();
    Ok(sqlx::query_scalar!(
        "select percentile_cont(0.5) within group (order by wait - $2::double precision)
         from (select extract(epoch from ended_at - created_at)::double precision as wait from tickets
               where win_rule = $1 and status = 'paired' order by ended_at desc limit $3) as lately
         where wait >= $2",
        ladder.as_str(),
        waited,
        LATELY,
    )
    .fetch_one(conn)
    .await?)
}

/// Deletes up to `limit` tickets that expired, or would have, `hours` ago; how many it were.
///
/// # Errors
/// The database's.
pub async fn delete_old(conn: &mut PgConnection, hours: i32, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from tickets where player_id in (
             select player_id from tickets where expires_at < statement_timestamp() - make_interval(hours => $1)
             order by expires_at limit $2
         ) and expires_at < clock_timestamp() - make_interval(hours => $1)",
        hours,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
