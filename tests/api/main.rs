//! The service from outside: real HTTP, a real Postgres.

mod app;
mod formula;
mod games;
mod openapi;
mod rated_games;
mod ratings;
mod repeated_pairs;
