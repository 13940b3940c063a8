//! Which form of a resource the client wants.

use actix_web::HttpRequest;
use actix_web::http::header::{Accept, Header as _};
use mime::Mime;

use crate::error::{Error, Result};

/// The offered form that the client likes best; the first of those it likes equally, and where it says nothing.
///
/// # Errors
/// `NotAcceptable` where it accepts none.
pub fn choose(request: &HttpRequest, offers: &[Mime], listed: &'static str) -> Result<Mime> {
    let accept = Accept::parse(request).map(|accept| accept.0).unwrap_or_default();
    let Some(default) = offers.first() else { return Err(Error::NotAcceptable(listed)) };
    if accept.is_empty() {
        return Ok(default.clone());
    }
    // The most specific range that fits an offer gives its weight (RFC 9110, 12.5.1).
    let weight = |offer: &Mime| {
        let fits = accept.iter().filter_map(|range| {
            let exact = range.item.essence_str() == offer.essence_str();
            let kind = range.item.type_() == offer.type_() && range.item.subtype() == mime::STAR;
            let any = range.item.type_() == mime::STAR;
            let depth = if exact {
                3
            } else if kind {
                2
            } else if any {
                1
            } else {
                return None;
            };
            Some((depth, range.quality))
        });
        fits.max_by_key(|(depth, _)| *depth)
            .map(|(_, quality)| quality)
            .filter(|q| *q > actix_web::http::header::Quality::ZERO)
    };
    let mut best = None;
    for offer in offers {
        if let Some(weight) = weight(offer)
            && best.as_ref().is_none_or(|(_, most)| weight > *most)
        {
            best = Some((offer, weight));
        }
    }
    best.map(|(offer, _)| offer.clone()).ok_or(Error::NotAcceptable(listed))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use mime::{APPLICATION_JSON, TEXT_PLAIN};

    use super::*;

    #[test]
    fn the_client_chooses() {
        for (accept, form) in [
            ("", Some(APPLICATION_JSON)),
            ("*/*", Some(APPLICATION_JSON)),
            ("text/plain", Some(TEXT_PLAIN)),
            ("text/*", Some(TEXT_PLAIN)),
            ("text/plain;q=0.5, application/json;q=0.4", Some(TEXT_PLAIN)),
            ("text/html, */*;q=0.1", Some(APPLICATION_JSON)),
            ("application/json;q=0, */*", Some(TEXT_PLAIN)),
            ("image/png", None),
            ("text/plain;q=0", None),
        ] {
            let mut request = TestRequest::default();
            if !accept.is_empty() {
                request = request.insert_header(("accept", accept));
            }
            let chosen = choose(&request.to_http_request(), &[APPLICATION_JSON, TEXT_PLAIN], "two");
            assert_eq!(chosen.ok(), form, "{accept}");
        }
    }
}
