//! The command line.

mod commands;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use hasami_ladder::config::{DatabaseArgs, LogArgs, ServeArgs};
use hasami_ladder::logging;

/// Answers are many small pieces of text, made on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A ranked ladder for Hasami Shogi as a REST service.
///
/// Without a command it serves. Every flag can be set in the environment too.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service
    Serve(ServeArgs),
    /// Bring the database's schema up to date and end; `serve` does it by itself
    Migrate(DatabaseArgs),
    /// Run the service's own Postgres alone, until standard input ends; prints its URL
    Postgres(commands::postgres::PostgresArgs),
    /// Derive everything derived again and compare it with what is stored: each game is replayed, each rating recomputed,
    /// each rank recounted
    ///
    /// Reads one state of the database, so it may run beside the service; changes nothing. Names each mismatch in a line
    /// on standard output. Ends with 0 where everything agrees, with 1 where something does not, with 2 where the
    /// database cannot be read.
    Verify(DatabaseArgs),
    /// Compute the ledger anew from the games' logs and results, beside the old one, and compare the two
    ///
    /// Fills the relation `ledger_rebuilt`, which is made anew each time. Of the old ledger only the order of each player's
    /// games is taken. Changes neither the ledger nor ratings: what to do about a difference is for a person to decide.
    /// Prints each difference. Ends with 0 where both are identical to the last bit, with 1 where they are not, with 2
    /// where the database cannot be used. Takes memory for each player, not for each game.
    RebuildRatings(DatabaseArgs),
    /// Write all that lasts as lines of JSON: players, tables, games, ledger, ratings
    ///
    /// May run beside the service: it reads one state of the database. Equal databases give equal bytes. The hashes of
    /// passwords are in it, so keep it like the database; a file is made readable by its owner alone. Logins are not in
    /// it: after an import players log in again, and guests, who have nothing but their login, cannot.
    Export(commands::export::ExportArgs),
    /// Read an export into an empty database: all of it or nothing
    Import(commands::import::ImportArgs),
    /// Print the OpenAPI document
    Openapi,
    /// Fill an empty ladder with bots and some hundred games between them, to look at
    ///
    /// The bots are the computer at its levels 1 to 6, and play real games: all three leaderboards, histories and pages of
    /// players have something on them at once. Three casual games are left running, which the service plays on, a move a
    /// minute; and at three tables the computer waits for whoever sits down. No password is set, so nobody can log in as one
    /// of the bots. Works on a database without players only, and changes nothing in any other.
    Demo(commands::demo::DemoArgs),
    /// Fill an empty database with made-up players, to measure leaderboards at that size
    Fill(commands::fill::FillArgs),
    /// Play games against a running service and tell how fast that goes
    Load(commands::load::LoadArgs),
    /// Let the computer's levels play against each other and tell by how much each is stronger than the one below
    ///
    /// Needs no database. On standard output is a line for each pair: games won, drawn and lost, points in a hundred, and
    /// the difference in Elo with the range in which it lies 95 times in 100. The same seed plays the same games.
    Match(commands::matches::MatchArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = without_empty_variables(Cli::command());
    let args = with_default_command(std::env::args_os().collect());
    let cli = Cli::from_arg_matches(&command.get_matches_from(args)).unwrap_or_else(|error| error.exit());
    logging::start(cli.log.log_format, &cli.log.log);
    // Where 1 means that something was found, what kept it from looking is another number.
    let failure = match &cli.command {
        Command::Verify(_) | Command::RebuildRatings(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    };
    run(cli.command).await.unwrap_or_else(|error| {
        tracing::error!("{error:#}");
        failure
    })
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    let done = match command {
        Command::Serve(args) => commands::serve::run(args).await,
        Command::Migrate(args) => commands::migrate::run(args).await,
        Command::Verify(args) => return commands::verify::run(args).await,
        Command::RebuildRatings(args) => return commands::rebuild_ratings::run(args).await,
        Command::Export(args) => commands::export::run(args).await,
        Command::Import(args) => commands::import::run(args).await,
        Command::Postgres(args) => commands::postgres::run(args).await,
        Command::Openapi => commands::openapi::run(),
        Command::Demo(args) => commands::demo::run(args).await,
        Command::Fill(args) => commands::fill::run(args).await,
        Command::Load(args) => commands::load::run(args).await,
        Command::Match(args) => commands::matches::run(args).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// `serve` where no command is named, so that the plain program and its flags serve.
fn with_default_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let own = ["-h", "--help", "-V", "--version"];
    let first = args.get(1).map(|arg| arg.to_string_lossy().into_owned());
    if first.is_none_or(|arg| arg.starts_with('-') && !own.contains(&arg.as_str())) {
        args.insert(1.min(args.len()), "serve".into());
    }
    args
}

/// A variable that is set but empty counts as none: so compose files and service managers hand on what is not set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let empty = arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
        if empty { arg.env(Resettable::Reset) } else { arg }
    });
    command.mut_subcommands(without_empty_variables)
}
