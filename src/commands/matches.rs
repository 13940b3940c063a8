//! `match`: the levels of the computer player against each other, to see that each is stronger than the one below.

use std::fmt;
use std::io::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use anyhow::{Context as _, bail};
use clap::Args;
use hasami_engine::{Level, choose};
use hasami_rules::{Game, GameOptions, Move, Position, Side, WinRule};

use super::progress::Shown;
use hasami_ladder::ladder::verify::Progress;

/// Who plays, and how many games.
#[derive(Debug, Clone, Args)]
pub struct MatchArgs {
    /// Games of each pair; from each opening two, with swapped sides
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    games: u32,
    /// The levels, as in `3-5`: each plays against the one below, and level 8 against a plain search of three plies too
    #[arg(long, default_value = "1-8")]
    levels: Levels,
    /// How the games are won
    #[arg(long, default_value = "capture5")]
    win_rule: WinRule,
    /// After so many plies a game is drawn [default: 300; 600 where all must be taken, for there games are long]
    #[arg(long, value_parser = clap::value_parser!(u16).range(20..=2000))]
    move_limit: Option<u16>,
    /// Another seed, other openings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Games at a time; one a core if not given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl MatchArgs {
    fn move_limit(&self) -> u16 {
        self.move_limit.unwrap_or(if self.win_rule == WinRule::CaptureAll { 600 } else { 300 })
    }
}

/// From one level to another.
#[derive(Debug, Clone, Copy)]
struct Levels {
    lowest: Level,
    highest: Level,
}

impl FromStr for Levels {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (lowest, highest) = text.split_once('-').unwrap_or((text, text));
        let level = |text: &str| text.parse().ok().and_then(Level::new);
        match (level(lowest), level(highest)) {
            (Some(lowest), Some(highest)) if lowest <= highest => Ok(Self { lowest, highest }),
            _ => bail!("not levels: expected two of 1 to 8, as in 3-5"),
        }
    }
}

/// Who moves for a side.
#[derive(Debug, Clone, Copy)]
enum Player {
    Level(Level),
    /// Looks at all moves three plies ahead and counts pieces.
    Plain,
}

impl Player {
    fn choose(self, game: &Game) -> Option<Move> {
        match self {
            Self::Level(level) => choose(game, level),
            Self::Plain => plain(game),
        }
    }
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => write!(f, "{}", level.number()),
            Self::Plain => f.write_str("plain"),
        }
    }
}

/// The stronger player, as one hopes, and the weaker.
type Pair = [Player; 2];

/// The strongest first.
fn pairs(levels: Levels) -> Vec<Pair> {
    let all = Level::ALL.into_iter().filter(|level| (levels.lowest..=levels.highest).contains(level));
    let mut players: Vec<Player> = all.rev().map(Player::Level).collect();
    let mut pairs: Vec<Pair> = players.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    if levels.highest == Level::ALL[7] {
        pairs.insert(0, [players.swap_remove(0), Player::Plain]);
    }
    pairs
}

/// What became of the games of a pair, as the first of them sees it.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    won: u32,
    drawn: u32,
    lost: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.won += other.won;
        self.drawn += other.drawn;
        self.lost += other.lost;
    }

    fn games(self) -> f64 {
        f64::from(self.won + self.drawn + self.lost)
    }

    /// Points a game: a draw is half a win.
    fn score(self) -> f64 {
        (f64::from(self.won) + f64::from(self.drawn) / 2.0) / self.games()
    }

    /// Between which scores the true one lies, 19 times in 20. Two wins and two losses are added, so that it stays open
    /// where all games ended alike.
    fn bars(self) -> [f64; 2] {
        let more = Self { won: self.won + 2, lost: self.lost + 2, ..self };
        let score = more.score();
        let part = |games: u32, points: f64| f64::from(games) * (points - score).powi(2);
        let variance = (part(more.won, 1.0) + part(more.drawn, 0.5) + part(more.lost, 0.0)) / more.games();
        let error = 1.96 * (variance / more.games()).sqrt();
        [score - error, score + error].map(|score| score.clamp(0.0, 1.0))
    }
}

/// The difference in rating points that makes one expect this score.
fn elo(score: f64) -> f64 {
    400.0 * (score / (1.0 - score)).log10()
}

/// Plays and prints the table.
///
/// # Errors
/// Standard output is closed.
pub async fn run(args: MatchArgs) -> anyhow::Result<()> {
    let pairs = pairs(args.levels);
    if pairs.is_empty() {
        bail!("one level alone has nobody to play against; name two, as in --levels 3-4");
    }
    let MatchArgs { games, win_rule, seed, .. } = args;
    let mut out = io::stdout();
    writeln!(out, "{win_rule}, {games} games a pair, drawn after {} plies, seed {seed}", args.move_limit())?;
    writeln!(out, "{:<12}{:>6}{:>6}{:>6}{:>8}{:>7}  95 of 100", "level", "won", "drawn", "lost", "score", "Elo")?;
    for pair in pairs {
        let [one, other] = pair;
        let name = format!("{one} v {other}");
        let progress = Arc::<Progress>::default();
        progress.total.store(games.into(), Ordering::Relaxed);
        let shown = Shown::new("match", progress.clone()).counting("games");
        let args = args.clone();
        let tally = shown.during(tokio::task::spawn_blocking(move || play_all(&args, pair, &progress))).await?;
        let [low, high] = tally.bars().map(elo);
        let Tally { won, drawn, lost } = tally;
        let (score, elo) = (100.0 * tally.score(), elo(tally.score()));
        writeln!(out, "{name:<12}{won:>6}{drawn:>6}{lost:>6}{score:>8.1}{elo:>+7.0}  {low:+.0} to {high:+.0}")?;
    }
    Ok(())
}

