//! Handover of a watch from the store to the cache. A watch that begins before the cache's history starts at the
//! store, and moves to the shared log as soon as that reaches back to the watch's revision. Clients that return after
//! a restart thus receive the missed events from the store, and share everything from then on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::StreamExt as _;

use crate::Revision;
use crate::error::{StorageError, WatchError};
use crate::interface::{WatchEvent, WatchRequest, WatchStream};

use super::Cacher;

/// A watch that may move from the store to the cache.
struct Handover {
    cacher: Weak<Cacher>,
    /// The revision that readers of the cache must not be behind. The store's events may be ahead of the cache: a
    /// client that saw them must find them in later reads.
    observed: Arc<AtomicU64>,
    prefix: Box<str>,
    request: WatchRequest,
    stream: WatchStream,
    place: HandoverPosition,
}

/// The position of a watch.
enum HandoverPosition {
    /// In the initial state, which is not in order of revisions.
    Initial,
    /// In the store's changes: all changes before this revision were seen, and of the changes at this revision the
    /// changes of these keys; without keys, all changes at this revision. 0 means not known yet.
    Store(Revision, Vec<Arc<str>>),
    /// In the cache's log. The fields have the same meaning.
    Cache(Revision, Vec<Arc<str>>),
}

// === impl Cacher ===

impl Cacher {
    /// Watches the store until the cache can continue.
    pub(super) async fn watch_store(
        &self,
        prefix: &str,
        request: &WatchRequest,
    ) -> Result<WatchStream, StorageError> {
        let start = request.revision.unwrap_or_default();
        let initial = request.send_initial_events.unwrap_or(start == 0);
        // Bookmarks report the position of the watch, also for the handover.
        let explicit =
            WatchRequest { send_initial_events: Some(initial), bookmarks: true, ..request.clone() };
        let stream = self.inner.watch(prefix, &explicit).await?;
        let place =
            if initial { HandoverPosition::Initial } else { HandoverPosition::Store(start, Vec::new()) };
        if !initial {
            // If the store cannot report progress, its next event shows the position.
            let _ = self.inner.request_progress().await;
        }
        let handover = Handover {
            cacher: self.own.clone(),
            observed: self.observed.clone(),
            prefix: prefix.into(),
            request: request.clone(),
            stream,
            place,
        };
        Ok(futures::stream::unfold(handover, |mut handover| async move {
            let item = handover.next().await?;
            Some((item, handover))
        })
        .boxed())
    }
}

// === impl Handover ===

impl Handover {
    async fn next(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        loop {
            self.move_in();
            match self.stream.next().await? {
                Ok(event) => {
                    if self.take(&event) {
                        return Some(Ok(event));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Records the position after an event. Returns whether the client receives the event.
    fn take(&mut self, event: &WatchEvent) -> bool {
        if !matches!(self.place, HandoverPosition::Cache(..)) {
            self.observed.fetch_max(event.revision(), Ordering::AcqRel);
        }
        let (key, revision) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                (&object.key, object.revision)
            }
            WatchEvent::Bookmark { revision, initial_events_end } => {
                return self.take_bookmark(*revision, *initial_events_end);
            }
        };
        match &mut self.place {
            HandoverPosition::Initial => true,
            HandoverPosition::Store(seen, keys) => {
                if *seen != revision {
                    keys.clear();
                }
                *seen = revision;
                keys.push(key.clone());
                true
            }
            HandoverPosition::Cache(seen, keys) => revision != *seen || !keys.contains(key),
        }
    }

    fn take_bookmark(&mut self, revision: Revision, initial_events_end: bool) -> bool {
        match &mut self.place {
            // A cache that is behind the store's events must not move the client back.
            HandoverPosition::Cache(seen, _) => revision >= *seen,
            place => {
                *place = HandoverPosition::Store(revision, Vec::new());
                if initial_events_end {
                    self.request.send_initial_events == Some(true)
                } else {
                    self.request.bookmarks
                }
            }
        }
    }

    /// Continues in the cache, if its history reaches back to the position.
    fn move_in(&mut self) {
        let HandoverPosition::Store(seen, keys) = &mut self.place else { return };
        let Some(cacher) = self.cacher.upgrade().filter(|_| *seen > 0) else { return };
        // Other keys of this revision may follow.
        let after = if keys.is_empty() { *seen } else { *seen - 1 };
        if cacher.state.floor().is_none_or(|floor| floor > after) {
            return;
        }
        let channel = cacher.lane_of(&self.prefix, &self.request.predicate);
        if let Ok(attached) = cacher.state.attach(channel, Some(after)) {
            self.stream = cacher.stream(&self.prefix, &self.request, attached, false, Some(after));
            self.place = HandoverPosition::Cache(*seen, std::mem::take(keys));
        }
    }
}
