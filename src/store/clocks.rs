//! What time does to games: which are due, who was seen, and the instances that keep the time.

use chrono::{DateTime, Utc};
use hasami_rules::Side;
use sqlx::PgConnection;

use super::games::GameRow;
use crate::error::Result;
use crate::ids::{GameId, PlayerId};
use crate::options::Absence;

/// What time needs to know of a running game.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `games`, which the migration explains")]
pub struct Clock {
    pub game_id: GameId,
    pub first_id: PlayerId,
    pub second_id: PlayerId,
    pub turn_seconds: Option<i16>,
    pub absence: Absence,
    pub absence_seconds: Option<i32>,
    pub first_seen_at: DateTime<Utc>,
    pub second_seen_at: DateTime<Utc>,
    pub first_away: bool,
    pub second_away: bool,
    pub idle_from: Option<DateTime<Utc>>,
    pub deadline_at: Option<DateTime<Utc>>,
    pub ply_at: DateTime<Utc>,
    pub ply: i16,
    /// When the row was read, by the database's clock.
    pub now: DateTime<Utc>,
}

impl From<&GameRow> for Clock {
    fn from(row: &GameRow) -> Self {
        Self {
            game_id: row.game_id,
            first_id: row.first_id,
            second_id: row.second_id,
            turn_seconds: row.turn_seconds,
            absence: row.absence,
            absence_seconds: row.absence_seconds,
            first_seen_at: row.first_seen_at,
            second_seen_at: row.second_seen_at,
            first_away: row.first_away,
            second_away: row.second_away,
            idle_from: row.idle_from,
            deadline_at: row.deadline_at,
            ply_at: row.ply_at,
            ply: row.ply,
            now: row.now,
        }
    }
}

/// A running game whose `check_at` has come.
#[derive(Debug, Clone)]
pub struct Checked {
    /// What time needs to know of it.
    pub clock: Clock,
    /// When it was to be looked at.
    pub check_at: DateTime<Utc>,
}

/// Running games whose `check_at` has come, the longest due first.
///
/// # Errors
/// The database's.
pub async fn find_checked(conn: &mut PgConnection, limit: i64) -> Result<Vec<Checked>> {
    let rows = sqlx::query!(
        r#"
        select game_id as "game_id: GameId", first_id as "first_id: PlayerId", second_id as "second_id: PlayerId",
               turn_seconds, absence as "absence: Absence", absence_seconds, first_seen_at, second_seen_at, first_away,
               second_away, idle_from, deadline_at, ply_at, ply, check_at as "check_at!",
               date_trunc('milliseconds', clock_timestamp()) as "now!"
        from games
        where status = 'playing' and check_at <= statement_timestamp()
        order by check_at limit $1
        "#,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|r| Checked {
            clock: Clock {
                game_id: r.game_id,
                first_id: r.first_id,
                second_id: r.second_id,
                turn_seconds: r.turn_seconds,
                absence: r.absence,
                absence_seconds: r.absence_seconds,
                first_seen_at: r.first_seen_at,
                second_seen_at: r.second_seen_at,
                first_away: r.first_away,
                second_away: r.second_away,
                idle_from: r.idle_from,
                deadline_at: r.deadline_at,
                ply_at: r.ply_at,
                ply: r.ply,
                now: r.now,
            },
            check_at: r.check_at,
        })
        .collect())
}

/// Moves `check_at` of games, each with its time before and after, to a later time, unless somebody else has moved it;
/// the ids of those that were moved.
///
/// # Errors
/// The database's.
pub async fn postpone(
    conn: &mut PgConnection,
    checked: &[(GameId, DateTime<Utc>, DateTime<Utc>)],
) -> Result<Vec<GameId>> {
    let game_ids: Vec<GameId> = checked.iter().map(|c| c.0).collect();
    let from: Vec<DateTime<Utc>> = checked.iter().map(|c| c.1).collect();
    let to: Vec<DateTime<Utc>> = checked.iter().map(|c| c.2).collect();
    Ok(sqlx::query_scalar!(
        r#"
        update games g set check_at = m.later
        from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as m (game_id, earlier, later)
        where g.game_id = m.game_id and g.check_at = m.earlier and g.status = 'playing'
        returning g.game_id as "game_id: GameId"
        "#,
        &game_ids as &[GameId],
        &from,
        &to,
    )
    .fetch_all(conn)
    .await?)
}

