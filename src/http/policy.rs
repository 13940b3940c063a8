//! The policy: by which arithmetic ratings follow, who is listed, and what time does.

use actix_web::{HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use crate::elo::{self, Milli};
use crate::ladder::players::LISTED_DAYS;
use crate::ladder::{due, sweep};
use crate::options::TableOptions;

/// The arithmetic of ratings. Points, not thousandths, where nothing else is said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "system": "elo", "start": 1500, "floor": 100, "scale": 400, "max_difference": 400,
    "k": { "new": 40, "new_games": 30, "established": 20, "master": 10, "master_rating": 2400 },
    "provisional_games": 10, "min_plies": 4, "draw_score": 0.5,
    "repeated_pair": { "games": 5, "hours": 24, "factor": 0.5 }, "stand_in_max_change": 0,
    "leaderboard": { "min_games": 10, "max_idle_days": 90, "guests": false },
    "time": { "turn_seconds": [30, 60], "absence_seconds": 120, "sign_of_life_seconds": 3, "idle_days": 7, "outage_seconds": 6 }, "text": "…"
}))]
pub struct PolicyView {
    /// Always `elo`.
    system: &'static str,
    /// Everybody's first rating.
    start: i32,
    /// No rating falls below.
    floor: i32,
    /// In E = 1 / (1 + 10^(d / scale)).
    scale: i32,
    /// Rating differences count up to this.
    max_difference: i32,
    /// K-factors.
    k: KView,
    /// Fewer rated games than this are provisional.
    provisional_games: i32,
    /// A shorter game is not rated.
    min_plies: u16,
    /// The score of a draw.
    draw_score: f64,
    /// The damping of repeated pairs.
    repeated_pair: RepeatedPairView,
    /// The most that a side gains for which the computer moved.
    stand_in_max_change: i32,
    /// Who is on the board.
    leaderboard: ListedView,
    /// What time does to a game.
    time: TimeView,
    /// All of it in words.
    text: &'static str,
}

/// K-factors: the most that a game moves a rating.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "new": 40.0, "new_games": 30, "established": 20.0, "master": 10.0, "master_rating": 2400 }))]
pub struct KView {
    /// For new players.
    new: f64,
    /// Rated games in a ladder for which a player is new.
    new_games: i32,
    /// For everybody else.
    established: f64,
    /// For good, for who has reached `master_rating`.
    master: f64,
    /// Once reached in a ladder, K is `master`.
    master_rating: i32,
}

/// K is halved after each so many rated games of the same two players in a ladder within so many hours.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "games": 5, "hours": 24, "factor": 0.5 }))]
pub struct RepeatedPairView {
    /// Games.
    games: i64,
    /// Hours, back from a game's end.
    hours: i32,
    /// By which K is multiplied.
    factor: f64,
}

/// What time does to a game.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "turn_seconds": [30, 60], "absence_seconds": 120, "sign_of_life_seconds": 3, "idle_days": 7, "outage_seconds": 6
}))]
pub struct TimeView {
    /// The turn timers there are.
    turn_seconds: [i16; 2],
    /// Without a timer, how long an absent player is waited for where the host named nothing else.
    absence_seconds: i32,
    /// After a sign of life an absence takes up to so many seconds more: none is written down sooner after another.
    sign_of_life_seconds: i64,
    /// A game without a ply for so many days ends.
    idle_days: i64,
    /// An outage of more seconds is given back to every running deadline.
    outage_seconds: i64,
}

/// Who a leaderboard lists.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "min_games": 10, "max_idle_days": 90, "guests": false }))]
pub struct ListedView {
    /// Rated games at least.
    min_games: i32,
    /// Whole UTC days since the last rated game at most.
    max_idle_days: i32,
    /// Whether guests are listed.
    guests: bool,
}

const POLICY: &str = "Each ladder (win rule) has its own ratings, in thousandths of a point, starting at 1500. \
After a rated game of four plies or more, d is the opponent's rating minus one's own, clamped to 400 either way; \
E = 1 / (1 + 10^(d/400)); the score S is 1, 1/2 or 0; the change is K * (S - E), rounded to thousandths, half away \
from zero. It is computed for the side that moved first; the other gets its exact negative if both K are equal, else \
its own. K is 10 for good once 2400 was reached, else 40 for the first 30 rated games, else 20. From the sixth rated \
game of the same two players in a ladder within 24 hours on, K is halved, from the eleventh again, and so on. A side \
that the computer moved for gains nothing. No rating falls below 100. Aborted and casual games and games against the \
computer change nothing. Ten rated games make a rating established; the leaderboard lists established players, but \
no guests, with a rated game in the last 90 whole UTC days. Equal thousandths share a rank. \
Time: a ply is due at the game's deadline_at, and what happens then is stamped with that instant: by the table's absence the \
computer makes that one ply, or the game is lost by timeout. Without a timer the same happens once absence_seconds have passed \
since the ply before or the player's last sign of life, whichever is later, after a sign of life up to three seconds more, and at once on each later turn until the player is \
back. A first move that is never made aborts the game. A game without a ply for seven days is lost by the side to move, or \
aborted before ply 3. If the service was away for more than six seconds, that time is given back to every running deadline.";

/// Read the rating policy
///
/// Every number behind ratings and leaderboards, so that anybody can recompute them from histories.
#[utoipa::path(
    tag = "ladder",
    operation_id = "get_rating_policy",
    responses((status = 200, description = "The policy", body = PolicyView))
)]
#[get("/v1/rating-policy")]
pub async fn get_rating_policy() -> HttpResponse {
    let whole = |milli: Milli| milli / 1000;
    HttpResponse::Ok().json(PolicyView {
        system: "elo",
        start: whole(elo::START),
        floor: whole(elo::FLOOR),
        scale: 400,
        max_difference: whole(elo::MAX_DIFFERENCE),
        k: KView {
            new: elo::k_factor(elo::START, 0),
            new_games: elo::NEW_GAMES,
            established: elo::k_factor(elo::START, elo::NEW_GAMES),
            master: elo::k_factor(elo::MASTER, elo::NEW_GAMES),
            master_rating: whole(elo::MASTER),
        },
        provisional_games: elo::ESTABLISHED_GAMES,
        min_plies: elo::MIN_PLIES,
        draw_score: elo::Score::Draw.value(),
        repeated_pair: RepeatedPairView { games: elo::PAIR_GAMES, hours: 24, factor: 0.5 },
        stand_in_max_change: 0,
        time: TimeView {
            turn_seconds: TableOptions::TURN_SECONDS,
            absence_seconds: TableOptions::ABSENCE_SECONDS,
            sign_of_life_seconds: due::COARSE.num_seconds(),
            idle_days: due::IDLE.num_days(),
            outage_seconds: sweep::FRESH.num_seconds(),
        },
        leaderboard: ListedView { min_games: elo::ESTABLISHED_GAMES, max_idle_days: LISTED_DAYS, guests: false },
        text: POLICY,
    })
}
