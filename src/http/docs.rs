//! The contract: completed from the route table, served, and browsable.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder, Schema,
};

use super::error::{PROBLEM_JSON, Problem, ProblemPart};
use crate::error::{Error, Result};

const DESCRIPTION: &str = "Play rated Hasami Shogi over HTTP.

Enter as a guest (`POST /v1/guests`) or register, open a table (`POST /v1/tables`), let the opponent sit down
(`POST /v1/tables/{table_id}/seat`), and post moves (`POST /v1/games/{game_id}/moves`) until the game is `finished`.
Or be paired with somebody of about your rating (`POST /v1/queue`), or challenge a named player (`POST /v1/challenges`).

* A move names the ply that it becomes, so repeating it after a lost answer is always safe.
* Every answer of 400 and above is a problem document with a stable `code`; `/problems/{code}` explains each.
* Lists are pages: `items`, and `next` for the parameter `cursor` of the next page.
* Times are RFC 3339 in UTC with milliseconds; ids are strings; integers stay below 2^53.
";

/// The frame into which the routes are put.
#[must_use]
pub fn frame() -> OpenApi {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("Hasami Ladder")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(license))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// Adds what is true of every operation: its security scheme, its problem documents and their schema.
#[must_use]
pub fn complete(mut api: OpenApi) -> OpenApi {
    let components = api.components.get_or_insert_default();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some("The `access_token` of a session"))
        .build();
    components.security_schemes.insert("bearer".to_owned(), RefOr::T(SecurityScheme::Http(bearer)));
    components.schemas.insert("Problem".to_owned(), <Problem as utoipa::PartialSchema>::schema());
    components.schemas.insert("ProblemPart".to_owned(), <ProblemPart as utoipa::PartialSchema>::schema());
    // Requests refuse unknown fields and answers gain none, so every object says so, but for maps and flattened ones.
    for schema in components.schemas.values_mut() {
        if let RefOr::T(Schema::Object(object)) = schema
            && object.additional_properties.is_none()
            && !object.properties.is_empty()
        {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
    for (path, item) in &mut api.paths.paths {
        let methods = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in methods.into_iter().flatten() {
            complete_operation(path, operation);
        }
    }
    api
}

fn complete_operation(path: &str, operation: &mut Operation) {
    // The bindings add each path parameter once more, from the handler's arguments and without a word.
    if let Some(parameters) = &mut operation.parameters {
        let mut seen = HashSet::new();
        parameters.retain(|p| match p {
            RefOr::T(p) => seen.insert(p.name.clone()),
            RefOr::Ref(_) => true,
        });
    }
    let parameters = operation.parameters.as_ref().is_some_and(|p| !p.is_empty());
    let body = operation.request_body.is_some();
    let security = operation.security.as_ref().is_some_and(|s| !s.is_empty());
    let mut common = vec![("500", "`internal`: the service's own fault")];
    if parameters || body {
        common.push(("400", "`malformed_request`: `errors` names the place"));
    }
    if security {
        common.push(("401", "`unauthenticated`: no access token, or one that is not valid any more"));
    }
    if body {
        common.push(("413", "`payload_too_large`: a body has at most 16 kB"));
        common.push(("415", "`unsupported_media_type`: send JSON"));
    }
    if !["/healthz", "/v1/info", "/v1/rating-policy", "/v1/validate", "/problems/{code}", "/openapi.json"]
        .contains(&path)
    {
        common.push(("503", "`unavailable`, `overloaded`: repeat the request after `retry-after` seconds"));
    }
    let responses = &mut operation.responses.responses;
    for (status, description) in common {
        let response = || RefOr::T(ResponseBuilder::new().description(description).build());
        responses.entry(status.to_owned()).or_insert_with(response);
    }
    for (status, response) in responses.iter_mut() {
        if let RefOr::T(response) = response
            && (status.starts_with('4') || status.starts_with('5'))
        {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            response.content.insert(PROBLEM_JSON.to_owned(), RefOr::T(content));
        }
    }
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| super::openapi().to_pretty_json().unwrap_or_default());

/// Read the contract
///
/// This document.
#[utoipa::path(
    tag = "service",
    operation_id = "get_openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"))
)]
#[get("/openapi.json")]
pub async fn get_openapi() -> HttpResponse {
    HttpResponse::Ok().content_type(mime::APPLICATION_JSON).body(DOCUMENT.as_str())
}

/// The page's own scripts and styles alone; the interface sets some styles on elements.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Leads to the page that the browsable documentation's relative links start from.
#[get("/docs")]
pub async fn redirect_to_docs() -> HttpResponse {
    HttpResponse::PermanentRedirect().insert_header((header::LOCATION, "/docs/")).finish()
}

/// The browsable documentation, from the binary.
#[get("/docs/{file:.*}")]
pub async fn get_docs(
    path: Path<String>,
    config: Data<Arc<utoipa_swagger_ui::Config<'static>>>,
) -> Result<HttpResponse> {
    let file =
        utoipa_swagger_ui::serve(&path, config.get_ref().clone()).map_err(|e| Error::Internal(format!("docs: {e}")))?;
    let file = file.ok_or(Error::NotFound)?;
    Ok(HttpResponse::Ok()
        .content_type(file.content_type)
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .body(file.bytes.to_vec()))
}
