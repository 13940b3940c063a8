//! Everything that can go wrong, with the stable code that clients see. Knows no HTTP.

use hasami_rules::IllegalMove;

use crate::options::InvalidOption;

/// The result of what the service does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault in one part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub at: At,
    /// What is wrong there, for a person.
    pub detail: String,
}

/// A place in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// A JSON pointer into the body; empty for the body as a whole.
    Body(String),
    /// A parameter of the query or path.
    Parameter(String),
    /// A header field.
    Header(&'static str),
}

impl Fault {
    /// A fault in a field of the body, which is named without its slash.
    pub fn field(name: &str, detail: impl Into<String>) -> Self {
        Self { at: At::Body(format!("/{name}")), detail: detail.into() }
    }

    /// A fault in a parameter.
    pub fn parameter(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { at: At::Parameter(name.into()), detail: detail.into() }
    }
}

/// What can go wrong. The display text is for the client, but for the last few, which are only for the log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bad JSON, a wrong type, a missing or unknown field, a bad query or cursor.
    #[error("{}", .0.detail)]
    MalformedRequest(Fault),
    /// A text that does not name two squares.
    #[error("a move is written as its from-square and to-square, like e1e5")]
    MalformedMove,
    /// No valid token, password or refresh token.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The player has no seat in this game.
    #[error("you are not seated in this game")]
    NotSeated,
    /// Allowed to others only.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The table hides where pieces can go while a game runs.
    #[error("this table does not show destinations while the game runs")]
    DestinationsHidden,
    /// No such game, or one that this player may not see.
    #[error("there is no such game")]
    GameNotFound,
    /// No such table, or one that this player may not see.
    #[error("there is no such table")]
    TableNotFound,
    /// No such player.
    #[error("there is no such player")]
    PlayerNotFound,
    /// No such player, whom a field of the body names.
    #[error("{}", .0.detail)]
    NobodyNamed(Fault),
    /// The player has no ticket of the queue.
    #[error("you have no ticket: POST /v1/queue takes one")]
    TicketNotFound,
    /// No such challenge, or one between others.
    #[error("there is no such challenge")]
    ChallengeNotFound,
    /// Nothing has this address.
    #[error("nothing has this address; /docs lists what there is")]
    NotFound,
    /// The address is known, the method is not.
    #[error("this address knows only {0}")]
    MethodNotAllowed(String),
    /// The resource has no form that the client accepts.
    #[error("this has only the forms {0}")]
    NotAcceptable(&'static str),
    /// The other side is to move.
    #[error("it is the other side's turn")]
    NotYourTurn {
        /// Plies made so far.
        current_ply: u16,
    },
    /// The move is for a ply that was made already, or is not next.
    #[error("the game stands at ply {current_ply}")]
    StalePly {
        /// Plies made so far.
        current_ply: u16,
    },
    /// The game has ended.
    #[error("the game is over")]
    GameOver {
        /// Plies made.
        current_ply: u16,
    },
    /// Not while the table's game runs.
    #[error("a game is running at this table")]
    GameRunning,
    /// The opponent has not offered a draw.
    #[error("your opponent has not offered a draw")]
    NoOffer,
    /// The time for this is over.
    #[error("{0}")]
    TooLate(&'static str),
    /// Both seats have their players.
    #[error("both seats are taken")]
    SeatTaken,
    /// Somebody has this name.
    #[error("this username is taken")]
    NameTaken,
    /// This was done before and is done once.
    #[error("{0}")]
    AlreadyDone(&'static str),
    /// The player has a ticket that asks, or asked, for something else.
    #[error("{0}")]
    AlreadyQueued(&'static str),
    /// The ticket found its opponent.
    #[error("you have been paired: read the ticket for the game")]
    AlreadyPaired,
    /// A challenge to the same player, with other options, waits for its answer.
    #[error("you have challenged this player with other options; cancel that challenge first")]
    ChallengePending,
    /// The challenge waits for no answer any more.
    #[error("{0}")]
    ChallengeOver(&'static str),
    /// Enough challenges of this player wait for an answer.
    #[error("{0} of your challenges wait for an answer; cancel one first")]
    TooManyChallenges(i64),
    /// The table is closed.
    #[error("this table is closed")]
    TableClosed,
    /// The body is too large.
    #[error("a body has at most {0} bytes")]
    PayloadTooLarge(usize),
    /// The body is not JSON.
    #[error("send the body as application/json")]
    UnsupportedMediaType,
    /// The rules forbid the move.
    #[error("{0}")]
    IllegalMove(IllegalMove),
    /// A table's option has a value that is not allowed.
    #[error("{}", .0.why)]
    InvalidOption(InvalidOption),
    /// A field has a value that is not allowed.
    #[error("{}", .0.detail)]
    InvalidField(Fault),
    /// More work than can be queued.
    #[error("too much to do at the moment")]
    Overloaded,
    /// The database is away.
    #[error("the database is away: {0}")]
    Unavailable(String),
    /// A stored log that does not replay, or ends elsewhere than its row says.
    #[error("the log of game {game_id} is corrupt: {why}")]
    CorruptLog {
        /// Which.
        game_id: crate::ids::GameId,
        /// What does not fit.
        why: String,
    },
    /// The database's schema is not the one of this program.
    #[error("the database has schema {found} and this program {expected}: {}", schema_advice(*found, *expected))]
    Schema {
        /// The database's version, 0 where it has none.
        found: i64,
        /// This program's.
        expected: i64,
    },
    /// The database answered what it never should.
    #[error("database: {0}")]
    Database(#[source] sqlx::Error),
    /// Anything else that is the service's own fault.
    #[error("{0}")]
    Internal(String),
}

fn schema_advice(found: i64, expected: i64) -> &'static str {
    if found < expected { "bring it up to date with `hasami-ladder migrate`" } else { "use the newer program" }
}

impl Error {
    /// The stable word for this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MalformedRequest(_) => "malformed_request",
            Self::MalformedMove => "malformed_move",
            Self::Unauthenticated(_) => "unauthenticated",
            Self::NotSeated => "not_seated",
            Self::Forbidden(_) => "forbidden",
            Self::DestinationsHidden => "destinations_hidden",
            Self::GameNotFound => "game_not_found",
            Self::TableNotFound => "table_not_found",
            Self::PlayerNotFound | Self::NobodyNamed(_) => "player_not_found",
            Self::TicketNotFound => "ticket_not_found",
            Self::ChallengeNotFound => "challenge_not_found",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::NotAcceptable(_) => "not_acceptable",
            Self::NotYourTurn { .. } => "not_your_turn",
            Self::StalePly { .. } => "stale_ply",
            Self::GameOver { .. } => "game_over",
            Self::GameRunning => "game_running",
            Self::NoOffer => "no_offer",
            Self::TooLate(_) => "too_late",
            Self::SeatTaken => "seat_taken",
            Self::NameTaken => "name_taken",
            Self::AlreadyDone(_) => "already_done",
            Self::AlreadyQueued(_) => "already_queued",
            Self::AlreadyPaired => "already_paired",
            Self::ChallengePending => "challenge_pending",
            Self::ChallengeOver(_) => "challenge_over",
            Self::TooManyChallenges(_) => "too_many_challenges",
            Self::TableClosed => "table_closed",
            Self::PayloadTooLarge(_) => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::IllegalMove(_) => "illegal_move",
            Self::InvalidOption(_) => "invalid_option",
            Self::InvalidField(_) => "invalid_field",
            Self::Overloaded => "overloaded",
            Self::Unavailable(_) => "unavailable",
            Self::CorruptLog { .. } => "corrupt_log",
            Self::Schema { .. } | Self::Database(_) | Self::Internal(_) => "internal",
        }
    }

    /// A body or query that was not understood.
    pub fn malformed(fault: Fault) -> Self {
        Self::MalformedRequest(fault)
    }

    /// A field of the body with a value that is not allowed.
    pub fn field(name: &str, why: impl ToString) -> Self {
        Self::InvalidField(Fault::field(name, why.to_string()))
    }

    /// Turns the violation of a named constraint into `error`.
    #[must_use]
    pub fn on_constraint(self, name: &str, error: Self) -> Self {
        match &self {
            Self::Database(sqlx::Error::Database(e)) if e.constraint() == Some(name) => error,
            _ => self,
        }
    }

    /// Whether the database gave up this transaction for another's sake, so that doing it again is right.
    #[must_use]
    pub fn is_deadlock(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(e)) if matches!(e.code().as_deref(), Some("40P01" | "40001")))
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        let away = match &error {
            E::Io(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed | E::Protocol(_) | E::Tls(_) => true,
            // Connection exceptions, insufficient resources, operator intervention (a shutdown, a cancelled
            // statement), a lock that was not to be had.
            E::Database(e) => e
                .code()
                .is_some_and(|code| ["08", "53", "57"].iter().any(|class| code.starts_with(class)) || code == "55P03"),
            _ => false,
        };
        if away { Self::Unavailable(error.to_string()) } else { Self::Database(error) }
    }
}

impl From<InvalidOption> for Error {
    fn from(invalid: InvalidOption) -> Self {
        Self::InvalidOption(invalid)
    }
}
