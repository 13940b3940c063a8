//! How the demo's bots play: through the service's own functions, as if they had posted each move.

use std::time::Duration;

use anyhow::Context as _;
use hasami_engine::Level;
use hasami_ladder::error::{Error, Result};
use hasami_ladder::http::Service;
use hasami_ladder::ids::{GameId, PlayerId};
use hasami_ladder::ladder::games::{self, DrawAction};
use hasami_ladder::ladder::judge::{Mover, PlayMove};
use hasami_ladder::ladder::replay::Loaded;
use hasami_ladder::ladder::{seats, tables};
use hasami_ladder::options::TableOptions;
use hasami_rules::{Game, Side, WinRule};

use super::plan::Pairing;
use crate::commands::matches::{mixed, opening};

/// A player, and how well it plays.
#[derive(Debug, Clone)]
pub struct Bot {
    pub player_id: PlayerId,
    pub level: Level,
}

/// What happens in a game besides moves.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Nothing: the rules end it.
    ToTheEnd,
    /// Who is two pieces behind resigns.
    Resigns,
    /// Those who are equal after so many plies agree on a draw.
    Agrees { after: u16 },
    /// Both leave it at this ply.
    Leaves { at: u16 },
}

/// The bots and the house they play in.
#[derive(Debug)]
pub struct Hall {
    pub service: Service,
    pub bots: Vec<Bot>,
}

impl Hall {
    /// Plays a game, and its reruns; how many games it were.
    pub async fn play(&self, pairing: Pairing) -> anyhow::Result<u32> {
        let options = TableOptions { rated: pairing.rated, ..options(pairing.ladder) };
        let manner = match pairing.seed % 16 {
            0 => Manner::Agrees { after: 30 },
            1 | 2 => Manner::Resigns,
            _ => Manner::ToTheEnd,
        };
        let mut game_id = self.begin(pairing.bots, options).await?;
        let mut seed = pairing.seed;
        for games in 1.. {
            let game = self.play_game(game_id, manner, seed).await?;
            match game.row.rerun {
                Some(rerun) => game_id = rerun,
                None => {
                    self.leave(&game).await?;
                    return Ok(games);
                }
            }
            seed = mixed(seed);
        }
        anyhow::bail!("no end of reruns")
    }

    /// Begins a casual game and leaves it, for the service to go on with: a move a minute.
    pub async fn leave_running(&self, pairing: Pairing) -> anyhow::Result<()> {
        let options =
            TableOptions { rated: false, turn_seconds: Some(60), absence_seconds: None, ..options(pairing.ladder) };
        let game_id = self.begin(pairing.bots, options).await?;
        // From 8 to 23, behind the opening.
        let at = 8 + (pairing.seed % 16) as u16;
        self.play_game(game_id, Manner::Leaves { at }, pairing.seed).await?;
        Ok(())
    }

    /// Opens a casual table at which the computer waits for whoever sits down.
    pub async fn open(&self, ladder: WinRule, host: usize, level: u8) -> anyhow::Result<()> {
        let (pool, host) = (&self.service.pool, self.bots[host].player_id);
        let options = TableOptions { rated: false, ..options(ladder) };
        let table = until_done(|| tables::open(pool, host, options.clone(), false)).await?;
        until_done(|| seats::seat_computer(pool, table.table_id, host, level)).await?;
        Ok(())
    }

    async fn begin(&self, bots: [usize; 2], options: TableOptions) -> anyhow::Result<GameId> {
        let pool = &self.service.pool;
        let [first, second] = bots.map(|bot| self.bots[bot].player_id);
        let table = until_done(|| tables::open(pool, first, options.clone(), true)).await?;
        let (table, _) = until_done(|| seats::sit(pool, table.table_id, second, None)).await?;
        table.game_id.context("two sit at a table without a game")
    }

    /// Both get up after their last game, the host last, which closes the table.
    async fn leave(&self, game: &Loaded) -> anyhow::Result<()> {
        let (pool, table_id) = (&self.service.pool, game.row.table_id);
        let table = until_done(|| async { tables::load(&mut *pool.acquire().await?, table_id).await }).await?;
        let guest = Side::ALL.into_iter().map(|side| game.row.player(side)).find(|player| *player != table.host_id);
        for player in guest.into_iter().chain([table.host_id]) {
            until_done(|| async {
                match seats::leave(pool, table_id, player).await {
                    Ok(_) | Err(Error::NotSeated | Error::TableClosed) => Ok(()),
                    Err(error) => Err(error),
                }
            })
            .await?;
        }
        Ok(())
    }

    /// Plays a game that has begun; as it then stands.
    async fn play_game(&self, game_id: GameId, manner: Manner, seed: u64) -> anyhow::Result<Loaded> {
        let pool = &self.service.pool;
        let load = || async { games::load(&mut *pool.acquire().await?, game_id).await };
        let mut loaded = until_done(load).await?;
        let opening = opening(loaded.row.options().game(), seed);
        while let (Some(side), None) = (loaded.game.to_move(), loaded.row.ended_at) {
            let [own, other] = [side, side.other()].map(|side| loaded.row.player(side));
            let game = &loaded.game;
            match manner {
                Manner::Leaves { at } if game.ply() >= at => return Ok(loaded),
                Manner::Resigns if game.captured_by(side) + 2 <= game.captured_by(side.other()) => {
                    return until_done(|| games::resign(pool, game_id, own)).await;
                }
                Manner::Agrees { after } if game.ply() >= after && is_even(game) => {
                    until_done(|| games::draw(pool, game_id, own, DrawAction::Offer)).await?;
                    return until_done(|| games::draw(pool, game_id, other, DrawAction::Accept)).await;
                }
                _ => {}
            }
            let ply = game.ply() + 1;
            let mv = match opening.moves().get(usize::from(ply) - 1) {
                Some(mv) => *mv,
                None => until_done(|| self.service.court.thinker.choose(game.clone(), self.level(own))).await?,
            };
            let request = PlayMove { game_id, by: Mover::Player(own), mv, ply };
            loaded = until_done(|| async {
                match self.service.lane.play(request).await {
                    Ok(played) => Ok(played.game),
                    // At a table with a timer the computer may have moved for somebody meanwhile.
                    Err(Error::StalePly { .. }) => load().await,
                    Err(error) => Err(error),
                }
            })
            .await?;
        }
        Ok(loaded)
    }

    fn level(&self, player_id: PlayerId) -> Level {
        let bot = self.bots.iter().find(|bot| bot.player_id == player_id);
        bot.map_or(Level::ALL[0], |bot| bot.level)
    }
}

fn is_even(game: &Game) -> bool {
    let [first, second] = Side::ALL.map(|side| game.captured_by(side));
    first == second
}

/// As a host leaves them, but for a limit, so that no game goes on for ever.
fn options(ladder: WinRule) -> TableOptions {
    TableOptions { win_rule: ladder, move_limit: Some(200), ..TableOptions::default() }
}

/// Does something again while the database has no time for it, as a client repeats a request. All of it but the opening of
/// a table may be repeated safely; one table more does no harm.
async fn until_done<T, F: Future<Output = Result<T>>>(work: impl Fn() -> F) -> anyhow::Result<T> {
    const ATTEMPTS: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(200);
    for _ in 1..ATTEMPTS {
        match work().await {
            Err(Error::Unavailable(_) | Error::Overloaded) => tokio::time::sleep(PAUSE).await,
            done => return Ok(done?),
        }
    }
    Ok(work().await?)
}
