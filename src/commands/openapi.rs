//! `openapi`: prints the contract.

use std::io::Write as _;

/// Prints the OpenAPI document.
///
/// # Errors
/// Standard output is closed.
pub fn run() -> anyhow::Result<()> {
    let document = hasami_ladder::http::openapi().to_pretty_json()?;
    writeln!(std::io::stdout(), "{document}")?;
    Ok(())
}
