//! Keeps a cache filled: one list, then one watch; repeated when the watch breaks. Releases the objects when the
//! budget requires it, and loads them again when they fit.
//!
//! It is no [reflector](https://pkg.go.dev/k8s.io/client-go/tools/cache#Reflector) as `registry-core` has one: it releases its
//! objects in the middle of a watch and lists them again beside it, at the revision that the watch has reached. It also applies
//! whole revisions under one lock, so that no reader sees a part of one.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Fuse, FutureExt};
use futures::stream::Peekable;
use tokio::time::MissedTickBehavior;

use crate::Revision;
use crate::error::{StorageError, WatchError};
use crate::interface::{Changed, ChangedStream, Interface, ListRequest, WatchEvent};
use crate::notice::Notice;
use registry_meta::ResourceVersionMatch;
use registry_meta::backoff::Backoff;

use super::filling::Filling;
use super::state::CacheState;

/// Maximum number of changes applied under one lock.
const BATCH: usize = 256;

/// Maximum number of objects per list page, and the size at which it ends, in bytes: what exceeds the budget is released after
/// each page.
pub(super) const PAGE_OBJECTS: u64 = 50_000;
const PAGE_BYTES: usize = 32 * 1024 * 1024;

/// The delays after failures.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));

/// Interval between checks for old history to drop, for memory to load released objects again, and for newer revisions.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of changes remembered while the objects are loaded again. If there are more, loading is retried
/// later.
const MAX_CHANGES: usize = 50_000;

/// The reason that following ended.
enum Ended {
    /// The cache has loaded or released its objects: it continues at once.
    Switched,
    /// The watch broke; it can resume from the last revision.
    Interrupted,
    /// The next changes are unavailable: list again.
    Lost,
    /// The next change cannot be read: reads go to the store until that is repaired.
    Unreadable,
}

/// Runs until its task is aborted.
pub(super) async fn run(inner: &dyn Interface, state: &CacheState, prefix: &str) {
    let mut backoff = BACKOFF;
    let mut unfilled = Notice::default();
    loop {
        let filling = fill(inner, state, prefix, None).await;
        match filling {
            Ok((revision, filling)) => {
                state.fill(revision, filling.finish());
                backoff.reset();
            }
            Err(error) => {
                unfilled.log(|times| {
                    tracing::warn!(prefix, times, %error, "cannot fill the watch cache, trying again");
                });
                evict_if_asked(state, prefix);
                tokio::time::sleep(backoff.next_pause()).await;
                continue;
            }
        }
        loop {
            let follower = Follower { inner, state, prefix };
            match follower.follow().await {
                Ended::Switched => {}
                Ended::Interrupted => {
                    evict_if_asked(state, prefix);
                    tokio::time::sleep(backoff.next_pause()).await;
                }
                Ended::Lost => break,
                Ended::Unreadable => {
                    state.lose();
                    break;
                }
            }
        }
        tracing::info!(prefix, "the history of the watch cache was lost, filling it again");
    }
}

/// Lists all objects, page by page, at the newest or at a given revision. Also returns the revision.
async fn fill(
    inner: &dyn Interface,
    state: &CacheState,
    prefix: &str,
    at: Option<Revision>,
) -> Result<(Revision, Filling), StorageError> {
    let mut filling = state.filling();
    let mut request = ListRequest {
        with_attributes: true,
        limit: PAGE_OBJECTS,
        max_bytes: Some(PAGE_BYTES),
        revision: at,
        revision_match: at.map(|_| ResourceVersionMatch::Exact),
        ..ListRequest::default()
    };
    loop {
        let page = inner.list(prefix, &request).await?;
        filling.take(page.items);
        if page.continue_token.is_none() || (at.is_some() && filling.is_absent()) {
            // A store whose history has not begun still counts as filled.
            return Ok((page.revision.max(1), filling));
        }
        request.continue_token = page.continue_token;
        (request.revision, request.revision_match) = (None, None);
    }
}

/// Releases the objects if the budget requires it. Returns whether it did.
fn evict_if_asked(state: &CacheState, prefix: &str) -> bool {
    if !state.share.is_asked() {
        return false;
    }
    let objects = state.evict();
    tracing::warn!(
        prefix,
        objects = objects.len(),
        "the watch caches exceed --watch-cache-memory: reads of this resource go to the store"
    );
    // Dropping many objects takes a while.
    tokio::task::spawn_blocking(move || drop(objects));
    true
}

/// Follows the changes of a resource.
struct Follower<'a> {
    inner: &'a dyn Interface,
    state: &'a CacheState,
    prefix: &'a str,
}

// === impl Follower ===

