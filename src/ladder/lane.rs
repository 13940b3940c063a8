//! The move lane: moves that arrive together are read, judged and written together.
//!
//! One task with one connection takes all that queued while its last batch was under way, so an idle service adds
//! no wait and a busy one shares two statements and one commit among many moves. No lock is held between reading
//! and writing: the write finds the game as it was read, or leaves it alone and the move is judged again.

use std::collections::{HashMap, HashSet, VecDeque};

use hasami_rules::Side;
use sqlx::postgres::{PgConnectOptions, PgPool};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{mpsc, oneshot};

use super::due;
use super::judge::{Decision, Mover, PlayMove, judge, mover};
use super::log;
use super::presence::{Presence, Sign};
use super::replay::{Loaded, Ply};
use super::settle::{self, Ending};
use super::sweep;
use crate::error::{Error, Result};
use crate::ids::{GameId, PlayerId};
use crate::store;
use crate::store::clocks::Clock;
use crate::store::games::{Append, GameRow};
use crate::thinker::Thinker;

/// Moves written by one statement, at most.
const BATCH: usize = 200;
/// Moves waiting, at most.
const QUEUE: usize = 4096;
/// How often a move is judged again, alone, after somebody else was faster.
const ATTEMPTS: u32 = 4;

/// What became of a posted move.
#[derive(Debug)]
pub struct Played {
    /// The game: as after the move, or as it stands now for a retry.
    pub game: Loaded,
    /// The move's row of the history.
    pub ply: Ply,
    /// Whether the move was written now; else the log held it.
    pub created: bool,
}

struct Job {
    request: PlayMove,
    reply: oneshot::Sender<Result<Played>>,
}

impl Job {
    /// A caller that went away needs no answer.
    fn answer(self, outcome: Result<Played>) {
        drop(self.reply.send(outcome));
    }
}

/// What judging and writing a move takes besides the lane's own connection.
#[derive(Debug, Clone)]
pub struct Court {
    /// For what is written beside the lane.
    pub pool: PgPool,
    /// The computer, which may be due.
    pub thinker: Thinker,
    /// Who was seen.
    pub presence: Presence,
    /// Games in which something is due at once; a full one loses a wake-up, which the sweep makes good.
    pub due_now: mpsc::Sender<GameId>,
}

impl Court {
    /// Judges a move. One that is not written is a sign of life too; one that is, is more.
    fn judge(&self, game: Loaded, request: &PlayMove) -> Result<Decision> {
        let sign = match request.by {
            Mover::Player(player) => Sign::of(&game.row, player),
            Mover::Cpu => None,
        };
        let decision = judge(game, request);
        if let Some(sign) = sign
            && matches!(decision, Err(_) | Ok(Decision::Retry(..)))
        {
            self.presence.note(sign);
        }
        // Who woke the computer the first time may be gone.
        if let Ok(Decision::Retry(game, _)) = &decision {
            self.tell(game);
        }
        decision
    }

    /// A player deals with a game, which was read for that: a sign of life. Who had left is back at once, on every
    /// instance, and what nobody has done is done now.
    ///
    /// # Errors
    /// The database's.
    pub async fn seen(&self, row: &GameRow, player: PlayerId) -> Result<()> {
        if let Some(sign) = Sign::of(row, player) {
            self.presence.note(sign);
            if sign.returns {
                self.presence.write(&self.pool).await?;
            }
        }
        if row.ended_at.is_none() && row.side_of(player).is_some() && due::is_late(&Clock::from(row)) {
            let _ = self.due_now.try_send(row.game_id);
        }
        Ok(())
    }

    /// A game after a ply: wakes who is to act if something is due at once.
    fn tell(&self, game: &Loaded) {
        if game.row.ended_at.is_none() && due::is_at_once(&Clock::from(&game.row)) {
            let _ = self.due_now.try_send(game.row.game_id);
        }
    }
}

/// The way into the lane.
#[derive(Debug, Clone)]
pub struct Lane {
    queue: mpsc::Sender<Job>,
}

