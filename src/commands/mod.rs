//! One file for each command.

pub mod demo;
pub mod export;
pub mod fill;
pub mod import;
pub mod load;
pub mod matches;
pub mod migrate;
pub mod openapi;
pub mod postgres;
pub mod progress;
pub mod rebuild_ratings;
pub mod serve;
pub mod verify;
