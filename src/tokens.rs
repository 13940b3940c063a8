//! Tokens: signed ones that live for minutes, and opaque ones that buy the next. The only place that knows JWT.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::ids::{PlayerId, SessionId};
use crate::store::sessions::TokenHash;

/// How long an access token lives, and so how long it outlives a logout at most.
pub const ACCESS_SECONDS: i64 = 900;
/// Clocks of instances may differ by this.
const LEEWAY_SECONDS: i64 = 5;
const ISSUER: &str = "hasami-ladder";
const AUDIENCE: &str = "hasami-ladder-api";
/// RFC 9068: an access token says that it is one.
const TYPE: &str = "at+jwt";
/// RFC 8725: the one algorithm, whatever a token says.
const ALGORITHM: Algorithm = Algorithm::HS256;

/// Signs and checks access tokens.
#[derive(Clone)]
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
    kid: String,
    validation: Validation,
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    iat: i64,
    exp: i64,
    jti: String,
    sid: String,
}

/// Who an access token speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bearer {
    /// The player.
    pub player_id: PlayerId,
    /// The login.
    pub session_id: SessionId,
}

impl Tokens {
    /// Tokens signed with a secret of at least 32 bytes.
    ///
    /// # Errors
    /// The secret is too short.
    pub fn new(secret: &[u8]) -> Result<Self> {
        if secret.len() < 32 {
            return Err(Error::Internal("the secret that signs tokens has at least 32 bytes".to_owned()));
        }
        let key = |e: jsonwebtoken::errors::Error| Error::Internal(format!("signing key: {e}"));
        let mut validation = Validation::new(ALGORITHM);
        validation.leeway = LEEWAY_SECONDS.unsigned_abs();
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        Ok(Self {
            encoding: EncodingKey::from_secret(secret).map_err(key)?,
            decoding: DecodingKey::from_secret(secret).map_err(key)?,
            // Names the key without telling it.
            kid: URL_SAFE_NO_PAD.encode(&digest(&[b"kid", secret])[..6]),
            validation,
        })
    }

    /// A new access token.
    ///
    /// # Errors
    /// It cannot be signed.
    pub fn issue(&self, bearer: Bearer) -> Result<String> {
        self.issue_at(bearer, now())
    }

    fn issue_at(&self, bearer: Bearer, iat: i64) -> Result<String> {
        let header = Header { typ: Some(TYPE.to_owned()), kid: Some(self.kid.clone()), ..Header::new(ALGORITHM) };
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: bearer.player_id.to_string(),
            iat,
            exp: iat + ACCESS_SECONDS,
            jti: uuid::Uuid::now_v7().to_string(),
            sid: bearer.session_id.to_string(),
        };
        encode(&header, &claims, &self.encoding).map_err(|e| Error::Internal(format!("sign a token: {e}")))
    }

    /// Who a token speaks for.
    ///
    /// # Errors
    /// `Unauthenticated`.
    pub fn verify(&self, token: &str) -> Result<Bearer> {
        const BAD: Error = Error::Unauthenticated("the access token is not valid or has expired: refresh it");
        let header = decode_header(token).map_err(|_| BAD)?;
        if header.typ.as_deref() != Some(TYPE) || header.kid.as_ref() != Some(&self.kid) {
            return Err(BAD);
        }
        let claims = decode::<Claims>(token, &self.decoding, &self.validation).map_err(|_| BAD)?.claims;
        // Ours lives for `ACCESS_SECONDS` and was made before now, even if it is well signed.
        if claims.iat > now() + LEEWAY_SECONDS || claims.exp - claims.iat > ACCESS_SECONDS {
            return Err(BAD);
        }
        let player_id = claims.sub.parse().map_err(|_| BAD)?;
        let session_id = claims.sid.parse().map_err(|_| BAD)?;
        Ok(Bearer { player_id, session_id })
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("kid", &self.kid).finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "a token's life is measured by the clock of whoever checks it")]
fn now() -> i64 {
    chrono::Utc::now().timestamp()
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut sha = Sha256::new();
    parts.iter().for_each(|part| sha.update(part));
    sha.finalize().into()
}

/// An opaque single-use token of 256 random bits. It is never printed in a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RefreshToken([u8; 32]);

impl RefreshToken {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> Result<Self> {
        crate::random().map(Self)
    }

    /// What is stored of it. Its bits are random, so no salt and no slow hash are needed.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        digest(&[&self.0])
    }

    /// The text that the client gets.
    #[must_use]
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl FromStr for RefreshToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|b| b.try_into().ok());
        bytes.map(Self).ok_or(Error::Unauthenticated("this is no refresh token"))
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshToken")
    }
}

