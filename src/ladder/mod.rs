//! What can happen: each public function that changes something is one atomic change.

pub mod archive;
pub mod challenges;
pub mod due;
pub mod games;
pub mod judge;
pub mod lane;
pub mod log;
pub mod pairing;
pub mod players;
pub mod presence;
pub mod queue;
pub mod ranks;
pub mod rebuild;
pub mod replay;
pub mod seats;
pub mod settle;
pub mod sweep;
pub mod tables;
pub mod verify;
