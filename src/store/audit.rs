//! What the integrity commands read: whole relations, as streams and in pages.

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::ratings::Entry;
use super::{Word, options_of};
use crate::elo::{Milli, Reason};
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId, TableId};
use crate::options::{Absence, TableOptions, Visibility};
use crate::player::PlayerKind;

/// Rows of each relation.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the relations")]
pub struct Counts {
    pub games: i64,
    pub ledger: i64,
    pub ratings: i64,
    pub tables: i64,
}

/// How much there is to look at.
///
/// # Errors
/// The database's.
pub async fn count(conn: &mut PgConnection) -> Result<Counts> {
    Ok(sqlx::query_as!(
        Counts,
        r#"
        select (select count(*) from games) as "games!", (select count(*) from ledger) as "ledger!",
               (select count(*) from ratings) as "ratings!", (select count(*) from tables) as "tables!"
        "#
    )
    .fetch_one(conn)
    .await?)
}

/// The start of the first UTC day that still counts for the board.
///
/// # Errors
/// The database's.
pub async fn board_since(conn: &mut PgConnection, days: i32) -> Result<DateTime<Utc>> {
    Ok(sqlx::query_scalar!(
        r#"select (date_trunc('day', clock_timestamp() at time zone 'UTC') - make_interval(days => $1)) at time zone 'UTC' as "since!""#,
        days,
    )
    .fetch_one(conn)
    .await?)
}

/// Ids of games after `after`, in order.
///
/// # Errors
/// The database's.
pub async fn game_ids(conn: &mut PgConnection, after: GameId, limit: i64) -> Result<Vec<GameId>> {
    Ok(sqlx::query_scalar!(
        r#"select game_id as "game_id: GameId" from games where game_id > $1 order by game_id limit $2"#,
        after.0,
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// A row of the ledger.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ledger`, which the migration explains")]
pub struct LedgerRow {
    pub player_id: PlayerId,
    pub ladder: Word<WinRule>,
    pub number: i32,
    pub entry: Entry,
    pub game_id: GameId,
    pub opponent_id: PlayerId,
    pub opponent_milli: Milli,
    pub score: f64,
    pub expected: f64,
    pub k: f64,
    pub before_milli: Milli,
    pub after_milli: Milli,
    pub change_milli: Milli,
    pub reason: Option<Reason>,
    pub at: DateTime<Utc>,
}

/// The ledger's rows of these games that belong to their players, in no order.
///
/// # Errors
/// The database's.
pub async fn ledger_of(conn: &mut PgConnection, game_ids: &[GameId]) -> Result<Vec<LedgerRow>> {
    Ok(sqlx::query_as!(
        LedgerRow,
        r#"
        select l.player_id as "player_id: PlayerId", l.ladder as "ladder: Word<WinRule>", l.number, l.entry as "entry: Entry",
               l.game_id as "game_id: GameId", l.opponent_id as "opponent_id: PlayerId", l.opponent_milli, l.score, l.expected,
               l.k, l.before_milli, l.after_milli, l.change_milli, l.reason as "reason: Reason", l.at
        from games g
        cross join lateral (values (g.first_id), (g.second_id)) as seats (player_id)
        join ledger l on l.player_id = seats.player_id and l.game_id = g.game_id
        where g.game_id = any($1)
        "#,
        game_ids as &[GameId],
    )
    .fetch_all(conn)
    .await?)
}

/// Rows of the ledger whose game is missing or was not their player's, in no order.
pub fn strays(conn: &mut PgConnection) -> BoxStream<'_, Result<LedgerRow>> {
    let rows = sqlx::query_as!(
        LedgerRow,
        r#"
        select l.player_id as "player_id: PlayerId", l.ladder as "ladder: Word<WinRule>", l.number, l.entry as "entry: Entry",
               l.game_id as "game_id: GameId", l.opponent_id as "opponent_id: PlayerId", l.opponent_milli, l.score, l.expected,
               l.k, l.before_milli, l.after_milli, l.change_milli, l.reason as "reason: Reason", l.at
        from ledger l
        left join games g on g.game_id = l.game_id
        where g.game_id is null or l.player_id not in (g.first_id, g.second_id)
        "#
    );
    Box::pin(rows.fetch(conn).map_err(Error::from))
}

/// The whole ledger, each player's ladders one after the other, each in the order of its numbers.
pub fn ledger(conn: &mut PgConnection) -> BoxStream<'_, Result<LedgerRow>> {
    let rows = sqlx::query_as!(
        LedgerRow,
        r#"
        select player_id as "player_id: PlayerId", ladder as "ladder: Word<WinRule>", number, entry as "entry: Entry",
               game_id as "game_id: GameId", opponent_id as "opponent_id: PlayerId", opponent_milli, score, expected,
               k, before_milli, after_milli, change_milli, reason as "reason: Reason", at
        from ledger order by player_id, ladder, number
        "#
    );
    Box::pin(rows.fetch(conn).map_err(Error::from))
}

/// A row of `ratings` with what it copies.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ratings` and `players`, which the migrations explain")]
pub struct RatingRow {
    pub player_id: PlayerId,
    pub ladder: Word<WinRule>,
    pub username: String,
    pub kind: String,
    pub rating_milli: Milli,
    pub peak_milli: Milli,
    pub number: i32,
    pub wins: i32,
    pub draws: i32,
    pub losses: i32,
    pub last_rated_at: Option<DateTime<Utc>>,
    pub listed: bool,
    /// The player's own.
    pub player_username: String,
    /// The player's own.
    pub player_kind: PlayerKind,
}

/// All ratings, in the order of the ledger.
pub fn ratings(conn: &mut PgConnection) -> BoxStream<'_, Result<RatingRow>> {
    let rows = sqlx::query_as!(
        RatingRow,
        r#"
        select r.player_id as "player_id!: PlayerId", r.ladder as "ladder!: Word<WinRule>", r.username as "username!",
               r.kind as "kind!", r.rating_milli as "rating_milli!", r.peak_milli as "peak_milli!", r.number as "number!",
               r.wins as "wins!", r.draws as "draws!", r.losses as "losses!", r.last_rated_at as "last_rated_at?",
               r.listed as "listed!", p.username as "player_username!", p.kind as "player_kind!: PlayerKind"
        from ratings r join players p on p.player_id = r.player_id
        order by r.player_id, r.ladder
        "#
    );
    Box::pin(rows.fetch(conn).map_err(Error::from))
}

