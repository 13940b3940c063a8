//! The queue: take a ticket, read it, give it up.

use actix_web::web::Data;
use actix_web::{HttpResponse, delete, get, post};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Service;
use super::extract::{Auth, Body, given};
use super::tables::options_body;
use super::views::{AbsenceView, OptionsView, Timestamp, VisibilityView, WinRuleView, points, words};
use crate::error::{Error, Result};
use crate::ladder::pairing;
use crate::ladder::queue::{self, Wish};
use crate::options::{InvalidOption, TableOptions};
use crate::store;
use crate::store::queue::{TicketRow, TicketStatus};

options_body! {
    /// What to be paired for: the options of the game to come, each with the default that it has at a table, and how far
    /// away the opponent's rating may be. A paired game is public.
    #[schema(example = json!({ "win_rule": "capture5", "rated": true, "window": 100 }))]
    pub struct JoinQueue {
        /// The ladder. The same as `win_rule`: one of the two is enough.
        #[schema(nullable = false)]
        ladder: Option<WinRuleView>,
        /// Points that the opponent's rating may be away at first: 1 to 4000. It doubles with each ten seconds of waiting.
        /// Default 100.
        #[schema(nullable = false, minimum = 1, maximum = 4000)]
        window: Option<i32>,
        /// Points beyond which the window does not widen: null, or `window` to 4000. Default null: in the end it
        /// holds everybody.
        #[schema(minimum = 1, maximum = 4000)]
        max_window: Option<i32>,
        /// Seconds after which the ticket expires: 10 to 3600. Default 600.
        #[schema(nullable = false, minimum = 10, maximum = 3600)]
        expires_seconds: Option<i32>,
        /// The `game_id` of your last ticket, to be paired once more while that game runs. Not needed after its end; no
        /// other player's game.
        #[schema(nullable = false)]
        after: Option<String>,
    }
}

impl JoinQueue {
    fn wish(&self) -> Result<Wish> {
        let defaults = TableOptions::default();
        let defaults = TableOptions { win_rule: self.ladder.map_or(defaults.win_rule, Into::into), ..defaults };
        if self.ladder.is_some() && self.win_rule.is_some() && self.ladder != self.win_rule {
            let why = "ladder and win_rule are the same thing: give one of them".to_owned();
            return Err(InvalidOption { name: "ladder", why }.into());
        }
        let after = self.after.as_deref().map(str::parse).transpose();
        Ok(Wish {
            options: self.apply(defaults),
            start_window: self.window.unwrap_or(pairing::START_WINDOW),
            max_window: self.max_window,
            expires_seconds: self.expires_seconds.unwrap_or(queue::EXPIRES_SECONDS),
            after: after.map_err(|_| Error::field("after", "after is the id of a game"))?,
        })
    }
}

words! {
    /// What became of a ticket: `waiting` for an opponent; `paired`, the game has begun; `cancelled` by its player;
    /// `expired`.
    TicketStatusView = TicketStatus { Waiting, Paired, Cancelled, Expired }
}

/// A ticket of the queue.
#[derive(Debug, Serialize, ToSchema)]
pub struct TicketView {
    /// The id. A new ticket has a new one.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c14")]
    id: String,
    /// What became of it.
    status: TicketStatusView,
    /// The ladder: the win rule.
    ladder: WinRuleView,
    /// The options of the game to come.
    options: OptionsView,
    /// The player's rating in the ladder when the ticket was taken, in whole points.
    #[schema(example = 1512)]
    rating: i32,
    /// The same in thousandths.
    #[schema(example = 1_512_240)]
    rating_milli: i32,
    /// Points that the opponent's rating may be away by now. The opponent's own window must hold this player's too.
    #[schema(example = 200)]
    window: i32,
    /// Points beyond which the window does not widen; null for no limit.
    #[schema(required, example = 400)]
    max_window: Option<i32>,
    /// When it was taken.
    created_at: Timestamp,
    /// When it expires, or would have.
    expires_at: Timestamp,
    /// Whole seconds that it has waited, or waited.
    #[schema(example = 12)]
    waited_seconds: i64,
    /// Whole seconds that it will probably wait yet: the median of what was left to those, among the last hundred paired
    /// in this ladder, who had waited as long. Null if there is no such, and once it waits no more.
    #[schema(required, example = 4)]
    estimate_seconds: Option<i64>,
    /// When it was paired or cancelled.
    #[schema(required)]
    ended_at: Option<Timestamp>,
    /// The table, once it is paired.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    table_id: Option<String>,
    /// The game, once it is paired.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    game_id: Option<String>,
}

