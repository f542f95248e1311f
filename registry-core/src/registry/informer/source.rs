//! The objects of a store, as a reflector lists and watches them.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::Map;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::{ListOptions, StatusError};
use crate::context::RequestContext;
use crate::reflector::{Change, Event, Listed, Source};
use crate::registry::store::Store;
use crate::rest::Watcher as _;
use crate::storage::{Revision, StoredObject, WatchError, WatchEvent, WatchStream};

/// The HTTP code of a revision that the store no longer has.
const GONE: u16 = 410;

/// Number of initial objects that are taken before other tasks may run.
const INITIAL_BATCH: usize = 1_024;

/// Maximum time for which an informer waits until the watch cache is filled, and the interval between its checks.
const CACHE_PATIENCE: Duration = Duration::from_secs(30);
const CACHE_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// A store.
pub(super) struct StoreSource<'a> {
    store: &'a Store,
    /// Whether the handler has seen a list.
    synced: &'a watch::Sender<bool>,
}

/// The reason that a store cannot be listed or watched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    /// The watch could not be opened.
    #[error(transparent)]
    Refused(#[from] StatusError),
    /// The watch failed.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The watch was closed before the initial state was complete.
    #[error("the watch was closed")]
    Closed,
    /// A change came before the initial state was complete.
    #[error("a change of {0} came before the initial state")]
    TooEarly(Arc<str>),
}

/// An item of a watch, in the form of the reflector.
type Item = Result<Event<StoredObject>, FollowError>;

// === impl StoreSource ===

impl<'a> StoreSource<'a> {
    pub(super) const fn new(store: &'a Store, synced: &'a watch::Sender<bool>) -> Self {
        Self { store, synced }
    }

    /// Opens a watch of the changes after a position, or of all objects and then their changes. The objects and the
    /// changes of one watch belong together: nothing is compacted between them.
    async fn open(&self, position: Option<Revision>) -> Result<WatchStream, StatusError> {
        // As for Kubernetes' reflectors, the state of the watch cache suffices at first: what it lacks follows as changes,
        // and a consistent read would wait for the progress of the store's watch. A later list must not be older than
        // what the handler has seen.
        let any_state = (!*self.synced.borrow()).then_some(0);
        let options = ListOptions {
            resource_version: position.or(any_state),
            send_initial_events: Some(position.is_none()),
            allow_watch_bookmarks: true,
            ..ListOptions::default()
        };
        self.store.watch(&RequestContext::system(""), &options).await
    }

    /// Waits while the resource's watch cache is being filled, so that a large collection is not read from the store
    /// twice at the same time. A cache that cannot be filled does not hold up the informer for longer than
    /// [`CACHE_PATIENCE`].
    async fn wait_for_cache(&self) {
        let until = Instant::now() + CACHE_PATIENCE;
        while Instant::now() < until && self.store.storage().readiness().is_err() {
            tokio::time::sleep(CACHE_CHECK_INTERVAL).await;
        }
    }
}

impl Source for StoreSource<'_> {
    type Object = StoredObject;
    type Error = FollowError;
    type Changes = Map<WatchStream, fn(Result<WatchEvent, WatchError>) -> Item>;

    async fn list(&self) -> Result<Listed<Self>, FollowError> {
        self.wait_for_cache().await;
        let mut stream = self.open(None).await?;
        let mut objects = Vec::new();
        let revision = loop {
            match stream.next().await.ok_or(FollowError::Closed)?? {
                WatchEvent::Added(object) => objects.push(object),
                WatchEvent::Bookmark { revision, initial_events_end: true } => break revision,
                WatchEvent::Bookmark { .. } => {}
                WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                    return Err(FollowError::TooEarly(object.key.clone()));
                }
            }
            if objects.len().is_multiple_of(INITIAL_BATCH) {
                tokio::task::yield_now().await;
            }
        };
        Ok(Listed { objects, revision, changes: Some(stream.map(event)) })
    }

    async fn watch(&self, after: Revision) -> Result<Self::Changes, FollowError> {
        Ok(self.open(Some(after)).await?.map(event))
    }

    fn is_gone(error: &FollowError) -> bool {
        match error {
            FollowError::Refused(failure) => failure.code == GONE,
            FollowError::Watch(error) => !matches!(error, WatchError::Interrupted(_)),
            FollowError::Closed => false,
            FollowError::TooEarly(_) => true,
        }
    }
}

fn event(item: Result<WatchEvent, WatchError>) -> Item {
    let event = item?;
    let revision = event.revision();
    let change = match event {
        WatchEvent::Added(object) => Some(Change::Added(object)),
        WatchEvent::Modified(object) => Some(Change::Modified(object)),
        WatchEvent::Deleted(object) => Some(Change::Deleted(object)),
        WatchEvent::Bookmark { .. } => None,
    };
    Ok(Event { revision, change })
}
