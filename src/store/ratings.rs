//! Ratings and the ledger they are summed up from.

use chrono::{DateTime, Utc};
use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::Word;
use crate::elo::{Milli, Reason};
use crate::error::Result;
use crate::ids::{GameId, PlayerId};
use crate::player::{PlayerKind, Username};

/// A player's present state in a ladder.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ratings`, which the migration explains")]
pub struct RatingRow {
    pub player_id: PlayerId,
    pub ladder: Word<WinRule>,
    pub username: String,
    pub kind: PlayerKind,
    pub rating_milli: Milli,
    pub peak_milli: Milli,
    pub number: i32,
    pub wins: i32,
    pub draws: i32,
    pub losses: i32,
    pub last_rated_at: Option<DateTime<Utc>>,
    pub listed: bool,
}

impl RatingRow {
    /// Rated games that count.
    #[must_use]
    pub fn games(&self) -> i32 {
        self.wins + self.draws + self.losses
    }
}

/// Gives players a row in a ladder, where they have none yet. In the order of ids, as every lock is.
///
/// The players who get one are held, so that whoever changes a name or a kind comes before these copies are made,
/// or finds them.
///
/// # Errors
/// The database's.
pub async fn ensure(conn: &mut PgConnection, ladder: WinRule, players: &[PlayerId]) -> Result<()> {
    sqlx::query!(
        "insert into ratings (player_id, ladder, username, kind)
         select player_id, $1, username, kind from players p
         where player_id = any($2) and not exists (select from ratings r where r.player_id = p.player_id and r.ladder = $1)
         order by player_id for share
         on conflict on constraint ratings_pkey do nothing",
        ladder.as_str(),
        players as &[PlayerId],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The rows of both players, held until the transaction ends, in the order of ids.
///
/// # Errors
/// The database's.
pub async fn lock(conn: &mut PgConnection, ladder: WinRule, players: [PlayerId; 2]) -> Result<Vec<RatingRow>> {
    Ok(sqlx::query_as!(
        RatingRow,
        r#"
        select player_id as "player_id: PlayerId", ladder as "ladder: Word<WinRule>", username, kind as "kind: PlayerKind",
               rating_milli, peak_milli, number, wins, draws, losses, last_rated_at, listed
        from ratings where ladder = $1 and player_id = any($2)
        order by player_id for no key update
        "#,
        ladder.as_str(),
        &players as &[PlayerId],
    )
    .fetch_all(conn)
    .await?)
}

/// A player's rows, one a ladder they played in.
///
/// # Errors
/// The database's.
pub async fn find_all(conn: &mut PgConnection, player_id: PlayerId) -> Result<Vec<RatingRow>> {
    Ok(sqlx::query_as!(
        RatingRow,
        r#"
        select player_id as "player_id: PlayerId", ladder as "ladder: Word<WinRule>", username, kind as "kind: PlayerKind",
               rating_milli, peak_milli, number, wins, draws, losses, last_rated_at, listed
        from ratings where player_id = $1
        "#,
        player_id.0,
    )
    .fetch_all(conn)
    .await?)
}

/// Writes what a game made of a rating. The transaction holds the row.
///
/// # Errors
/// The database's.
pub async fn update(conn: &mut PgConnection, row: &RatingRow) -> Result<()> {
    sqlx::query!(
        "update ratings set rating_milli = $3, peak_milli = $4, number = $5, wins = $6, draws = $7, losses = $8,
                            last_rated_at = $9, listed = $10
         where player_id = $1 and ladder = $2",
        row.player_id.0,
        row.ladder.0.as_str(),
        row.rating_milli,
        row.peak_milli,
        row.number,
        row.wins,
        row.draws,
        row.losses,
        row.last_rated_at,
        row.listed,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether a ledger row gives or takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Entry {
    /// A game's result.
    Result,
    /// Its annulment.
    Annulment,
}

/// One change of one rating.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ledger`, which the migration explains")]
pub struct LedgerRow {
    pub number: i32,
    pub game_id: GameId,
    pub opponent_username: String,
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

/// A ledger row to be written.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns of `ledger`, which the migration explains")]
pub struct NewLedgerRow {
    pub player_id: PlayerId,
    pub ladder: WinRule,
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
    pub reason: Option<Reason>,
    pub at: DateTime<Utc>,
}

/// Adds a row to the ledger.
///
/// # Errors
/// The database's.
pub async fn insert_ledger(conn: &mut PgConnection, row: &NewLedgerRow) -> Result<()> {
    sqlx::query!(
        "insert into ledger (player_id, ladder, number, entry, game_id, opponent_id, opponent_milli, score, expected, k,
                             before_milli, after_milli, change_milli, reason, at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12::integer - $11::integer, $13, $14)",
        row.player_id.0,
        row.ladder.as_str(),
        row.number,
        row.entry as Entry,
        row.game_id.0,
        row.opponent_id.0,
        row.opponent_milli,
        row.score,
        row.expected,
        row.k,
        row.before_milli,
        row.after_milli,
        row.reason as Option<Reason>,
        row.at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How many rated games two players had against each other in the day before `end`; annulled ones don't count.
///
/// # Errors
/// The database's.
pub async fn count_pair(
    conn: &mut PgConnection,
    ladder: WinRule,
    player_id: PlayerId,
    opponent_id: PlayerId,
    end: DateTime<Utc>,
) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"
        select count(*) as "count!" from ledger l
        where player_id = $1 and ladder = $2 and opponent_id = $3 and entry = 'result'
          and at > $4::timestamptz - interval '24 hours' and at <= $4
          and not exists (select from ledger a where a.player_id = l.player_id and a.game_id = l.game_id and a.entry = 'annulment')
        "#,
        player_id.0,
        ladder.as_str(),
        opponent_id.0,
        end,
    )
    .fetch_one(conn)
    .await?)
}

/// A player's ledger in a ladder before `before`, newest first.
///
/// # Errors
/// The database's.
pub async fn history(
    conn: &mut PgConnection,
    player_id: PlayerId,
    ladder: WinRule,
    before: Option<i32>,
    limit: i64,
) -> Result<Vec<LedgerRow>> {
    Ok(sqlx::query_as!(
        LedgerRow,
        r#"
        select l.number, l.game_id as "game_id: GameId", p.username as opponent_username, l.opponent_milli, l.score, l.expected,
               l.k, l.before_milli, l.after_milli, l.change_milli, l.reason as "reason: Reason", l.at
        from ledger l join players p on p.player_id = l.opponent_id
        where l.player_id = $1 and l.ladder = $2 and l.number < $3
        order by l.number desc limit $4
        "#,
        player_id.0,
        ladder.as_str(),
        before.unwrap_or(i32::MAX),
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// What two players made of their rated games against each other in one ladder, from the first one's side.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "counts and a sum")]
pub struct HeadToHead {
    pub ladder: Word<WinRule>,
    pub wins: i64,
    pub draws: i64,
    pub losses: i64,
    pub change_milli: i64,
    pub last_at: DateTime<Utc>,
}

/// Two players' rated games against each other, by ladder; annulled ones don't count.
///
/// # Errors
/// The database's.
pub async fn head_to_head(
    conn: &mut PgConnection,
    player_id: PlayerId,
    opponent_id: PlayerId,
) -> Result<Vec<HeadToHead>> {
    Ok(sqlx::query_as!(
        HeadToHead,
        r#"
        select ladder as "ladder: Word<WinRule>",
               count(*) filter (where score = 1) as "wins!",
               count(*) filter (where score = 0.5) as "draws!",
               count(*) filter (where score = 0) as "losses!",
               sum(change_milli) as "change_milli!",
               max(at) as "last_at!"
        from ledger l
        where player_id = $1 and ladder = any('{capture5,lead3,captureall}') and opponent_id = $2 and entry = 'result'
          and not exists (select from ledger a where a.player_id = l.player_id and a.game_id = l.game_id and a.entry = 'annulment')
        group by ladder
        "#,
        player_id.0,
        opponent_id.0,
    )
    .fetch_all(conn)
    .await?)
}

/// Whether a player has had a rated game.
///
/// # Errors
/// The database's.
pub async fn has_ledger(conn: &mut PgConnection, player_id: PlayerId) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select exists (select from ledger where player_id = $1) as "has_ledger!""#, player_id.0,)
        .fetch_one(conn)
        .await?)
}

/// A claimed name reaches the copies that the leaderboard reads, and lists the player where the games played as a
/// guest suffice. What is listed now, for the ranks.
///
/// # Errors
/// The database's.
pub async fn rename_claimed(
    conn: &mut PgConnection,
    player_id: PlayerId,
    username: &Username,
    established: i32,
    days: i32,
) -> Result<Vec<(WinRule, Milli)>> {
    let rows = sqlx::query!(
        r#"
        update ratings
        set username = $2, kind = 'human',
            listed = wins + draws + losses >= $3
                and last_rated_at >= (date_trunc('day', clock_timestamp() at time zone 'UTC') - make_interval(days => $4)) at time zone 'UTC'
        where player_id = $1
        returning ladder as "ladder: Word<WinRule>", rating_milli, listed
        "#,
        player_id.0,
        username.as_str(),
        established,
        days,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().filter(|r| r.listed).map(|r| (r.ladder.0, r.rating_milli)).collect())
}

/// Tells the copies that the player is a bot. Before the first rated game nothing is listed. Until the transaction
/// ends, no rated game of the player does.
///
/// # Errors
/// The database's.
pub async fn set_bot(conn: &mut PgConnection, player_id: PlayerId) -> Result<()> {
    sqlx::query!("update ratings set kind = 'bot' where player_id = $1", player_id.0).execute(conn).await?;
    Ok(())
}
