//! Watches: the initial state if requested, then the changes filtered by the selector.

use std::collections::VecDeque;

use futures::StreamExt as _;
use futures::stream;

use crate::Revision;
use crate::entry::StoredObject;
use crate::error::{StorageError, WatchError};
use crate::interface::{Changed, ChangedStream, WatchEvent, WatchRequest, WatchStream};
use crate::mvcc::{Change, ChangeBatch, ChangeStream, KeyValue, MvccError, RangeRequest, Ranged};
use crate::predicate::Predicate;

use super::{KeyRange, VersionedStore, not_in_the_future, successor};

/// Size of one read of the initial state, in bytes. The next read waits until this one has been consumed.
const INITIAL_BYTES: usize = 128 * 1024;

/// Maximum size of one read of a large initial state, in bytes.
const MAX_INITIAL_BYTES: usize = 4 * 1024 * 1024;

/// Number of reads above which each reads more. For each read etcd visits all keys that are left, in order to count them:
/// the costs would grow with the square of the number of objects.
const INITIAL_READS: u64 = 256;

/// A watch in progress.
struct Watching {
    subject: Subject,
    bookmarks: bool,
    /// Events ready to be returned.
    ready: VecDeque<Changed>,
    phase: Phase,
}

/// The keys watched, and how events are selected.
struct Subject {
    store: VersionedStore,
    range: KeyRange,
    predicate: Predicate,
    /// Whether changes include the previous state.
    with_previous: bool,
}

/// The phase of a watch.
enum Phase {
    /// Reads the rest of the state at this revision.
    Initial { revision: Revision, next: Next, close_with_bookmark: bool },
    /// Follows the changes.
    Changes(ChangeStream),
    /// The watch has ended.
    Ended,
}

/// The position at which the initial state continues.
enum Next {
    From { start: String, left: u64 },
    Done,
}

/// See [`Interface::watch`](crate::Interface::watch).
pub(super) async fn watch(
    store: &VersionedStore,
    prefix: &str,
    request: &WatchRequest,
) -> Result<WatchStream, StorageError> {
    let watching = begin(store, prefix, request, false).await?;
    Ok(stream::unfold(watching, |mut watching| async move {
        let item = watching.next().await?;
        Some((item.map(|changed| changed.event), watching))
    })
    .boxed())
}

/// See [`Interface::changes`](crate::Interface::changes).
pub(super) async fn changes(
    store: &VersionedStore,
    prefix: &str,
    after: Revision,
    with_previous: bool,
) -> Result<ChangedStream, StorageError> {
    let request = WatchRequest {
        revision: Some(after),
        send_initial_events: Some(false),
        bookmarks: true,
        ..WatchRequest::default()
    };
    let watching = begin(store, prefix, &request, with_previous).await?;
    Ok(stream::unfold(watching, |mut watching| async move {
        let item = watching.next().await?;
        Some((item, watching))
    })
    .boxed())
}

async fn begin(
    store: &VersionedStore,
    prefix: &str,
    request: &WatchRequest,
    with_previous: bool,
) -> Result<Watching, StorageError> {
    let range = KeyRange::with_prefix(prefix);
    let predicate = request.predicate.clone();
    let subject = Subject { store: store.clone(), range, predicate, with_previous };
    let mut watching =
        Watching { subject, bookmarks: request.bookmarks, ready: VecDeque::new(), phase: Phase::Ended };
    watching.begin(request).await?;
    Ok(watching)
}

// === impl Watching ===

impl Watching {
    /// Runs the first read or starts the engine's watch: errors here are returned before the stream begins.
    async fn begin(&mut self, request: &WatchRequest) -> Result<(), StorageError> {
        let after = request.revision.filter(|revision| *revision > 0);
        let initial_state = request.send_initial_events.unwrap_or(after.is_none());
        if !initial_state {
            let after = match after {
                Some(revision) => revision,
                None => self.subject.store.engine.current_revision().await?,
            };
            self.phase = Phase::Changes(self.subject.follow(after).await?);
            return Ok(());
        }
        let start = self.subject.range.start.clone();
        let ranged = self.subject.read(&start, 0, None).await?;
        not_in_the_future(after, ranged.revision)?;
        self.phase = Phase::Initial {
            revision: ranged.revision,
            next: self.take_initial(ranged).await?,
            close_with_bookmark: request.send_initial_events == Some(true),
        };
        Ok(())
    }

