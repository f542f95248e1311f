//! A single watch of an engine, shared by all resources of a server.
//!
//! If every resource's cache had its own watch on the engine, each write would wake every watch, and over etcd most
//! watches would not know their progress: a resource without writes receives no events. The shared watch covers the
//! whole key space and distributes each change to the watches it concerns. An event of any resource thus advances the
//! progress of all of them, and a consistent read needs only etcd's newest revision, which a single read returns to
//! all waiting readers.
//!
//! It is no [reflector](https://pkg.go.dev/k8s.io/client-go/tools/cache#Reflector) as `registry-core` has one: it never lists,
//! because it holds no objects. When changes are lost it tells its listeners, whose caches list again, and continues behind them.
//!
//! Each resource has a [client](SharedWatch::client), which is an engine like the underlying engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use registry_meta::backoff::Backoff;
use tokio::task::AbortHandle;

use super::Revision;
use super::mvcc::{
    ChangeStream, Committed, Got, Mvcc, MvccError, NotReady, RangeRequest, Ranged, prefix_end,
};
use super::notice::Notice;

mod listening;
mod newest;
mod queue;
mod routes;

use listening::Listening;
use newest::Newest;
use routes::{PAST, Routes};

/// The delays before watching again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));

/// Time that a new watch waits for the shared watch to begin before it watches the engine directly.
const BEGIN_PATIENCE: Duration = Duration::from_secs(5);

/// The shared watch and its listeners.
pub struct SharedWatch {
    shared: Arc<SharedWatchState>,
    watching: AbortHandle,
}

/// State that the watch and its listeners share.
struct SharedWatchState {
    inner: Arc<dyn Mvcc>,
    newest: Newest,
    routes: Routes,
    prefix: String,
}

/// A resource's view of the engine through the shared watch.
struct Client {
    shared_watch: Arc<SharedWatch>,
    /// Distinguishes this client's watches from the watches of other clients.
    number: u64,
    /// Whether some of its watches are on the engine directly: only the engine reports progress to those.
    watches_engine: AtomicBool,
}

// === impl SharedWatch ===

impl SharedWatch {
    /// Starts watching all keys below a prefix (with a trailing slash). Must be called within a Tokio runtime.
    pub fn new(inner: Arc<dyn Mvcc>, prefix: &str) -> Arc<Self> {
        let shared = Arc::new(SharedWatchState {
            newest: Newest::new(inner.clone()),
            inner,
            routes: Routes::default(),
            prefix: prefix.to_owned(),
        });
        let watching = tokio::spawn(run(shared.clone())).abort_handle();
        Arc::new(Self { shared, watching })
    }

    /// Ends the watch, before its engine is closed. Nothing is delivered afterwards.
    pub fn stop(&self) {
        self.watching.abort();
    }

    /// Returns an engine for another resource.
    pub fn client(self: &Arc<Self>) -> Arc<dyn Mvcc> {
        let number = self.shared.routes.next_number();
        Arc::new(Client { shared_watch: self.clone(), number, watches_engine: AtomicBool::new(false) })
    }
}

impl Drop for SharedWatch {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Watches until its task is aborted. Begins slightly in the past: a client that watched a previous server resumes
/// from its last revision, and finds it remembered here.
async fn run(shared: Arc<SharedWatchState>) {
    let end = prefix_end(&shared.prefix);
    let mut backoff = BACKOFF;
    let mut broke = Notice::default();
    loop {
        let ended = match shared.routes.delivered() {
            Some(after) => follow(&shared, &end, after, &mut backoff).await,
            None => match shared.inner.current_revision().await {
                Ok(newest) => {
                    shared.routes.begin(newest.saturating_sub(PAST.0 as u64));
                    continue;
                }
                Err(error) => error,
            },
        };
        if let MvccError::Compacted { oldest, .. } = ended {
            let after = shared.routes.delivered().unwrap_or_default();
            let listeners = shared.routes.skip_to(oldest.max(after + 1), &ended);
            if listeners > 0 {
                tracing::warn!(%ended, listeners, "changes were compacted before they were seen: caches are filled again");
            }
        } else {
            broke.log(|times| tracing::info!(%ended, times, "the watch of the store broke, watching again"));
        }
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

async fn follow(shared: &SharedWatchState, end: &str, after: Revision, backoff: &mut Backoff) -> MvccError {
    let mut stream = match shared.inner.watch(&shared.prefix, end, after).await {
        Ok(stream) => stream,
        Err(error) => return error,
    };
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => {
                backoff.reset();
                shared.routes.deliver(batch);
            }
            Err(error) => return error,
        }
    }
    MvccError::Unavailable("the store ended the watch".into())
}

// === impl Client ===

impl Client {
    fn shared(&self) -> &SharedWatchState {
        &self.shared_watch.shared
    }

