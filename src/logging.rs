//! The log: for people on a terminal, JSON lines elsewhere.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people on a terminal, else JSON.
    Auto,
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Starts the log, on standard error. A second start changes nothing.
pub fn start(format: LogFormat, filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let human = match format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    // A terminal that was closed is no reason to panic.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(human)
        .log_internal_errors(false);
    // Fails only where a log was started before.
    drop(if human { lines.with_target(false).try_init() } else { lines.json().flatten_event(true).try_init() });
}
