//! Players put on the board by SQL, as many games would have put them there, and what the board should say of them.

use std::ops::Range;

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

use crate::app::TestApp;
use crate::formula::points;

/// A player and a rating in `capture5`.
pub struct Entry {
    pub name: String,
    pub kind: &'static str,
    pub rating: i64,
    pub games: i64,
    pub listed: bool,
}

impl Entry {
    pub fn listed(name: String, rating: i64) -> Self {
        Self { name, kind: "human", rating, games: 20, listed: true }
    }
}

pub struct Board {
    pub entries: Vec<Entry>,
}

impl Board {
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self { entries: entries.into_iter().collect() }
    }

    /// Humans and bots of all ratings, many of them equal or a few thousandths apart, and among them guests,
    /// provisional players and lapsed ones.
    pub fn mixed(players: usize) -> Self {
        Self::new((0..players).map(|n| {
            let spread = (n * 7919 % 1009) as i64;
            let rating = match n % 4 {
                0 => 1_500_000 + spread % 5,
                1 => 1_499_900 + spread % 250,
                2 => 1_490_000 + spread * 23,
                _ => 400_000 + spread * 2_203,
            };
            let (kind, games, listed) = match n % 11 {
                3 => ("guest", 50, false),
                5 => ("human", 9, false),
                7 => ("human", 40, false),
                1 | 8 => ("bot", 300, true),
                _ => ("human", 10 + n as i64 % 7, true),
            };
            Entry { name: format!("p{n:03}"), kind, rating, games, listed }
        }))
    }

    pub async fn arrange(&self, app: &TestApp) {
        self.arrange_players(app).await;
        self.arrange_deltas(app, 0..self.entries.len()).await;
    }

    /// The players and their ratings, without what their ranks are counted from.
    pub async fn arrange_players(&self, app: &TestApp) {
        let rows = self.entries.iter().map(|e| {
            // Who is established, no guest and not listed has not played for long.
            let days = if !e.listed && e.games >= 10 && e.kind != "guest" { 200 } else { 1 };
            format!("('{}', '{}', {}, {}, {}, {days})", e.name, e.kind, e.rating, e.games, e.listed)
        });
        app.sql(&format!(
            "create temporary table new as select gen_random_uuid() as player_id, *
             from (values {}) as v (username, kind, rating, games, listed, days);
             insert into players (player_id, kind, username) select player_id, kind, username from new;
             insert into ratings (player_id, ladder, username, kind, rating_milli, peak_milli, wins, listed, last_rated_at)
             select player_id, 'capture5', username, kind, rating, greatest(rating, 1500000), games, listed,
                    clock_timestamp() - make_interval(days => days)
             from new",
            rows.collect::<Vec<_>>().join(", ")
        ))
        .await;
    }

    /// What settling appends when these players come on the board.
    pub async fn arrange_deltas(&self, app: &TestApp, range: Range<usize>) {
        let rows = self.entries[range].iter().filter(|e| e.listed).map(|e| format!("('capture5', {}, 1)", e.rating));
        app.sql(&format!("insert into rank_deltas values {}", rows.collect::<Vec<_>>().join(", "))).await;
    }

    /// The whole board, or the part of a kind, as it should be shown.
    pub fn ranked(&self, kind: Option<&str>) -> Vec<Value> {
        let mut listed: Vec<&Entry> = self.entries.iter().filter(|e| e.listed).collect();
        listed.sort_by(|a, b| b.rating.cmp(&a.rating).then_with(|| a.name.as_bytes().cmp(b.name.as_bytes())));
        let above = |own: &Entry| listed.iter().filter(|e| e.rating > own.rating).count();
        let shown = listed.iter().filter(|e| kind.is_none_or(|kind| e.kind == kind));
        let entries = shown.map(|e| {
            json!({
                "rank": above(e) + 1, "username": e.name, "kind": e.kind, "rating": points(e.rating),
                "rating_milli": e.rating, "games": e.games
            })
        });
        entries.collect()
    }
}

/// Keeps everybody from folding ranks.
pub struct Hold {
    conn: PgConnection,
}

impl Hold {
    pub async fn hold(&mut self) {
        self.run("pg_advisory_lock").await;
    }

    pub async fn release(&mut self) {
        self.run("pg_advisory_unlock").await;
    }

    async fn run(&mut self, function: &str) {
        let statement = format!("select {function}(hashtextextended('hasami-ladder: fold ranks', 0))");
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut self.conn).await.unwrap();
    }
}

impl TestApp {
    pub async fn hold_folding(&self) -> Hold {
        let mut hold = Hold { conn: PgConnection::connect_with(&self.database).await.unwrap() };
        hold.hold().await;
        hold
    }

    /// All pages of a board, one after the other.
    pub async fn board_pages(&self, board: &str, query: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{board}?{query}{cursor}")).await.expect(200);
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            let Some(next) = page["next"].as_str() else { return items };
            cursor = format!("&cursor={next}");
        }
    }
}