impl Follower<'_> {
    async fn follow(&self) -> Ended {
        let holds_objects = self.state.holds_objects();
        let from = self.state.reached();
        let stream = match self.inner.changes(self.prefix, from, !holds_objects).await {
            Ok(stream) => stream,
            Err(StorageError::Compacted { .. }) => return Ended::Lost,
            Err(_) => return Ended::Interrupted,
        };
        let mut stream = stream.peekable();
        let mut look = tokio::time::interval(LOOK_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut returning = std::pin::pin!(Fuse::terminated());
        // Changes since the revision that is being listed.
        let mut since: Option<Vec<Changed>> = None;
        loop {
            tokio::select! {
                () = self.state.share.asked(), if holds_objects => {
                    evict_if_asked(self.state, self.prefix);
                    return Ended::Switched;
                }
                batch = next_batch(&mut stream) => {
                    let Some(batch) = batch else { return Ended::Interrupted };
                    if let Some(since) = &mut since {
                        since.extend_from_slice(&batch.events);
                    }
                    self.state.apply(batch.events);
                    if let Some(failure) = batch.failure {
                        return self.ended(&failure);
                    }
                }
                _ = look.tick() => {
                    self.state.tidy();
                    if self.state.is_watched() {
                        // The bookmarks of a resource without changes advance with the store. A store that reports no
                        // progress does so with the next change.
                        let _ = self.inner.request_progress().await;
                    }
                    if !holds_objects && since.is_none() && self.state.fits() {
                        since = Some(Vec::new());
                        let reached = self.state.reached();
                        returning.set(fill(self.inner, self.state, self.prefix, Some(reached)).fuse());
                    }
                }
                filled = &mut returning => {
                    let since = since.take().unwrap_or_default();
                    if self.returned(filled, since) {
                        return Ended::Switched;
                    }
                }
            }
            if since.as_ref().is_some_and(|since| since.len() > MAX_CHANGES) {
                since = None;
                returning.set(Fuse::terminated());
            }
        }
    }

    /// Holds the objects again, if they still fit.
    fn returned(&self, filled: Result<(Revision, Filling), StorageError>, since: Vec<Changed>) -> bool {
        let mut filling = match filled {
            Ok((_, filling)) => filling,
            Err(error) => {
                let prefix = self.prefix;
                tracing::warn!(prefix, %error, "cannot fill the watch cache again, trying later");
                return false;
            }
        };
        for Changed { event, .. } in since {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    let key = object.key.clone();
                    filling.change(&key, Some(object));
                }
                WatchEvent::Deleted(object) => filling.change(&object.key, None),
                WatchEvent::Bookmark { .. } => {}
            }
        }
        if filling.is_absent() {
            return false;
        }
        self.state.hold(filling.finish());
        tracing::info!(prefix = self.prefix, "the watch cache holds the objects of this resource again");
        true
    }

    fn ended(&self, failure: &WatchError) -> Ended {
        match failure {
            WatchError::Compacted { .. } => Ended::Lost,
            WatchError::Corrupt(_) => {
                tracing::error!(
                    prefix = self.prefix, error = %failure, "the watch cache cannot take in what is stored"
                );
                Ended::Unreadable
            }
            WatchError::Interrupted(_) => {
                tracing::warn!(
                    prefix = self.prefix, error = %failure, "the watch behind the cache ended, watching again"
                );
                Ended::Interrupted
            }
        }
    }
}

/// Changes in whole revisions, and the reason that no more follow.
#[derive(Default)]
struct Batch {
    events: Vec<Changed>,
    failure: Option<WatchError>,
}

/// Waits for an event, and takes the events ready after it. Many keys may change at one revision (when a lease of
/// etcd expires, all its keys do): readers must see all of those changes or none. A store delivers the events of a
/// revision together, so that a batch that ends where nothing is ready ends with a whole revision; a batch that is
/// large enough continues to the end of its last revision.
async fn next_batch(stream: &mut Peekable<ChangedStream>) -> Option<Batch> {
    let mut batch = Batch::default();
    let mut next = stream.next().await;
    while let Some(item) = next {
        match item {
            Ok(event) => batch.events.push(event),
            Err(failure) => {
                batch.failure = Some(failure);
                return Some(batch);
            }
        }
        let last = batch.events.last().map(Changed::revision);
        let full = batch.events.len() >= BATCH;
        let mut fitting =
            Pin::new(&mut *stream).next_if(|item| !full || item.as_ref().ok().map(Changed::revision) == last);
        next = match futures::poll!(&mut fitting) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        };
    }
    (!batch.events.is_empty()).then_some(batch)
}
