//! Seats at a table: sit down, leave, ask for the next game.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, delete, post};
use serde::Deserialize;
use utoipa::ToSchema;

use super::Service;
use super::extract::{Auth, Body, from_path};
use super::tables::{TablePath, seen};
use super::views::TableView;
use crate::error::{Error, Result};
use crate::ladder::seats;
use crate::options::InvalidOption;

/// How to sit down.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "join_code": "q7x3k9pm" }))]
pub struct Sit {
    /// Needed at an unlisted table, but for its host.
    #[schema(nullable = false)]
    join_code: Option<String>,
    /// Gives a free seat to the computer at this level, at a casual table of one's own; between games, another level
    /// to the computer that sits there.
    #[schema(nullable = false, minimum = 1, maximum = 8)]
    cpu_level: Option<u8>,
}

/// Sit down
///
/// Takes a free seat. The second seat starts the game: `game_id` in the answer. Sitting where one sits changes nothing.
#[utoipa::path(
    tag = "tables",
    operation_id = "sit",
    params(TablePath),
    request_body = Option<Sit>,
    security(("bearer" = [])),
    responses(
        (status = 201, description = "Seated", body = TableView),
        (status = 200, description = "Was seated before", body = TableView),
        (status = 404, description = "`table_not_found`; at an unlisted table, the join code is missing or wrong"),
        (status = 403, description = "`forbidden`: only the host seats the computer"),
        (status = 409, description = "`seat_taken`: both seats are; `game_running`: the computer's level changes between games"),
        (status = 410, description = "`table_closed`"),
        (status = 422, description = "`invalid_option`: the level is 1 to 8, and the table casual")
    )
)]
#[post("/v1/tables/{table_id}/seat")]
pub async fn sit(service: Data<Service>, path: Path<String>, auth: Auth, body: Body<Sit>) -> Result<HttpResponse> {
    let table_id = from_path(&path, Error::TableNotFound)?;
    let (table, new) = match body.0.cpu_level {
        Some(level) => seats::seat_computer(&service.pool, table_id, auth.player(), cpu_level(level)?).await?,
        None => seats::sit(&service.pool, table_id, auth.player(), body.0.join_code).await?,
    };
    if !new {
        seen(&service, &table, auth.player()).await?;
    }
    let mut answer = if new { HttpResponse::Created() } else { HttpResponse::Ok() };
    Ok(answer.json(TableView::new(&table, Some(auth.player()))))
}

fn cpu_level(level: u8) -> Result<u8> {
    match level {
        1..=8 => Ok(level),
        _ => Err(InvalidOption { name: "cpu_level", why: "the computer has the levels 1 to 8".to_owned() }.into()),
    }
}

/// Leave a table
///
/// Between games, gives the seat up. During a game the seat stays yours, and you are absent from now on, until you deal
/// with the game again: resign to end it. A host who leaves the table to nobody, or to the computer, closes it.
#[utoipa::path(
    tag = "tables",
    operation_id = "leave_seat",
    params(TablePath),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The table", body = TableView),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`table_not_found`"),
        (status = 410, description = "`table_closed`")
    )
)]
#[delete("/v1/tables/{table_id}/seat")]
pub async fn leave_seat(service: Data<Service>, path: Path<String>, auth: Auth) -> Result<HttpResponse> {
    let table_id = from_path(&path, Error::TableNotFound)?;
    let table = seats::leave(&service.pool, table_id, auth.player()).await?;
    Ok(HttpResponse::Ok().json(TableView::new(&table, Some(auth.player()))))
}

/// After which game the next one is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "after": "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12" }))]
pub struct AskNext {
    /// The `game_id` of the game that is over. With it the request may be repeated whatever became of it: where the next
    /// game has begun, the answer shows it, and no further one is asked for.
    #[schema(nullable = false)]
    after: Option<String>,
}

/// Ask for the next game
///
/// Starts once both seats have asked, with the options as they stand then; if the host changes them, both ask anew. With
/// `alternate_first` the other seat then moves first.
#[utoipa::path(
    tag = "tables",
    operation_id = "ask_next",
    params(TablePath),
    request_body = Option<AskNext>,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The table; `running` tells whether the game has begun", body = TableView),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`table_not_found`"),
        (status = 409, description = "`game_running`"),
        (status = 410, description = "`table_closed`"),
        (status = 422, description = "`invalid_field`: `after` is no game of this table")
    )
)]
#[post("/v1/tables/{table_id}/next")]
pub async fn ask_next(
    service: Data<Service>,
    path: Path<String>,
    auth: Auth,
    body: Body<AskNext>,
) -> Result<HttpResponse> {
    let table_id = from_path(&path, Error::TableNotFound)?;
    let after = body.0.after.as_deref().map(str::parse).transpose();
    let after = after.map_err(|_| Error::field("after", "after is the id of a game"))?;
    let table = seats::ask_next(&service.pool, table_id, auth.player(), after).await?;
    Ok(HttpResponse::Ok().json(TableView::new(&table, Some(auth.player()))))
}

/// Take back the wish for a next game
///
/// As long as it has not begun. Repeating it changes nothing.
#[utoipa::path(
    tag = "tables",
    operation_id = "withdraw_next",
    params(TablePath),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The table", body = TableView),
        (status = 403, description = "`not_seated`"),
        (status = 404, description = "`table_not_found`"),
        (status = 409, description = "`game_running`: it has begun"),
        (status = 410, description = "`table_closed`")
    )
)]
#[delete("/v1/tables/{table_id}/next")]
pub async fn withdraw_next(service: Data<Service>, path: Path<String>, auth: Auth) -> Result<HttpResponse> {
    let table_id = from_path(&path, Error::TableNotFound)?;
    let table = seats::withdraw_next(&service.pool, table_id, auth.player()).await?;
    Ok(HttpResponse::Ok().json(TableView::new(&table, Some(auth.player()))))
}
