//! Watches: the present state first if asked for, then changes as a selector sees them.

use std::collections::VecDeque;

use futures::StreamExt as _;
use futures::stream;

use crate::storage::Revision;
use crate::storage::entry::StoredObject;
use crate::storage::error::{StorageError, WatchError};
use crate::storage::interface::{WatchEvent, WatchRequest, WatchStream};
use crate::storage::mvcc::{Change, ChangeBatch, ChangeStream, KeyValue, MvccError, RangeRequest, Ranged};
use crate::storage::predicate::Predicate;

use super::{KeyRange, VersionedStore, not_in_the_future, successor};

/// How many objects of the present state are read at once. The next ones wait until these were taken.
const INITIAL_PAGE: u64 = 1_000;

/// A watch on its way.
struct Watching {
    subject: Subject,
    bookmarks: bool,
    /// Made, and not yet taken.
    ready: VecDeque<WatchEvent>,
    phase: Phase,
}

/// What is watched, through which eyes.
struct Subject {
    store: VersionedStore,
    range: KeyRange,
    predicate: Predicate,
}

/// What a watch does next.
enum Phase {
    /// Read on in the state at this revision.
    Initial { revision: Revision, next: Next, close_with_bookmark: bool },
    /// Follow the changes.
    Changes(ChangeStream),
    /// Nothing.
    Ended,
}

/// Where the present state goes on.
enum Next {
    From(String),
    Done,
}

/// See [`Interface::watch`](crate::storage::Interface::watch).
pub(super) async fn watch(
    store: &VersionedStore,
    prefix: &str,
    request: &WatchRequest,
) -> Result<WatchStream, StorageError> {
    let subject =
        Subject { store: store.clone(), range: KeyRange::of(prefix), predicate: request.predicate.clone() };
    let mut watching =
        Watching { subject, bookmarks: request.bookmarks, ready: VecDeque::new(), phase: Phase::Ended };
    watching.begin(request).await?;
    Ok(stream::unfold(watching, |mut watching| async move {
        let item = watching.next().await?;
        Some((item, watching))
    })
    .boxed())
}

// === impl Watching ===

impl Watching {
    /// The first read or the engine's watch: what fails here fails before the stream begins.
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
        let ranged = self.subject.read(&start, None).await?;
        not_in_the_future(after, ranged.revision)?;
        self.phase = Phase::Initial {
            revision: ranged.revision,
            next: self.take_initial(ranged).await?,
            close_with_bookmark: request.send_initial_events == Some(true),
        };
        Ok(())
    }

    /// The next item; `None` after the last.
    async fn next(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
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

    /// One step, which may or may not make events; whether there is more.
    async fn advance(&mut self) -> Result<bool, WatchError> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Ended => Ok(false),
            Phase::Initial { revision, next: Next::From(start), close_with_bookmark } => {
                let ranged = self.subject.read(&start, Some(revision)).await?;
                let next = self.take_initial(ranged).await.map_err(watch_error)?;
                self.phase = Phase::Initial { revision, next, close_with_bookmark };
                Ok(true)
            }
            Phase::Initial { revision, next: Next::Done, close_with_bookmark } => {
                self.phase = Phase::Changes(self.subject.follow(revision).await?);
                if close_with_bookmark {
                    self.ready.push_back(WatchEvent::Bookmark { revision, initial_events_end: true });
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

    /// Turns objects of the present state into events; where it goes on.
    async fn take_initial(&mut self, ranged: Ranged) -> Result<Next, StorageError> {
        let more = ranged.count > ranged.key_values.len() as u64;
        let next = match ranged.key_values.last() {
            Some(last) if more => Next::From(successor(&last.key)),
            _ => Next::Done,
        };
        for KeyValue { key, value, mod_revision, .. } in ranged.key_values {
            let object = self.subject.store.entry_with_attributes(key, value, mod_revision).await?;
            if self.subject.selects(&object) {
                self.ready.push_back(WatchEvent::Added(object));
            }
        }
        Ok(next)
    }

    async fn take_changes(&mut self, batch: ChangeBatch) -> Result<(), StorageError> {
        if batch.changes.is_empty() && self.bookmarks {
            let revision = batch.revision;
            self.ready.push_back(WatchEvent::Bookmark { revision, initial_events_end: false });
        }
        for change in batch.changes {
            if let Some(event) = self.subject.event(change).await? {
                self.ready.push_back(event);
            }
        }
        Ok(())
    }
}

// === impl Subject ===

impl Subject {
    async fn follow(&self, after: Revision) -> Result<ChangeStream, MvccError> {
        self.store.engine.watch(&self.range.start, &self.range.end, after).await
    }

    async fn read(&self, start: &str, revision: Option<Revision>) -> Result<Ranged, MvccError> {
        let request = RangeRequest { start, end: &self.range.end, limit: INITIAL_PAGE, revision };
        self.store.engine.range(request).await
    }

    /// What a change is to this watcher: an object that comes to match appears, one that ceases to match goes.
    async fn event(&self, change: Change) -> Result<Option<WatchEvent>, StorageError> {
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
            return Ok(Some(if existed { WatchEvent::Modified(object) } else { WatchEvent::Added(object) }));
        }
        // The state before, with the revision of the change: what a watcher is told is gone.
        let before = match previous {
            Some(value) => Some(self.store.entry_with_attributes(key, value, revision).await?),
            None => None,
        };
        let before = before.filter(|object| self.selects(object));
        Ok(match (before, now) {
            (None, None) => None,
            (None, Some(object)) => Some(WatchEvent::Added(object)),
            (Some(_), Some(object)) => Some(WatchEvent::Modified(object)),
            (Some(object), None) => Some(WatchEvent::Deleted(object)),
        })
    }

    fn selects(&self, object: &StoredObject) -> bool {
        self.predicate.is_everything() || self.predicate.matches(&object.attributes)
    }
}

/// An error met while watching.
fn watch_error(error: StorageError) -> WatchError {
    match error {
        StorageError::Compacted { requested, oldest, .. } => WatchError::Compacted { requested, oldest },
        StorageError::Corrupt { key, reason } => WatchError::Corrupt { key, reason },
        other => WatchError::Interrupted(other.to_string().into()),
    }
}