/// Signs the cursors of lists, so that what comes back is what was given.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl CursorKey {
    /// The key that follows from a secret.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(digest(&[b"cursors", secret]))
    }

    /// Writes a place in the list `list` as an opaque text.
    #[must_use]
    pub fn seal(&self, list: &str, place: &str) -> String {
        let mut bytes = self.check(list, place).to_vec();
        bytes.extend(place.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a text that [`Self::seal`] wrote for the same list.
    #[must_use]
    pub fn open(&self, list: &str, cursor: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (check, place) = bytes.split_first_chunk::<8>()?;
        let place = std::str::from_utf8(place).ok()?;
        (*check == self.check(list, place)).then(|| place.to_owned())
    }

    fn check(&self, list: &str, place: &str) -> [u8; 8] {
        let hash = digest(&[&self.0, list.as_bytes(), b"\0", place.as_bytes(), &self.0]);
        std::array::from_fn(|i| hash[i])
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn bearer() -> Bearer {
        Bearer { player_id: PlayerId::new(), session_id: SessionId::new() }
    }

    fn claims() -> Value {
        json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": PlayerId::new().to_string(), "iat": now(), "exp": now() + 900,
                "jti": "x", "sid": SessionId::new().to_string() })
    }

    fn signed(header: &Header, claims: &Value, secret: &[u8]) -> String {
        encode(header, claims, &EncodingKey::from_secret(secret).unwrap()).unwrap()
    }

    fn header(tokens: &Tokens) -> Header {
        Header { typ: Some(TYPE.to_owned()), kid: Some(tokens.kid.clone()), ..Header::new(ALGORITHM) }
    }

    #[test]
    fn a_token_speaks_for_its_player() {
        let tokens = Tokens::new(SECRET).unwrap();
        let bearer = bearer();
        assert_eq!(tokens.verify(&tokens.issue(bearer).unwrap()).unwrap(), bearer);
        assert!(tokens.verify(&signed(&header(&tokens), &claims(), SECRET)).is_ok());
        assert!(Tokens::new(&SECRET[1..]).is_err());
    }

    #[test]
    fn claims_that_are_missing_mistyped_or_out_of_bounds_are_refused() {
        let tokens = Tokens::new(SECRET).unwrap();
        for name in ["iss", "aud", "sub", "iat", "exp", "jti", "sid"] {
            for value in [json!(null), json!([]), json!({}), json!(true), json!(1e30), json!("tomorrow"), json!(-1)] {
                if name == "jti" && value == json!("tomorrow") {
                    continue;
                }
                let mut claims = claims();
                claims[name] = value.clone();
                assert!(tokens.verify(&signed(&header(&tokens), &claims, SECRET)).is_err(), "{name} {value}");
            }
            let mut claims = claims();
            claims.as_object_mut().unwrap().remove(name);
            assert!(tokens.verify(&signed(&header(&tokens), &claims, SECRET)).is_err(), "no {name}");
        }
        for (iat, exp) in [(0, 901), (-1000, -100), (60, 900), (0, 1_000_000)] {
            let mut claims = claims();
            claims["iat"] = json!(now() + iat);
            claims["exp"] = json!(now() + exp);
            assert!(tokens.verify(&signed(&header(&tokens), &claims, SECRET)).is_err(), "{iat} {exp}");
        }
    }

    #[test]
    fn other_headers_keys_and_algorithms_are_refused() {
        let tokens = Tokens::new(SECRET).unwrap();
        let good = header(&tokens);
        for header in [
            Header { typ: Some("JWT".to_owned()), ..good.clone() },
            Header { typ: None, ..good.clone() },
            Header { kid: None, ..good.clone() },
            Header { kid: Some("../../etc/passwd".to_owned()), ..good.clone() },
            Header { alg: Algorithm::HS512, ..good.clone() },
        ] {
            assert!(tokens.verify(&signed(&header, &claims(), SECRET)).is_err(), "{header:?}");
        }
        assert!(tokens.verify(&signed(&good, &claims(), b"another secret of thirty-two bytes")).is_err());
        let token = tokens.issue(bearer()).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        for alg in ["none", "None", "NONE", "RS256"] {
            let head = URL_SAFE_NO_PAD.encode(json!({ "typ": TYPE, "kid": tokens.kid, "alg": alg }).to_string());
            assert!(tokens.verify(&format!("{head}.{}.", parts[1])).is_err());
            assert!(tokens.verify(&format!("{head}.{}.{}", parts[1], parts[2])).is_err());
        }
        for bad in ["", ".", "..", "a.b.c", &token[1..], &token[..token.len() - 2]] {
            assert!(tokens.verify(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cursors_come_back_as_they_were() {
        let key = CursorKey::new(SECRET);
        let cursor = key.seal("board", "1500000 Ana");
        assert_eq!(key.open("board", &cursor).as_deref(), Some("1500000 Ana"));
        assert_eq!(key.open("games", &cursor), None);
        for i in 0..cursor.len() {
            let mut other = cursor.clone().into_bytes();
            other[i] = if other[i] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.open("board", std::str::from_utf8(&other).unwrap()), None);
        }
        assert_eq!(key.open("board", ""), None);
    }
}
