//! The span of a request.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::body::Body;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Request, Version};
use registry_core::context::UserInfo;
use registry_core::spans::TARGET;
use request_info::RequestInfo;
use tracing::{Span, field, info_span};
use uuid::Uuid;

use super::context::TraceContext;
use crate::options::TracingConfiguration;

/// The group of those who monitor the cluster.
const MONITORING: &str = "system:monitoring";

/// Decides which requests are traced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    /// A trace is sampled if the upper half of its id, without the lowest bit, is less.
    threshold: u64,
}

/// The properties of a request that its span shows.
pub(crate) struct Traced<'a> {
    pub(crate) request: &'a Request<Body>,
    pub(crate) info: &'a RequestInfo,
    /// The path and the query, without credentials.
    pub(crate) target: String,
    pub(crate) audit_id: &'a HeaderValue,
    pub(crate) client: Option<IpAddr>,
    pub(crate) received: Instant,
    /// Time that authentication has taken.
    pub(crate) authentication: Duration,
}

// === impl Sampler ===

impl Sampler {
    /// Returns the sampler of a configuration.
    pub(crate) fn new(configuration: &TracingConfiguration) -> Self {
        const MILLION: u64 = 1_000_000;
        let rate = u64::from(configuration.sampled_per_million);
        Self { threshold: (1 << 63) / MILLION * rate + (1 << 63) % MILLION * rate / MILLION }
    }

    /// Returns the span of a request of this user, or none if the request is not sampled. Administrators and those who
    /// monitor the cluster decide it themselves, by the trace that their request belongs to. The requests of all others
    /// begin a trace, which only refers to theirs: they cannot make the server trace.
    pub(crate) fn root<'a>(
        self,
        user: &UserInfo,
        headers: &HeaderMap,
        traced: impl FnOnce() -> Traced<'a>,
    ) -> Span {
        let parent = TraceContext::from_headers(headers);
        let is_trusted = || user.may_do_everything() || user.groups.iter().any(|group| group == MONITORING);
        match parent {
            Some(parent) if is_trusted() => {
                if !parent.is_sampled {
                    return Span::none();
                }
                span(&traced(), parent.trace_id, Some(parent), None)
            }
            link => {
                let trace_id = Uuid::new_v4().as_u128();
                if !self.samples(trace_id) {
                    return Span::none();
                }
                span(&traced(), trace_id, None, link)
            }
        }
    }

    fn samples(self, trace_id: u128) -> bool {
        // Its highest bits are random. Those of the lower half are the variant of the uuid.
        let (high, _) = Uuid::from_u128(trace_id).as_u64_pair();
        high >> 1 < self.threshold
    }
}

/// Creates the span of a request. Its attributes have the names of OpenTelemetry's conventions for HTTP servers, and
/// `http.target` of older ones, as those of kube-apiserver.
fn span(
    traced: &Traced<'_>,
    trace_id: u128,
    parent: Option<TraceContext>,
    link: Option<TraceContext>,
) -> Span {
    let user_agent = traced.request.headers().get(USER_AGENT);
    let span = info_span!(
        target: TARGET,
        parent: None,
        "KubernetesAPI",
        trace.id = trace_id,
        trace.parent = parent.map(|parent| parent.span_id),
        trace.link.id = link.map(|link| link.trace_id),
        trace.link.span = link.map(|link| link.span_id),
        trace.elapsed = nanoseconds(traced.received.elapsed()),
        trace.name = name(traced),
        http.request.method = traced.request.method().as_str(),
        http.response.status_code = field::Empty,
        client.address = traced.client.map(|address| address.to_string()),
        user_agent.original = user_agent.and_then(|value| value.to_str().ok()),
        http.target = traced.target,
        url.scheme = "https",
        url.path = traced.request.uri().path(),
        network.protocol.version = protocol_version(traced.request.version()),
        "audit-id" = traced.audit_id.to_str().unwrap_or_default(),
    );
    // It has ended before the trace of the request was known.
    drop(info_span!(
        target: TARGET,
        parent: &span,
        "authentication",
        trace.elapsed = nanoseconds(traced.authentication),
    ));
    span
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the version of HTTP as OpenTelemetry names it.
fn protocol_version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        _ => None,
    }
}

/// Returns the name of a request's span: its method and the form of its path.
fn name(traced: &Traced<'_>) -> String {
    let method = traced.request.method().as_str();
    let Some(resource) = &traced.info.resource else { return method.to_owned() };
    let mut name = if resource.group.is_empty() {
        format!("{method} /api/{}", resource.version)
    } else {
        format!("{method} /apis/{}/{}", resource.group, resource.version)
    };
    if !resource.namespace.is_empty() {
        name.push_str("/namespaces/{:namespace}");
    }
    // Writing to a string cannot fail.
    let _ = write!(name, "/{}", resource.resource);
    if !resource.name.is_empty() {
        name.push_str("/{:name}");
    }
    if !resource.subresource.is_empty() {
        let _ = write!(name, "/{}", resource.subresource);
    }
    name
}

#[cfg(test)]
mod tests {
    use tracing::Level;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::access::MASTERS;
    use crate::telemetry::TRACEPARENT;

    fn sampler(sampled_per_million: u32) -> Sampler {
        Sampler::new(&TracingConfiguration { uri: String::new(), sampled_per_million })
    }

    /// Whether the request of a member of this group is traced.
    fn is_traced(rate: u32, group: &str, traceparent: &str) -> bool {
        let user = UserInfo { groups: vec![group.to_owned()], ..UserInfo::default() };
        let request = Request::get("/api").header(TRACEPARENT, traceparent).body(Body::empty()).unwrap();
        let info = RequestInfo::parse(request.method(), request.uri());
        let audit_id = HeaderValue::from_static("id");
        let subscriber = tracing_subscriber::registry().with(Targets::new().with_target(TARGET, Level::INFO));
        tracing::subscriber::with_default(subscriber, || {
            let traced = || Traced {
                request: &request,
                info: &info,
                target: String::new(),
                audit_id: &audit_id,
                client: None,
                received: Instant::now(),
                authentication: Duration::ZERO,
            };
            !sampler(rate).root(&user, request.headers(), traced).is_none()
        })
    }

    #[test]
    fn only_administrators_and_monitors_decide_sampling() {
        let sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        for (group, decides) in
            [(MASTERS, true), (MONITORING, true), ("devs", false), ("system:authenticated", false)]
        {
            assert_eq!(is_traced(0, group, sampled), decides, "{group}");
            assert_eq!(is_traced(1_000_000, group, unsampled), !decides, "{group}");
            assert!(!is_traced(0, group, "none"), "{group}");
            assert!(is_traced(1_000_000, group, "none"), "{group}");
        }
    }

    #[test]
    fn the_rate_is_of_a_million() {
        let sampled = |rate| {
            let sampler = sampler(rate);
            (0..20_000).filter(|_| sampler.samples(Uuid::new_v4().as_u128())).count()
        };
        assert_eq!(sampled(0), 0);
        assert_eq!(sampled(1_000_000), 20_000);
        // Ten times the standard deviation around the half.
        assert!((9_300..10_700).contains(&sampled(500_000)));
    }
}