    fn saw(&self, committed: Committed) -> Committed {
        let (Committed::At(revision) | Committed::ConditionFailed(Got { revision, .. })) = &committed;
        self.shared().newest.saw(*revision);
        committed
    }
}

#[async_trait]
impl Mvcc for Client {
    async fn get(&self, key: &str) -> Result<Got, MvccError> {
        let got = self.shared().inner.get(key).await?;
        self.shared().newest.saw(got.revision);
        Ok(got)
    }

    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        let ranged = self.shared().inner.range(range).await?;
        self.shared().newest.saw(ranged.revision);
        Ok(ranged)
    }

    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        self.shared().inner.count(start, end).await
    }

    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        Ok(self.saw(self.shared().inner.put_if(key, expected, value, ttl).await?))
    }

    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError> {
        Ok(self.saw(self.shared().inner.delete_if(key, expected).await?))
    }

    /// Uses the shared watch for whole directories below its prefix; other ranges are watched on the engine directly.
    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError> {
        let shared = self.shared();
        let is_directory = start.ends_with('/') && prefix_end(start) == end;
        if !is_directory || !start.starts_with(&shared.prefix) {
            self.watches_engine.store(true, Ordering::Relaxed);
            return shared.inner.watch(start, end, after).await;
        }
        let begun = tokio::time::timeout(BEGIN_PATIENCE, shared.routes.begun()).await.is_ok();
        let subscribed = begun.then(|| shared.routes.subscribe(self.number, start, after)).flatten();
        let Some(subscription) = subscribed else {
            self.watches_engine.store(true, Ordering::Relaxed);
            return shared.inner.watch(start, end, after).await;
        };
        let listening = Listening::new(self.shared_watch.clone(), subscription);
        if !listening.lacks_past() {
            return Ok(listening.into_stream(None));
        }
        // Begins before the changes that the shared watch remembers: the engine delivers the changes up to the point
        // where the shared watch continues.
        let past = shared.inner.watch(start, end, after).await?;
        // An etcd too old to report progress refuses; the next change of the range then reports it.
        let _ = shared.inner.request_progress().await;
        Ok(listening.into_stream(Some(past)))
    }

    /// This client's watches receive progress once the shared watch has reached the newest revision known now.
    async fn request_progress(&self) -> Result<(), MvccError> {
        let shared = self.shared();
        let advanced = shared.routes.progress(self.number, shared.newest.known());
        if advanced && !self.watches_engine.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The newest revision may be outside the prefix. An etcd too old to report progress reliably refuses: the
        // changes inside the prefix still arrive.
        match shared.inner.request_progress().await {
            Err(MvccError::Unavailable(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn current_revision(&self) -> Result<Revision, MvccError> {
        self.shared().newest.read().await
    }

    fn key_revision(&self, key: &str) -> Option<Revision> {
        self.shared().inner.key_revision(key)
    }

    async fn compact(&self, revision: Revision) -> Result<(), MvccError> {
        self.shared().routes.forget_before(revision);
        self.shared().inner.compact(revision).await
    }

    async fn health(&self) -> Result<(), NotReady> {
        self.shared().inner.health().await
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::embedded::Embedded;

    #[tokio::test]
    async fn a_watch_that_begins_too_early_leaves_no_listener() {
        let engine = Embedded::in_memory();
        engine.put_if("/a/b/c", 0, Bytes::new(), None).await.unwrap();
        engine.put_if("/a/b/d", 0, Bytes::new(), None).await.unwrap();
        let shared_watch = SharedWatch::new(engine.clone(), "/a/");
        let client = shared_watch.client();
        client.compact(3).await.unwrap();
        let watch = |after| client.watch("/a/b/", "/a/b0", after);
        let refused = watch(1).await.err();
        assert!(matches!(refused, Some(MvccError::Compacted { oldest: 3, .. })), "{refused:?}");
        assert_eq!(shared_watch.shared.routes.listeners("/a/b/"), 0);
        let kept = watch(3).await.unwrap();
        assert_eq!(shared_watch.shared.routes.listeners("/a/b/"), 1);
        drop(kept);
        assert_eq!(shared_watch.shared.routes.listeners("/a/b/"), 0);
    }

    #[tokio::test]
    async fn progress_is_told_once() {
        let engine = Embedded::in_memory();
        let shared_watch = SharedWatch::new(engine.clone(), "/a/");
        let client = shared_watch.client();
        let mut quiet = client.watch("/a/b/", "/a/b0", 1).await.unwrap();
        let written = client.put_if("/a/c/d", 0, Bytes::new(), None).await.unwrap();
        client.request_progress().await.unwrap();
        let progress = quiet.next().await.unwrap().unwrap();
        assert!(matches!(written, Committed::At(revision) if revision == progress.revision), "{written:?}");
        assert!(progress.changes.is_empty());
        client.request_progress().await.unwrap();
        assert!(quiet.next().now_or_never().is_none(), "nothing is new");
    }
}
