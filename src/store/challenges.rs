//! Challenges: offers to play to a named player.

use chrono::{DateTime, Utc};
use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::{Word, options_of};
use crate::error::Result;
use crate::ids::{ChallengeId, GameId, PlayerId, TableId};
use crate::options::{Absence, TableOptions, Visibility};
use crate::player::PlayerKind;

/// What became of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum ChallengeStatus {
    /// No answer yet.
    Pending,
    /// The game has begun.
    Accepted,
    /// The challenged player does not want to.
    Declined,
    /// The challenger took it back.
    Cancelled,
    /// Its time is over. Not stored: it follows from the time.
    Expired,
}

impl ChallengeStatus {
    /// The word on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// Why a challenge is declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DeclineReason {
    /// No reason given.
    Generic,
    /// Not now.
    Later,
    /// Rather with more time.
    TooFast,
    /// Rather with less time.
    TooSlow,
    /// Rather rated.
    Rated,
    /// Rather casual.
    Casual,
    /// Rather in another ladder.
    WinRule,
    /// Rather with other options.
    Options,
    /// Not against a bot.
    NoBots,
    /// Only against a bot.
    OnlyBots,
}

/// A challenge, with the names of its players, and the database's time when it was read.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `challenges`, which the migration explains, and the players'")]
pub struct ChallengeRow {
    pub challenge_id: ChallengeId,
    pub challenger_id: PlayerId,
    pub challenger_username: String,
    pub challenger_kind: PlayerKind,
    pub challenged_id: PlayerId,
    pub challenged_username: String,
    pub challenged_kind: PlayerKind,
    pub win_rule: Word<WinRule>,
    pub turn_seconds: Option<i16>,
    pub move_limit: Option<i16>,
    pub show_destinations: bool,
    pub alternate_first: bool,
    pub rated: bool,
    pub visibility: Visibility,
    pub absence: Absence,
    pub absence_seconds: Option<i32>,
    pub stored_status: ChallengeStatus,
    pub reason: Option<DeclineReason>,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub table_id: Option<TableId>,
    pub game_id: Option<GameId>,
    pub now: DateTime<Utc>,
}

impl ChallengeRow {
    /// The options of the game to come.
    #[must_use]
    pub fn options(&self) -> TableOptions {
        options_of!(self)
    }

    /// What became of it by the time at which it was read.
    #[must_use]
    pub fn status(&self) -> ChallengeStatus {
        match self.stored_status {
            ChallengeStatus::Pending if self.expires_at <= self.now => ChallengeStatus::Expired,
            status => status,
        }
    }
}

/// A challenge about to be made.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `challenges`, which the migration explains")]
pub struct NewChallenge {
    pub challenge_id: ChallengeId,
    pub challenger_id: PlayerId,
    pub challenged_id: PlayerId,
    pub options: TableOptions,
    pub expires_seconds: i32,
}

/// Adds a challenge.
///
/// # Errors
/// The database's.
pub async fn insert(conn: &mut PgConnection, new: &NewChallenge) -> Result<()> {
    let options = &new.options;
    sqlx::query!(
        "insert into challenges (challenge_id, challenger_id, challenged_id, win_rule, turn_seconds, move_limit,
                                 show_destinations, alternate_first, rated, visibility, absence, absence_seconds,
                                 created_at, expires_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now_ms, now_ms + make_interval(secs => $13)
         from date_trunc('milliseconds', clock_timestamp()) as now_ms",
        new.challenge_id.0,
        new.challenger_id.0,
        new.challenged_id.0,
        options.win_rule.as_str(),
        options.turn_seconds,
        options.move_limit,
        options.show_destinations,
        options.alternate_first,
        options.rated,
        options.visibility as Visibility,
        options.absence as Absence,
        options.absence_seconds,
        f64::from(new.expires_seconds),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Lets a player make one challenge at a time, until the transaction ends.
///
/// # Errors
/// The database's.
pub async fn lock_challenger(conn: &mut PgConnection, challenger: PlayerId) -> Result<()> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('hasami-ladder: challenges of ' || $1::uuid::text, 0)) as "locked!: ()""#,
        challenger.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds a challenge's row until the transaction ends. Whether there is one.
///
/// # Errors
/// The database's.
pub async fn lock(conn: &mut PgConnection, challenge_id: ChallengeId) -> Result<bool> {
    let row = sqlx::query!(
        r#"select true as "there!" from challenges where challenge_id = $1 for no key update"#,
        challenge_id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.is_some())
}

/// A player's pending challenges, and to whom each is.
///
/// # Errors
/// The database's.
pub async fn pending(conn: &mut PgConnection, challenger: PlayerId) -> Result<Vec<(ChallengeId, PlayerId)>> {
    let rows = sqlx::query!(
        r#"
        select challenge_id as "challenge_id: ChallengeId", challenged_id as "challenged_id: PlayerId" from challenges
        where challenger_id = $1 and status = 'pending' and expires_at > clock_timestamp()
        "#,
        challenger.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|r| (r.challenge_id, r.challenged_id)).collect())
}

