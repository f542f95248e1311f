//! The interface between the registry and a store. An instance serves one resource.
//!
//! Kubernetes concept: `storage.Interface` in `k8s.io/apiserver/pkg/storage`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use registry_meta::sharding::ShardSelector;
use registry_meta::{Preconditions, ResourceVersionMatch, StatusError};

use super::Revision;
use super::entry::{Attributes, StoredObject};
use super::error::{StorageError, WatchError};
use super::mvcc::NotReady;
use super::predicate::Predicate;

/// A store of one resource's objects.
///
/// Every implementation gives these guarantees, and [`testing`](super::testing) checks them:
/// - writes are linearizable; a write that was acknowledged is durable;
/// - reads without a revision see every write that was acknowledged before they began;
/// - the state that a reader sees never goes back in time;
/// - a watch delivers every event after its start exactly once, in revision order, or ends with an error.
#[async_trait]
pub trait Interface: Send + Sync + 'static {
    /// Writes a new object. The object is removed automatically after `ttl` (whole seconds, rounded up).
    ///
    /// # Errors
    /// [`StorageError::Exists`] if the key exists.
    async fn create(
        &self,
        key: &str,
        value: NewValue,
        ttl: Option<Duration>,
    ) -> Result<StoredObject, StorageError>;

    /// Reads one object: the newest state, or with `not_older_than` any state at least that new (`Some(0)`: any
    /// available state).
    async fn get(
        &self,
        key: &str,
        not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError>;

    /// Lists the objects below a key prefix, in key order. A prefix without a trailing `/` is an exact key.
    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError>;

    /// Watches the objects below a key prefix (or an exact key).
    ///
    /// # Errors
    /// Errors at the start are returned as [`StorageError`], later ones as the stream's last item.
    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError>;

    /// Returns all changes below a key prefix after a revision, with bookmarks. With `with_previous`, each change
    /// includes the previous state, if the store knows it.
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

    /// Reads the object, calls `update` and writes the result if the object has not changed in between; otherwise
    /// retries from the newest state. `hint` is a state that the caller believes to be the newest: it is tried first,
    /// and the object is read again before a refusal based on the hint is returned. If nothing changes, nothing is
    /// written and the current state is returned.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the object is absent, unless `update` [accepts an absent
    /// object](TryUpdate::accepts_absent).
    async fn guaranteed_update(
        &self,
        key: &str,
        preconditions: &Preconditions,
        update: &mut dyn TryUpdate,
        hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError>;

    /// Deletes an object if the preconditions hold and `validate` allows it. Returns the last state, with the
    /// revision of the deletion. Retries as [`guaranteed_update`](Self::guaranteed_update) does.
    async fn delete(
        &self,
        key: &str,
        preconditions: &Preconditions,
        validate: &mut dyn ValidateDeletion,
        hint: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError>;

    /// Deletes a value that cannot be read, whatever it says. Returns the revision of the deletion. Fails by default, for
    /// stores whose values can always be read.
    ///
    /// # Errors
    /// [`StorageError::NotCorrupt`] if the value can be read.
    async fn delete_corrupt(&self, key: &str) -> Result<Revision, StorageError> {
        let _ = key;
        Err(StorageError::NotCorrupt)
    }

    /// Returns the number of objects below a prefix.
    async fn count(&self, prefix: &str) -> Result<u64, StorageError>;

    /// Returns the newest revision of the whole store.
    async fn current_revision(&self) -> Result<Revision, StorageError>;

    /// Returns the revision of an object's newest state, 0 if it is absent; `None` if the store does not know it without I/O.
    fn key_revision(&self, key: &str) -> Option<Revision> {
        let _ = key;
        None
    }

    /// Waits until stored values are read by other rules, as [`Transformer::changed`](super::transform::Transformer::changed)
    /// does. By default this waits forever.
    async fn transformation_changed(&self, from: Option<u64>) -> u64 {
        let _ = from;
        std::future::pending().await
    }

    /// Requests a progress notification on all watches.
    async fn request_progress(&self) -> Result<(), StorageError>;

    /// Whether the store can serve; the error describes what it waits for.
    fn readiness(&self) -> Result<(), NotReady>;
}

/// A value to be written.
#[derive(Clone, Debug)]
pub struct NewValue {
    /// The canonical encoding, without `resourceVersion`.
    pub bytes: Bytes,
    /// The encoding that readers get, if it differs from the stored one: with defaults that are not stored.
    pub shown: Option<Bytes>,
    /// The attributes of what readers get.
    pub attributes: Attributes,
}

/// Parameters of a list.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Selects the objects.
    pub predicate: Predicate,
    /// `None`: the newest state. `Some(0)` without a match: any available state.
    pub revision: Option<Revision>,
    /// The matching of `revision`; `None` means not older than.
    pub revision_match: Option<ResourceVersionMatch>,
    /// Maximum number of objects; 0 means no limit.
    pub limit: u64,
    /// The token that the previous page returned.
    pub continue_token: Option<String>,
    /// Size in bytes at which the page ends early, with a token for the remainder, to bound the memory it takes. `None`: 8 MiB
    /// with a limit of objects, unbounded without one.
    pub max_bytes: Option<usize>,
    /// Whether the caller needs the attributes of the listed objects even if nothing is selected by them.
    pub with_attributes: bool,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct ListPage {
    /// The revision that this page and all further pages show.
    pub revision: Revision,
    /// The objects, in key order.
    pub items: Vec<StoredObject>,
    /// The token for the next page; `None` on the last page.
    pub continue_token: Option<String>,
    /// Number of objects that follow, if known (it is not known under a selector).
    pub remaining: Option<u64>,
    /// The shard that the list is of.
    pub shard: Option<ShardSelector>,
    /// The objects of this page after [`items`](Self::items). `None` unless the caller requested
    /// parts (`Lister::list_in_parts`), and if `items` is complete.
    pub rest: Option<Rest>,
}

/// The objects of a page that are not in memory: read from the store on demand, at the page's revision.
#[derive(Clone)]
pub struct Rest(Arc<dyn Fn() -> RestStream + Send + Sync>);

/// A stream of objects in key order, in parts of bounded size. Ends after its first error.
pub type RestStream = BoxStream<'static, Result<Vec<StoredObject>, StatusError>>;

/// Parameters of a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchRequest {
    /// Selects the objects.
    pub predicate: Predicate,
    /// Events after this revision. `None` or `Some(0)`: begins with the existing objects as ADDED (any available
    /// state for `Some(0)`), then continues with changes. See `send_initial_events`.
    pub revision: Option<Revision>,
    /// `Some(true)`: begins with the state at least as new as `revision`, as ADDED, followed by a bookmark
    /// ([`WatchEvent::Bookmark`] with `initial_events_end`). `Some(false)`: events only.
    pub send_initial_events: Option<bool>,
    /// Whether to send bookmarks periodically.
    pub bookmarks: bool,
    /// The time after which the caller ends the watch: a cache sends a bookmark shortly before it.
    pub timeout: Option<Duration>,
}

/// A change as a cache receives it.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The event.
    pub event: WatchEvent,
    /// The state before the change of an object, if it was requested and is known.
    pub previous: Option<StoredObject>,
}

