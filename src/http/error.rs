//! From an error to a status and a problem document (RFC 9457).

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{At, Error, Fault};

/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// The one table from variant to status.
#[must_use]
pub fn status(error: &Error) -> StatusCode {
    match error {
        Error::MalformedRequest(_) | Error::MalformedMove => StatusCode::BAD_REQUEST,
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::NotSeated | Error::Forbidden(_) | Error::DestinationsHidden => StatusCode::FORBIDDEN,
        Error::GameNotFound
        | Error::TableNotFound
        | Error::PlayerNotFound
        | Error::NobodyNamed(_)
        | Error::TicketNotFound
        | Error::ChallengeNotFound
        | Error::NotFound => StatusCode::NOT_FOUND,
        Error::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
        Error::NotAcceptable(_) => StatusCode::NOT_ACCEPTABLE,
        Error::NotYourTurn { .. }
        | Error::StalePly { .. }
        | Error::GameOver { .. }
        | Error::GameRunning
        | Error::NoOffer
        | Error::TooLate(_)
        | Error::SeatTaken
        | Error::NameTaken
        | Error::AlreadyDone(_)
        | Error::AlreadyQueued(_)
        | Error::AlreadyPaired
        | Error::ChallengePending
        | Error::ChallengeOver(_)
        | Error::TooManyChallenges(_) => StatusCode::CONFLICT,
        Error::TableClosed => StatusCode::GONE,
        Error::PayloadTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Error::IllegalMove(_) | Error::InvalidOption(_) | Error::InvalidField(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Overloaded | Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::CorruptLog { .. } | Error::Schema { .. } | Error::Database(_) | Error::Internal(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// What every answer of 400 and above carries (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "type": "/problems/stale_ply",
    "title": "Not the next ply",
    "status": 409,
    "detail": "the game stands at ply 13",
    "code": "stale_ply",
    "request_id": "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11",
    "current_ply": 13
}))]
pub struct Problem {
    /// Where the kind of problem is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem, for a person.
    pub title: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong this time, for a person.
    pub detail: String,
    /// The kind of problem, for a program. It never changes.
    pub code: &'static str,
    /// Names this request in the service's log, and is the header `x-request-id`.
    pub request_id: String,
    /// Why a move is illegal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "blocked")]
    pub reason: Option<&'static str>,
    /// Plies made so far, where the game stands elsewhere than the request thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 13)]
    pub current_ply: Option<u16>,
    /// The faulty parts of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<ProblemPart>,
}

/// A faulty part of a request: in its body, its query or path, or a header.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "pointer": "/ply", "detail": "missing field `ply`" }))]
pub struct ProblemPart {
    /// A JSON pointer into the body; empty for the body as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "/ply")]
    pub pointer: Option<String>,
    /// The parameter of the query or path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub parameter: Option<String>,
    /// The header field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "accept")]
    pub header: Option<&'static str>,
    /// What is wrong with it.
    #[schema(example = "missing field `ply`")]
    pub detail: String,
}

impl From<&Fault> for ProblemPart {
    fn from(fault: &Fault) -> Self {
        let mut part = Self { pointer: None, parameter: None, header: None, detail: fault.detail.clone() };
        match &fault.at {
            At::Body(pointer) => part.pointer = Some(pointer.clone()),
            At::Parameter(name) => part.parameter = Some(name.clone()),
            At::Header(name) => part.header = Some(name),
        }
        part
    }
}

impl Problem {
    /// The document for an error. Of the service's own faults it tells nothing: the log does.
    #[must_use]
    pub fn new(error: &Error, request_id: &str) -> Self {
        let status = status(error);
        let (code, detail) = match error {
            Error::Unavailable(_) => (error.code(), "the service is not ready at the moment; try again".to_owned()),
            _ if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE => {
                ("internal", "internal error".to_owned())
            }
            _ => (error.code(), error.to_string()),
        };
        let (mut reason, mut current_ply, mut errors) = (None, None, Vec::new());
        match error {
            Error::MalformedRequest(fault) | Error::InvalidField(fault) | Error::NobodyNamed(fault) => {
                errors.push(fault.into());
            }
            Error::MalformedMove => errors.push((&Fault::field("move", error.to_string())).into()),
            Error::InvalidOption(invalid) => errors.push((&Fault::field(invalid.name, invalid.why.clone())).into()),
            Error::IllegalMove(why) => {
                reason = Some(why.as_str());
                errors.push((&Fault::field("move", why.to_string())).into());
            }
            Error::NotYourTurn { current_ply: ply }
            | Error::StalePly { current_ply: ply }
            | Error::GameOver { current_ply: ply } => {
                current_ply = Some(*ply);
            }
            _ => {}
        }
        Self {
            kind: format!("/problems/{code}"),
            title: title(code),
            status: status.as_u16(),
            detail,
            code,
            request_id: request_id.to_owned(),
            reason,
            current_ply,
            errors,
        }
    }

