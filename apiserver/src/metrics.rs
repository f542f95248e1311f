//! `/metrics`: the server's metrics, in Prometheus' text format.
//!
//! Names, labels and buckets are Kubernetes'; metrics specific to this server begin with `orlop_`. The whole
//! list is in `docs/reference/metrics.md`. Handles are bound to their labels once (a route's when it is first
//! used), so that counting a request needs no hashing and no lock.
//!
//! | part | contents |
//! |---|---|
//! | `names` | the definitions of all of them; those of storage are in [`registry_core::metrics`], those of rules in [`resources::metrics`], those of priority levels in [`flowcontrol::FlowControlMetrics`] |
//! | `requests` | requests by route, verb and code; watch events |
//! | `access` | authentication and authorization |
//! | `authorization` | authorizers and their webhooks |
//! | `jwt` | the issuers of JWTs |
//! | `admission`, `policies`, `manifests` | admission webhooks, admission policies, and files with either |
//! | `aggregator` | APIServices |
//! | `peers` | requests that other servers of the cluster serve |
//! | `audit` | audit events |
//! | `exposition` | the metrics that are shown, and the values of their labels |
//! | `external_signer` | the program that signs tokens of service accounts |
//! | `health` | `/metrics/slis`: the health checks as metrics |
//! | `process` | processor time, memory and file descriptors of the process |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/metrics`, `k8s.io/component-base/metrics`.

use async_trait::async_trait;
use responses::{Response, ResponseBody};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use flowcontrol::FlowControlMetrics;
use futures::future::BoxFuture;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use prometheus::proto::MetricFamily;
use prometheus::{Histogram, IntCounter, IntGauge, IntGaugeVec};
use registry_core::api::StatusError;
use registry_core::metrics::{Described, Families, MetricsError, StorageMetrics, content_hash};
use resources::metrics::ResourceMetrics;

use crate::options::{FeatureGates, ManifestError, MetricsOptions};
use crate::version::{self, EffectiveReleases};

mod access;
mod admission;
mod aggregator;
mod audit;
mod authorization;
mod exposition;
mod external_signer;
mod health;
mod jwt;
mod manifests;
mod names;
mod peers;
mod policies;
#[cfg(target_os = "linux")]
mod process;
mod requests;

use exposition::{Exposition, ExpositionMetrics};

pub use access::AccessMetrics;
pub use admission::{AdmissionMetrics, WebhookKind, WebhookLabels, WebhookOutcome};
pub use aggregator::AggregatorMetrics;
pub use audit::AuditMetrics;
pub use authorization::AuthorizationMetrics;
pub(crate) use authorization::{AuthorizationWebhookMetrics, CallResult, DecisionMetrics};
pub use external_signer::ExternalSignerMetrics;
pub use health::HealthMetrics;
pub(crate) use jwt::IssuerMetrics;
pub use jwt::JwtMetrics;
pub use manifests::ManifestMetrics;
pub(crate) use manifests::PluginManifestMetrics;
pub use peers::PeerMetrics;
pub use policies::{Enforcement, PolicyMetrics};
pub use requests::RequestMetrics;
pub(crate) use requests::{Measure, RouteMetrics, WatchMetrics, verb_label};

/// Prometheus' text format, as scrapers request it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Maximum time for the store to report its size.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(2);

/// All metrics of one server.
pub struct ServerMetrics {
    families: Families,
    storage: StorageMetrics,
    requests: RequestMetrics,
    access: AccessMetrics,
    jwt: JwtMetrics,
    authorization: AuthorizationMetrics,
    admission: AdmissionMetrics,
    aggregator: AggregatorMetrics,
    peers: PeerMetrics,
    audit: AuditMetrics,
    flow_control: FlowControlMetrics,
    resources: ResourceMetrics,
    external_signer: ExternalSignerMetrics,
    in_flight: IntGaugeVec,
    in_queue: IntGaugeVec,
    tls_handshake_errors: IntCounter,
    connections: IntGauge,
    refused_connections: IntCounter,
    certificate_expiry: IntGaugeVec,
    version: IntGaugeVec,
    features: IntGaugeVec,
    scheduling_delays: Histogram,
    health: HealthMetrics,
    exposition_metrics: ExpositionMetrics,
    exposition: OnceLock<Exposition>,
    reader: OnceLock<Box<dyn ReadStorageMetrics>>,
    api_services: OnceLock<ApiServiceReader>,
}

