//! The service from outside: real HTTP, a real Postgres.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod addresses;
mod analysis;
mod app;
mod board;
mod challenges;
mod claim_races;
mod clocks;
mod computer;
mod contract;
mod damage;
mod demo;
mod draws;
mod formula;
mod games;
mod identity;
mod input;
mod integrity;
mod lane;
mod leaderboard;
mod moves;
mod openapi;
#[path = "../../rules/tests/oracle/mod.rs"]
mod oracle;
mod presence;
mod queue;
mod races;
mod random;
mod rated_games;
mod ratings;
mod rematch;
mod repeated_pairs;
mod service;
mod sessions;
mod settling_races;
mod tables;
mod unlisted;
mod validate;
mod vectors;
