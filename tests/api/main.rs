//! The service from outside: real HTTP, a real Postgres.

mod app;
mod games;
mod openapi;
