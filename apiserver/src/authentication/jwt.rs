//! JSON web tokens in their compact form: `header.claims.signature`, each in base64url.
//!
//! Specification: RFC 7515. The accepted keys and algorithms are determined by the keys, never by the token.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Number, json};

/// Maximum size of a token; longer ones are rejected.
const MAX_BYTES: usize = 16 * 1024;

/// Bound of times in seconds since 1970: 2^62.
const MAX_SECONDS: f64 = 4_611_686_018_427_387_904.0;

/// A parsed token whose signature has not been verified.
pub(in crate::authentication) struct Unverified<'t> {
    /// The algorithm in the header.
    pub(in crate::authentication) algorithm: String,
    /// The key id in the header.
    pub(in crate::authentication) key_id: Option<String>,
    /// The claims, as JSON.
    pub(in crate::authentication) claims: Vec<u8>,
    /// The signed part.
    pub(in crate::authentication) signed: &'t str,
    /// The signature.
    pub(in crate::authentication) signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood; none is.
    crit: Option<serde::de::IgnoredAny>,
}

/// Returns whether a moment is later than this claim, in seconds since 1970. A token ends at the beginning of the second that
/// its claim names, not at its end.
pub(in crate::authentication) fn is_after(now: Timestamp, claim_seconds: i64) -> bool {
    (now.as_second(), now.subsec_nanosecond()) > (claim_seconds, 0)
}

/// Returns a claim in whole seconds since 1970; `None` if it is out of range.
#[expect(clippy::cast_possible_truncation, reason = "the range has been checked")]
pub(in crate::authentication) fn whole_seconds(number: &Number) -> Option<i64> {
    // A time beyond the range would otherwise become its end, which never comes.
    let fraction = number.as_f64().filter(|seconds| seconds.abs() < MAX_SECONDS);
    number.as_i64().or_else(|| fraction.map(|seconds| seconds as i64))
}

// === impl Unverified ===

impl<'t> Unverified<'t> {
    /// Parses a token. Returns `None` when it is malformed.
    pub(in crate::authentication) fn parse(token: &'t str) -> Option<Self> {
        if token.len() > MAX_BYTES {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
        let header: Header = serde_json::from_slice(&decode(header)?).ok()?;
        if header.crit.is_some() {
            return None;
        }
        let claims = decode(claims)?;
        let signature = decode(signature)?;
        Some(Self { algorithm: header.alg, key_id: header.kid, claims, signed, signature })
    }
}

/// Returns the part of a token that is signed: its header and claims.
pub(in crate::authentication) fn unsigned(algorithm: &str, key_id: &str, claims: &[u8]) -> String {
    let header = json!({ "alg": algorithm, "kid": key_id }).to_string();
    format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims))
}

/// Returns the token with its signature.
pub(in crate::authentication) fn signed(unsigned: &str, signature: &[u8]) -> String {
    format!("{unsigned}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}
