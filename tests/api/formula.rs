//! The published arithmetic of ratings a second time, written from its text alone, and ledgers held against it.

use chrono::{DateTime, TimeDelta};
use serde_json::{Value, json};

use crate::app::{Player, TestApp};

/// What a player brings to a game. Ratings are thousandths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub rating: i64,
    pub peak: i64,
    pub wins: i64,
    pub draws: i64,
    pub losses: i64,
}

/// Where everybody starts.
pub const NEW: Standing = Standing { rating: 1_500_000, peak: 1_500_000, wins: 0, draws: 0, losses: 0 };

impl Standing {
    /// Somebody with this rating, who had so many games and never stood higher.
    pub fn with(rating: i64, games: i64) -> Self {
        Self { rating, peak: rating.max(NEW.peak), wins: games, ..NEW }
    }

    pub fn games(&self) -> i64 {
        self.wins + self.draws + self.losses
    }
}

/// A game's worth for one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    pub expected: f64,
    pub k: f64,
    pub change: i64,
}

/// What a game is worth for `own`; `earlier` counts the pair's rated games of the day before.
pub fn worth(own: Standing, opponent: i64, score: f64, earlier: usize) -> Worth {
    let difference = (opponent - own.rating).clamp(-400_000, 400_000);
    let expected = 1.0 / (1.0 + 10f64.powf(difference as f64 / 400_000.0));
    let mut k = match (own.peak, own.games()) {
        (2_400_000.., _) => 10.0,
        (_, ..30) => 40.0,
        _ => 20.0,
    };
    for _ in 0..earlier / 5 {
        k /= 2.0;
    }
    let exact = 1000.0 * k * (score - expected);
    // Half away from zero: down to the whole number nearer zero, and one further from there on.
    let nearer = exact.abs().floor();
    let size = if exact.abs() - nearer >= 0.5 { nearer + 1.0 } else { nearer };
    let change = size.copysign(exact) as i64;
    Worth { expected, k, change: change.max(100_000 - own.rating) }
}

/// What becomes of a player by a game.
pub fn after(own: Standing, change: i64, score: f64) -> Standing {
    let rating = own.rating + change;
    let mut standing = Standing { rating, peak: own.peak.max(rating), ..own };
    *match score {
        1.0 => &mut standing.wins,
        0.5 => &mut standing.draws,
        0.0 => &mut standing.losses,
        _ => panic!("{score} is no score"),
    } += 1;
    standing
}

/// Whole points, half a point rounded up.
pub fn points(milli: i64) -> i64 {
    (milli as f64 / 1000.0).round() as i64
}

/// Replays a whole ledger, oldest row first, from `start`: each row must be what the formula makes of it and follow
/// from the row before. Where it ends.
pub fn replay(start: Standing, rows: &[Value]) -> Standing {
    let mut standing = start;
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row["number"], index + 1, "{row}");
        let at = time(&row["at"]);
        let same_day = |other: &&Value| {
            let end = time(&other["at"]);
            other["opponent"]["username"] == row["opponent"]["username"] && end > at - TimeDelta::days(1) && end <= at
        };
        let earlier = rows[..index].iter().filter(same_day).count();
        let score = row["score"].as_f64().unwrap();
        let worth = worth(standing, row["opponent"]["rating_milli"].as_i64().unwrap(), score, earlier);
        let next = after(standing, worth.change, score);
        assert_eq!(
            json!([row["k"], row["before_milli"], row["after_milli"], row["change_milli"], row["reason"]]),
            json!([
                worth.k,
                standing.rating,
                next.rating,
                next.rating - standing.rating,
                (earlier >= 5).then_some("repeated_pair")
            ]),
            "{row}"
        );
        let expected = row["expected"].as_f64().unwrap();
        assert!((expected - worth.expected).abs() < 1e-12, "{expected} is not {}", worth.expected);
        standing = next;
    }
    standing
}

fn time(value: &Value) -> DateTime<chrono::FixedOffset> {
    DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap()
}

impl TestApp {
    /// A player's whole ledger, oldest row first.
    pub async fn ledger(&self, username: &str, ladder: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut query = "limit=100".to_owned();
        loop {
            let path = format!("/v1/players/{username}/ratings/{ladder}/history?{query}");
            let page = self.get(&path).await.expect(200);
            rows.extend(page["items"].as_array().unwrap().iter().cloned());
            let Some(next) = page["next"].as_str() else { break };
            query = format!("limit=100&cursor={next}");
        }
        rows.reverse();
        rows
    }

    /// What a player's page says of a ladder.
    pub async fn rating(&self, username: &str, ladder: &str) -> Value {
        self.get(&format!("/v1/players/{username}")).await.expect(200)["ratings"][ladder].take()
    }

    /// Replays a player's ledger from `start` and holds the player's page against where it ends.
    pub async fn check_ratings(&self, username: &str, ladder: &str, start: Standing) -> Standing {
        let end = replay(start, &self.ledger(username, ladder).await);
        let mut page = self.rating(username, ladder).await;
        page.as_object_mut().unwrap().remove("rank");
        let expected = json!({
            "rating": points(end.rating), "rating_milli": end.rating, "games": end.games(), "wins": end.wins,
            "draws": end.draws, "losses": end.losses, "peak": points(end.peak), "provisional": end.games() < 10
        });
        assert_eq!(page, expected, "{username}");
        end
    }

    /// Gives a player a standing in a ladder, as if it had been won long ago.
    pub async fn set_standing(&self, player: &Player, ladder: &str, standing: Standing) {
        let Standing { rating, peak, wins, draws, losses } = standing;
        self.sql(&format!(
            "insert into ratings (player_id, ladder, username, kind, rating_milli, peak_milli, wins, draws, losses)
             select player_id, '{ladder}', username, kind, {rating}, {peak}, {wins}, {draws}, {losses}
             from players where player_id = '{}'
             on conflict (player_id, ladder) do update set rating_milli = excluded.rating_milli, peak_milli = excluded.peak_milli,
                 wins = excluded.wins, draws = excluded.draws, losses = excluded.losses",
            player.id
        ))
        .await;
    }
}