impl TicketView {
    fn new(row: &TicketRow, estimate: Option<f64>) -> Self {
        Self {
            id: row.ticket_id.to_string(),
            status: row.status().into(),
            ladder: row.win_rule.0.into(),
            options: row.options().into(),
            rating: points(row.rating_milli),
            rating_milli: row.rating_milli,
            window: pairing::window(row.start_window, row.max_window, row.waited()),
            max_window: row.max_window,
            created_at: Timestamp(row.created_at),
            expires_at: Timestamp(row.expires_at),
            waited_seconds: row.waited().num_seconds(),
            estimate_seconds: estimate.map(|seconds| seconds.ceil() as i64),
            ended_at: row.ended_at.map(Timestamp),
            table_id: row.table_id.map(|id| id.to_string()),
            game_id: row.game_id.map(|id| id.to_string()),
        }
    }
}

/// The ticket, and if it waits how long it probably will yet.
async fn view(service: &Service, row: &TicketRow) -> Result<TicketView> {
    let estimate = match row.status() {
        TicketStatus::Waiting => {
            let mut conn = service.pool.acquire().await?;
            store::queue::estimate(&mut conn, row.win_rule.0, row.waited()).await?
        }
        _ => None,
    };
    Ok(TicketView::new(row, estimate))
}

/// Join the queue
///
/// Takes a ticket, of which each player has one. Two are paired who want the same options and whose ratings lie within
/// each other's windows: whoever has waited longest chooses first, and gets the nearest. A window is `window` points
/// at first, twice as many after ten seconds, four times after twenty, and so on up to `max_window`:
/// `window * 2^(waited_seconds / 10)`, the power rounded down. The one who waited longer moves first.
///
/// If somebody fits at once, the answer is `paired` already; else read the ticket once a second until it is.
///
/// Repeating the request is safe: the same wish is answered with 200 and the ticket that stands, also when that has
/// been paired, as long as its game runs. So a lost answer never loses a game. After the end of that game, or with
/// `after`, it takes a new ticket.
#[utoipa::path(
    tag = "pairing",
    operation_id = "join_queue",
    request_body = JoinQueue,
    security(("bearer" = [])),
    responses(
        (status = 201, description = "A new ticket", body = TicketView, headers(("location" = String, description = "Its address"))),
        (status = 200, description = "The ticket that stands already", body = TicketView),
        (status = 409, description = "`already_queued`: a ticket stands that asks for something else, or its game runs"),
        (status = 422, description = "`invalid_option`, `invalid_field`: `errors` names the option or field and says why")
    )
)]
#[post("/v1/queue")]
pub async fn join_queue(service: Data<Service>, auth: Auth, body: Body<JoinQueue>) -> Result<HttpResponse> {
    let (ticket, new) = queue::join(&service.pool, auth.player(), body.0.wish()?).await?;
    let mut answer = if new { HttpResponse::Created() } else { HttpResponse::Ok() };
    if new {
        answer.insert_header((actix_web::http::header::LOCATION, "/v1/queue"));
    }
    Ok(answer.json(view(&service, &ticket).await?))
}

/// Read the ticket
///
/// Your last one: whether it waits, how wide its window is by now, and how long it will probably wait yet; or what
/// became of it, for a day.
#[utoipa::path(
    tag = "pairing",
    operation_id = "get_ticket",
    security(("bearer" = [])),
    responses((status = 200, description = "The ticket", body = TicketView), (status = 404, description = "`ticket_not_found`"))
)]
#[get("/v1/queue")]
pub async fn get_ticket(service: Data<Service>, auth: Auth) -> Result<HttpResponse> {
    let ticket = queue::load(&mut *service.pool.acquire().await?, auth.player()).await?;
    Ok(HttpResponse::Ok().json(view(&service, &ticket).await?))
}

/// Leave the queue
///
/// Gives the ticket up. After a 200 no game comes of it. Repeating it changes nothing, nor does it change a ticket that has
/// expired.
#[utoipa::path(
    tag = "pairing",
    operation_id = "leave_queue",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The ticket, `cancelled`, or `expired` as it was", body = TicketView),
        (status = 404, description = "`ticket_not_found`"),
        (status = 409, description = "`already_paired`: it found its opponent first")
    )
)]
#[delete("/v1/queue")]
pub async fn leave_queue(service: Data<Service>, auth: Auth) -> Result<HttpResponse> {
    let ticket = queue::leave(&service.pool, auth.player()).await?;
    Ok(HttpResponse::Ok().json(TicketView::new(&ticket, None)))
}