/// How a drawn game and its rerun name each other. Null where a game names none; what it names may be missing.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "columns of `games`, by whose row they stand in")]
pub struct Links {
    pub game_id: GameId,
    pub table_id: TableId,
    pub number: i32,
    pub rerun: Option<GameId>,
    pub rerun_of: Option<GameId>,
    pub next_rerun_of: Option<GameId>,
    pub next_table_id: Option<TableId>,
    pub next_number: Option<i32>,
    pub previous_rerun: Option<GameId>,
}

/// The links of those of these games that have any, in no order.
///
/// # Errors
/// The database's.
pub async fn links(conn: &mut PgConnection, game_ids: &[GameId]) -> Result<Vec<Links>> {
    Ok(sqlx::query_as!(
        Links,
        r#"
        select g.game_id as "game_id!: GameId", g.table_id as "table_id!: TableId", g.number as "number!",
               g.rerun as "rerun?: GameId", g.rerun_of as "rerun_of?: GameId",
               n.rerun_of as "next_rerun_of?: GameId", n.table_id as "next_table_id?: TableId", n.number as "next_number?",
               p.rerun as "previous_rerun?: GameId"
        from games g
        left join games n on n.game_id = g.rerun
        left join games p on p.game_id = g.rerun_of
        where g.game_id = any($1) and (g.rerun is not null or g.rerun_of is not null)
        "#,
        game_ids as &[GameId],
    )
    .fetch_all(conn)
    .await?)
}

/// Running games that no sweep looks at.
///
/// # Errors
/// The database's.
pub async fn unwatched(conn: &mut PgConnection) -> Result<Vec<GameId>> {
    Ok(sqlx::query_scalar!(
        r#"select game_id as "game_id: GameId" from games where status = 'playing' and check_at is null order by game_id"#
    )
    .fetch_all(conn)
    .await?)
}

/// A table with what its games say.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `tables`, which the migration explains, and counts")]
pub struct TableRow {
    pub table_id: TableId,
    pub win_rule: Word<WinRule>,
    pub turn_seconds: Option<i16>,
    pub move_limit: Option<i16>,
    pub show_destinations: bool,
    pub alternate_first: bool,
    pub rated: bool,
    pub visibility: Visibility,
    pub absence: Absence,
    pub absence_seconds: Option<i32>,
    pub game_id: Option<GameId>,
    pub running: bool,
    pub games: i32,
    pub moved_first_id: Option<PlayerId>,
    /// Games that name the table.
    pub count: i64,
    /// How many different numbers they have.
    pub numbers: i64,
    /// The highest of them.
    pub highest: i32,
    /// Games under way.
    pub playing: i64,
    /// The game with the highest number.
    pub last_id: Option<GameId>,
    /// Whether that is under way.
    pub last_playing: bool,
    /// Who moved first in the last finished game.
    pub last_first_id: Option<PlayerId>,
}

