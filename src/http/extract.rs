//! What handlers take from a request. Each refuses what it does not understand, and says which part that is.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::web::{Bytes, Data};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_path_to_error::{Path, Segment};

use super::Service;
use super::request::OnBehalfOf;
use crate::error::{At, Error, Fault, Result};
use crate::ids::PlayerId;
use crate::tokens::Bearer;

/// The largest body, in bytes.
pub const MAX_BODY: usize = 16 * 1024;

/// How long a body may take to arrive, like the head before it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The player that the access token speaks for.
#[derive(Debug, Clone, Copy)]
pub struct Auth(pub Bearer);

impl Auth {
    /// The player.
    #[must_use]
    pub fn player(&self) -> PlayerId {
        self.0.player_id
    }
}

impl FromRequest for Auth {
    type Error = Error;
    type Future = Ready<Result<Self>>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(bearer(req).and_then(|b| {
            b.map(Self)
                .ok_or(Error::Unauthenticated("this needs an access token: send it as authorization: Bearer TOKEN"))
        }))
    }
}

/// The player who looks, if they say who they are. A token that is there must be good.
#[derive(Debug, Clone, Copy)]
pub struct Viewer(pub Option<PlayerId>);

impl FromRequest for Viewer {
    type Error = Error;
    type Future = Ready<Result<Self>>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(bearer(req).map(|b| Self(b.map(|b| b.player_id))))
    }
}

fn bearer(req: &HttpRequest) -> Result<Option<Bearer>> {
    let Some(value) = req.headers().get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let token = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let (_, token) = token.ok_or(Error::Unauthenticated("send the access token as authorization: Bearer TOKEN"))?;
    let service = req.app_data::<Data<Service>>().ok_or_else(|| Error::Internal("no service".to_owned()))?;
    let bearer = service.tokens.verify(token.trim())?;
    req.extensions_mut().insert(OnBehalfOf(bearer.player_id));
    Ok(Some(bearer))
}

/// A JSON body. No body at all counts as `{}`.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Body<T> {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let bytes = Bytes::from_request(req, payload);
        let json = req.content_type().eq_ignore_ascii_case("application/json");
        Box::pin(async move {
            let torn = || {
                Error::malformed(Fault {
                    at: At::Body(String::new()),
                    detail: "the body did not arrive whole".to_owned(),
                })
            };
            let bytes = tokio::time::timeout(BODY_TIMEOUT, bytes).await.map_err(|_| torn())?;
            let bytes = bytes.map_err(|e| {
                if e.as_response_error().status_code() == actix_web::http::StatusCode::PAYLOAD_TOO_LARGE {
                    Error::PayloadTooLarge(MAX_BODY)
                } else {
                    torn()
                }
            })?;
            if bytes.is_empty() {
                return parse(b"{}").map(Self);
            }
            if !json {
                return Err(Error::UnsupportedMediaType);
            }
            parse(&bytes).map(Self)
        })
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    // serde would take the fields of a struct from an array too, in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let detail = "expected an object, not an array".to_owned();
        return Err(Error::malformed(Fault { at: At::Body(String::new()), detail }));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|e| {
        let inner = e.inner().to_string();
        // serde says where in the text; the pointer says it better.
        let detail = plain(inner.split(" at line ").next().unwrap_or(&inner));
        Error::malformed(Fault { at: At::Body(pointer(e.path(), &detail)), detail })
    })?;
    json.end().map_err(|_| {
        Error::malformed(Fault { at: At::Body(String::new()), detail: "something follows the JSON value".to_owned() })
    })?;
    Ok(value)
}

/// What serde expected, in words of JSON rather than of Rust.
fn plain(detail: &str) -> String {
    // All that it says of a word among others.
    if detail == "expected value" {
        return "expected a text".to_owned();
    }
    let Some((found, expected)) = detail.rsplit_once(", expected ") else { return detail.to_owned() };
    let number = |min: i64, max: i64| format!("a whole number, {min} to {max}");
    let words = match expected {
        "u8" => number(0, u8::MAX.into()),
        "u16" => number(0, u16::MAX.into()),
        "u32" => number(0, u32::MAX.into()),
        "i16" => number(i16::MIN.into(), i16::MAX.into()),
        "i32" => number(i32::MIN.into(), i32::MAX.into()),
        "u64" | "i64" | "usize" => "a whole number".to_owned(),
        _ if expected.starts_with("struct ") => "an object".to_owned(),
        _ => return detail.to_owned(),
    };
    format!("{found}, expected {words}")
}

/// A JSON pointer (RFC 6901) to the faulty value. A field that is missing, doubled or unknown is named by serde alone.
fn pointer(path: &Path, detail: &str) -> String {
    let part = |name: &str| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    let mut pointer = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&part(key)),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    // serde's path ends with the name in some shapes and before it in others.
    if let Some(named) = named_field(detail).map(part)
        && !pointer.ends_with(&named)
    {
        pointer.push_str(&named);
    }
    pointer
}

fn named_field(detail: &str) -> Option<&str> {
    let rest =
        ["missing field `", "unknown field `", "duplicate field `"].iter().find_map(|p| detail.strip_prefix(p))?;
    // An unknown name may hold anything, a backtick too; what serde adds after it is known.
    let end = rest.rfind("`, expected").or_else(|| rest.rfind("`, there are no fields")).or_else(|| rest.rfind('`'))?;
    Some(&rest[..end])
}

