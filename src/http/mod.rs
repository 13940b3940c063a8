//! All HTTP: the route table, and what surrounds it.

mod accept;
mod analysis;
mod challenges;
mod docs;
mod endings;
pub mod error;
mod extract;
mod games;
mod health;
mod identity;
mod leaderboard;
mod players;
mod policy;
mod queue;
mod request;
mod rules;
mod seats;
mod tables;
mod views;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{ResourceDef, Server};
use actix_web::http::header;
use actix_web::middleware::from_fn;
use actix_web::web::{Data, PayloadConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use sqlx::postgres::{PgConnectOptions, PgPool};
use utoipa::openapi::OpenApi;
use utoipa_actix_web::AppExt as _;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::error::{Error, Result};
use crate::ladder::lane::{Court, Lane};
use crate::ladder::presence::Presence;
use crate::ladder::sweep::Sweep;
use crate::passwords::Passwords;
use crate::store;
use crate::thinker::Thinker;
use crate::tokens::{CursorKey, Tokens};
use crate::worker::Worker;

/// What handlers work with.
#[derive(Debug, Clone)]
pub struct Service {
    /// Connections for everything but moves.
    pub pool: PgPool,
    /// The way of moves.
    pub lane: Lane,
    /// What follows from a game that was read.
    pub court: Court,
    /// Password hashes.
    pub passwords: Passwords,
    /// Access tokens.
    pub tokens: Tokens,
    /// Signs the cursors of lists.
    pub cursors: CursorKey,
}

impl Service {
    /// Starts what a service needs, on a database that need not be there yet; and what is to be driven by a clock.
    ///
    /// # Errors
    /// The secret is too short, or there is no thread.
    pub fn start(options: PgConnectOptions, connections: u32, secret: &[u8]) -> Result<(Self, Worker)> {
        let pool = store::pool(options.clone(), connections);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // Half of the cores never have to switch from a thought to a request.
        let thinker = Thinker::start((threads / 2).max(1))?;
        let presence = Presence::default();
        let (wake, due_now) = tokio::sync::mpsc::channel(1024);
        let court = Court { pool: pool.clone(), thinker, presence: presence.clone(), due_now: wake };
        let sweep = Sweep::new(court.clone(), store::pool(options.clone(), 1));
        let worker = Worker { pool: pool.clone(), presence: presence.clone(), sweep, due_now };
        let service = Self {
            lane: Lane::start(court.clone(), options),
            pool,
            court,
            passwords: Passwords::new(threads)?,
            tokens: Tokens::new(secret)?,
            cursors: CursorKey::new(secret),
        };
        Ok((service, worker))
    }
}

/// Every operation, by resource, after the busiest: addresses are tried in this order. The contract falls out of it.
fn routes(config: &mut ServiceConfig) {
    config
        .service(games::play_move)
        .service(identity::enter_as_guest)
        .service(identity::register)
        .service(identity::claim)
        .service(identity::get_me)
        .service(identity::change_me)
        .service(identity::log_in)
        .service(identity::refresh)
        .service(identity::log_out)
        .service(tables::open_table)
        .service(tables::list_tables)
        .service(tables::get_table)
        .service(tables::change_table)
        .service(seats::sit)
        .service(seats::leave_seat)
        .service(seats::ask_next)
        .service(seats::withdraw_next)
        .service(queue::join_queue)
        .service(queue::get_ticket)
        .service(queue::leave_queue)
        .service(challenges::challenge)
        .service(challenges::list_challenges)
        .service(challenges::get_challenge)
        .service(challenges::accept_challenge)
        .service(challenges::decline_challenge)
        .service(challenges::cancel_challenge)
        .service(games::list_games)
        .service(games::get_game)
        .service(games::get_history)
        .service(games::get_destinations)
        .service(endings::resign)
        .service(endings::abort)
        .service(endings::draw)
        .service(leaderboard::list_ladders)
        .service(leaderboard::get_leaderboard)
        .service(leaderboard::get_leaderboard_around)
        .service(policy::get_rating_policy)
        .service(players::get_player)
        .service(players::get_rating_history)
        .service(players::list_player_games)
        .service(players::get_head_to_head)
        .service(rules::validate)
        .service(analysis::analyse)
        .service(health::healthz)
        .service(health::readyz)
        .service(health::get_info)
        .service(health::get_problem_kind)
        .service(docs::get_openapi);
}

/// The contract of all operations.
#[must_use]
pub fn openapi() -> OpenApi {
    let (_, api) = App::new().into_utoipa_app().openapi(docs::frame()).configure(routes).split_for_parts();
    docs::complete(api)
}

/// A server on a socket that listens already.
///
/// # Errors
/// The socket's.
pub fn serve(service: Service, listener: TcpListener, workers: usize) -> std::io::Result<Server> {
    let allowed = Data::new(Allowed::new(&openapi()));
    let service = Data::new(service);
    let docs = Data::new(Arc::new(
        utoipa_swagger_ui::Config::from("/openapi.json").try_it_out_enabled(true).persist_authorization(true),
    ));
    let server = HttpServer::new(move || {
        App::new()
            .app_data(service.clone())
            .app_data(allowed.clone())
            .app_data(docs.clone())
            .app_data(PayloadConfig::new(extract::MAX_BODY))
            .wrap(from_fn(request::observe))
            .wrap(cors())
            .into_utoipa_app()
            .configure(routes)
            .into_app()
            .service(docs::redirect_to_docs)
            .service(docs::get_docs)
            .default_service(web::to(not_here))
    });
    Ok(server
        .workers(workers)
        .shutdown_timeout(10)
        .keep_alive(Duration::from_secs(75))
        .client_request_timeout(Duration::from_secs(30))
        .disable_signals()
        .listen(listener)?
        .run())
}

/// Open to pages of any origin: tokens come in a header, never in a cookie.
fn cors() -> actix_cors::Cors {
    actix_cors::Cors::default()
        .allow_any_origin()
        .send_wildcard()
        .allow_any_method()
        .allow_any_header()
        .expose_headers([
            header::LOCATION,
            header::RETRY_AFTER,
            header::ETAG,
            header::HeaderName::from_static(request::REQUEST_ID),
        ])
        .max_age(3600)
}

/// The methods of each address, for the answer to a wrong one.
#[derive(Debug)]
struct Allowed(Vec<(ResourceDef, String)>);

impl Allowed {
    fn new(api: &OpenApi) -> Self {
        let mut paths: Vec<_> = api
            .paths
            .paths
            .iter()
            .map(|(path, item)| {
                let methods =
                    [("GET, HEAD", &item.get), ("POST", &item.post), ("PATCH", &item.patch), ("DELETE", &item.delete)];
                let known: Vec<&str> =
                    methods.iter().filter(|(_, operation)| operation.is_some()).map(|(name, _)| *name).collect();
                (ResourceDef::new(path.as_str()), known.join(", "))
            })
            .collect();
        paths.extend(["/docs", "/docs/{file:.*}"].map(|path| (ResourceDef::new(path), "GET, HEAD".to_owned())));
        Self(paths)
    }
}

/// No route fits: the address is unknown, or the method is.
async fn not_here(request: HttpRequest, allowed: Data<Allowed>) -> Result<HttpResponse> {
    let known = allowed.0.iter().find(|(path, _)| path.is_match(request.path()));
    Err(known.map_or(Error::NotFound, |(_, methods)| Error::MethodNotAllowed(methods.clone())))
}
