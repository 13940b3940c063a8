//! Random games over HTTP, each ply held against the oracle of the rules and each end against the formula.
//!
//! `HASAMI_GAMES=200 cargo test --test api random` plays that many games; else there are a few.

use futures_util::future::join_all;
use hasami_rules::Position;
use serde_json::{Value, json};

use crate::app::{Player, TestApp};
use crate::formula::{NEW, Standing, after, points, replay, worth};
use crate::oracle::Oracle;

/// Games that are played where the environment names no number.
const GAMES: usize = 24;
/// Pairs of players, each playing its games one after the other.
const PAIRS: usize = 4;
/// A game that lasts this long is given up.
const LONGEST: u32 = 150;

const SIDES: [&str; 2] = ["first", "second"];

/// A linear congruential generator; the same games come from the same seed everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// What both players like best.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Taste {
    Anything,
    Captures,
    /// To take back the own last move.
    Shuttling,
}

/// One random game's conditions.
#[derive(Debug, Clone, Copy)]
struct Plan {
    seed: u64,
    win_rule: &'static str,
    move_limit: Option<u32>,
    taste: Taste,
    /// The ply before which the side on turn resigns.
    resign_at: Option<u32>,
}

impl Plan {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self {
            seed,
            win_rule: ["capture5", "lead3", "captureall"][random.below(3)],
            move_limit: [None, None, Some(2), Some(5), Some(40), Some(2000)][random.below(6)],
            taste: [Taste::Anything, Taste::Captures, Taste::Captures, Taste::Shuttling][random.below(4)],
            resign_at: (random.below(5) == 0).then(|| random.below(30) as u32 + 1),
        }
    }
}

fn choose(game: &Oracle, plan: Plan, own: &[String], random: &mut Random) -> String {
    let mut moves = game.legal_moves();
    // One time in eight anything goes, so that the game does not stand still.
    if random.below(8) > 0 {
        match plan.taste {
            Taste::Captures => {
                // Which moves these are is asked of the crate: it only chooses, and the oracle takes long.
                let position: Position = game.position().parse().unwrap();
                let takes = |mv: &&String| !position.play_unchecked(mv.parse().unwrap()).1.is_empty();
                let captures: Vec<String> = moves.iter().filter(takes).cloned().collect();
                if !captures.is_empty() {
                    moves = captures;
                }
            }
            Taste::Shuttling => {
                let back = own.last().map(|mv| format!("{}{}", &mv[2..], &mv[..2]));
                moves = back.filter(|mv| moves.contains(mv)).map_or(moves, |mv| vec![mv]);
            }
            Taste::Anything => {}
        }
    }
    moves.swap_remove(random.below(moves.len()))
}

/// The game's body must be what the oracle says.
fn check(game: &Value, oracle: &Oracle, ply: u32, context: &str) {
    let outcome = oracle.outcome();
    let (winner, termination) = outcome.unzip();
    let to_move = oracle.position().split(' ').next_back().map(str::to_owned).filter(|_| outcome.is_none());
    let stood_at = oracle.stood_at();
    let expected = json!({
        "position": oracle.position(), "ply": ply, "to_move": to_move, "winner": winner.flatten(),
        "termination": termination, "status": if outcome.is_some() { "finished" } else { "playing" },
        "repetitions": stood_at.len(), "stood_at": stood_at,
        "captured": [oracle.captured("first"), oracle.captured("second")],
    });
    let mut said = json!({ "captured": [game["seats"]["first"]["captured"], game["seats"]["second"]["captured"]] });
    for field in ["position", "ply", "to_move", "winner", "termination", "status", "repetitions", "stood_at"] {
        said[field] = game[field].clone();
    }
    assert_eq!(said, expected, "{context}");
}

/// Plays one game to its end. The game as the service shows it then.
async fn play(app: &TestApp, sides: [&Player; 2], plan: Plan) -> Value {
    let options = json!({ "win_rule": plan.win_rule, "move_limit": plan.move_limit });
    let game = app.begin(sides[0], sides[1], options).await;
    let mut oracle = Oracle::new(plan.win_rule, plan.move_limit);
    let mut random = Random(plan.seed);
    let mut own = [Vec::new(), Vec::new()];
    let mut rows = Vec::new();
    check(&app.game(&game).await, &oracle, 0, &format!("{plan:?}"));
    for ply in 1.. {
        let side = (ply as usize + 1) % 2;
        if plan.resign_at == Some(ply) || ply > LONGEST {
            let end = app.resign(&game, sides[side]).await.expect(200);
            let winner = SIDES[1 - side];
            assert_eq!(json!([end["winner"], end["termination"]]), json!([winner, "resignation"]), "{plan:?}");
            assert_eq!((&end["position"], &end["ply"]), (&json!(oracle.position()), &json!(ply - 1)), "{plan:?}");
            break;
        }
        let mv = choose(&oracle, plan, &own[side], &mut random);
        let captured = oracle.play(&mv);
        let context = format!("ply {ply}, {mv}, {plan:?}");
        let answer = app.play(&game, sides[side], &mv, u64::from(ply)).await;
        assert_eq!(answer.status, 201, "{context}: {}", answer.text);
        check(&answer.body["game"], &oracle, ply, &context);
        let hash = oracle.position().parse::<Position>().unwrap().hash();
        let row = &answer.body["ply"];
        assert_eq!(
            json!([row["ply"], row["side"], row["move"], row["captured"], row["by"], row["position_hash"]]),
            json!([ply, SIDES[side], mv, captured, "player", format!("{hash:016x}")]),
            "{context}"
        );
        rows.push(row.clone());
        own[side].push(mv);
        if oracle.outcome().is_some() {
            break;
        }
    }
    let history = app.get(&format!("/v1/games/{game}/moves")).await.expect(200);
    assert_eq!(history["items"], json!(rows), "{plan:?}");
    app.game(&game).await
}

