//! The documents by which others verify tokens themselves: OpenID Connect discovery, and the keys.
//!
//! Kubernetes concept:
//! [service account issuer discovery](https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#service-account-issuer-discovery).

use std::collections::BTreeSet;
use std::sync::OnceLock;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use responses::{Response, ResponseBody};
use serde_json::{Value, json};

use super::keys::VerifyingKey;

/// Path of the OpenID configuration.
pub(crate) const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
/// Path of the key set.
pub(crate) const KEYS_PATH: &str = "/openid/v1/jwks";

/// For how long clients may keep the documents of keys in files.
const MAX_AGE_SECONDS: u64 = 3600;

/// The documents of one server.
pub(super) struct Documents {
    configuration: Value,
    /// The configuration in its encoded form, set once the URL of the keys is known.
    published: OnceLock<Bytes>,
    keys: Bytes,
    /// The URL of the keys.
    jwks_uri: OnceLock<String>,
    /// For how long clients may keep the documents.
    max_age_seconds: u64,
    /// Whether the configuration is served: clients can only discover an issuer that is a URL.
    is_served: bool,
}

// === impl Documents ===

impl Documents {
    /// Returns the documents of the first of these issuers.
    pub(super) fn new(issuers: &[String], keys: &[VerifyingKey]) -> Self {
        let issuer = issuers.first().map(String::as_str).unwrap_or_default();
        let algorithms: BTreeSet<&str> = keys.iter().map(VerifyingKey::algorithm).collect();
        let configuration = json!({
            "issuer": issuer,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        });
        let keys: Vec<&Value> = keys.iter().map(VerifyingKey::jwk).collect();
        Self {
            configuration,
            published: OnceLock::new(),
            keys: json!({ "keys": keys }).to_string().into(),
            jwks_uri: OnceLock::new(),
            max_age_seconds: MAX_AGE_SECONDS,
            is_served: issuer.starts_with("https://"),
        }
    }

    /// Returns the documents with other keys, which may be kept for this time.
    pub(super) fn with_keys(&self, issuers: &[String], keys: &[VerifyingKey], max_age_seconds: u64) -> Self {
        let documents = Self { max_age_seconds, ..Self::new(issuers, keys) };
        if let Some(jwks_uri) = self.jwks_uri.get() {
            documents.publish_at(jwks_uri.clone());
        }
        documents
    }

    /// Sets the URL of the keys.
    pub(super) fn publish_at(&self, jwks_uri: String) {
        // Only the first one counts.
        let _ = self.jwks_uri.set(jwks_uri.clone());
        let mut configuration = self.configuration.clone();
        registry_core::json_fields::put(&mut configuration, "jwks_uri", jwks_uri);
        let _ = self.published.set(configuration.to_string().into());
    }

    /// Returns the document at this path.
    pub(super) fn get(&self, path: &str) -> Option<Response> {
        let (body, media_type) = match path {
            _ if !self.is_served => return None,
            CONFIGURATION_PATH => (self.published.get()?.clone(), "application/json"),
            KEYS_PATH => (self.keys.clone(), "application/jwk-set+json"),
            _ => return None,
        };
        let mut response = Response::new(ResponseBody::from(body));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let caching = format!("public, max-age={}", self.max_age_seconds);
        headers.insert(CACHE_CONTROL, HeaderValue::try_from(caching).ok()?);
        Some(response)
    }
}
