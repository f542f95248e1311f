//! The checks of extension servers: whether one can be reached, and serves its group version.
//!
//! The `Available` condition of its APIService is the result, which `AvailabilityWriter` writes.
//!
//! Services that fail are checked again after a quarter of a second, then less and less often; others every 30 seconds.
//!
//! Kubernetes concept: `AvailableConditionController` of `k8s.io/kube-aggregator`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use http::{Request, StatusCode};
use registry_core::api::selector::{LabelSelector, SelectorError};
use registry_core::api::{ListOptions, Object, StatusError};
use registry_core::backoff::Backoff;
use registry_core::registry::{InstalledApi, Store};
use registry_core::rest::Lister as _;
use registry_core::{RequestContext, Resource as _};
use resources::api::apiregistration::apiservices::available_condition::{
    Availability, AvailabilityWriter, is_available,
};
use resources::api::discovery::endpointslices::EndpointSlices;

use crate::metrics::AggregatorMetrics;

use super::RemoteApis;
use super::ask::get;
use super::endpoints::{has_endpoint, port_name};
use super::error::RemoteError;
use super::remote_service::{RemoteService, ServiceReference};
use super::rounds::{self, Work};

/// Time between two checks of a service that passes.
const PERIOD: Duration = Duration::from_secs(30);
/// The pauses before a service that fails is checked again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), PERIOD);
/// Number of attempts of a request, of which one must succeed.
const ATTEMPTS: usize = 5;
/// Maximum time of an attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of different failures of a service that are logged until it is available again.
const MAX_LOGGED: usize = 16;
/// Maximum size of the answer to an attempt.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Keeps the conditions up to date.
pub(crate) struct AvailabilityController {
    checker: Arc<Checker>,
    /// The services that failed, by their names.
    failing: HashMap<String, Failing>,
}

/// A service that failed.
struct Failing {
    /// The pauses before its next checks.
    backoff: Backoff,
    /// The failures that have been logged since it was available.
    logged: BTreeSet<String>,
}

/// The outcome of a check.
pub(crate) struct Checked {
    availability: Availability,
    is_written: bool,
}

/// Checks services.
struct Checker {
    remote: Arc<RemoteApis>,
    writer: AvailabilityWriter,
    slices: Option<Arc<Store>>,
    metrics: AggregatorMetrics,
}

/// Error of endpoint slices that cannot be listed. Retryable.
#[derive(Debug, thiserror::Error)]
enum SlicesError {
    #[error("endpoint slices are not served")]
    NotServed,
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error(transparent)]
    Unreadable(#[from] StatusError),
}

/// Error of an attempt to reach an extension server. Retryable.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error(transparent)]
    NotSent(#[from] RemoteError),
    #[error("failing or missing response from {url}: Get {url:?}: {source}")]
    NoResponse { url: String, source: RemoteError },
    #[error("failing or missing response from {url}: bad status from {url}: {}", .status.as_u16())]
    Status { url: String, status: StatusCode },
}

// === impl AvailabilityController ===

impl AvailabilityController {
    /// Creates the controller of an installed API; `None` if it has no APIServices.
    pub(crate) fn new(
        installed: &InstalledApi,
        remote: Arc<RemoteApis>,
        metrics: AggregatorMetrics,
    ) -> Option<Self> {
        let slices = installed.store(EndpointSlices::TYPE);
        let writer = AvailabilityWriter::new(installed)?;
        Some(Self { checker: Arc::new(Checker { remote, writer, slices, metrics }), failing: HashMap::new() })
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(self) {
        let services = self.checker.remote.services.clone();
        rounds::repeat(services, self).await;
    }
}

impl Work for AvailabilityController {
    type Outcome = Checked;

    const MAX_RUNNING: usize = 64;

    fn is_concerned(before: &RemoteService, now: &RemoteService) -> bool {
        before.uid != now.uid || before.at != now.at || before.trust != now.trust
    }

    fn start(&self, service: Arc<RemoteService>) -> BoxFuture<'static, Checked> {
        let checker = self.checker.clone();
        Box::pin(async move { checker.check(&service).await })
    }

    fn finish(&mut self, service: &RemoteService, checked: Checked) -> Duration {
        let Checked { availability, is_written } = checked;
        if availability.is_available() && is_written {
            if self.failing.remove(&service.name).is_some_and(|failing| !failing.logged.is_empty()) {
                tracing::info!(api_service = service.name, "an extension server is available again");
            }
            return PERIOD;
        }
        let failing = self.failing.entry(service.name.clone()).or_insert_with(Failing::new);
        if !availability.is_available() {
            failing.log(&service.name, &availability);
        }
        failing.backoff.next_pause()
    }

    fn forget(&mut self, name: &str) {
        self.failing.remove(name);
    }
}

// === impl Failing ===

impl Failing {
    fn new() -> Self {
        Self { backoff: BACKOFF, logged: BTreeSet::new() }
    }

    /// Logs each failure once: checks are repeated, and endpoints may fail in different ways.
    fn log(&mut self, name: &str, availability: &Availability) {
        let Availability { reason, message, .. } = availability;
        if self.logged.len() < MAX_LOGGED && self.logged.insert(message.clone()) {
            tracing::warn!(api_service = name, reason, "an extension server is not available: {message}");
        }
    }
}

