//! What the registry asks of a store. One instance serves one resource.
//!
//! Kubernetes concept: `storage.Interface` in `k8s.io/apiserver/pkg/storage`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;

use crate::api::{Preconditions, ResourceVersionMatch, StatusError};

use super::Revision;
use super::entry::{Attributes, StoredObject};
use super::error::{StorageError, WatchError};
use super::predicate::Predicate;

/// A store of one resource's objects.
///
/// Guarantees every implementation gives, and [`testing`](super::testing) checks:
/// - writes are linearizable; a write that was acknowledged is durable;
/// - reads without a revision see every write acknowledged before they began;
/// - no reader ever sees time run backwards;
/// - a watch delivers every event after its start exactly once, in revision order, or ends with an error.
#[async_trait]
pub trait Interface: Send + Sync + 'static {
    /// Writes a new object. `ttl` removes it by itself after so long (whole seconds, rounded up).
    ///
    /// # Errors
    /// [`StorageError::Exists`] when the key is taken.
    async fn create(
        &self,
        key: &str,
        value: NewValue,
        ttl: Option<Duration>,
    ) -> Result<StoredObject, StorageError>;

    /// Reads one object: the newest state, or with `not_older_than` any state at least so new
    /// (`Some(0)`: whatever is at hand).
    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError>;

    /// Lists the objects below a key prefix, in key order. A prefix without a trailing `/` is one exact key.
    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError>;

    /// Watches the objects below a key prefix (or one exact key).
    ///
    /// # Errors
    /// At the start as [`StorageError`]; later as the stream's last item.
    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError>;

    /// All changes below a key prefix after a revision, with bookmarks; `with_previous`: each with the state before it.
    /// A store that does not know that leaves it out.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    async fn changes(
        &self,
        prefix: &str,
        after: Revision,
        with_previous: bool,
    ) -> Result<ChangedStream, StorageError> {
        let _ = with_previous;
        let request = WatchRequest {
            revision: Some(after),
            send_initial_events: Some(false),
            bookmarks: true,
            ..WatchRequest::default()
        };
        let events = self.watch(prefix, &request).await?;
        Ok(events.map(|event| Ok(Changed { event: event?, previous: None })).boxed())
    }

    /// Reads, lets `update` decide, and writes if nothing changed in between; else again, from the newest state.
    /// `hint` is a state the caller believes is the newest: tried first, and re-read before any refusal that it
    /// led to is believed. When nothing changes, nothing is written and the present state is returned.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] unless `update` [takes an absent object](TryUpdate::accepts_absent).
    async fn guaranteed_update(
        &self,
        key: &str,
        preconditions: &Preconditions,
        update: &mut dyn TryUpdate,
        hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError>;

    /// Deletes an object if the preconditions hold and `validate` agrees; returns its last state, whose
    /// revision is the deletion's. Retries as [`guaranteed_update`](Self::guaranteed_update) does.
    async fn delete(
        &self,
        key: &str,
        preconditions: &Preconditions,
        validate: &mut dyn ValidateDeletion,
        hint: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError>;

    /// How many objects there are below a prefix.
    async fn count(&self, prefix: &str) -> Result<u64, StorageError>;

    /// The newest revision of the whole store.
    async fn current_revision(&self) -> Result<Revision, StorageError>;

    /// Asks for a progress notification on all watches, soon.
    async fn request_progress(&self) -> Result<(), StorageError>;

    /// Whether the store can serve; the text says what it waits for.
    fn readiness(&self) -> Result<(), String>;
}

/// A value to be written.
#[derive(Clone, Debug)]
pub struct NewValue {
    /// The canonical encoding, without `resourceVersion`.
    pub bytes: Bytes,
    /// Its attributes.
    pub attributes: Attributes,
}

/// What a list asks for.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Which objects.
    pub predicate: Predicate,
    /// `None`: the newest state. `Some(0)` with no match: whatever is at hand.
    pub revision: Option<Revision>,
    /// How `revision` is meant; `None` is not-older-than.
    pub revision_match: Option<ResourceVersionMatch>,
    /// At most so many objects; 0 is no limit.
    pub limit: u64,
    /// Where the page before ended.
    pub continue_token: Option<String>,
    /// Without a limit: whether the page may end early, with a token for what follows, so that it takes little memory.
    pub in_parts: bool,
    /// Whether the caller needs the attributes of what is listed even when nothing is selected by them.
    pub with_attributes: bool,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct ListPage {
    /// The revision the page (and every further one) shows.
    pub revision: Revision,
    /// The objects, in key order.
    pub items: Vec<StoredObject>,
    /// How to get the next page; `None` on the last one.
    pub continue_token: Option<String>,
    /// How many objects follow, when that is known (it is not under a selector).
    pub remaining: Option<u64>,
    /// The objects of this page after [`items`](Self::items). `None` unless the caller asked for
    /// [parts](crate::rest::Lister::list_in_parts), and where the items are all.
    pub rest: Option<Rest>,
}

/// The objects of a page that are not in memory: read from the store when they are wanted, at the page's revision.
#[derive(Clone)]
pub struct Rest(Arc<dyn Fn() -> RestStream + Send + Sync>);

/// Objects in key order, in parts of bounded size. Ends after its first error.
pub type RestStream = BoxStream<'static, Result<Vec<StoredObject>, StatusError>>;

/// What a watch asks for.
#[derive(Clone, Debug, Default)]
pub struct WatchRequest {
    /// Which objects.
    pub predicate: Predicate,
    /// Events after this revision. `None` or `Some(0)`: begin with the present objects as ADDED (the state at
    /// hand for `Some(0)`), then go on. See `send_initial_events`.
    pub revision: Option<Revision>,
    /// `Some(true)`: begin with the present state, at least as new as `revision`, as ADDED, and close it with a
    /// bookmark ([`WatchEvent::Bookmark`] with `initial_events_end`). `Some(false)`: events only.
    pub send_initial_events: Option<bool>,
    /// Send bookmarks from time to time.
    pub bookmarks: bool,
}

/// A change as a cache takes it in.
#[derive(Clone, Debug)]
pub struct Changed {
    /// What happened.
    pub event: WatchEvent,
    /// Of a change of an object, the state before it: when it was asked for and is known.
    pub previous: Option<StoredObject>,
}

/// The changes of a resource. Ends as a [`WatchStream`] does.
pub type ChangedStream = BoxStream<'static, Result<Changed, WatchError>>;

/// A running watch. Ends after its first error, and when the store shuts down. Dropping it ends the watch.
pub type WatchStream = BoxStream<'static, Result<WatchEvent, WatchError>>;

/// One thing that happened, as a watcher with a selector sees it.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// The object appeared, or came to match the selector.
    Added(StoredObject),
    /// The object changed.
    Modified(StoredObject),
    /// The object is gone, or no longer matches: its last matching state, with the revision of the change.
    Deleted(StoredObject),
    /// Nothing older than this revision will follow.
    Bookmark {
        /// The revision.
        revision: Revision,
        /// Whether this closes the initial state (`k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
}

// === impl Rest ===

impl Rest {
    /// The objects that `read` streams; the same each time.
    pub fn new(read: impl Fn() -> RestStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Reads the objects, from the first on.
    pub fn stream(&self) -> RestStream {
        (self.0)()
    }
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Rest")
    }
}

impl Changed {
    /// The revision of what happened.
    pub fn revision(&self) -> Revision {
        self.event.revision()
    }
}

impl WatchEvent {
    /// The revision of what happened.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object.revision,
            Self::Bookmark { revision, .. } => *revision,
        }
    }
}