impl TableRow {
    /// The options as they stand.
    #[must_use]
    pub fn options(&self) -> TableOptions {
        options_of!(self)
    }
}

/// Tables after `after`, in order.
///
/// # Errors
/// The database's.
pub async fn tables(conn: &mut PgConnection, after: TableId, limit: i64) -> Result<Vec<TableRow>> {
    Ok(sqlx::query_as!(
        TableRow,
        r#"
        select t.table_id as "table_id!: TableId", t.win_rule as "win_rule!: Word<WinRule>", t.turn_seconds, t.move_limit,
               t.show_destinations as "show_destinations!", t.alternate_first as "alternate_first!", t.rated as "rated!",
               t.visibility as "visibility!: Visibility", t.absence as "absence!: Absence", t.absence_seconds,
               t.game_id as "game_id?: GameId", t.running as "running!", t.games as "games!",
               t.moved_first_id as "moved_first_id?: PlayerId",
               g.count as "count!", g.numbers as "numbers!", g.highest as "highest!", g.playing as "playing!",
               g.last_id as "last_id?: GameId", g.last_playing as "last_playing!", g.last_first_id as "last_first_id?: PlayerId"
        from tables t
        cross join lateral (
            select count(*) as count, count(distinct number) as numbers, coalesce(max(number), 0) as highest,
                   count(*) filter (where status = 'playing') as playing,
                   (array_agg(game_id order by number desc, game_id desc))[1] as last_id,
                   coalesce((array_agg(status order by number desc, game_id desc))[1] = 'playing', false) as last_playing,
                   (array_agg(first_id order by number desc, game_id desc) filter (where status = 'finished'))[1] as last_first_id
            from games where table_id = t.table_id
        ) g
        where t.table_id > $1 order by t.table_id limit $2
        "#,
        after.0,
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// A bucket of ranks that does not count what it should.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the key of `rank_buckets`")]
pub struct Miscount {
    pub ladder: String,
    pub level: i16,
    pub bucket: i32,
    /// What `rank_buckets` says.
    pub counted: i64,
    /// What `rank_deltas` adds to it.
    pub delta: i64,
    /// How many listed players there are.
    pub listed: i64,
}

/// The buckets in which the listed players are not those counted.
///
/// # Errors
/// The database's.
pub async fn miscounts(conn: &mut PgConnection) -> Result<Vec<Miscount>> {
    Ok(sqlx::query_as!(
        Miscount,
        r#"
        with levels (level, width) as (values (1::smallint, 10000), (2::smallint, 100)),
        parts as (
            select ladder, level, bucket, players::bigint as counted, 0::bigint as delta, 0::bigint as listed from rank_buckets
            union all
            select ladder, level, rating_milli / width, 0, sum(change), 0 from rank_deltas cross join levels group by 1, 2, 3
            union all
            select ladder, level, rating_milli / width, 0, 0, count(*) from ratings cross join levels where listed group by 1, 2, 3
        )
        select ladder as "ladder!", level as "level!", bucket as "bucket!",
               sum(counted)::bigint as "counted!", sum(delta)::bigint as "delta!", sum(listed)::bigint as "listed!"
        from parts group by ladder, level, bucket
        having sum(counted) + sum(delta) <> sum(listed)
        order by ladder, level, bucket
        "#
    )
    .fetch_all(conn)
    .await?)
}

/// Whether a game was annulled.
///
/// # Errors
/// The database's.
pub async fn has_annulments(conn: &mut PgConnection) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select exists (select from ledger where entry = 'annulment') as "has!""#)
        .fetch_one(conn)
        .await?)
}

/// A game with the places that its results have in both players' ledgers, and the places before those.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "a key and two places")]
pub struct Place {
    pub game_id: GameId,
    pub first: Option<i32>,
    pub before_first: Option<i32>,
    pub second: Option<i32>,
    pub before_second: Option<i32>,
}

/// All games in the order of their ends, which is nearly that of the ledger.
pub fn places(conn: &mut PgConnection) -> BoxStream<'_, Result<Place>> {
    let rows = sqlx::query_as!(
        Place,
        r#"
        with numbered as materialized (
            select player_id, game_id, number, lag(number) over (partition by player_id, ladder order by number) as before
            from ledger where entry = 'result'
        )
        select g.game_id as "game_id!: GameId", a.number as "first?", a.before as before_first, b.number as "second?",
               b.before as before_second
        from games g
        left join numbered a on a.player_id = g.first_id and a.game_id = g.game_id
        left join numbered b on b.player_id = g.second_id and b.game_id = g.game_id
        order by g.ended_at, g.game_id
        "#
    );
    Box::pin(rows.fetch(conn).map_err(Error::from))
}