// === impl Checker ===

impl Checker {
    /// Checks a service, and writes its condition.
    async fn check(&self, service: &RemoteService) -> Checked {
        let availability = self.availability(service).await;
        if service.is_available && !availability.is_available() {
            self.metrics.became_unavailable(&service.name, availability.reason);
        }
        let written = self.writer.write(&service.name, &service.uid, &availability).await;
        if let Err(failure) = &written {
            tracing::warn!(
                api_service = service.name,
                "cannot write whether a service is available: {failure}"
            );
        }
        Checked { availability, is_written: written.is_ok() }
    }

    async fn availability(&self, service: &RemoteService) -> Availability {
        let ServiceReference { namespace, name, port } = &service.at;
        let resolver = self.remote.forwarder.transports().resolver();
        let object = match resolver.find(namespace, name).await {
            Ok(Some(object)) => object,
            Ok(None) => {
                let text = format!("service/{name} in {namespace:?} is not present");
                return Availability::failed("ServiceNotFound", text);
            }
            Err(reason) => {
                let text = format!("service/{name} in {namespace:?} cannot be checked due to: {reason}");
                return Availability::unknown("ServiceAccessError", text);
            }
        };
        if object.get_str(&["spec", "type"]) == Some("ClusterIP") {
            let Some(port_name) = port_name(&object, *port) else {
                let text = format!("service/{name} in {namespace:?} is not listening on port {port}");
                return Availability::failed("ServicePortError", text);
            };
            if let Some(lacking) = self.endpoints(&service.at, &port_name).await {
                return lacking;
            }
        }
        match self.responds(service).await {
            Ok(()) => Availability::passed(),
            Err(error) => Availability::failed("FailedDiscoveryCheck", error.to_string()),
        }
    }

    /// Returns what a service lacks to have an endpoint; `None` if it has one.
    async fn endpoints(&self, at: &ServiceReference, port_name: &str) -> Option<Availability> {
        let ServiceReference { namespace, name, .. } = at;
        let slices = match self.slices_of(namespace, name).await {
            Ok(slices) => slices,
            Err(reason) => {
                let text = format!("service/{name} in {namespace:?} cannot be checked due to: {reason}");
                return Some(Availability::unknown("EndpointsAccessError", text));
            }
        };
        if slices.is_empty() {
            let text = format!("cannot find endpointslices for service/{name} in {namespace:?}");
            return Some(Availability::failed("EndpointsNotFound", text));
        }
        if !slices.iter().any(|slice| has_endpoint(slice, port_name)) {
            let text = format!(
                "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
            );
            return Some(Availability::failed("MissingEndpoints", text));
        }
        None
    }

    async fn slices_of(&self, namespace: &str, name: &str) -> Result<Vec<Object>, SlicesError> {
        let store = self.slices.as_ref().ok_or(SlicesError::NotServed)?;
        let options = ListOptions {
            label_selector: LabelSelector::parse(&format!("kubernetes.io/service-name={name}"))?,
            resource_version: Some(0),
            ..ListOptions::default()
        };
        let context = RequestContext::system(namespace);
        let listed = store.list(&context, &options).await?;
        listed.items.iter().map(|entry| Ok(store.read(entry)?)).collect()
    }

    /// Requests the group version. One of several attempts must succeed: they may reach different endpoints.
    ///
    /// # Errors
    /// Fails with the reason of the last attempt.
    async fn responds(&self, service: &RemoteService) -> Result<(), AttemptError> {
        let Err(mut error) = self.attempt(service).await else { return Ok(()) };
        let mut others: FuturesUnordered<_> = (1..ATTEMPTS).map(|_| self.attempt(service)).collect();
        while let Some(outcome) = others.next().await {
            match outcome {
                Ok(()) => return Ok(()),
                Err(other) => error = other,
            }
        }
        Err(error)
    }

    async fn attempt(&self, service: &RemoteService) -> Result<(), AttemptError> {
        let transports = self.remote.forwarder.transports();
        let url = format!("https://{}{}", transports.authority(service).await?, service.root());
        let request = Request::get(service.root()).body(Body::empty()).map_err(RemoteError::from)?;
        match get(transports, service, request, ATTEMPT_TIMEOUT, MAX_ANSWER_BYTES).await {
            Ok((head, _)) if head.status.is_success() => Ok(()),
            Ok((head, _)) => Err(AttemptError::Status { url, status: head.status }),
            Err(source) => Err(AttemptError::NoResponse { url, source }),
        }
    }
}

/// Reads which APIServices are available, those of this server's own group versions included. A failure is logged; none are
/// returned then.
pub(super) async fn all(store: Arc<Store>) -> Vec<(String, bool)> {
    let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
    let listed = match store.list(&RequestContext::system(""), &options).await {
        Ok(listed) => listed,
        Err(failure) => {
            tracing::warn!("the metric of unavailable APIServices cannot be read: {failure}");
            return Vec::new();
        }
    };
    let read = |entry| store.read(entry).ok().map(|object| (object.name().to_owned(), is_available(&object)));
    listed.items.iter().filter_map(read).collect()
}
