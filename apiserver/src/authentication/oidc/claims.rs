//! What is checked of every token: its issuer, its audience, and its time.

use jiff::Timestamp;
use registry_core::codec::{Limits, json};
use serde_json::{Map, Value};

use crate::authentication::jwt;

/// Tolerated difference of clocks for the beginning of a token's validity, in seconds.
const LEEWAY_SECONDS: i64 = 60;
/// Maximum depth of claims.
const MAX_DEPTH: usize = 32;
/// The name that an old issuer has in its tokens, and its URL.
const OLD_ISSUER: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

/// Claims, not verified.
pub(super) struct DecodedClaims {
    pub(super) claims: Map<String, Value>,
    /// The complaint about a claim that is given twice: two readers could read two different values.
    pub(super) duplicate: Option<String>,
}

/// Decodes claims; `None` if they are not an object.
pub(super) fn decode(bytes: &[u8]) -> Option<DecodedClaims> {
    let limits = Limits { depth: MAX_DEPTH, ..Limits::default() };
    let decoded = json::decode(bytes, &limits).ok()?;
    let Value::Object(claims) = decoded.value else { return None };
    Some(DecodedClaims { claims, duplicate: decoded.duplicates.into_iter().next() })
}

/// Returns the issuer that the claims name.
pub(super) fn issuer(claims: &Map<String, Value>) -> Option<&str> {
    let name = claims.get("iss")?.as_str()?;
    Some(if name == OLD_ISSUER.0 { OLD_ISSUER.1 } else { name })
}

/// Checks the audience and the time.
///
/// # Errors
/// Returns the reason why the token is not valid.
pub(super) fn check(claims: &Map<String, Value>, wanted: &[String], now: Timestamp) -> Result<(), String> {
    let own = audiences(claims)?;
    if !own.iter().any(|one| wanted.iter().any(|wanted| wanted == one)) {
        return Err(format!("oidc: expected audience in {wanted:?} got {own:?}"));
    }
    let end = seconds(claims, "exp")?.ok_or("oidc: token has no expiry")?;
    if jwt::is_after(now, end) {
        return Err(format!("oidc: token is expired (Token Expiry: {end})"));
    }
    let begin = seconds(claims, "nbf")?.unwrap_or(i64::MIN);
    if now.as_second().saturating_add(LEEWAY_SECONDS) < begin {
        return Err(format!("oidc: current time {now} before the nbf (not before) time: {begin}"));
    }
    Ok(())
}

/// Returns the audiences of a token: one, or a list.
fn audiences(claims: &Map<String, Value>) -> Result<Vec<&str>, String> {
    let unreadable =
        || "oidc: failed to unmarshal claims: aud is neither a string nor a list of strings".to_owned();
    match claims.get("aud") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one]),
        Some(Value::Array(all)) => all.iter().map(|one| one.as_str().ok_or_else(unreadable)).collect(),
        Some(_) => Err(unreadable()),
    }
}

/// Returns a time in seconds since 1970.
fn seconds(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>, String> {
    let unreadable = || format!("oidc: failed to unmarshal claims: {name} is no time");
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            #[allow(clippy::cast_possible_truncation, reason = "a conversion of a float saturates")]
            let whole = number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64));
            whole.map(Some).ok_or_else(unreadable)
        }
        Some(_) => Err(unreadable()),
    }
}