/// The changes of a resource. Ends as a [`WatchStream`] does.
pub type ChangedStream = BoxStream<'static, Result<Changed, WatchError>>;

/// A running watch. Ends after its first error, and when the store shuts down. Dropping it ends the watch.
pub type WatchStream = BoxStream<'static, Result<WatchEvent, WatchError>>;

/// An event as a watcher with a selector sees it.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// The object appeared, or came to match the selector.
    Added(StoredObject),
    /// The object changed.
    Modified(StoredObject),
    /// The object was deleted, or no longer matches: its last matching state, with the revision of the change.
    Deleted(StoredObject),
    /// No event at or below this revision follows.
    Bookmark {
        /// The revision.
        revision: Revision,
        /// Whether this ends the initial state (`k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
}

// === impl NewValue ===

impl NewValue {
    /// Returns the encoding that readers get.
    pub fn shown(&self) -> &Bytes {
        self.shown.as_ref().unwrap_or(&self.bytes)
    }
}

// === impl ListPage ===

impl ListPage {
    /// Returns the objects in parts: those in memory, then those that are read from the store.
    pub fn into_parts(self) -> RestStream {
        let first = stream::once(std::future::ready(Ok(self.items)));
        match self.rest {
            Some(rest) => first.chain(rest.stream()).boxed(),
            None => first.boxed(),
        }
    }
}

// === impl Rest ===

impl Rest {
    /// Creates a rest from `read`, which must stream the same objects on each call.
    pub fn new(read: impl Fn() -> RestStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Reads the objects from the start.
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
    /// Returns the revision of the event.
    pub fn revision(&self) -> Revision {
        self.event.revision()
    }
}

impl WatchEvent {
    /// Returns the object of the change; `None` for a bookmark.
    pub fn object(&self) -> Option<&StoredObject> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => Some(object),
            Self::Bookmark { .. } => None,
        }
    }

    /// Returns the same change with another form of its object.
    #[must_use]
    pub fn with_object(&self, object: StoredObject) -> Self {
        match self {
            Self::Added(_) => Self::Added(object),
            Self::Modified(_) => Self::Modified(object),
            Self::Deleted(_) => Self::Deleted(object),
            bookmark @ Self::Bookmark { .. } => bookmark.clone(),
        }
    }

    /// Returns the revision of the change.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object.revision,
            Self::Bookmark { revision, .. } => *revision,
        }
    }
}

/// Computes the update of a stored object. Called again whenever the object changed in between.
#[async_trait]
pub trait TryUpdate: Send {
    /// Returns the action for the current state (`None`: the object is absent).
    ///
    /// # Errors
    /// Rejects the update; returned to the caller as [`StorageError::Rejected`].
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError>;

    /// Whether an absent object can be updated (create on update).
    fn accepts_absent(&self) -> bool {
        false
    }
}

/// The action of an update.
#[derive(Debug)]
pub enum UpdateAction {
    /// Write this value. It is not written if it equals the current value.
    Write {
        /// The new value.
        value: NewValue,
        /// Remove the object automatically after this duration.
        ttl: Option<Duration>,
    },
    /// Remove the object.
    Delete,
    /// Keep the object unchanged.
    Keep,
}

/// The result of an update.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The state after the update (after a deletion: the last state, with the deletion's revision).
    pub object: StoredObject,
    /// The outcome of the update.
    pub outcome: UpdateOutcome,
}

/// The outcome of an update.
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

/// Validates a deletion. Called again whenever the object changed in between.
#[async_trait]
pub trait ValidateDeletion: Send {
    /// Checks whether an object in this state may be deleted.
    ///
    /// # Errors
    /// Rejects the deletion.
    async fn validate_deletion(&mut self, current: &StoredObject) -> Result<(), StatusError>;
}

/// Allows every deletion.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyDeletion;

#[async_trait]
impl ValidateDeletion for AnyDeletion {
    async fn validate_deletion(&mut self, _current: &StoredObject) -> Result<(), StatusError> {
        Ok(())
    }
}
