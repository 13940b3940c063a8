//! Tables: two seats and the options.

use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::{Word, options_of};
use crate::error::Result;
use crate::ids::{GameId, PlayerId, TableId};
use crate::options::{Absence, TableOptions, Visibility};
use crate::player::PlayerKind;

/// A table, with the names of its players.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `tables`, which the migration explains, and the seated players'")]
pub struct TableRow {
    pub table_id: TableId,
    pub host_id: PlayerId,
    pub host_username: String,
    pub win_rule: Word<WinRule>,
    pub turn_seconds: Option<i16>,
    pub move_limit: Option<i16>,
    pub show_destinations: bool,
    pub alternate_first: bool,
    pub rated: bool,
    pub visibility: Visibility,
    pub absence: Absence,
    pub absence_seconds: Option<i32>,
    pub join_code: Option<String>,
    pub leading_id: Option<PlayerId>,
    pub leading_username: Option<String>,
    pub leading_kind: Option<PlayerKind>,
    pub leading_wants_next: bool,
    pub following_id: Option<PlayerId>,
    pub following_username: Option<String>,
    pub following_kind: Option<PlayerKind>,
    pub following_wants_next: bool,
    pub game_id: Option<GameId>,
    pub running: bool,
    pub games: i32,
    pub moved_first_id: Option<PlayerId>,
    pub created_at: chrono::DateTime<chrono::Utc>,
    pub closed: bool,
}

impl TableRow {
    /// The options as they stand.
    #[must_use]
    pub fn options(&self) -> TableOptions {
        options_of!(self)
    }

    /// Whether the player has a seat.
    #[must_use]
    pub fn seats(&self, player: PlayerId) -> bool {
        self.leading_id == Some(player) || self.following_id == Some(player)
    }
}

