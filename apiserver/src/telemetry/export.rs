//! Export of spans by OTLP over gRPC.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry_otlp::{WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor as _,
};
use parking_lot::Mutex;
use registry_core::spans::begin_export;
use tonic::transport::Endpoint;
use uuid::Uuid;

use crate::options::{Options, TracingConfiguration, TracingError, TracingFault};

use super::layer::SpanLayer;

/// Maximum number of spans that wait.
const MAX_QUEUED_SPANS: usize = 2048;
/// Maximum number of spans of a request to the collector.
const MAX_BATCH_SPANS: usize = 512;
/// Maximum time that spans wait for others.
const BATCH_WAIT: Duration = Duration::from_secs(5);
/// Maximum time of a request to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to send the last spans when the process ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum interval between two log lines about failures.
const NOTICE_INTERVAL: Duration = Duration::from_mins(1);

/// Sends the last spans when it is dropped.
#[must_use = "dropping it ends the export"]
pub(crate) struct Exporting(Arc<BatchSpanProcessor>);

/// An exporter whose failures are logged, but not often.
#[derive(Debug)]
struct Reported {
    inner: opentelemetry_otlp::SpanExporter,
    lost_spans: AtomicU64,
    last: Mutex<Option<Instant>>,
}

/// Starts the export of spans, if the options name a collector. Must be called within a Tokio runtime.
///
/// # Errors
/// Fails if the configuration cannot be used. The collector need not be reachable.
pub(crate) fn start(options: &Options) -> Result<Option<(SpanLayer, Exporting)>, TracingError> {
    let (Some(path), Some(configuration)) = (&options.tracing_config_file, options.tracing()?) else {
        return Ok(None);
    };
    let started = start_with(&configuration);
    started.map(Some).map_err(|source| TracingError { path: path.clone(), source })
}

fn start_with(configuration: &TracingConfiguration) -> Result<(SpanLayer, Exporting), TracingFault> {
    let endpoint = Endpoint::from_shared(configuration.uri.clone())
        .map_err(|error| TracingFault::Exporter(error.into()))?;
    let channel = endpoint.connect_timeout(EXPORT_TIMEOUT).connect_lazy();
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_channel(channel)
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| TracingFault::Exporter(error.into()))?;
    let exporter = Reported { inner: exporter, lost_spans: AtomicU64::new(0), last: Mutex::default() };
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(MAX_QUEUED_SPANS)
        .with_max_export_batch_size(MAX_BATCH_SPANS)
        .with_scheduled_delay(BATCH_WAIT)
        .build();
    let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
    processor.set_resource(&resource());
    let processor = Arc::new(processor);
    begin_export();
    Ok((SpanLayer::new(processor.clone()), Exporting(processor)))
}

/// Returns the attributes of this process.
fn resource() -> Resource {
    let instance = format!("kube-apiserver-{}", Uuid::new_v4());
    let instance = KeyValue::new("service.instance.id", instance);
    Resource::builder().with_service_name("apiserver").with_attribute(instance).build()
}

// === impl Exporting ===

impl Drop for Exporting {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::debug!("the last spans were not exported: {error}");
        }
    }
}

// === impl Reported ===

impl Reported {
    fn report(&self, spans: usize, result: &OTelSdkResult) {
        let Err(error) = result else { return };
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        let lost = self.lost_spans.fetch_add(spans, Ordering::Relaxed).saturating_add(spans);
        let mut last = self.last.lock();
        if last.is_none_or(|last| last.elapsed() >= NOTICE_INTERVAL) {
            *last = Some(Instant::now());
            self.lost_spans.store(0, Ordering::Relaxed);
            tracing::warn!(lost, "spans cannot be exported: {error}");
        }
    }
}

impl SpanExporter for Reported {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.inner.export(batch).await;
        self.report(spans, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