impl Lane {
    /// Starts the lane. It ends when its last handle is dropped.
    #[must_use]
    pub fn start(court: Court, options: PgConnectOptions) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        tokio::spawn(run(jobs, court, store::session_options(options)));
        Self { queue }
    }

    /// Plays a move.
    ///
    /// # Errors
    /// Why it is refused; `Overloaded` where the queue is full, `Unavailable` where the outcome is not known yet.
    pub async fn play(&self, request: PlayMove) -> Result<Played> {
        let (reply, outcome) = oneshot::channel();
        self.queue.try_send(Job { request, reply }).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => Error::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Error::Internal("the move lane has ended".to_owned()),
        })?;
        match tokio::time::timeout(store::PATIENCE, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Error::Internal("the move lane dropped a move".to_owned())),
            Err(_) => Err(Error::Unavailable("no outcome of a move in time".to_owned())),
        }
    }
}

async fn run(mut jobs: mpsc::Receiver<Job>, court: Court, options: PgConnectOptions) {
    let mut connection = None;
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match jobs.recv().await {
                Some(job) => waiting.push_back(job),
                None => return,
            }
        }
        while waiting.len() < BATCH {
            match jobs.try_recv() {
                Ok(job) => waiting.push_back(job),
                Err(_) => break,
            }
        }
        let batch = take_batch(&mut waiting);
        let conn = match connection.take() {
            Some(conn) => Ok(conn),
            None => connect(&options).await,
        };
        match conn {
            Ok(mut conn) => {
                if play_batch(&mut conn, &court, batch).await {
                    connection = Some(conn);
                } else {
                    tokio::spawn(close(conn));
                }
            }
            Err(error) => {
                let why = error.to_string();
                batch.into_iter().for_each(|job| job.answer(Err(Error::Unavailable(why.clone()))));
            }
        }
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection> {
    match tokio::time::timeout(store::PATIENCE, PgConnection::connect_with(options)).await {
        Ok(conn) => Ok(conn?),
        Err(_) => Err(Error::Unavailable("no connection in time".to_owned())),
    }
}

/// Lets go of a connection that may be dead; nobody waits for its farewell.
async fn close(conn: PgConnection) {
    drop(tokio::time::timeout(store::PATIENCE, conn.close_hard()).await);
}

/// The first jobs, one of each game; a game's second job stays where it is.
fn take_batch(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let mut games = HashSet::with_capacity(waiting.len());
    let (batch, rest) = waiting.drain(..).partition(|job| games.insert(job.request.game_id));
    *waiting = rest;
    Vec::from(batch)
}

/// A statement's outcome, unless its connection is lost without a word.
async fn in_time<T>(statement: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = tokio::time::timeout(store::STATEMENTS_TIMEOUT, statement).await;
    outcome.unwrap_or_else(|_| Err(Error::Unavailable("the database does not answer".to_owned())))
}

/// Reads, judges and writes a batch. Whether the connection is still good.
async fn play_batch(conn: &mut PgConnection, court: &Court, batch: Vec<Job>) -> bool {
    let ids: Vec<GameId> = batch.iter().map(|job| job.request.game_id).collect();
    let mut rows: HashMap<GameId, GameRow> = match in_time(store::games::find_many(conn, &ids)).await {
        Ok(rows) => rows.into_iter().map(|row| (row.game_id, row)).collect(),
        Err(error) => {
            tracing::warn!(error = %error, "the move lane could not read");
            // Nothing was written: whoever has a connection may try each by itself.
            batch.into_iter().for_each(|job| alone(court, job));
            return false;
        }
    };
    let mut appends = Vec::with_capacity(batch.len());
    let mut written = Vec::with_capacity(batch.len());
    for job in batch {
        let game = rows.remove(&job.request.game_id).ok_or(Error::GameNotFound).and_then(Loaded::new);
        let decision = game.and_then(|game| court.judge(game, &job.request));
        match decision {
            Ok(Decision::Retry(game, ply)) => job.answer(Ok(Played { game, ply, created: false })),
            Ok(Decision::Append(game, ply)) => {
                appends.push(append(&game));
                written.push((job, game, ply));
            }
            Ok(Decision::Finish(game, ply)) => {
                let court = court.clone();
                tokio::spawn(async move {
                    match finish(&court.pool, game).await {
                        Ok(None) => alone(&court, job),
                        Ok(Some(game)) => job.answer(Ok(Played { game, ply, created: true })),
                        Err(error) => job.answer(Err(error)),
                    }
                });
            }
            Ok(Decision::Overdue(_)) => alone(court, job),
            Err(error) => job.answer(Err(error)),
        }
    }
    if appends.is_empty() {
        return true;
    }
    // In one order on every instance, so that two batches wait for each other rather than both.
    appends.sort_by_key(|append| append.game_id);
    match in_time(store::games::append_many(conn, &appends)).await {
        Ok(ids) => {
            let ids: HashSet<GameId> = ids.into_iter().collect();
            for (job, game, ply) in written {
                if ids.contains(&job.request.game_id) {
                    court.tell(&game);
                    job.answer(Ok(Played { game, ply, created: true }));
                } else {
                    alone(court, job);
                }
            }
            true
        }
        Err(error) => {
            // A bad row, a deadlock with another instance, or a lost connection, after which the batch may stand or
            // not: a second look at each tells.
            tracing::warn!(error = %error, moves = written.len(), "the move lane could not write; each move is looked at again");
            written.into_iter().for_each(|(job, ..)| alone(court, job));
            !matches!(error, Error::Unavailable(_))
        }
    }
}

