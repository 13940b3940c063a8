//! `demo`: bots and their games in an empty ladder, for whoever wants to see one at work.

mod plan;
mod play;

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use clap::Args;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hasami_engine::Level;
use hasami_rules::WinRule;
use tokio::task::JoinSet;

use super::progress::Shown;
use hasami_ladder::config::{Database, DatabaseArgs};
use hasami_ladder::http::Service;
use hasami_ladder::ladder::players;
use hasami_ladder::ladder::verify::Progress;
use hasami_ladder::store;
use hasami_ladder::store::board::BoardRow;
use plan::{FEWEST_GAMES, Pairing, pairings};
use play::{Bot, Hall};

/// Names of plants, and how well their bots play. The strongest think for longest, so there are few of them.
const BOTS: [(&str, u8); 24] = [
    ("Ajisai", 3),
    ("Asagao", 1),
    ("Ayame", 4),
    ("Botan", 2),
    ("Fuji", 5),
    ("Hagi", 3),
    ("Hinoki", 2),
    ("Icho", 4),
    ("Kaede", 1),
    ("Keyaki", 3),
    ("Kikyo", 2),
    ("Kiri", 4),
    ("Matsu", 1),
    ("Momiji", 3),
    ("Nadeshiko", 6),
    ("Renge", 2),
    ("Sakura", 1),
    ("Sasa", 4),
    ("Sumire", 5),
    ("Susuki", 3),
    ("Tsubaki", 2),
    ("Tsutsuji", 4),
    ("Ume", 1),
    ("Yanagi", 3),
];
/// Games at a time: enough to keep all cores thinking while some wait for the database.
const AT_A_TIME: usize = 16;
/// Connections for all but moves.
const CONNECTIONS: u32 = 8;

/// How much to play.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Finished games; a game that is drawn by repetition is played again, and the new one comes on top
    #[arg(long, default_value_t = 300, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(FEWEST_GAMES as u64..=10_000))]
    games: usize,
    /// Bots who play them
    #[arg(long, default_value_t = 20, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=BOTS.len() as u64))]
    players: usize,
    /// Another seed, other games; the same seed plays the same ones, but which of them end first is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// What a demo has made.
struct Filled {
    games: u32,
    /// Who is listed, the best first.
    boards: Vec<(WinRule, Vec<BoardRow>)>,
}

/// Fills an empty ladder.
///
/// # Errors
/// The database is away, or has players.
pub async fn run(args: DemoArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let database = args.database.open_beside().await?;
    let filled = tokio::select! {
        filled = fill(&database, &args) => filled,
        _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted: what was played so far is there, so start over with another, empty database")),
    };
    database.stop().await?;
    tell(&filled?, start)?;
    Ok(())
}

async fn fill(database: &Database, args: &DemoArgs) -> anyhow::Result<Filled> {
    store::migrate(database.options.clone()).await.context("cannot bring the database's schema up to date")?;
    let secret: [u8; 32] = hasami_ladder::random()?;
    let (service, worker) = Service::start(database.options.clone(), CONNECTIONS, &secret)?;
    let pool = service.pool.clone();
    ensure!(
        store::fill::is_empty(&mut *pool.acquire().await?).await?,
        "this ladder has players already, and the demo fills an empty one only; nothing was changed. Name a new folder \
         with --data-dir, or an empty database with --database-url"
    );
    // It keeps the time of the games that are left running. Ends with this set, however that comes.
    let mut keepers = JoinSet::new();
    let bots = enter(&service, args.players).await?;
    keepers.spawn(worker.run());

    let hall = Hall { service, bots };
    let pairings = pairings(args.games, args.players, args.seed);
    let progress = Arc::<Progress>::default();
    progress.total.store(i64::try_from(pairings.len())?, Ordering::Relaxed);
    let shown = Shown::new("demo", progress.clone()).counting("games");
    let playing = stream::iter(pairings.iter().map(|pairing| hall.play(*pairing)))
        .buffer_unordered(AT_A_TIME)
        .inspect_ok(|_| progress.add(1))
        .try_fold(0, async |sum, games| Ok(sum + games));
    let games = shown.during(playing).await?;
    furnish(&hall, &pairings).await?;

    let mut boards = Vec::new();
    for ladder in WinRule::ALL {
        let board = store::board::page(&mut *pool.acquire().await?, ladder, None, BOTS.len() as i64).await?;
        boards.push((ladder, board));
    }
    keepers.shutdown().await;
    pool.close().await;
    Ok(Filled { games, boards })
}

/// Lets the bots in, all at once.
async fn enter(service: &Service, count: usize) -> anyhow::Result<Vec<Bot>> {
    let bots = &BOTS[..count];
    let named =
        bots.iter().map(|(name, level)| anyhow::Ok((name.parse()?, format!("Demo bot, level {level}").parse()?)));
    let ids = players::add_bots(&service.pool, named.collect::<anyhow::Result<_>>()?).await?;
    let known = |(player_id, (_, level)): (_, &(_, u8))| {
        Ok(Bot { player_id, level: Level::new(*level).context("a level is 1 to 8")? })
    };
    ids.into_iter().zip(bots).map(known).collect()
}

/// What a lobby has: for each ladder a game that runs, and a table that waits.
async fn furnish(hall: &Hall, pairings: &[Pairing]) -> anyhow::Result<()> {
    for ((ladder, pairing), level) in WinRule::ALL.into_iter().zip(pairings).zip([1, 3, 5]) {
        hall.leave_running(Pairing { ladder, ..*pairing }).await?;
        hall.open(ladder, pairing.bots[0], level).await?;
    }
    Ok(())
}

/// What is there and where to look.
fn tell(filled: &Filled, start: Instant) -> io::Result<()> {
    const LADDER: &str = "  http://127.0.0.1:8080";
    let mut out = io::stdout().lock();
    writeln!(out, "{} games were played in {:.0} s; on the boards are", filled.games, start.elapsed().as_secs_f64())?;
    for (ladder, board) in &filled.boards {
        let best = board.first().map_or("nobody", |row| &row.username);
        writeln!(out, "  {ladder:<10} {} bots, {best} first", board.len())?;
    }
    writeln!(out, "3 more games are running, and at 3 tables the computer waits for you")?;
    writeln!(out, "run the service on the same database, then open")?;
    for (ladder, _) in &filled.boards {
        writeln!(out, "{LADDER}/v1/ladders/{ladder}/leaderboard")?;
    }
    if let Some((ladder, best)) = filled.boards.iter().find_map(|(ladder, board)| Some((ladder, board.first()?))) {
        for page in ["", "/games", &format!("/ratings/{ladder}/history")] {
            writeln!(out, "{LADDER}/v1/players/{}{page}", best.username)?;
        }
    }
    for page in ["/v1/games?status=playing", "/v1/tables?open=true", "/docs"] {
        writeln!(out, "{LADDER}{page}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hasami_ladder::player::Username;

    use super::*;

    #[test]
    fn anybody_could_have_chosen_these_names() {
        for (name, level) in BOTS {
            assert!(Username::choose(name).is_ok() && Level::new(level).is_some(), "{name}");
        }
    }
}