    /// The answer with this document.
    #[must_use]
    pub fn response(&self) -> HttpResponse {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = HttpResponse::build(status);
        response.insert_header((header::CONTENT_TYPE, PROBLEM_JSON));
        match status {
            StatusCode::UNAUTHORIZED => {
                response.insert_header((header::WWW_AUTHENTICATE, r#"Bearer error="invalid_token""#));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                response.insert_header((header::RETRY_AFTER, "1"));
            }
            _ => {}
        }
        response.body(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// The codes, each with its title and what a client does about it. `/problems/{code}` shows them.
pub const CODES: &[(&str, &str, &str)] = &[
    (
        "malformed_request",
        "Request not understood",
        "The body is no JSON object of the documented shape, or a query parameter, header or cursor is not of its form. `errors` names the place. Sending it again changes nothing.",
    ),
    ("malformed_move", "Not a move", "A move is its from-square and its to-square, like `e1e5`, in lower case."),
    (
        "unauthenticated",
        "Not logged in",
        "The access token is missing, expired or not ours; or name and password, or the refresh token, are not right. Refresh the token or log in.",
    ),
    ("not_seated", "No seat", "Only those seated may do this."),
    ("forbidden", "Not allowed", "Somebody else may do this; `detail` says who."),
    (
        "destinations_hidden",
        "Destinations hidden",
        "The table's option `show_destinations` is false, and the game runs.",
    ),
    (
        "game_not_found",
        "No such game",
        "No game has this id, or it is unlisted and you are not seated and gave no join code.",
    ),
    (
        "table_not_found",
        "No such table",
        "No table has this id, or it is unlisted and you are not seated and gave no join code.",
    ),
    ("player_not_found", "No such player", "Nobody has this username."),
    (
        "ticket_not_found",
        "No ticket",
        "You have not joined the queue, or it was long ago. `POST /v1/queue` takes a ticket.",
    ),
    (
        "challenge_not_found",
        "No such challenge",
        "No challenge has this id, or it was long ago, or it is between others.",
    ),
    ("not_found", "Nothing here", "No operation has this address. `/docs` lists all."),
    ("method_not_allowed", "Wrong method", "The address exists; the header `allow` lists its methods."),
    ("not_acceptable", "No such form", "The resource has none of the media types in `accept`."),
    ("not_your_turn", "Not your turn", "The other side is to move at `current_ply` plies."),
    (
        "stale_ply",
        "Not the next ply",
        "The move was meant for another ply than the next. `current_ply` plies are made: read the game, then decide.",
    ),
    ("game_over", "Game over", "The game has ended after `current_ply` plies."),
    ("game_running", "Game running", "Not while a game runs at the table."),
    (
        "no_offer",
        "No offer",
        "Your opponent has not offered a draw, or the offer is gone: it dies with the next move of who made it.",
    ),
    ("too_late", "Too late", "The time for this is over; `detail` says why."),
    ("seat_taken", "Seats taken", "Both seats have their players."),
    ("name_taken", "Name taken", "Somebody has this username, perhaps in other case. Choose another."),
    ("already_done", "Already done", "This can be done once and was."),
    (
        "already_queued",
        "In the queue already",
        "You have a ticket that asks for something else: it waits, or was paired and its game runs. `GET /v1/queue` shows it; `DELETE /v1/queue` withdraws one that waits; `after` with its `game_id` asks for one more beside the game that runs.",
    ),
    ("already_paired", "Paired already", "The ticket found its opponent first. `GET /v1/queue` names the game."),
    (
        "challenge_pending",
        "Challenged already",
        "A challenge of yours to the same player, with other options, waits for its answer. Cancel it, or wait.",
    ),
    (
        "challenge_over",
        "Challenge over",
        "The challenge was answered in another way, cancelled, or has expired; `detail` says which. Make another.",
    ),
    (
        "too_many_challenges",
        "Too many challenges",
        "Too many of your challenges wait for an answer. Cancel some, or wait.",
    ),
    ("table_closed", "Table closed", "The table is closed for good. Open another."),
    ("payload_too_large", "Body too large", "Send less."),
    ("unsupported_media_type", "Not JSON", "Send bodies with `content-type: application/json`."),
    (
        "illegal_move",
        "Illegal move",
        "The rules forbid the move. `reason` is the first that applies of `null_move`, `empty_square`, `not_your_piece`, `diagonal`, `blocked`, `occupied`.",
    ),
    (
        "invalid_option",
        "Option not allowed",
        "A table's option has a value that is not allowed, by itself or with the others. `errors` names it.",
    ),
    ("invalid_field", "Value not allowed", "A field has a value that is not allowed. `errors` names it and says why."),
    ("internal", "Internal error", "The service's own fault. Tell its host the `request_id`."),
    ("overloaded", "Overloaded", "Too much to do at the moment. Wait as long as `retry-after` says."),
    (
        "unavailable",
        "Not ready",
        "The service or its database is not ready. Wait as long as `retry-after` says, then repeat the request: a move that was written after all is then answered with 200.",
    ),
    ("request_timeout", "Request too slow", "The request did not arrive in time."),
];

fn title(code: &str) -> &'static str {
    CODES.iter().find(|c| c.0 == code).map_or("Problem", |c| c.1)
}

impl ResponseError for Error {
    fn status_code(&self) -> StatusCode {
        status(self)
    }

    /// The bare answer; `http::request` writes the document, which names the request.
    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(status(self));
        if let Self::MethodNotAllowed(methods) = self {
            response.insert_header((header::ALLOW, methods.as_str()));
        }
        response.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_explained_once() {
        let mut codes: Vec<&str> = CODES.iter().map(|c| c.0).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
        let source = include_str!("../error.rs");
        let table = source.split_once("pub fn code").unwrap().1;
        let named: Vec<&str> = table.split("=> \"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert!(named.len() > 25);
        for code in named {
            assert!(code == "corrupt_log" || codes.contains(&code), "{code} is not explained");
        }
    }

    #[test]
    fn own_faults_tell_nothing() {
        let secret = Error::Internal("password of the database".to_owned());
        let text = serde_json::to_string(&Problem::new(&secret, "r1")).unwrap();
        assert!(text.contains("internal") && text.contains("r1") && !text.contains("password"));
    }
}
