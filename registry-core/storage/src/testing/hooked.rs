//! A decorator over an engine whose calls a test can observe, delay or refuse.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;

use crate::Revision;
use crate::mvcc::{
    ChangeBatch, ChangeStream, Committed, Got, Mvcc, MvccError, NotReady, RangeRequest, Ranged,
};

/// A decorator over an engine that calls hooks for each call.
pub struct Hooked<H> {
    /// The underlying engine.
    pub inner: Arc<dyn Mvcc>,
    /// The hooks.
    pub hooks: H,
}

/// A call of an engine. Health checks are not included: they have no hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Mvcc::get`].
    Get,
    /// [`Mvcc::range`].
    Range,
    /// [`Mvcc::count`].
    Count,
    /// [`Mvcc::put_if`] and [`Mvcc::delete_if`].
    Write,
    /// [`Mvcc::watch`].
    Watch,
    /// [`Mvcc::request_progress`].
    Progress,
    /// [`Mvcc::current_revision`].
    Revision,
    /// [`Mvcc::compact`].
    Compact,
}

/// Hooks of a test. The defaults do nothing.
#[async_trait]
pub trait EngineHooks: Send + Sync + 'static {
    /// Runs before a call; an error is returned to the caller, and the engine is not called.
    async fn before(&self, _call: Call) -> Result<(), MvccError> {
        Ok(())
    }

    /// Maps the result of a write.
    fn written(&self, answer: Result<Committed, MvccError>) -> Result<Committed, MvccError> {
        answer
    }

    /// Maps the stream of a watch.
    fn watched(&self, changes: ChangeStream) -> ChangeStream {
        changes
    }
}

/// Hooks that hide the progress of watches, as an etcd without safe progress requests does.
pub struct NoProgress;

// === impl NoProgress ===

#[async_trait]
impl EngineHooks for NoProgress {
    async fn before(&self, call: Call) -> Result<(), MvccError> {
        match call {
            Call::Progress => Err(MvccError::Unavailable("progress requests are not safe".into())),
            _ => Ok(()),
        }
    }

    fn watched(&self, changes: ChangeStream) -> ChangeStream {
        let tells = |batch: &Result<ChangeBatch, MvccError>| {
            batch.as_ref().map_or(true, |batch| !batch.changes.is_empty())
        };
        changes.filter(move |batch| std::future::ready(tells(batch))).boxed()
    }
}

// === impl Hooked ===

impl<H: EngineHooks> Hooked<H> {
    /// Wraps an engine with hooks.
    pub fn over(inner: Arc<dyn Mvcc>, hooks: H) -> Arc<Self> {
        Arc::new(Self { inner, hooks })
    }
}

#[async_trait]
impl<H: EngineHooks> Mvcc for Hooked<H> {
    async fn get(&self, key: &str) -> Result<Got, MvccError> {
        self.hooks.before(Call::Get).await?;
        self.inner.get(key).await
    }

    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        self.hooks.before(Call::Range).await?;
        self.inner.range(range).await
    }

    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        self.hooks.before(Call::Count).await?;
        self.inner.count(start, end).await
    }

    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        self.hooks.before(Call::Write).await?;
        self.hooks.written(self.inner.put_if(key, expected, value, ttl).await)
    }

    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError> {
        self.hooks.before(Call::Write).await?;
        self.hooks.written(self.inner.delete_if(key, expected).await)
    }

    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError> {
        self.hooks.before(Call::Watch).await?;
        Ok(self.hooks.watched(self.inner.watch(start, end, after).await?))
    }

    async fn request_progress(&self) -> Result<(), MvccError> {
        self.hooks.before(Call::Progress).await?;
        self.inner.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, MvccError> {
        self.hooks.before(Call::Revision).await?;
        self.inner.current_revision().await
    }

    fn key_revision(&self, key: &str) -> Option<Revision> {
        self.inner.key_revision(key)
    }

    async fn compact(&self, revision: Revision) -> Result<(), MvccError> {
        self.hooks.before(Call::Compact).await?;
        self.inner.compact(revision).await
    }

    async fn health(&self) -> Result<(), NotReady> {
        self.inner.health().await
    }
}