/// Reads which APIServices are available.
pub type ApiServiceReader = Box<dyn Fn() -> BoxFuture<'static, Vec<(String, bool)>> + Send + Sync>;

/// Reads the metrics of storage that have to be read at a scrape: all others are counted as they happen, or read from the
/// caches.
#[async_trait]
pub trait ReadStorageMetrics: Send + Sync + 'static {
    /// Reads the values, and sets the metrics.
    async fn refresh(&self, metrics: &StorageMetrics);
}

/// Numbers of requests in flight and waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlightNumbers {
    /// Requests in flight.
    pub working: usize,
    /// Waiting requests.
    pub waiting: usize,
}

// === impl ServerMetrics ===

impl ServerMetrics {
    /// Returns the metrics of a server without an identity, all at zero.
    ///
    /// # Errors
    /// Fails if two metrics have the same name.
    pub fn new() -> Result<Arc<Self>, MetricsError> {
        Self::with_families(Families::default())
    }

    /// Returns the metrics of a server with this identity.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_server(identity: &str) -> Result<Arc<Self>, MetricsError> {
        Self::with_families(Families::for_server(&content_hash(identity.as_bytes())))
    }

    fn with_families(mut families: Families) -> Result<Arc<Self>, MetricsError> {
        let build_info = families.gauge(&names::BUILD_INFO)?;
        build_info.with_label_values(&version::build_info()).set(1);
        #[cfg(target_os = "linux")]
        process::register(&mut families)?;
        Ok(Arc::new(Self {
            storage: StorageMetrics::new(&mut families)?,
            requests: RequestMetrics::new(&mut families)?,
            access: AccessMetrics::new(&mut families)?,
            jwt: JwtMetrics::new(&mut families)?,
            authorization: AuthorizationMetrics::new(&mut families)?,
            admission: AdmissionMetrics::new(&mut families)?,
            aggregator: AggregatorMetrics::new(&mut families)?,
            peers: PeerMetrics::new(&mut families)?,
            audit: AuditMetrics::new(&mut families)?,
            flow_control: FlowControlMetrics::new(&mut families)?,
            resources: ResourceMetrics::new(&mut families)?,
            external_signer: ExternalSignerMetrics::new(&mut families)?,
            exposition_metrics: ExpositionMetrics::new(&mut families)?,
            exposition: OnceLock::new(),
            in_flight: families.gauge(&names::IN_FLIGHT)?,
            in_queue: families.gauge(&names::IN_QUEUE)?,
            tls_handshake_errors: families
                .counter(&names::TLS_HANDSHAKE_ERRORS)?
                .with_label_values::<&str>(&[]),
            connections: families.gauge(&names::CONNECTIONS)?.with_label_values::<&str>(&[]),
            refused_connections: families
                .counter(&names::REFUSED_CONNECTIONS)?
                .with_label_values::<&str>(&[]),
            certificate_expiry: families.gauge(&names::CERTIFICATE_EXPIRY)?,
            scheduling_delays: families.histogram(&names::SCHEDULING_DELAY)?.with_label_values::<&str>(&[]),
            version: families.gauge(&names::VERSION)?,
            features: families.gauge(&names::FEATURE_ENABLED)?,
            health: HealthMetrics::new()?,
            reader: OnceLock::new(),
            api_services: OnceLock::new(),
            families,
        }))
    }

    /// Notes the releases in force, and the feature gates.
    pub(crate) fn note_release(&self, releases: EffectiveReleases, gates: &FeatureGates) {
        let EffectiveReleases { emulation, min_compatibility } = releases;
        let (emulation, min_compatibility) = (emulation.to_string(), min_compatibility.to_string());
        let binary = version::kubernetes_version().trim_start_matches('v');
        let labels = ["kube", binary, &emulation, &min_compatibility];
        self.version.with_label_values(&labels).set(1);
        for (gate, state, enabled) in gates.all() {
            self.features.with_label_values(&[gate.name(), state.stage]).set(enabled.into());
        }
    }

    /// Returns the metrics of storage.
    pub fn storage(&self) -> &StorageMetrics {
        &self.storage
    }

    /// Returns the expiry times of certificates, by their use.
    pub fn certificate_expiry(&self) -> &IntGaugeVec {
        &self.certificate_expiry
    }

    /// Returns the metrics of requests.
    pub fn requests(&self) -> &RequestMetrics {
        &self.requests
    }

    /// Returns the metrics of authentication and authorization.
    pub fn access(&self) -> &AccessMetrics {
        &self.access
    }

    /// Returns the metrics of the issuers of JWTs.
    pub fn jwt(&self) -> &JwtMetrics {
        &self.jwt
    }

    /// Returns the metrics of authorizers.
    pub fn authorization(&self) -> &AuthorizationMetrics {
        &self.authorization
    }

    /// Returns the metrics of admission webhooks.
    pub fn admission(&self) -> &AdmissionMetrics {
        &self.admission
    }

    /// Shows the metrics, and the values of their labels, that the options allow. Later calls have no effect.
    ///
    /// # Errors
    /// Fails if the file with the allowed values cannot be used.
    pub(crate) fn show(&self, options: &MetricsOptions) -> Result<(), ManifestError> {
        let allowed = options.allowed_labels()?;
        self.exposition
            .get_or_init(|| Exposition::new(&options.disabled_metrics, &allowed, &self.exposition_metrics));
        Ok(())
    }

    /// Returns the metrics of APIServices.
    pub fn aggregator(&self) -> &AggregatorMetrics {
        &self.aggregator
    }

    /// Returns the metrics of requests that other servers of the cluster serve.
    pub fn peers(&self) -> &PeerMetrics {
        &self.peers
    }

    /// Reads which APIServices are available at every scrape.
    pub fn read_api_services_from(&self, reader: ApiServiceReader) {
        // Only the first reader is kept.
        let _ = self.api_services.set(reader);
    }

    /// Returns the metrics of audit events.
    pub fn audit(&self) -> &AuditMetrics {
        &self.audit
    }

    /// Returns the metrics of priority levels and flow schemas.
    pub(crate) fn flow_control(&self) -> &FlowControlMetrics {
        &self.flow_control
    }

    /// Returns the metrics of the rules of single kinds.
    pub fn resources(&self) -> &ResourceMetrics {
        &self.resources
    }

    /// Returns the metrics of the program that signs tokens.
    pub fn external_signer(&self) -> &ExternalSignerMetrics {
        &self.external_signer
    }

    /// Returns the health checks as metrics.
    pub fn health(&self) -> &HealthMetrics {
        &self.health
    }

    /// Returns the time that tasks wait for a thread of the runtime.
    pub fn scheduling_delays(&self) -> &Histogram {
        &self.scheduling_delays
    }

    /// Counts a failed TLS handshake.
    pub fn failed_tls_handshake(&self) {
        self.tls_handshake_errors.inc();
    }

    /// Sets the number of open connections.
    pub fn open_connections(&self, number: usize) {
        self.connections.set(signed(number));
    }

    /// Counts a refused connection.
    pub fn refused_connection(&self) {
        self.refused_connections.inc();
    }

    /// Refreshes the metrics of this storage at every scrape.
    pub fn read_from(&self, reader: impl ReadStorageMetrics) {
        // Only the first reader is kept.
        let _ = self.reader.set(Box::new(reader));
    }

    /// Responds to a request of `/metrics`.
    pub async fn respond(
        &self,
        reads: InFlightNumbers,
        writes: InFlightNumbers,
    ) -> Result<Response, StatusError> {
        for (kind, numbers) in [("readOnly", reads), ("mutating", writes)] {
            self.in_flight.with_label_values(&[kind]).set(signed(numbers.working));
            self.in_queue.with_label_values(&[kind]).set(signed(numbers.waiting));
        }
        if let Some(reader) = self.reader.get() {
            // A store that does not respond does not prevent the other metrics from being reported.
            let _ = tokio::time::timeout(REFRESH_TIMEOUT, reader.refresh(&self.storage)).await;
        }
        let mut services = None;
        if let Some(read) = self.api_services.get() {
            services = tokio::time::timeout(REFRESH_TIMEOUT, read()).await.ok();
        }
        let mut families = self.families.gather_after(|| {
            if let Some(services) = services {
                self.aggregator.set_all(&services);
            }
        });
        if let Some(exposition) = self.exposition.get() {
            exposition.apply(&mut families, &self.exposition_metrics);
        }
        page(&families)
    }

    /// Returns the names and descriptions of all metrics.
    pub fn described(&self) -> Vec<Described> {
        let mut described = self.families.described();
        described.extend(self.health.described());
        described.sort();
        described
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn page(families: &[MetricFamily]) -> Result<Response, StatusError> {
    let text = Families::encode(families).map_err(StatusError::internal)?;
    let mut response = Response::new(ResponseBody::from(text));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT));
    Ok(response)
}