    /// Returns the next item; `None` after the last.
    async fn next(&mut self) -> Option<Result<Changed, WatchError>> {
        loop {
            if let Some(changed) = self.ready.pop_front() {
                return Some(Ok(changed));
            }
            match self.advance().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.phase = Phase::Ended;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Performs one step, which may produce events. Returns whether the watch continues.
    async fn advance(&mut self) -> Result<bool, WatchError> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Ended => Ok(false),
            Phase::Initial { revision, next: Next::From { start, left }, close_with_bookmark } => {
                let ranged = self.subject.read(&start, left, Some(revision)).await?;
                let next = self.take_initial(ranged).await.map_err(watch_error)?;
                self.phase = Phase::Initial { revision, next, close_with_bookmark };
                Ok(true)
            }
            Phase::Initial { revision, next: Next::Done, close_with_bookmark } => {
                self.phase = Phase::Changes(self.subject.follow(revision).await?);
                if close_with_bookmark {
                    self.push(WatchEvent::Bookmark { revision, initial_events_end: true });
                }
                Ok(true)
            }
            Phase::Changes(mut changes) => match changes.next().await {
                None => Ok(false),
                Some(batch) => {
                    self.take_changes(batch?).await.map_err(watch_error)?;
                    self.phase = Phase::Changes(changes);
                    Ok(true)
                }
            },
        }
    }

    /// Converts objects of the initial state into events. Returns the next position.
    async fn take_initial(&mut self, ranged: Ranged) -> Result<Next, StorageError> {
        let left = ranged.count.saturating_sub(ranged.key_values.len() as u64);
        let next = match ranged.key_values.last() {
            Some(last) if left > 0 => Next::From { start: successor(&last.key), left },
            _ => Next::Done,
        };
        for KeyValue { key, value, mod_revision, .. } in ranged.key_values {
            let object = self.subject.store.entry_with_attributes(key, value, mod_revision).await?;
            if self.subject.selects(&object) {
                self.push(WatchEvent::Added(object));
            }
        }
        Ok(next)
    }

    async fn take_changes(&mut self, batch: ChangeBatch) -> Result<(), StorageError> {
        if batch.changes.is_empty() && self.bookmarks {
            let revision = batch.revision;
            self.push(WatchEvent::Bookmark { revision, initial_events_end: false });
        }
        for change in batch.changes {
            if let Some(changed) = self.subject.event(change).await? {
                self.ready.push_back(changed);
            }
        }
        Ok(())
    }

    fn push(&mut self, event: WatchEvent) {
        self.ready.push_back(Changed { event, previous: None });
    }
}

// === impl Subject ===

impl Subject {
    async fn follow(&self, after: Revision) -> Result<ChangeStream, MvccError> {
        self.store.engine.watch(&self.range.start, &self.range.end, after).await
    }

    /// Reads a part of the initial state, of which about `left` objects are left.
    async fn read(&self, start: &str, left: u64, revision: Option<Revision>) -> Result<Ranged, MvccError> {
        let page_size = &self.store.page_size;
        let large = (left / INITIAL_READS).min(page_size.objects_of(MAX_INITIAL_BYTES));
        let limit = page_size.objects_of(INITIAL_BYTES).max(large);
        let request = RangeRequest { start, end: &self.range.end, limit, revision };
        let ranged = self.store.engine.range(request).await?;
        self.store.page_size.note(&ranged.key_values);
        Ok(ranged)
    }

    /// Converts a change for this watcher: an object that begins to match is added, an object that ceases to match is
    /// deleted.
    async fn event(&self, change: Change) -> Result<Option<Changed>, StorageError> {
        let Change { key, revision, value, previous } = change;
        let existed = previous.is_some();
        let now = match value {
            Some(value) => Some(self.store.entry_with_attributes(key.clone(), value, revision).await?),
            None => None,
        };
        let now = now.filter(|object| self.selects(object));
        if self.predicate.is_everything()
            && let Some(object) = now
        {
            let event = if existed { WatchEvent::Modified(object) } else { WatchEvent::Added(object) };
            let previous = match previous.filter(|_| self.with_previous) {
                Some(value) => Some(self.store.entry_with_attributes(key, value, revision).await?),
                None => None,
            };
            return Ok(Some(Changed { event, previous }));
        }
        // The previous state, with the revision of the change: the object of a deletion event.
        let before = match previous {
            Some(value) => Some(self.store.entry_with_attributes(key, value, revision).await?),
            None => None,
        };
        let before = before.filter(|object| self.selects(object));
        let event = match (before, now) {
            (None, None) => return Ok(None),
            (None, Some(object)) => WatchEvent::Added(object),
            (Some(_), Some(object)) => WatchEvent::Modified(object),
            (Some(object), None) => WatchEvent::Deleted(object),
        };
        Ok(Some(Changed { event, previous: None }))
    }

    fn selects(&self, object: &StoredObject) -> bool {
        self.predicate.is_everything() || self.predicate.selects(object)
    }
}

/// Converts a storage error into a watch error.
fn watch_error(error: StorageError) -> WatchError {
    match error {
        StorageError::Compacted { requested, oldest, .. } => WatchError::Compacted { requested, oldest },
        StorageError::Corrupt(object) => WatchError::Corrupt(object),
        other => WatchError::Interrupted(other.to_string().into()),
    }
}
