//! An engine that counts and times the requests for one resource.
//!
//! Kubernetes concept: `RecordEtcdRequest` in `k8s.io/apiserver/pkg/storage/etcd3/metrics`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use tracing::Instrument as _;

use crate::metrics::{EngineMetrics, EngineOperation};

use crate::stage;

use super::Revision;
use super::mvcc::{ChangeStream, Committed, Got, Mvcc, MvccError, NotReady, RangeRequest, Ranged};

/// An engine with request metrics for one resource.
pub struct Measured {
    inner: Arc<dyn Mvcc>,
    metrics: EngineMetrics,
}

// === impl Measured ===

impl Measured {
    /// Wraps `inner` so that its requests are measured.
    pub fn new(inner: Arc<dyn Mvcc>, metrics: EngineMetrics) -> Arc<Self> {
        Arc::new(Self { inner, metrics })
    }

    async fn measure<T>(
        &self,
        operation: EngineOperation,
        request: impl Future<Output = Result<T, MvccError>>,
    ) -> Result<T, MvccError> {
        let begun = Instant::now();
        let answer = request.instrument(stage!("storage", operation = operation.name())).await;
        self.metrics.asked(operation, begun.elapsed(), answer.is_err());
        answer
    }
}

#[async_trait]
impl Mvcc for Measured {
    async fn get(&self, key: &str) -> Result<Got, MvccError> {
        self.measure(EngineOperation::Get, self.inner.get(key)).await
    }

    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        self.measure(EngineOperation::List, self.inner.range(range)).await
    }

    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        self.inner.count(start, end).await
    }

    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        let operation = if expected == 0 { EngineOperation::Create } else { EngineOperation::Update };
        self.measure(operation, self.inner.put_if(key, expected, value, ttl)).await
    }

    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError> {
        self.measure(EngineOperation::Delete, self.inner.delete_if(key, expected)).await
    }

    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError> {
        self.inner.watch(start, end, after).await
    }

    async fn request_progress(&self) -> Result<(), MvccError> {
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, MvccError> {
        self.inner.current_revision().await
    }

    fn key_revision(&self, key: &str) -> Option<Revision> {
        self.inner.key_revision(key)
    }

    async fn compact(&self, revision: Revision) -> Result<(), MvccError> {
        self.inner.compact(revision).await
    }

    async fn health(&self) -> Result<(), NotReady> {
        self.inner.health().await
    }
}
