//! A ranked ladder for Hasami Shogi. `ARCHITECTURE.md` is the map.

// Values.
pub mod elo;
pub mod error;
pub mod ids;
pub mod options;
pub mod player;
// What is stored, what can happen, what is said over HTTP.
pub mod http;
pub mod ladder;
pub mod store;
// What they need.
pub mod config;
pub mod embedded;
pub mod logging;
pub mod passwords;
pub mod thinker;
pub mod tokens;
pub mod worker;

/// Random bytes of the operating system.
///
/// # Errors
/// It has none.
pub fn random<const N: usize>() -> error::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| error::Error::Internal(format!("random numbers: {e}")))?;
    Ok(bytes)
}
