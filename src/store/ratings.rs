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

/// Rows of players, each in a ladder, held until the transaction ends: in the order of ids.
///
/// # Errors
/// The database's.
pub async fn lock(conn: &mut PgConnection, rows: &[(PlayerId, WinRule)]) -> Result<Vec<RatingRow>> {
    let players: Vec<PlayerId> = rows.iter().map(|r| r.0).collect();
    let ladders: Vec<&str> = rows.iter().map(|r| r.1.as_str()).collect();
    Ok(sqlx::query_as!(
        RatingRow,
        r#"
        select r.player_id as "player_id: PlayerId", r.ladder as "ladder: Word<WinRule>", r.username,
               r.kind as "kind: PlayerKind", r.rating_milli, r.peak_milli, r.number, r.wins, r.draws, r.losses, r.last_rated_at,
               r.listed
        from unnest($1::uuid[], $2::text[]) as k (player_id, ladder)
        join ratings r on r.player_id = k.player_id and r.ladder = k.ladder
        order by r.player_id, r.ladder for no key update of r
        "#,
        &players as &[PlayerId],
        &ladders as &[&str],
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

/// Writes what games made of ratings. The transaction holds the rows.
///
/// # Errors
/// The database's.
pub async fn update(conn: &mut PgConnection, rows: &[&RatingRow]) -> Result<()> {
    let players: Vec<PlayerId> = rows.iter().map(|r| r.player_id).collect();
    let ladders: Vec<&str> = rows.iter().map(|r| r.ladder.0.as_str()).collect();
    let ratings: Vec<Milli> = rows.iter().map(|r| r.rating_milli).collect();
    let peaks: Vec<Milli> = rows.iter().map(|r| r.peak_milli).collect();
    let numbers: Vec<i32> = rows.iter().map(|r| r.number).collect();
    let wins: Vec<i32> = rows.iter().map(|r| r.wins).collect();
    let draws: Vec<i32> = rows.iter().map(|r| r.draws).collect();
    let losses: Vec<i32> = rows.iter().map(|r| r.losses).collect();
    let last: Vec<Option<DateTime<Utc>>> = rows.iter().map(|r| r.last_rated_at).collect();
    let listed: Vec<bool> = rows.iter().map(|r| r.listed).collect();
    sqlx::query!(
        "update ratings r set rating_milli = m.rating_milli, peak_milli = m.peak_milli, number = m.number, wins = m.wins,
                              draws = m.draws, losses = m.losses, last_rated_at = m.last_rated_at, listed = m.listed
         from unnest($1::uuid[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::integer[],
                     $8::integer[], $9::timestamptz[], $10::boolean[])
              as m (player_id, ladder, rating_milli, peak_milli, number, wins, draws, losses, last_rated_at, listed)
         where r.player_id = m.player_id and r.ladder = m.ladder",
        &players as &[PlayerId],
        &ladders as &[&str],
        &ratings,
        &peaks,
        &numbers,
        &wins,
        &draws,
        &losses,
        &last as &[Option<DateTime<Utc>>],
        &listed,
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

/// Adds rows to the ledger.
///
/// # Errors
/// The database's.
pub async fn insert_ledger(conn: &mut PgConnection, rows: &[NewLedgerRow]) -> Result<()> {
    let players: Vec<PlayerId> = rows.iter().map(|r| r.player_id).collect();
    let ladders: Vec<&str> = rows.iter().map(|r| r.ladder.as_str()).collect();
    let numbers: Vec<i32> = rows.iter().map(|r| r.number).collect();
    let entries: Vec<Entry> = rows.iter().map(|r| r.entry).collect();
    let games: Vec<GameId> = rows.iter().map(|r| r.game_id).collect();
    let opponents: Vec<PlayerId> = rows.iter().map(|r| r.opponent_id).collect();
    let opponents_milli: Vec<Milli> = rows.iter().map(|r| r.opponent_milli).collect();
    let scores: Vec<f64> = rows.iter().map(|r| r.score).collect();
    let expected: Vec<f64> = rows.iter().map(|r| r.expected).collect();
    let k: Vec<f64> = rows.iter().map(|r| r.k).collect();
    let before: Vec<Milli> = rows.iter().map(|r| r.before_milli).collect();
    let after: Vec<Milli> = rows.iter().map(|r| r.after_milli).collect();
    let reasons: Vec<Option<Reason>> = rows.iter().map(|r| r.reason).collect();
    let times: Vec<DateTime<Utc>> = rows.iter().map(|r| r.at).collect();
    sqlx::query!(
        "insert into ledger (player_id, ladder, number, entry, game_id, opponent_id, opponent_milli, score, expected, k,
                             before_milli, after_milli, change_milli, reason, at)
         select player_id, ladder, number, entry, game_id, opponent_id, opponent_milli, score, expected, k, before_milli,
                after_milli, after_milli - before_milli, reason, at
         from unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::uuid[], $6::uuid[], $7::integer[], $8::float8[],
                     $9::float8[], $10::float8[], $11::integer[], $12::integer[], $13::text[], $14::timestamptz[])
              as m (player_id, ladder, number, entry, game_id, opponent_id, opponent_milli, score, expected, k, before_milli,
                    after_milli, reason, at)",
        &players as &[PlayerId],
        &ladders as &[&str],
        &numbers,
        &entries as &[Entry],
        &games as &[GameId],
        &opponents as &[PlayerId],
        &opponents_milli,
        &scores,
        &expected,
        &k,
        &before,
        &after,
        &reasons as &[Option<Reason>],
        &times,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Two players who met.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the columns of `ledger`")]
pub struct Pair {
    pub ladder: WinRule,
    pub player_id: PlayerId,
    pub opponent_id: PlayerId,
    /// The end of the game in question.
    pub end: DateTime<Utc>,
}

/// How many rated games each pair had in the day before `end`, in the order of the pairs; annulled ones don't count.
/// (`offset 0` has each looked up by its game, where a join would read all of the player's ledger.)
///
/// # Errors
/// The database's.
pub async fn count_pairs(conn: &mut PgConnection, pairs: &[Pair]) -> Result<Vec<i64>> {
    let ladders: Vec<&str> = pairs.iter().map(|p| p.ladder.as_str()).collect();
    let players: Vec<PlayerId> = pairs.iter().map(|p| p.player_id).collect();
    let opponents: Vec<PlayerId> = pairs.iter().map(|p| p.opponent_id).collect();
    let ends: Vec<DateTime<Utc>> = pairs.iter().map(|p| p.end).collect();
    Ok(sqlx::query_scalar!(
        r#"
        select (select count(*) from ledger l
                where l.player_id = k.player_id and l.ladder = k.ladder and l.opponent_id = k.opponent_id and l.entry = 'result'
                  and l.at > k.end_at - interval '24 hours' and l.at <= k.end_at
                  and not exists (select from ledger a
                                  where a.player_id = l.player_id and a.game_id = l.game_id and a.entry = 'annulment' offset 0))
               as "count!"
        from unnest($1::text[], $2::uuid[], $3::uuid[], $4::timestamptz[]) with ordinality
             as k (ladder, player_id, opponent_id, end_at, place)
        order by k.place
        "#,
        &ladders as &[&str],
        &players as &[PlayerId],
        &opponents as &[PlayerId],
        &ends,
    )
    .fetch_all(conn)
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
          and not exists (select from ledger a
                          where a.player_id = l.player_id and a.game_id = l.game_id and a.entry = 'annulment' offset 0)
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