/// Has a game looked at soon.
///
/// # Errors
/// The database's.
pub async fn hasten(conn: &mut PgConnection, game_id: GameId) -> Result<()> {
    sqlx::query!(
        "update games set check_at = least(check_at, date_trunc('milliseconds', clock_timestamp()) + interval '2 seconds')
         where game_id = $1 and status = 'playing'",
        game_id.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Signs of life of both sides of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of `games`")]
pub struct Seen {
    pub game_id: GameId,
    pub first_seen_at: Option<DateTime<Utc>>,
    pub second_seen_at: Option<DateTime<Utc>>,
}

/// Writes signs of life. Who was seen is not away any more, unless the leave came after the sign.
///
/// # Errors
/// The database's.
pub async fn write_seen(conn: &mut PgConnection, seen: &[Seen]) -> Result<()> {
    let game_ids: Vec<GameId> = seen.iter().map(|s| s.game_id).collect();
    let first: Vec<Option<DateTime<Utc>>> = seen.iter().map(|s| s.first_seen_at).collect();
    let second: Vec<Option<DateTime<Utc>>> = seen.iter().map(|s| s.second_seen_at).collect();
    sqlx::query!(
        "update games g
         set first_away = g.first_away and (m.first_seen_at > g.first_seen_at) is not true,
             first_seen_at = greatest(g.first_seen_at, m.first_seen_at),
             second_away = g.second_away and (m.second_seen_at > g.second_seen_at) is not true,
             second_seen_at = greatest(g.second_seen_at, m.second_seen_at)
         from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as m (game_id, first_seen_at, second_seen_at)
         where g.game_id = m.game_id and g.status = 'playing'",
        &game_ids as &[GameId],
        &first as &[Option<DateTime<Utc>>],
        &second as &[Option<DateTime<Utc>>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks a side of a running game as away, from now on, and has the game looked at. Doing it again changes nothing, and
/// within the first moves it makes the wait for them no longer.
///
/// # Errors
/// The database's.
pub async fn set_away(conn: &mut PgConnection, game_id: GameId, side: Side) -> Result<()> {
    sqlx::query!(
        "update games
         set first_seen_at = case when $2 and ply >= 2 then now_ms else first_seen_at end, first_away = first_away or $2,
             second_seen_at = case when $2 or ply < 2 then second_seen_at else now_ms end, second_away = second_away or not $2,
             check_at = now_ms
         from date_trunc('milliseconds', clock_timestamp()) as now_ms
         where game_id = $1 and status = 'playing' and not case when $2 then first_away else second_away end",
        game_id.0,
        side == Side::First,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The newest beat of any instance, and the time now. Where none ever beat, as after an import, the newest ply of a
/// running game tells when somebody kept the time.
///
/// # Errors
/// The database's.
pub async fn newest_beat(conn: &mut PgConnection) -> Result<(Option<DateTime<Utc>>, DateTime<Utc>)> {
    let row = sqlx::query!(
        r#"
        select coalesce((select max(beat_at) from instances), (select max(ply_at) from games where status = 'playing')) as beat_at,
               date_trunc('milliseconds', clock_timestamp()) as "now!"
        "#
    )
    .fetch_one(conn)
    .await?;
    Ok((row.beat_at, row.now))
}

/// Keeps other instances from beating until the transaction ends.
///
/// # Errors
/// The database's.
pub async fn lock_beats(conn: &mut PgConnection) -> Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('hasami-ladder: beat', 0))").execute(conn).await?;
    Ok(())
}

/// Keeps time from being given back until the transaction ends.
///
/// # Errors
/// The database's.
pub async fn hold_beats(conn: &mut PgConnection) -> Result<()> {
    sqlx::query!("select pg_advisory_xact_lock_shared(hashtextextended('hasami-ladder: beat', 0))")
        .execute(conn)
        .await?;
    Ok(())
}

/// Writes an instance's beat, and forgets instances that have been silent for a day.
///
/// # Errors
/// The database's.
pub async fn beat(conn: &mut PgConnection, instance_id: uuid::Uuid, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "with silent as (delete from instances where beat_at < $2::timestamptz - interval '1 day')
         insert into instances (instance_id, beat_at) values ($1, $2)
         on conflict (instance_id) do update set beat_at = excluded.beat_at",
        instance_id,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives back the time since the last beat to every running deadline: those of timers, those of players awaited without
/// one, and the week of idle games. What began since then lost less.
///
/// # Errors
/// The database's.
pub async fn give_back(conn: &mut PgConnection, beat: DateTime<Utc>, now: DateTime<Utc>) -> Result<u64> {
    // However many games it are.
    sqlx::raw_sql("set local statement_timeout = 0").execute(&mut *conn).await?;
    let done = sqlx::query!(
        "update games
         set deadline_at = deadline_at + ($2 - least($2, greatest($1::timestamptz, ply_at))),
             first_seen_at = greatest(first_seen_at, ply_at) + ($2 - least($2, greatest($1, ply_at, first_seen_at))),
             second_seen_at = greatest(second_seen_at, ply_at) + ($2 - least($2, greatest($1, ply_at, second_seen_at))),
             idle_from = $2::timestamptz
         where status = 'playing'",
        beat,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
