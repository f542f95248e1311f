//! JSON web tokens in their compact form: `header.claims.signature`, each in base64url.
//!
//! Specification: RFC 7515. Which key and algorithm are believed is decided by the keys, never by the token.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::json;

/// Longer tokens are nobody's.
const MAX_BYTES: usize = 16 * 1024;

/// A token that was read, and is not to be believed yet.
pub(super) struct Unverified<'t> {
    /// The algorithm it says it is signed by.
    pub(super) algorithm: String,
    /// The key it says it is signed with.
    pub(super) key_id: Option<String>,
    /// Its claims, as JSON.
    pub(super) claims: Vec<u8>,
    /// What is signed.
    pub(super) signed: &'t str,
    /// The signature.
    pub(super) signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
}

// === impl Unverified ===

impl<'t> Unverified<'t> {
    /// Reads a token; `None` when it is no such token.
    pub(super) fn parse(token: &'t str) -> Option<Self> {
        if token.len() > MAX_BYTES {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
        let header: Header = serde_json::from_slice(&decode(header)?).ok()?;
        let claims = decode(claims)?;
        let signature = decode(signature)?;
        Some(Self { algorithm: header.alg, key_id: header.kid, claims, signed, signature })
    }
}

/// What of a token is signed: its header and its claims.
pub(super) fn unsigned(algorithm: &str, key_id: &str, claims: &[u8]) -> String {
    let header = json!({ "alg": algorithm, "kid": key_id }).to_string();
    format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims))
}

/// The token, with its signature.
pub(super) fn signed(unsigned: &str, signature: &[u8]) -> String {
    format!("{unsigned}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}
