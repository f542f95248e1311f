//! A channel: the events for a group of watchers, in order, and the notifier that wakes them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Revision;
use crate::entry::StoredObject;

use super::notifier::Notifier;

/// A change of one object, shared by the log, its channels and every watcher that reads it.
#[derive(Debug)]
pub(super) struct Event {
    /// The state after the change; for a deletion the last state. Its revision is the revision of the change.
    pub(super) object: StoredObject,
    /// Time of arrival, in seconds since the cache was created.
    pub(super) arrived_seconds: u32,
    /// Whether the object was deleted.
    pub(super) is_deletion: bool,
    /// The previous state.
    pub(super) previous: Option<StoredObject>,
    /// Whether only the event holds the state after the change, because the cache does not hold the current objects.
    pub(super) is_alone: AtomicBool,
    /// The previous state, with the revision of the change: sent to watchers whose selector no longer matches.
    pub(super) departed: OnceLock<StoredObject>,
}

/// Events in order, from some revision on.
#[derive(Debug, Default)]
pub(super) struct EventChannel {
    events: VecDeque<Arc<Event>>,
    /// The number of the oldest event kept; a cursor below it has lagged.
    first: u64,
    /// Wakes the watchers when events have arrived.
    pub(super) notifier: Arc<Notifier>,
    /// Number of watchers of this channel.
    pub(super) watchers: usize,
}

impl Event {
    /// Returns the revision of the change.
    pub(super) fn revision(&self) -> Revision {
        self.object.revision
    }

    /// Returns the memory that the event takes beside the current objects, in bytes: the previous state, which
    /// nothing else holds any more, and for a deletion the last state. The new state is held as an object, or by the
    /// next event.
    pub(super) fn size_bytes(&self) -> usize {
        const OVERHEAD_BYTES: usize = 160;
        let previous = self.previous.as_ref().map_or(0, |previous| previous.size_bytes());
        let holds_object = self.is_deletion || self.is_alone.load(Ordering::Relaxed);
        let last = if holds_object { self.object.size_bytes() } else { 0 };
        OVERHEAD_BYTES + previous + last
    }
}

impl EventChannel {
    /// Returns the number that the next event will have.
    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Appends an event. Returns the notifier if the caller must wake the watchers.
    pub(super) fn push(&mut self, event: Arc<Event>) -> Option<Arc<Notifier>> {
        self.events.push_back(event);
        self.notifier.set_end(self.end());
        self.notifier.claim().then(|| self.notifier.clone())
    }

    /// Returns the oldest event.
    pub(super) fn oldest(&self) -> Option<&Arc<Event>> {
        self.events.front()
    }

    /// Drops the oldest event.
    pub(super) fn drop_oldest(&mut self) -> Option<Arc<Event>> {
        let dropped = self.events.pop_front()?;
        self.first += 1;
        Some(dropped)
    }

    /// Drops every event up to a revision.
    pub(super) fn drop_until(&mut self, floor: Revision) {
        while self.events.front().is_some_and(|event| event.revision() <= floor) {
            self.drop_oldest();
        }
    }

    /// Drops all events, so that every cursor has lagged. Returns the notifier if the caller must wake the watchers.
    pub(super) fn clear(&mut self) -> Option<Arc<Notifier>> {
        self.first = self.end() + 1;
        self.events.clear();
        self.notifier.set_end(self.end());
        self.notifier.claim().then(|| self.notifier.clone())
    }

    /// Returns all events.
    pub(super) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.events.iter()
    }

    /// Returns the number of events kept.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the number of the first event after a revision.
    pub(super) fn position_after(&self, revision: Revision) -> u64 {
        self.first + self.events.partition_point(|event| event.revision() <= revision) as u64
    }

    /// Returns the events from a cursor on; `None` if the cursor has lagged.
    pub(super) fn read(&self, cursor: u64) -> Option<impl ExactSizeIterator<Item = &Arc<Event>>> {
        let skip = usize::try_from(cursor.checked_sub(self.first)?).ok()?;
        Some(self.events.range(skip.min(self.events.len())..))
    }
}