/// The challenges of these ids, in no order.
///
/// # Errors
/// The database's.
pub async fn find_many(conn: &mut PgConnection, challenge_ids: &[ChallengeId]) -> Result<Vec<ChallengeRow>> {
    Ok(sqlx::query_as!(
        ChallengeRow,
        r#"
        select c.challenge_id as "challenge_id: ChallengeId", c.challenger_id as "challenger_id: PlayerId",
               a.username as challenger_username, a.kind as "challenger_kind: PlayerKind",
               c.challenged_id as "challenged_id: PlayerId", b.username as challenged_username,
               b.kind as "challenged_kind: PlayerKind", c.win_rule as "win_rule: Word<WinRule>", c.turn_seconds,
               c.move_limit, c.show_destinations, c.alternate_first, c.rated, c.visibility as "visibility: Visibility",
               c.absence as "absence: Absence", c.absence_seconds, c.status as "stored_status: ChallengeStatus",
               c.reason as "reason: DeclineReason", c.created_at, c.expires_at, c.ended_at,
               c.table_id as "table_id: TableId", c.game_id as "game_id: GameId", clock_timestamp() as "now!"
        from challenges c
        join players a on a.player_id = c.challenger_id
        join players b on b.player_id = c.challenged_id
        where c.challenge_id = any($1)
        "#,
        challenge_ids as &[ChallengeId],
    )
    .fetch_all(conn)
    .await?)
}

/// Which of a player's challenges a list shows.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    /// Those to the player.
    pub incoming: bool,
    /// Those by the player.
    pub outgoing: bool,
    /// Only those of which this became.
    pub status: Option<ChallengeStatus>,
}

/// Ids of a player's challenges before `before`, newest first.
///
/// # Errors
/// The database's.
pub async fn list(
    conn: &mut PgConnection,
    player: PlayerId,
    listing: Listing,
    before: Option<ChallengeId>,
    limit: i64,
) -> Result<Vec<ChallengeId>> {
    Ok(sqlx::query_scalar!(
        r#"
        select challenge_id as "challenge_id!: ChallengeId" from (
            (select challenge_id from challenges
             where challenger_id = $1 and $2 and challenge_id < $4 and ($5::text is null or $5 =
                 case when status = 'pending' and expires_at <= clock_timestamp() then 'expired' else status end)
             order by challenge_id desc limit $6)
            union all
            (select challenge_id from challenges
             where challenged_id = $1 and $3 and challenge_id < $4 and ($5::text is null or $5 =
                 case when status = 'pending' and expires_at <= clock_timestamp() then 'expired' else status end)
             order by challenge_id desc limit $6)
        ) as both_ways
        order by challenge_id desc limit $6
        "#,
        player.0,
        listing.outgoing,
        listing.incoming,
        before.map_or(uuid::Uuid::max(), |id| id.0),
        listing.status.map(ChallengeStatus::as_str),
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// What ends a challenge.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// It is accepted, and these are its table and game.
    Accepted(TableId, GameId),
    /// It is declined.
    Declined(DeclineReason),
    /// It is taken back.
    Cancelled,
}

/// Ends a pending challenge that the transaction holds.
///
/// # Errors
/// The database's.
pub async fn end(conn: &mut PgConnection, challenge_id: ChallengeId, end: End) -> Result<()> {
    let (status, reason, table, game) = match end {
        End::Accepted(table, game) => (ChallengeStatus::Accepted, None, Some(table.0), Some(game.0)),
        End::Declined(reason) => (ChallengeStatus::Declined, Some(reason), None, None),
        End::Cancelled => (ChallengeStatus::Cancelled, None, None, None),
    };
    sqlx::query!(
        "update challenges set status = $2, reason = $3, table_id = $4, game_id = $5,
                               ended_at = date_trunc('milliseconds', clock_timestamp())
         where challenge_id = $1 and status = 'pending'",
        challenge_id.0,
        status.as_str(),
        reason as Option<DeclineReason>,
        table,
        game,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes up to `limit` challenges that expired, or would have, `days` ago; how many it were.
///
/// # Errors
/// The database's.
pub async fn delete_old(conn: &mut PgConnection, days: i32, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from challenges where challenge_id in (
             select challenge_id from challenges where expires_at < statement_timestamp() - make_interval(days => $1)
             order by expires_at limit $2
         )",
        days,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