/// All games of a pair, on all threads. Which of them plays a game changes nothing in it.
fn play_all(args: &MatchArgs, pair: Pair, progress: &Progress) -> Tally {
    let threads = args.threads.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let next = AtomicU32::new(0);
    let work = || {
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= args.games {
                return tally;
            }
            tally.add(play(args, pair, number.into()));
            progress.add(1);
        }
    };
    let mut sum = Tally::default();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in running {
            sum.add(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    sum
}

/// One game. Two with neighbouring numbers begin with the same opening, and with swapped sides.
fn play(args: &MatchArgs, pair: Pair, number: u64) -> Tally {
    let options = GameOptions { win_rule: args.win_rule, move_limit: Some(args.move_limit()) };
    let mut game = opening(options, args.seed.wrapping_mul(1_000_003).wrapping_add(number / 2));
    let side = Side::ALL[number as usize % 2];
    while let Some(to_move) = game.to_move() {
        let player = pair[usize::from(to_move != side)];
        let moved = player.choose(&game).context("no move in a running game").and_then(|mv| Ok(game.play(mv)?));
        if let Err(error) = moved {
            panic!("{player}: {error}: {}", game.position());
        }
    }
    match game.outcome().and_then(|(outcome, _)| outcome.winner()) {
        Some(winner) if winner == side => Tally { won: 1, ..Tally::default() },
        Some(_) => Tally { lost: 1, ..Tally::default() },
        None => Tally { drawn: 1, ..Tally::default() },
    }
}

/// A game of six random plies after which nobody has lost a piece, nor is about to.
pub fn opening(options: GameOptions, seed: u64) -> Game {
    let mut state = seed;
    loop {
        let mut game = Game::new(options);
        for _ in 0..6 {
            state = mixed(state);
            let moves: Vec<Move> = game.position().legal_moves().collect();
            // So early no game has ended, and each side has dozens of moves.
            game.play(moves[(state % moves.len() as u64) as usize]).unwrap_or_default();
        }
        let position = game.position();
        let even = Side::ALL.into_iter().all(|side| game.captured_by(side) == 0);
        if even && position.legal_moves().all(|mv| position.play_unchecked(mv).1.is_empty()) {
            return game;
        }
    }
}

/// A number that looks as if it had nothing to do with this one: a step of splitmix64.
pub const fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The move that leaves most pieces three plies later; among equals any.
fn plain(game: &Game) -> Option<Move> {
    let position = game.position();
    let mut chance = mixed(position.hash() ^ u64::from(game.ply()));
    let rated = position.legal_moves().map(|mv| {
        chance = mixed(chance);
        let worth = -pieces(&position.play_unchecked(mv).0, game.options().win_rule, 2, -WIN, WIN);
        ((worth, chance), mv)
    });
    rated.max_by_key(|(rank, _)| *rank).map(|(_, mv)| mv)
}

/// More than any number of pieces.
const WIN: i32 = 1000;

/// How many pieces the side to move is ahead after so many plies, if both play for that; a win is worth more, an early
/// one most.
fn pieces(position: &Position, win_rule: WinRule, depth: i32, mut alpha: i32, beta: i32) -> i32 {
    if position.outcome(win_rule).is_some() {
        // The mover before has won.
        return -(WIN / 2 + depth);
    }
    if depth == 0 {
        let [own, theirs] = [position.side(), position.side().other()].map(|side| position.captured_by(side));
        return i32::from(own) - i32::from(theirs);
    }
    let mut best = -WIN;
    for mv in position.legal_moves() {
        let worth = -pieces(&position.play_unchecked(mv).0, win_rule, depth - 1, -beta, -alpha);
        best = best.max(worth);
        alpha = alpha.max(worth);
        if alpha >= beta {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_play() {
        let names = |text: &str| -> Vec<String> {
            let pairs = pairs(text.parse().unwrap());
            pairs.iter().map(|[one, other]| format!("{one} v {other}")).collect()
        };
        assert_eq!(names("3-5"), ["5 v 4", "4 v 3"]);
        assert_eq!(names("7-8"), ["8 v plain", "8 v 7"]);
        assert_eq!(names("8"), ["8 v plain"]);
        assert_eq!(names("4"), [""; 0]);
        for wrong in ["", "0-3", "5-4", "7-9", "1-", "-"] {
            assert!(wrong.parse::<Levels>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn scores_become_elo() {
        let tally = Tally { won: 60, drawn: 30, lost: 10 };
        assert!((elo(tally.score()) - 190.8).abs() < 0.1);
        let [low, high] = tally.bars();
        assert!(low < 0.75 && 0.75 < high && high - low < 0.15, "{low} {high}");
        let [low, high] = Tally { won: 100, ..Tally::default() }.bars();
        assert!(low < 0.98 && elo(high) == f64::INFINITY, "{low} {high}");
    }

    #[test]
    fn swapped_games_begin_alike() {
        let options = GameOptions::default();
        assert_eq!(opening(options, 5).moves(), opening(options, 5).moves());
        assert_ne!(opening(options, 5).moves(), opening(options, 6).moves());
        assert_eq!(opening(options, 5).ply(), 6);
    }
}
