//! A channel: the events that concern one group of watchers, in order, and the notifier that wakes them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::storage::Revision;
use crate::storage::entry::StoredObject;

use super::notifier::Notifier;

/// One change of one object, shared by the log, its channels and every watcher that is reading it.
#[derive(Debug)]
pub(super) struct Event {
    /// The state after the change; of a deletion the last state. Its revision is that of the change.
    pub(super) object: StoredObject,
    /// When it arrived here, in seconds after the cache began.
    pub(super) arrived_seconds: u32,
    /// Whether the object is gone.
    pub(super) is_deletion: bool,
    /// The state before.
    pub(super) previous: Option<StoredObject>,
    /// Whether the event alone holds the state after the change: the cache does not hold the present objects.
    pub(super) is_alone: AtomicBool,
    /// The state before, with the revision of the change: what watchers get whose selector no longer matches.
    pub(super) departed: OnceLock<StoredObject>,
}

/// Events in order, from some point on.
#[derive(Debug, Default)]
pub(super) struct EventChannel {
    events: VecDeque<Arc<Event>>,
    /// The number of the first event still here; a cursor below it has lagged off.
    first: u64,
    /// Rings when events have arrived.
    pub(super) notifier: Arc<Notifier>,
    /// How many watchers read this channel.
    pub(super) watchers: usize,
}

impl Event {
    /// The revision of the change.
    pub(super) fn revision(&self) -> Revision {
        self.object.revision
    }

    /// What keeping the event costs beside the present objects, in bytes: the state it ended, which nobody else
    /// holds any more, and of a deletion the last state. What it led to is held as an object, or by the event after.
    pub(super) fn size_bytes(&self) -> usize {
        const OVERHEAD_BYTES: usize = 160;
        let previous = self.previous.as_ref().map_or(0, |previous| previous.size_bytes());
        let holds_object = self.is_deletion || self.is_alone.load(Ordering::Relaxed);
        let last = if holds_object { self.object.size_bytes() } else { 0 };
        OVERHEAD_BYTES + previous + last
    }
}

impl EventChannel {
    /// The number the next event will have.
    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Takes an event in; the notifier, if the caller has to ring it.
    pub(super) fn push(&mut self, event: Arc<Event>) -> Option<Arc<Notifier>> {
        self.events.push_back(event);
        self.notifier.set_end(self.end());
        self.notifier.claim().then(|| self.notifier.clone())
    }

    /// The oldest event.
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

    /// Drops all events, so that every cursor has lagged off; the notifier, if the caller has to ring it.
    pub(super) fn clear(&mut self) -> Option<Arc<Notifier>> {
        self.first = self.end() + 1;
        self.events.clear();
        self.notifier.set_end(self.end());
        self.notifier.claim().then(|| self.notifier.clone())
    }

    /// All events.
    pub(super) fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.events.iter()
    }

    /// How many events are kept.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// The number of the first event after a revision.
    pub(super) fn position_after(&self, revision: Revision) -> u64 {
        self.first + self.events.partition_point(|event| event.revision() <= revision) as u64
    }

    /// The events from a cursor on; `None` when the cursor has lagged off.
    pub(super) fn read(&self, cursor: u64) -> Option<impl ExactSizeIterator<Item = &Arc<Event>>> {
        let skip = usize::try_from(cursor.checked_sub(self.first)?).ok()?;
        Some(self.events.range(skip.min(self.events.len())..))
    }
}
