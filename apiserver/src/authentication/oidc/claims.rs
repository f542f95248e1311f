//! The checks of every token: its issuer, its audience, and its time.

use jiff::Timestamp;
use registry_core::codec::{Limits, json};
use registry_core::schema::FieldIssue;
use serde_json::{Map, Value};

use crate::authentication::jwt;

use super::error::ClaimError;

/// Tolerated difference of clocks for the beginning of a token's validity, in seconds.
const LEEWAY_SECONDS: i64 = 60;
/// Maximum depth of claims.
const MAX_DEPTH: usize = 32;
/// The name that an old issuer has in its tokens, and its URL.
const OLD_ISSUER: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

/// Claims, not verified.
pub(super) struct DecodedClaims {
    pub(super) claims: Map<String, Value>,
    /// A claim that is given twice: two readers could read two different values.
    pub(super) duplicate: Option<FieldIssue>,
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
pub(super) fn check(
    claims: &Map<String, Value>,
    wanted: &[String],
    now: Timestamp,
) -> Result<(), ClaimError> {
    let own = audiences(claims)?;
    if !own.iter().any(|audience| wanted.iter().any(|wanted| wanted == audience)) {
        let own = own.into_iter().map(str::to_owned).collect();
        return Err(ClaimError::Audience { own, wanted: wanted.to_vec() });
    }
    let end = seconds(claims, "exp")?.ok_or(ClaimError::NoExpiry)?;
    if jwt::is_after(now, end) {
        return Err(ClaimError::Expired(end));
    }
    let begin = seconds(claims, "nbf")?.unwrap_or(i64::MIN);
    if now.as_second().saturating_add(LEEWAY_SECONDS) < begin {
        return Err(ClaimError::NotYetValid { now, begin });
    }
    Ok(())
}

/// Returns the audiences of a token: one, or a list.
fn audiences(claims: &Map<String, Value>) -> Result<Vec<&str>, ClaimError> {
    match claims.get("aud") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(audience)) => Ok(vec![audience]),
        Some(Value::Array(all)) => {
            all.iter().map(|audience| audience.as_str().ok_or(ClaimError::AudienceType)).collect()
        }
        Some(_) => Err(ClaimError::AudienceType),
    }
}

/// Returns a time in seconds since 1970.
fn seconds(claims: &Map<String, Value>, name: &'static str) -> Result<Option<i64>, ClaimError> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => jwt::whole_seconds(number).map(Some).ok_or(ClaimError::TimeType(name)),
        Some(_) => Err(ClaimError::TimeType(name)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_beyond_the_range_are_refused() {
        let read = |time: Value| {
            let claims = Map::from_iter([("exp".to_owned(), time)]);
            seconds(&claims, "exp")
        };
        assert_eq!(read(json!(1_700_000_000)), Ok(Some(1_700_000_000)));
        assert_eq!(read(json!(1.5)), Ok(Some(1)));
        for endless in [json!(1e300), json!(9_223_372_036_854_775_808_u64), json!(-1e300)] {
            assert!(read(endless.clone()).is_err(), "{endless}");
        }
    }
}
