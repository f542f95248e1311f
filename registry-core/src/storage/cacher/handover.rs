//! From the store to the cache: a watch that begins before the cache's history is the store's at first, and goes on in
//! the shared log as soon as that reaches back to where the watch stands. Clients that come back after a restart thus
//! hear from the store what they missed, and share everything from the first event on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::StreamExt as _;

use crate::storage::Revision;
use crate::storage::error::{StorageError, WatchError};
use crate::storage::interface::{WatchEvent, WatchRequest, WatchStream};

use super::Cacher;

/// A watch that may change from the store to the cache.
struct Handover {
    cacher: Weak<Cacher>,
    /// What readers of the cache must not be behind. The store's events may be ahead of it: who saw them must find
    /// them in later reads.
    observed: Arc<AtomicU64>,
    prefix: Box<str>,
    request: WatchRequest,
    stream: WatchStream,
    place: HandoverPosition,
}

/// Where a watch stands.
enum HandoverPosition {
    /// In the present state, which is in no order of revisions.
    Initial,
    /// In the store's changes: everything before this revision was seen, and of the revision itself these keys;
    /// without keys, all of it. 0 is not known yet.
    Store(Revision, Vec<Arc<str>>),
    /// In the cache's log. The same was seen before.
    Cache(Revision, Vec<Arc<str>>),
}

// === impl Cacher ===

impl Cacher {
    /// A watch of the store itself, until the cache can go on.
    pub(super) async fn watch_store(
        &self,
        prefix: &str,
        request: &WatchRequest,
    ) -> Result<WatchStream, StorageError> {
        let start = request.revision.unwrap_or_default();
        let initial = request.send_initial_events.unwrap_or(start == 0);
        // Bookmarks tell where the watch stands, also to us.
        let explicit =
            WatchRequest { send_initial_events: Some(initial), bookmarks: true, ..request.clone() };
        let stream = self.inner.watch(prefix, &explicit).await?;
        let place =
            if initial { HandoverPosition::Initial } else { HandoverPosition::Store(start, Vec::new()) };
        if !initial {
            // A store that cannot tell says where the watch stands with its next event.
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

    /// Notes where an event leads; whether the client gets it.
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
            // A cache that is behind what the store observed must not send the client back.
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

    /// Goes on in the cache, if its history reaches back to here.
    fn move_in(&mut self) {
        let HandoverPosition::Store(seen, keys) = &mut self.place else { return };
        let Some(cacher) = self.cacher.upgrade().filter(|_| *seen > 0) else { return };
        // More of a revision may follow of which single keys were seen.
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