/// Decides what a stored object becomes. Called again whenever the object changed in between.
#[async_trait]
pub trait TryUpdate: Send {
    /// From the present state (`None`: there is none) to what is to be done.
    ///
    /// # Errors
    /// Refuses the update; given to the caller as [`StorageError::Rejected`].
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError>;

    /// Whether an update of an absent object is to be tried (create on update).
    fn accepts_absent(&self) -> bool {
        false
    }
}

/// What an update wants done.
#[derive(Debug)]
pub enum UpdateAction {
    /// Write this value. Equal to the present one, it is not written.
    Write {
        /// The new value.
        value: NewValue,
        /// Remove it by itself after so long.
        ttl: Option<Duration>,
    },
    /// Remove the object.
    Delete,
    /// Leave things as they are.
    Keep,
}

/// What an update led to.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The state after it (after a deletion: the last state, with the deletion's revision).
    pub object: StoredObject,
    /// What was done.
    pub outcome: UpdateOutcome,
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// A new object was written.
    Created,
    /// The object was changed.
    Changed,
    /// Nothing was written.
    Unchanged,
    /// The object was removed.
    Deleted,
}

/// Has the last word before a deletion. Called again whenever the object changed in between.
#[async_trait]
pub trait ValidateDeletion: Send {
    /// Whether this state may be deleted.
    ///
    /// # Errors
    /// Refuses the deletion.
    async fn validate_deletion(&mut self, current: &StoredObject) -> Result<(), StatusError>;
}

/// Every deletion is fine.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyDeletion;

#[async_trait]
impl ValidateDeletion for AnyDeletion {
    async fn validate_deletion(&mut self, _current: &StoredObject) -> Result<(), StatusError> {
        Ok(())
    }
}