fn append(game: &Loaded) -> Append {
    Append {
        game_id: game.row.game_id,
        away: match mover(game.game.ply()) {
            Side::First => game.row.first_away,
            Side::Second => game.row.second_away,
        },
        deadline_at: game.row.deadline_at,
        ply: game.row.ply,
        position_hash: game.row.position_hash,
        ply_at: game.row.ply_at,
        record: game.records.last().map(|r| log::pack(*r)).unwrap_or_default(),
    }
}

/// Judges and writes one move by itself, beside the lane.
fn alone(court: &Court, job: Job) {
    let court = court.clone();
    tokio::spawn(async move {
        let outcome = play_alone(&court, &job.request).await;
        job.answer(outcome);
    });
}

async fn play_alone(court: &Court, request: &PlayMove) -> Result<Played> {
    for _ in 0..ATTEMPTS {
        match play_once(court, request).await? {
            Outcome::Played(played) => return Ok(played),
            Outcome::Faster => {}
            Outcome::Overdue(game) => sweep::settle(court, game).await?,
        }
    }
    Err(Error::Overloaded)
}

/// The computer's ply, where it is due; nothing where somebody was faster.
pub(super) async fn play_for_cpu(court: &Court, request: &PlayMove) -> Result<()> {
    play_once(court, request).await.map(|_| ())
}

/// What became of one attempt.
enum Outcome {
    Played(Played),
    /// Somebody else changed the game meanwhile.
    Faster,
    /// Something was due before.
    Overdue(Loaded),
}

async fn play_once(court: &Court, request: &PlayMove) -> Result<Outcome> {
    let pool = &court.pool;
    let row = store::games::find_many(&mut *pool.acquire().await?, &[request.game_id]).await?.pop();
    let game = Loaded::new(row.ok_or(Error::GameNotFound)?)?;
    let written = match court.judge(game, request)? {
        Decision::Retry(game, ply) => return Ok(Outcome::Played(Played { game, ply, created: false })),
        Decision::Overdue(game) => return Ok(Outcome::Overdue(game)),
        Decision::Append(game, ply) => {
            let ids = store::games::append_many(&mut *pool.acquire().await?, &[append(&game)]).await;
            match ids {
                Ok(ids) => (!ids.is_empty()).then_some((game, ply)),
                Err(error) if error.is_deadlock() => None,
                Err(error) => return Err(error),
            }
        }
        Decision::Finish(game, ply) => finish(pool, game).await?.map(|game| (game, ply)),
    };
    Ok(match written {
        Some((game, ply)) => {
            court.tell(&game);
            Outcome::Played(Played { game, ply, created: true })
        }
        None => Outcome::Faster,
    })
}

/// Ends a game whose last move ended it. `None` where somebody was faster.
async fn finish(pool: &PgPool, game: Loaded) -> Result<Option<Loaded>> {
    let Some(ending) = Ending::of_board(&game) else {
        return Err(Error::Internal("a game that goes on was to be ended".to_owned()));
    };
    store::transaction(pool, move |conn| {
        let game = game.clone();
        Box::pin(async move {
            let ply_before = game.game.ply() - 1;
            settle::finish(conn, game, ply_before, ending).await
        })
    })
    .await
}