/// Adds a table, both seats free.
///
/// # Errors
/// The database's.
pub async fn insert(
    conn: &mut PgConnection,
    table_id: TableId,
    host_id: PlayerId,
    options: &TableOptions,
    join_code: Option<&str>,
) -> Result<()> {
    sqlx::query!(
        "insert into tables (table_id, host_id, win_rule, turn_seconds, move_limit, show_destinations, alternate_first,
                             rated, visibility, absence, absence_seconds, join_code)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        table_id.0,
        host_id.0,
        options.win_rule.as_str(),
        options.turn_seconds,
        options.move_limit,
        options.show_destinations,
        options.alternate_first,
        options.rated,
        options.visibility as Visibility,
        options.absence as Absence,
        options.absence_seconds,
        join_code,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Changes the options for the next game.
///
/// # Errors
/// The database's.
pub async fn set_options(
    conn: &mut PgConnection,
    table_id: TableId,
    options: &TableOptions,
    join_code: Option<&str>,
) -> Result<()> {
    sqlx::query!(
        "update tables set win_rule = $2, turn_seconds = $3, move_limit = $4, show_destinations = $5, alternate_first = $6,
                           rated = $7, visibility = $8, absence = $9, absence_seconds = $10, join_code = $11,
                           leading_wants_next = false, following_wants_next = false
         where table_id = $1",
        table_id.0,
        options.win_rule.as_str(),
        options.turn_seconds,
        options.move_limit,
        options.show_destinations,
        options.alternate_first,
        options.rated,
        options.visibility as Visibility,
        options.absence as Absence,
        options.absence_seconds,
        join_code,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds a table's row until the transaction ends. Whether there is one.
///
/// # Errors
/// The database's.
pub async fn lock(conn: &mut PgConnection, table_id: TableId) -> Result<bool> {
    let row = sqlx::query!(r#"select true as "there!" from tables where table_id = $1 for no key update"#, table_id.0)
        .fetch_optional(conn)
        .await?;
    Ok(row.is_some())
}

/// The tables of these ids, in no order.
///
/// # Errors
/// The database's.
pub async fn find_many(conn: &mut PgConnection, table_ids: &[TableId]) -> Result<Vec<TableRow>> {
    Ok(sqlx::query_as!(
        TableRow,
        r#"
        select t.table_id as "table_id!: TableId", t.host_id as "host_id!: PlayerId", h.username as "host_username!",
               t.win_rule as "win_rule!: Word<WinRule>", t.turn_seconds, t.move_limit,
               t.show_destinations as "show_destinations!", t.alternate_first as "alternate_first!", t.rated as "rated!",
               t.visibility as "visibility!: Visibility", t.absence as "absence!: Absence", t.absence_seconds, t.join_code,
               t.leading_id as "leading_id?: PlayerId", l.username as "leading_username?",
               l.kind as "leading_kind?: PlayerKind", t.leading_wants_next as "leading_wants_next!",
               t.following_id as "following_id?: PlayerId", f.username as "following_username?",
               f.kind as "following_kind?: PlayerKind", t.following_wants_next as "following_wants_next!",
               t.game_id as "game_id?: GameId", t.running as "running!", t.games as "games!",
               t.moved_first_id as "moved_first_id?: PlayerId", t.created_at as "created_at!",
               t.closed_at is not null as "closed!"
        from tables t
        join players h on h.player_id = t.host_id
        left join players l on l.player_id = t.leading_id
        left join players f on f.player_id = t.following_id
        where t.table_id = any($1)
        "#,
        table_ids as &[TableId],
    )
    .fetch_all(conn)
    .await?)
}

/// Which public tables a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listing {
    /// Only those with a free seat.
    pub open: bool,
    /// Only those of this ladder.
    pub ladder: Option<WinRule>,
    /// Only rated or only casual ones.
    pub rated: Option<bool>,
}

/// Ids of public tables before `before`, newest first.
///
/// # Errors
/// The database's.
pub async fn list(
    conn: &mut PgConnection,
    listing: Listing,
    before: Option<TableId>,
    limit: i64,
) -> Result<Vec<TableId>> {
    let ladder = listing.ladder.map(WinRule::as_str);
    let before = before.map_or(uuid::Uuid::max(), |id| id.0);
    let ids = if listing.open {
        sqlx::query_scalar!(
            r#"
            select table_id as "table_id: TableId" from tables
            where following_id is null and closed_at is null and visibility = 'public'
              and table_id < $1 and ($2::text is null or win_rule = $2) and ($3::boolean is null or rated = $3)
            order by table_id desc limit $4
            "#,
            before,
            ladder,
            listing.rated,
            limit,
        )
        .fetch_all(conn)
        .await?
    } else {
        sqlx::query_scalar!(
            r#"
            select table_id as "table_id: TableId" from tables
            where closed_at is null and visibility = 'public'
              and table_id < $1 and ($2::text is null or win_rule = $2) and ($3::boolean is null or rated = $3)
            order by table_id desc limit $4
            "#,
            before,
            ladder,
            listing.rated,
            limit,
        )
        .fetch_all(conn)
        .await?
    };
    Ok(ids)
}

/// Who sits where, and who wants the next game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    /// Who sat first.
    pub leading: Option<PlayerId>,
    /// Who sat second.
    pub following: Option<PlayerId>,
    /// Whether the first asked for the next game.
    pub leading_wants_next: bool,
    /// Whether the second did.
    pub following_wants_next: bool,
    /// Whether the table is closed for good.
    pub closed: bool,
}

/// Writes the seats of a table that the transaction holds.
///
/// # Errors
/// The database's.
pub async fn set_seats(conn: &mut PgConnection, table_id: TableId, seats: Seats) -> Result<()> {
    sqlx::query!(
        "update tables set leading_id = $2, following_id = $3, leading_wants_next = $4, following_wants_next = $5,
                           closed_at = case when $6 then now_ms end,
                           waits_since = case when $3::uuid is null then coalesce(waits_since, now_ms) end
         from date_trunc('milliseconds', clock_timestamp()) as now_ms
         where table_id = $1",
        table_id.0,
        seats.leading.map(|p| p.0),
        seats.following.map(|p| p.0),
        seats.leading_wants_next,
        seats.following_wants_next,
        seats.closed,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks a game as the table's running one. `false` where another runs.
///
/// # Errors
/// The database's.
pub async fn begin_game(conn: &mut PgConnection, table_id: TableId, game_id: GameId) -> Result<bool> {
    let done = sqlx::query!(
        "update tables set game_id = $2, running = true, games = games + 1, leading_wants_next = false, following_wants_next = false
         where table_id = $1 and not running",
        table_id.0,
        game_id.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A game that ended, for its table.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the columns of `tables`")]
pub struct GameEnd {
    pub table_id: TableId,
    pub game_id: GameId,
    /// Its first mover, where the game counts for the order.
    pub moved_first: Option<PlayerId>,
}

/// Frees the tables of games that ended.
///
/// # Errors
/// The database's.
pub async fn end_games(conn: &mut PgConnection, ends: &[GameEnd]) -> Result<()> {
    let tables: Vec<TableId> = ends.iter().map(|e| e.table_id).collect();
    let games: Vec<GameId> = ends.iter().map(|e| e.game_id).collect();
    let moved_first: Vec<Option<PlayerId>> = ends.iter().map(|e| e.moved_first).collect();
    sqlx::query!(
        "update tables t set running = false, moved_first_id = coalesce(m.moved_first_id, t.moved_first_id)
         from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as m (table_id, game_id, moved_first_id)
         where t.table_id = m.table_id and t.game_id = m.game_id",
        &tables as &[TableId],
        &games as &[GameId],
        &moved_first as &[Option<PlayerId>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Closes up to `limit` tables that have waited for their second seat for a day; how many it were.
///
/// # Errors
/// The database's.
pub async fn close_waiting(conn: &mut PgConnection, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "update tables set closed_at = date_trunc('milliseconds', clock_timestamp())
         where following_id is null and closed_at is null and waits_since < statement_timestamp() - interval '1 day'
           and table_id in (
             select table_id from tables
             where following_id is null and closed_at is null and waits_since < statement_timestamp() - interval '1 day'
             order by waits_since limit $1
         )",
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
