//! How the service is, and what it is.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::error::CODES;
use crate::error::{Error, Result};
use crate::tokens::ACCESS_SECONDS;

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "status": "ok" }))]
pub struct HealthView {
    /// Always `ok`: else the answer is a problem document.
    status: &'static str,
}

/// Is the process alive
///
/// Answers without asking the database.
#[utoipa::path(tag = "service", operation_id = "healthz", responses((status = 200, description = "Alive", body = HealthView)))]
#[get("/healthz")]
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(HealthView { status: "ok" })
}

/// Can it serve
///
/// Asks the database.
#[utoipa::path(
    tag = "service",
    operation_id = "readyz",
    responses((status = 200, description = "Ready", body = HealthView), (status = 503, description = "`unavailable`: the database is away"))
)]
#[get("/readyz")]
pub async fn readyz(service: Data<Service>) -> Result<HttpResponse> {
    crate::store::ping(&mut *service.pool.acquire().await?).await?;
    Ok(HttpResponse::Ok().json(HealthView { status: "ok" }))
}

/// What this service is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "name": "hasami-ladder", "version": "0.1.0", "api": "/v1", "docs": "/docs", "openapi": "/openapi.json",
    "access_token_seconds": 900, "max_body_bytes": 16384, "max_page_items": 100, "max_plies": 2000
}))]
pub struct InfoView {
    /// The product.
    name: &'static str,
    /// Its version.
    version: &'static str,
    /// Where operations are.
    api: &'static str,
    /// Where they are explained.
    docs: &'static str,
    /// The contract.
    openapi: &'static str,
    /// How long an access token lives, and outlives a logout at most.
    access_token_seconds: i64,
    /// The largest body.
    max_body_bytes: usize,
    /// The largest page of a list.
    max_page_items: u8,
    /// The longest game.
    max_plies: u16,
}

/// What is this
///
/// Name, version, addresses and limits.
#[utoipa::path(tag = "service", operation_id = "get_info", responses((status = 200, description = "The service", body = InfoView)))]
#[get("/v1/info")]
pub async fn get_info() -> HttpResponse {
    HttpResponse::Ok().json(InfoView {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        api: "/v1",
        docs: "/docs",
        openapi: "/openapi.json",
        access_token_seconds: ACCESS_SECONDS,
        max_body_bytes: super::extract::MAX_BODY,
        max_page_items: super::views::MAX_LIMIT,
        max_plies: hasami_rules::MAX_PLIES,
    })
}

/// A problem's code.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which the handler parses by itself to answer 404")]
pub struct CodePath {
    /// The code.
    #[param(example = "stale_ply")]
    code: String,
}

/// A kind of problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "code": "seat_taken", "title": "Seats taken", "text": "Both seats have their players." }))]
pub struct ProblemKindView {
    /// Its code.
    code: &'static str,
    /// Its title.
    title: &'static str,
    /// What it means and what to do about it.
    text: &'static str,
}

/// Explain a problem
///
/// Where the `type` of a problem document leads.
#[utoipa::path(
    tag = "service",
    operation_id = "get_problem_kind",
    params(CodePath),
    responses((status = 200, description = "The kind of problem", body = ProblemKindView), (status = 404, description = "`not_found`: no such code"))
)]
#[get("/problems/{code}")]
pub async fn get_problem_kind(path: Path<String>) -> Result<HttpResponse> {
    let known = CODES.iter().find(|(code, _, _)| *code == path.as_str()).ok_or(Error::NotFound)?;
    let (code, title, text) = *known;
    Ok(HttpResponse::Ok().json(ProblemKindView { code, title, text }))
}
