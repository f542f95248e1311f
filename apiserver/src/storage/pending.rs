//! Stands where the engines of `registry_core::storage` are wired in: it keeps nothing and serves nothing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use registry_core::storage::Revision;
use registry_core::storage::mvcc::{ChangeStream, Committed, Got, Mvcc, MvccError, RangeRequest, Ranged};

pub(super) struct PendingEngine;

fn unavailable<T>() -> Result<T, MvccError> {
    Err(MvccError::Unavailable(Arc::from("no engine is wired in")))
}

#[async_trait]
impl Mvcc for PendingEngine {
    async fn get(&self, _: &str) -> Result<Got, MvccError> {
        unavailable()
    }
    async fn range(&self, _: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        unavailable()
    }
    async fn count(&self, _: &str, _: &str) -> Result<u64, MvccError> {
        unavailable()
    }
    async fn put_if(
        &self,
        _: &str,
        _: Revision,
        _: Bytes,
        _: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        unavailable()
    }
    async fn delete_if(&self, _: &str, _: Revision) -> Result<Committed, MvccError> {
        unavailable()
    }
    async fn watch(&self, _: &str, _: &str, _: Revision) -> Result<ChangeStream, MvccError> {
        unavailable()
    }
    async fn request_progress(&self) -> Result<(), MvccError> {
        unavailable()
    }
    async fn current_revision(&self) -> Result<Revision, MvccError> {
        unavailable()
    }
    async fn compact(&self, _: Revision) -> Result<(), MvccError> {
        unavailable()
    }
    async fn health(&self) -> Result<(), String> {
        Ok(())
    }
}
