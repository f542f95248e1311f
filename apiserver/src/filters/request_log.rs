//! One log line for each request, at `-v 3` and above.
//!
//! The line is written when the response has been sent or dropped; for watches and streams that is their end.
//! Their start is logged at `-v 4`. The fields are those of kube-apiserver's request log, and the user. They
//! are documented in `docs/reference/request-log.md`.
//!
//! Bodies and headers are never logged, apart from the user agent; neither are values of query parameters
//! that are credentials, or that belong to a proxied request.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/httplog`.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Instant;

use axum::body::Body;
use flowcontrol::Flow;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Uri};
use http_body::Body as _;
use request_info::{RequestInfo, decode_component};
use responses::Response;
use tracing::Level;

use crate::metrics::verb_label;

/// The target of the log's events, by which filters select them.
pub(crate) const TARGET: &str = "http";

/// Maximum length of the names of priority levels and flow schemas.
const MAX_NAME_CHARS: usize = 64;
/// Replaces a value that may be a secret.
const REDACTED: &str = "***";
/// Query parameters whose name contains one of these hold a credential.
const SECRET_NAMES: [&str; 8] =
    ["token", "secret", "password", "passwd", "credential", "authorization", "signature", "key"];
/// Parameters of the API whose names match, but whose values are not secret.
const PUBLIC_NAMES: [&str; 1] = ["continue"];

/// The log entry of a request, which is logged when it is dropped.
pub(super) struct Entry {
    verb: &'static str,
    uri: String,
    user_agent: String,
    audit_id: HeaderValue,
    source: Option<SocketAddr>,
    user: String,
    impersonated_by: String,
    priority_level: String,
    flow_schema: String,
    received: Instant,
    code: u16,
}

/// Begins the entry of a request, if requests are logged.
pub(super) fn begin(
    request: &Request<Body>,
    audit_id: &HeaderValue,
    source: Option<SocketAddr>,
) -> Option<Box<Entry>> {
    // One load of an atomic while requests are not logged.
    if !tracing::enabled!(target: TARGET, Level::INFO) {
        return None;
    }
    let info = RequestInfo::parse(request.method(), request.uri());
    let agent = request.headers().get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    Some(Box::new(Entry {
        verb: verb_label(info.verb, false),
        uri: loggable(&info, request.uri()),
        user_agent: String::from_utf8_lossy(agent).into_owned(),
        audit_id: audit_id.clone(),
        source,
        user: String::new(),
        impersonated_by: String::new(),
        priority_level: String::new(),
        flow_schema: String::new(),
        received: Instant::now(),
        code: 0,
    }))
}

/// Returns the URI without credentials.
pub(super) fn loggable(info: &RequestInfo, uri: &Uri) -> String {
    let path = uri.path();
    let Some(query) = uri.query() else { return path.to_owned() };
    let is_passed_on = info.resource.as_ref().is_some_and(|resource| resource.subresource == "proxy");
    let mut logged = format!("{path}?");
    for (number, pair) in query.split('&').enumerate() {
        if number > 0 {
            logged.push('&');
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        logged.push_str(name);
        if value.is_empty() {
            continue;
        }
        logged.push('=');
        logged.push_str(if is_passed_on || is_secret(name) { REDACTED } else { value });
    }
    logged
}

fn is_secret(name: &str) -> bool {
    let name: Cow<'_, str> = decode_component(name);
    let name = name.to_ascii_lowercase();
    !PUBLIC_NAMES.contains(&name.as_str()) && SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

// === impl Entry ===

impl Entry {
    /// Sets the user that the request is made as.
    pub(super) fn set_user(&mut self, user: &str) {
        user.clone_into(&mut self.user);
    }

    /// Sets the user that is impersonated.
    pub(super) fn set_impersonated(&mut self, other: &str) {
        self.impersonated_by = std::mem::replace(&mut self.user, other.to_owned());
    }

    /// Sets the flow of the request.
    pub(super) fn set_flow(&mut self, flow: &Flow) {
        let shortened = |name: &str| name.chars().take(MAX_NAME_CHARS).collect();
        let (schema, level) = flow.names();
        self.priority_level = shortened(level);
        self.flow_schema = shortened(schema);
    }

    /// Logs the request now, or when its response has been sent.
    pub(super) fn finish(mut self: Box<Self>, mut response: Response) -> Response {
        self.code = response.status().as_u16();
        if response.body().is_small() {
            return response;
        }
        if response.body().size_hint().exact().is_none() {
            self.log_begin();
        }
        response.body_mut().keep(self);
        response
    }

    /// Logs the start of a response of unknown length.
    fn log_begin(&self) {
        tracing::debug!(
            target: TARGET,
            verb = self.verb,
            URI = self.uri.as_str(),
            "audit-ID" = self.audit_id(),
            srcIP = self.source(),
            user = self.user.as_str(),
            resp = self.code,
            "HTTP begin"
        );
    }

    fn audit_id(&self) -> &str {
        self.audit_id.to_str().unwrap_or_default()
    }

    fn source(&self) -> String {
        self.source.map(|source| source.to_string()).unwrap_or_default()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let latency = self.received.elapsed();
        // A client that disconnected before the response gets no code.
        tracing::info!(
            target: TARGET,
            verb = self.verb,
            URI = self.uri.as_str(),
            latency = format!("{:.6}ms", latency.as_secs_f64() * 1000.0),
            userAgent = self.user_agent.as_str(),
            "audit-ID" = self.audit_id(),
            srcIP = self.source(),
            user = self.user.as_str(),
            impersonatedBy = self.impersonated_by.as_str(),
            apf_pl = self.priority_level.as_str(),
            apf_fs = self.flow_schema.as_str(),
            resp = self.code,
            "HTTP"
        );
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn credentials_in_queries_are_not_logged() {
        for (uri, logged) in [
            ("/api/v1/pods?limit=5&continue=abc", "/api/v1/pods?limit=5&continue=abc"),
            ("/api/v1/pods?labelSelector=app%3Dweb&watch=1", "/api/v1/pods?labelSelector=app%3Dweb&watch=1"),
            ("/api?access_token=s3cret&x=1", "/api?access_token=***&x=1"),
            ("/api?Access%54oken=s3cret", "/api?Access%54oken=***"),
            ("/api?password=a&api_key=b", "/api?password=***&api_key=***"),
            (
                "/api/v1/namespaces/n/services/web/proxy/login?user=me&otp=123",
                "/api/v1/namespaces/n/services/web/proxy/login?user=***&otp=***",
            ),
            ("https://user:pass@localhost/api?a", "/api?a"),
        ] {
            let uri: Uri = uri.parse().unwrap();
            assert_eq!(loggable(&RequestInfo::parse(&Method::GET, &uri), &uri), logged);
        }
    }
}