/// What a pair's standings in a ladder become by a game, which must say the same. Both names lead their standing.
fn settle(standings: &mut [(String, Standing)], end: &Value, earlier: usize) {
    let seats = SIDES.map(|side| &end["seats"][side]);
    let of = |seat: &Value| standings.iter().position(|s| s.0 == seat["username"].as_str().unwrap()).unwrap();
    let [first, second] = seats.map(of);
    let before = [standings[first].1, standings[second].1];
    let score = match end["winner"].as_str() {
        Some("first") => 1.0,
        Some(_) => 0.0,
        None => 0.5,
    };
    let made = worth(before[0], before[1].rating, score, earlier);
    let other = worth(before[1], before[0].rating, 1.0 - score, earlier);
    let changes = if made.k == other.k { [made.change, -made.change] } else { [made.change, other.change] };
    for (n, (index, score)) in [(first, score), (second, 1.0 - score)].into_iter().enumerate() {
        standings[index].1 = after(before[n], changes[n], score);
        let rating = standings[index].1.rating;
        let said = ["rating_before_milli", "rating_after_milli", "rating_after"].map(|f| seats[n][f].clone());
        assert_eq!(json!(said), json!([before[n].rating, rating, points(rating)]), "{end}");
    }
}

/// Plays a pair's games one after the other and recomputes their ratings; how the games ended, and their plies.
pub async fn play_pair(app: &TestApp, seeds: Vec<u64>) -> Vec<(String, u64)> {
    let (one, two) = (app.guest().await, app.guest().await);
    let new = [(one.username.clone(), NEW), (two.username.clone(), NEW)];
    let mut standings = ["capture5", "lead3", "captureall"].map(|ladder| (ladder, new.clone(), 0));
    let mut ends = Vec::new();
    for seed in seeds {
        let plan = Plan::new(seed);
        let sides = if seed % 3 == 0 { [&two, &one] } else { [&one, &two] };
        let end = play(app, sides, plan).await;
        if end["ply"].as_u64().unwrap() >= 4 {
            let (_, standings, earlier) = standings.iter_mut().find(|s| s.0 == plan.win_rule).unwrap();
            settle(standings, &end, *earlier);
            *earlier += 1;
        } else {
            assert_eq!(end["seats"]["first"]["rating_after"], json!(null), "{plan:?}");
        }
        ends.push((end["termination"].as_str().unwrap().to_owned(), end["ply"].as_u64().unwrap()));
    }
    for (ladder, standings, games) in standings {
        for (name, standing) in standings {
            let rows = app.ledger(&name, ladder).await;
            assert_eq!((rows.len(), replay(NEW, &rows)), (games, standing), "{name} in {ladder}");
        }
    }
    ends
}

#[tokio::test]
async fn random_games_go_as_the_oracle_says_ply_by_ply() {
    let games: usize = std::env::var("HASAMI_GAMES").map_or(GAMES, |n| n.parse().expect("HASAMI_GAMES is a number"));
    let app = TestApp::start().await;
    let pairs = (0..PAIRS as u64).map(|pair| (pair..games as u64).step_by(PAIRS).collect());
    let ends = join_all(pairs.map(|seeds| play_pair(&app, seeds))).await.concat();
    assert_eq!(ends.len(), games);
    let mut counts = std::collections::BTreeMap::new();
    for (termination, _) in &ends {
        *counts.entry(termination.as_str()).or_insert(0) += 1;
    }
    let plies: u64 = ends.iter().map(|e| e.1).sum();
    // The captured output of a test is shown with `--nocapture`.
    eprintln!("{games} random games, {plies} plies: {counts:?}");
    for ending in ["captures", "repetition", "move_limit", "resignation"] {
        assert!(counts.contains_key(ending) || games < GAMES, "no game ended by {ending}: {counts:?}");
    }
}