/// The body of operations that need none: nothing, or an empty object.
#[derive(Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub struct Nothing {}

/// Reads a field that may be left out or null, and tells the two apart.
///
/// # Errors
/// Those of the value.
#[expect(clippy::option_option, reason = "null and nothing differ: null takes a value away")]
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> std::result::Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// The parameters of a query.
#[derive(Debug)]
pub struct Params<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Params<T> {
    type Error = Error;
    type Future = Ready<Result<Self>>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(query(req.query_string()).map(Self))
    }
}

fn query<T: DeserializeOwned>(text: &str) -> Result<T> {
    // The parser would put a replacement character for bytes that are no UTF-8, and a value that nobody sent.
    if urlencoding_is_broken(text) {
        return Err(Error::malformed(Fault::parameter("", "the query is not percent-encoded UTF-8")));
    }
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(text.as_bytes()));
    serde_path_to_error::deserialize(pairs).map_err(|e| {
        let detail = plain(&e.inner().to_string());
        let name = match e.path().iter().next() {
            Some(Segment::Map { key }) => key.clone(),
            _ => named_field(&detail).unwrap_or_default().to_owned(),
        };
        Error::malformed(Fault::parameter(name, detail))
    })
}

fn urlencoding_is_broken(text: &str) -> bool {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push(high << 4 | low),
            _ => return true,
        }
    }
    std::str::from_utf8(&bytes).is_err()
}

/// Reads one value of a path. One that could not exist is not found.
///
/// # Errors
/// `missing`.
pub fn from_path<T: FromStr>(text: &str, missing: Error) -> Result<T> {
    text.parse().map_err(|_| missing)
}

/// Reads one value of the query, already known to be text.
///
/// # Errors
/// Names the parameter.
pub fn from_query<T: FromStr>(name: &str, text: Option<&str>, expected: &str) -> Result<Option<T>> {
    text.map(|text| text.parse().map_err(|_| Error::malformed(Fault::parameter(name, format!("expected {expected}")))))
        .transpose()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Sample {
        ply: u16,
        #[serde(default)]
        moves: Vec<String>,
    }

    fn at(json: &str) -> (At, String) {
        match parse::<Sample>(json.as_bytes()) {
            Err(Error::MalformedRequest(fault)) => (fault.at, fault.detail),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn faults_in_a_body_are_pointed_at() {
        for (json, pointer) in [
            ("", ""),
            ("[", ""),
            ("[1]", ""),
            (" [1, []]", ""),
            ("null", ""),
            ("{}", "/ply"),
            (r#"{"ply":"1"}"#, "/ply"),
            (r#"{"ply":-1}"#, "/ply"),
            (r#"{"ply":1.5}"#, "/ply"),
            (r#"{"ply":65536}"#, "/ply"),
            (r#"{"ply":1,"ply":2}"#, "/ply"),
            (r#"{"ply":1,"moves":["a",2]}"#, "/moves/1"),
            (r#"{"ply":1,"rating":3000}"#, "/rating"),
            (r#"{"ply":1,"a/b~c":1}"#, "/a~1b~0c"),
            (r#"{"ply":1,"`, expected":1}"#, "/`, expected"),
            (r#"{"ply":1} 2"#, ""),
        ] {
            assert_eq!(at(json).0, At::Body(pointer.to_owned()), "{json}: {}", at(json).1);
        }
        assert!(parse::<Sample>(b"{\"ply\":1,\"moves\":[\"\xff\"]}").is_err());
        let Err(Error::MalformedRequest(fault)) = parse::<Nothing>(br#"{"a/b~c":1}"#) else { panic!() };
        assert_eq!(fault.at, At::Body("/a~1b~0c".to_owned()));
    }

    #[test]
    fn faults_speak_of_json() {
        for (json, detail) in [
            ("null", "invalid type: null, expected an object"),
            (r#"{"ply":"1"}"#, "invalid type: string \"1\", expected a whole number, 0 to 65535"),
            (r#"{"ply":-1}"#, "invalid value: integer `-1`, expected a whole number, 0 to 65535"),
            (r#"{"ply":1,"moves":[2]}"#, "invalid type: integer `2`, expected a string"),
        ] {
            assert_eq!(at(json).1, detail, "{json}");
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Page {
        limit: Option<u8>,
        #[serde(default)]
        name: String,
    }

    #[test]
    fn faults_in_a_query_are_named() {
        for (text, name) in [
            ("limit=-1", "limit"),
            ("limit=", "limit"),
            ("limit=NaN", "limit"),
            ("limit=9223372036854775808", "limit"),
            ("limit=1&limit=2", "limit"),
            ("colour=red", "colour"),
            ("name=%ff", ""),
            ("name=%zz", ""),
        ] {
            let Err(Error::MalformedRequest(fault)) = query::<Page>(text) else { panic!("{text}") };
            assert_eq!(fault.at, At::Parameter(name.to_owned()), "{text}: {}", fault.detail);
        }
        assert!(query::<Page>("limit=7&name=a%20b+c").is_ok());
    }
}
