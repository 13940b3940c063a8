//! The computer's thoughts: few threads of low priority, and two queues, so that games come before analyses and
//! neither slows a move that somebody posts.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use hasami_engine::{Found, Level, Score};
use hasami_rules::{Game, GameOptions, Move, Position};
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// Games waiting for the computer's ply, at most.
const GAMES: u64 = 10_000;
/// Positions that the analyses in the queue will look at, at most: what one core does in little more than a second.
const ANALYSES: u64 = 4_000_000;
/// How long an analysis is waited for. It takes a third of a second, unless others have the cores.
const PATIENCE: Duration = Duration::from_secs(10);
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

/// Jobs with the size of each, and the sum of these.
#[derive(Default)]
struct Queue {
    jobs: VecDeque<(u64, Job)>,
    size: u64,
}

impl Queue {
    fn pop(&mut self) -> Option<Job> {
        let (size, job) = self.jobs.pop_front()?;
        self.size -= size;
        Some(job)
    }
}

#[derive(Default)]
struct Queues {
    games: Queue,
    analyses: Queue,
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
        let found = self.ask(|q| (&mut q.games, GAMES), 1, move || hasami_engine::choose(&game, level)).await?;
        found.ok_or_else(|| Error::Internal("the computer was asked about a game that is over".to_owned()))
    }

    /// The best move that a search of so many nodes finds; `None` where the game is over.
    ///
    /// # Errors
    /// `Overloaded`, also where its turn does not come in time.
    pub async fn analyse(&self, subject: Subject, nodes: u64) -> Result<Option<Analysis>> {
        let search = move || match &subject {
            Subject::Game(game) => hasami_engine::search(game, nodes),
            Subject::Position(position, options) => hasami_engine::search_position(position, *options, nodes),
        };
        let found = self.ask(|q| (&mut q.analyses, ANALYSES), nodes, search);
        let found = tokio::time::timeout(PATIENCE, found).await.map_err(|_| Error::Overloaded)?;
        Ok(found?.map(Into::into))
    }

    async fn ask<T: Send + 'static>(
        &self,
        queue: fn(&mut Queues) -> (&mut Queue, u64),
        size: u64,
        think: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let (reply, thought) = oneshot::channel();
        {
            let mut queues = self.0.0.queues.lock().unwrap_or_else(PoisonError::into_inner);
            let (queue, most) = queue(&mut queues);
            if queue.size + size > most {
                return Err(Error::Overloaded);
            }
            queue.size += size;
            let job = move || {
                // Nobody may wait any more.
                if !reply.is_closed() {
                    drop(reply.send(think()));
                }
            };
            queue.jobs.push_back((size, Box::new(job)));
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
                if let Some(job) = queues.games.pop().or_else(|| queues.analyses.pop()) {
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// However small, an analysis is refused where too much waits; games have a queue of their own.
    #[tokio::test]
    async fn analyses_wait_by_the_size_of_their_searches() {
        let thinker = Thinker::start(0).unwrap();
        let game = || Game::new(GameOptions::default());
        let ask = |nodes| thinker.analyse(Subject::Game(game()), nodes).now_or_never();
        for _ in 0..3 {
            assert!(ask(1_000_000).is_none(), "it waits");
        }
        assert!(matches!(ask(1_000_001), Some(Err(Error::Overloaded))));
        assert!(ask(1_000_000).is_none());
        assert!(matches!(ask(1), Some(Err(Error::Overloaded))));
        assert!(thinker.choose(game(), Level::ALL[7]).now_or_never().is_none());
    }
}
