//! Headers for browsers: which pages of other origins may call the server, and that it is always called over TLS.
//!
//! Kubernetes concept: `WithCORS` and `WithHSTS` in `k8s.io/apiserver/pkg/server/filters`.

use axum::body::Body;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ORIGIN, STRICT_TRANSPORT_SECURITY,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use responses::{Response, ResponseBody};

use crate::options::{HttpOptions, OriginPattern};

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, OPTIONS, PUT, DELETE, PATCH");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
);

/// The headers for browsers of a server.
#[derive(Default)]
pub(super) struct Browser {
    origins: Vec<OriginPattern>,
    transport_security: Option<HeaderValue>,
}

// === impl Browser ===

impl Browser {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let directives: Vec<&str> = options
            .strict_transport_security_directives
            .iter()
            .map(|directive| directive.0.as_str())
            .collect();
        let transport_security = (!directives.is_empty()).then(|| directives.join("; "));
        Self {
            origins: options.cors_allowed_origins.clone(),
            transport_security: transport_security.and_then(|text| HeaderValue::from_str(&text).ok()),
        }
    }

    /// Returns the origin of a request, if it is allowed.
    pub(super) fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok()?;
        self.origins.iter().any(|pattern| pattern.0.is_match(text)).then(|| origin.clone())
    }

    /// Returns the answer to a browser that asks whether an allowed origin may send a request.
    pub(super) fn preflight(origin: Option<&HeaderValue>, request: &Request<Body>) -> Option<Response> {
        (origin.is_some() && request.method() == Method::OPTIONS).then(|| {
            let mut response = Response::new(ResponseBody::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        })
    }

    /// Adds the headers of a response to a request of this allowed origin.
    pub(super) fn add_to(&self, headers: &mut HeaderMap, origin: Option<HeaderValue>) {
        if let Some(value) = &self.transport_security {
            headers.entry(STRICT_TRANSPORT_SECURITY).or_insert_with(|| value.clone());
        }
        let Some(origin) = origin else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, const { HeaderValue::from_static("Date") });
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, const { HeaderValue::from_static("true") });
    }
}
