//! The computer's thoughts: few threads of low priority, and two queues, so that games come before analyses and
//! neither slows a move that somebody posts.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use hasami_engine::{Found, Level, Score};
use hasami_rules::{Game, GameOptions, Move, Position};
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// Games waiting for the computer's ply, at most.
const GAMES: usize = 10_000;
/// Analyses waiting, at most.
const ANALYSES: usize = 16;
/// The nicest there is: a thought gets what requests leave of a core.
const NICENESS: i32 = 19;

/// What to look for the best move in.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A game, with its history.
    Game(Game),
    /// A position without one.
    Position(Position, GameOptions),
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The best move.
    pub best: Move,
    /// What the position is worth to the side to move, in hundredths of a piece; `None` where the game is decided.
    pub score: Option<i16>,
    /// Plies until it is decided, negative where the side to move loses; `None` where that is not seen.
    pub decided_in: Option<i16>,
    /// How the game should go on, beginning with the best move.
    pub line: Vec<Move>,
    /// Plies searched in full.
    pub depth: u8,
    /// Positions looked at.
    pub nodes: u64,
}

impl From<Found> for Analysis {
    fn from(found: Found) -> Self {
        let score = match found.score {
            Score::Pieces(pieces) => Some(pieces),
            Score::WinIn(_) | Score::LossIn(_) => None,
        };
        let Found { best, line, depth, nodes, .. } = found;
        Self { best, score, decided_in: found.score.mate_in(), line, depth, nodes }
    }
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queues {
    games: VecDeque<Job>,
    analyses: VecDeque<Job>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    more: Condvar,
}

/// The way to the threads, which live as long as anybody has it.
#[derive(Clone)]
pub struct Thinker(Arc<Owner>);

struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.0.more.notify_all();
    }
}

impl std::fmt::Debug for Thinker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Thinker")
    }
}

impl Thinker {
    /// Starts so many threads.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(threads: usize) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        for _ in 0..threads {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("thinker".to_owned())
                .spawn(move || work(&shared))
                .map_err(|e| Error::Internal(format!("no thread for the computer: {e}")))?;
        }
        Ok(Self(Arc::new(Owner(shared))))
    }

    /// The move that a level plays.
    ///
    /// # Errors
    /// `Overloaded`; `Internal` where the game is over.
    pub async fn choose(&self, game: Game, level: Level) -> Result<Move> {
        let found = self.ask(|q| (&mut q.games, GAMES), move || hasami_engine::choose(&game, level)).await?;
        found.ok_or_else(|| Error::Internal("the computer was asked about a game that is over".to_owned()))
    }

    /// The best move that a search of so many nodes finds; `None` where the game is over.
    ///
    /// # Errors
    /// `Overloaded`.
    pub async fn analyse(&self, subject: Subject, nodes: u64) -> Result<Option<Analysis>> {
        let search = move || match &subject {
            Subject::Game(game) => hasami_engine::search(game, nodes),
            Subject::Position(position, options) => hasami_engine::search_position(position, *options, nodes),
        };
        Ok(self.ask(|q| (&mut q.analyses, ANALYSES), search).await?.map(Into::into))
    }

    async fn ask<T: Send + 'static>(
        &self,
        queue: fn(&mut Queues) -> (&mut VecDeque<Job>, usize),
        think: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let (reply, thought) = oneshot::channel();
        {
            let mut queues = self.0.0.queues.lock().unwrap_or_else(PoisonError::into_inner);
            let (queue, limit) = queue(&mut queues);
            if queue.len() >= limit {
                return Err(Error::Overloaded);
            }
            queue.push_back(Box::new(move || {
                // Nobody may wait any more.
                if !reply.is_closed() {
                    drop(reply.send(think()));
                }
            }));
        }
        self.0.0.more.notify_one();
        thought.await.map_err(|_| Error::Internal("the computer stopped thinking".to_owned()))
    }
}

fn work(shared: &Shared) {
    // Of this thread alone; where it is refused, thoughts are as urgent as requests.
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the computer's threads keep their priority");
    }
    loop {
        let job = {
            let mut queues = shared.queues.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if let Some(job) = queues.games.pop_front().or_else(|| queues.analyses.pop_front()) {
                    break job;
                }
                if queues.closed {
                    return;
                }
                queues = shared.more.wait(queues).unwrap_or_else(PoisonError::into_inner);
            }
        };
        // A search that panics takes its answer along; the thread stays.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
            tracing::error!("a search panicked");
        }
    }
}
