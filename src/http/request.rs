//! What surrounds every request: its id, HEAD, panics, problem documents, and one line in the log.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::Next;
use actix_web::{HttpMessage as _, HttpResponse};
use futures_util::FutureExt as _;

use super::error::Problem;
use crate::error::{Error, Fault};
use crate::ids::PlayerId;

/// The header that names a request.
pub const REQUEST_ID: &str = "x-request-id";

/// How long reading takes at most. Changes have limits of their own: their bodies may come slowly.
const PATIENCE: Duration = Duration::from_millis(1900);

/// The player on whose behalf a request came, for the log.
#[derive(Debug, Clone, Copy)]
pub struct OnBehalfOf(pub PlayerId);

/// Wraps the whole application.
///
/// # Errors
/// None but such that carry a finished answer.
pub async fn observe<B: MessageBody + 'static>(
    mut req: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let start = Instant::now();
    let request_id = request_id(&req);
    let method = req.method().clone();
    let path = req.path().to_owned();
    // The encoder leaves the body of an answer to HEAD out by itself.
    if method == Method::HEAD {
        req.head_mut().method = Method::GET;
    }
    let handled = async {
        match method {
            Method::GET | Method::HEAD => tokio::time::timeout(PATIENCE, next.call(req)).await.ok(),
            _ => Some(next.call(req).await),
        }
    };
    let outcome = AssertUnwindSafe(handled).catch_unwind().await;
    let mut line = Line { request_id: &request_id, method: &method, path: &path, start, player: None };
    match outcome {
        Ok(None) => Err(line.refuse(&Error::Unavailable("no answer in time".to_owned()))),
        Ok(Some(Ok(response))) => {
            line.player = response.request().extensions().get::<OnBehalfOf>().map(|p| p.0);
            Ok(line.finish(response))
        }
        Ok(Some(Err(error))) => {
            let known = error.as_error::<Error>();
            let own;
            let error = match known {
                Some(error) => error,
                None => {
                    own = by_status(error.as_response_error().status_code());
                    &own
                }
            };
            Err(line.refuse(error))
        }
        Err(panic) => {
            let what = panic
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned());
            Err(line.refuse(&Error::Internal(format!("panic: {}", what.unwrap_or_default()))))
        }
    }
}

/// The client's own id for the request, if it has a harmless form, else a new one.
fn request_id(req: &ServiceRequest) -> String {
    let harmless = |id: &&str| {
        (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    let given = req.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(harmless);
    given.map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned)
}

struct Line<'a> {
    request_id: &'a str,
    method: &'a Method,
    path: &'a str,
    start: Instant,
    player: Option<PlayerId>,
}

impl Line<'_> {
    fn finish<B: MessageBody + 'static>(&self, response: ServiceResponse<B>) -> ServiceResponse<BoxBody> {
        let status = response.status();
        let mut response = if status.is_client_error() || status.is_server_error() {
            let unknown;
            let error = match response.response().error().and_then(|e| e.as_error::<Error>()) {
                Some(error) => error,
                None => {
                    unknown = by_status(status);
                    &unknown
                }
            };
            self.log(status, Some(error));
            let mut document = Problem::new(error, self.request_id).response();
            if let Some(allow) = response.headers().get(header::ALLOW) {
                document.headers_mut().insert(header::ALLOW, allow.clone());
            }
            let (request, _) = response.into_parts();
            ServiceResponse::new(request, document)
        } else {
            self.log(status, None);
            response.map_into_boxed_body()
        };
        self.sign(response.response_mut());
        response
    }

    /// An answer where the request itself is gone.
    fn refuse(&self, error: &Error) -> actix_web::Error {
        let mut document = Problem::new(error, self.request_id).response();
        self.log(document.status(), Some(error));
        self.sign(&mut document);
        InternalError::from_response("refused", document).into()
    }

    fn sign(&self, response: &mut HttpResponse) {
        if let Ok(id) = HeaderValue::from_str(self.request_id) {
            response.headers_mut().insert(HeaderName::from_static(REQUEST_ID), id);
        }
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }

    /// One line a request: nothing of its query, its body, its headers or its sender.
    fn log(&self, status: StatusCode, error: Option<&Error>) {
        let (request_id, method, path, status) = (self.request_id, self.method.as_str(), self.path, status.as_u16());
        let ms = self.start.elapsed().as_micros() as f64 / 1000.0;
        let player = self.player.map(tracing::field::display);
        let code = error.map(Error::code);
        match error {
            Some(error) if status >= 500 => {
                let level = matches!(error, Error::Overloaded | Error::Unavailable(_));
                if level {
                    tracing::warn!(request.id = request_id, method, path, status, ms, player.id = player, code, cause = %error, "request");
                } else {
                    tracing::error!(request.id = request_id, method, path, status, ms, player.id = player, code, cause = %error, "request");
                }
            }
            _ => tracing::info!(request.id = request_id, method, path, status, ms, player.id = player, code, "request"),
        }
    }
}

/// The error behind an answer that the framework gave by itself.
fn by_status(status: StatusCode) -> Error {
    match status {
        StatusCode::NOT_FOUND => Error::NotFound,
        StatusCode::PAYLOAD_TOO_LARGE => Error::PayloadTooLarge(super::extract::MAX_BODY),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Error::UnsupportedMediaType,
        status if status.is_client_error() => Error::malformed(Fault {
            at: crate::error::At::Body(String::new()),
            detail: "the request is not understood".to_owned(),
        }),
        status => Error::Internal(format!("an answer of {status} without a cause")),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::middleware::from_fn;
    use actix_web::{App, test, web};

    use super::*;

    #[actix_web::test]
    async fn a_panic_is_a_problem_document() {
        async fn panics() -> HttpResponse {
            panic!("with a secret")
        }
        let app = App::new().wrap(from_fn(observe)).route("/", web::get().to(panics));
        let app = test::init_service(app).await;
        let request = test::TestRequest::get().uri("/").insert_header((REQUEST_ID, "my-id.1")).to_request();
        let error = test::try_call_service(&app, request).await.err().unwrap();
        let response = error.error_response();
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers().get(REQUEST_ID).unwrap(), "my-id.1");
        let body = actix_web::body::to_bytes(response.into_body()).await.ok().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body["code"], &body["request_id"]), (&"internal".into(), &"my-id.1".into()));
        assert!(!body.to_string().contains("secret"));
    }
}
