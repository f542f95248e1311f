//! The state of the cache: the current objects, and the events that led to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::RwLock;
use tokio::sync::watch;

use crate::Revision;
use crate::entry::StoredObject;
use crate::interface::{Changed, WatchEvent};
use crate::metrics::{CacheMetrics, CacheNumbers, CacheSource};

use super::CacherOptions;
use super::budget::{CacheBudget, Share};
use super::event_channel::{Event, EventChannel};
use super::event_channels::{EventChannelId, EventChannelKey, EventChannels};
use super::filling::{Absent, Filled, Filling};
use super::notifier::Notifier;
use super::snapshots::{Objects, Pages, Snapshot, StandingSnapshots};

mod reading;

/// Maximum age of events, even below the size limit: as long as stores keep their history.
const HISTORY_AGE_SECONDS: u32 = 5 * 60;

/// Minimum size of each cache's history, in bytes, independent of other caches: events of a rarely written resource
/// are not dropped because other resources are written often.
const OWN_HISTORY_BYTES_MIN: usize = 128 * 1024;

/// A cache's state. Locks are held for pointer operations only, never during I/O.
pub(super) struct CacheState {
    contents: RwLock<Contents>,
    /// The revision reached; 0 before the cache is filled.
    reached: watch::Sender<Revision>,
    /// Snapshots of lists still being paged.
    pub(super) pages: Pages,
    /// Snapshots of watches still sending their initial state.
    pub(super) standing: StandingSnapshots,
    budget: Arc<CacheBudget>,
    pub(super) share: Arc<Share>,
    /// Whether the current objects are held: for readers, without the lock.
    holds_objects: AtomicBool,
    /// Whether the stored values of the objects can be read, as far as known.
    is_confirmed: AtomicBool,
    pub(super) metrics: CacheMetrics,
    history_events: usize,
    indexes: &'static [&'static str],
    begun: Instant,
}

#[derive(Default)]
struct Contents {
    snapshot: Snapshot,
    /// All events after `floor`.
    log: EventChannel,
    floor: Revision,
    channels: EventChannels,
    object_bytes: usize,
    history_bytes: usize,
    /// Number and size of the objects if they are not held; `None` while the snapshot holds them.
    absent: Option<Absent>,
}

/// The start of a watcher.
pub(super) struct Attached {
    /// The channel that it reads.
    pub(super) channel: EventChannelId,
    /// Its cursor in the channel.
    pub(super) cursor: u64,
    /// The state at the cursor.
    pub(super) snapshot: Snapshot,
    /// Events from the wanted revision on that are in the log but not in the channel.
    pub(super) backlog: Vec<Arc<Event>>,
    /// Wakes the watcher when the channel has new events.
    pub(super) notifier: Arc<Notifier>,
}

/// A watcher's cursor fell off its channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lagged {
    /// The oldest revision that a watch may begin at.
    pub(super) oldest: Revision,
}

// === impl CacheState: filling ===

impl CacheState {
    pub(super) fn new(options: &CacherOptions, metrics: CacheMetrics) -> Self {
        Self {
            contents: RwLock::default(),
            reached: watch::Sender::new(0),
            pages: Pages::default(),
            standing: StandingSnapshots::default(),
            metrics,
            share: Share::new(&options.budget),
            holds_objects: AtomicBool::new(true),
            is_confirmed: AtomicBool::new(true),
            budget: options.budget.clone(),
            history_events: options.history_events,
            indexes: options.indexes,
            begun: Instant::now(),
        }
    }

    /// Creates a collector for the objects of the store.
    pub(super) fn filling(&self) -> Filling {
        Filling::new(&self.budget, &self.share)
    }

    /// Starts over from a complete list: watchers in the old history must list again.
    pub(super) fn fill(&self, revision: Revision, filled: Filled) {
        self.metrics.filled();
        self.start_over(revision, filled);
    }

    /// Drops all contents: until the next fill, reads go to the store.
    pub(super) fn lose(&self) {
        self.start_over(0, Filled::default());
    }

    fn start_over(&self, revision: Revision, filled: Filled) {
        let mut contents = self.write();
        self.budget.give_back_history(contents.history_bytes);
        // The filled objects are counted already.
        self.share.exchange(0, contents.object_bytes);
        contents.history_bytes = 0;
        contents.object_bytes = filled.object_bytes;
        self.set_absent(&mut contents, filled.absent);
        let mut notifiers = Vec::from_iter(contents.log.clear());
        notifiers.extend(contents.channels.iter_mut().filter_map(EventChannel::clear));
        contents.floor = revision;
        let before =
            std::mem::replace(&mut contents.snapshot, Snapshot { revision, objects: filled.objects });
        self.forget_snapshots(revision);
        drop(contents);
        drop(before);
        self.reached.send_replace(revision);
        for notifier in notifiers {
            notifier.ring();
        }
    }

    /// Applies changes atomically and in order, then wakes the watchers concerned.
    pub(super) fn apply(&self, happened: impl IntoIterator<Item = Changed>) {
        let mut notifiers = Vec::new();
        let mut events = 0;
        let mut contents = self.write();
        for Changed { event, previous } in happened {
            match event {
                WatchEvent::Bookmark { revision, .. } => {
                    contents.snapshot.revision = contents.snapshot.revision.max(revision);
                    // Watchers that wait for bookmarks only read the revision; they need no notifier.
                }
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    events += 1;
                    let previous = contents.put(&self.share, &object, previous);
                    self.take_in(&mut contents, object, false, previous, &mut notifiers);
                }
                WatchEvent::Deleted(object) => {
                    events += 1;
                    let previous = contents.remove(&self.share, &object);
                    self.take_in(&mut contents, object, true, previous, &mut notifiers);
                }
            }
        }
        self.metrics.received(events);
        self.trim(&mut contents);
        let revision = contents.snapshot.revision;
        drop(contents);
        self.reached.send_replace(revision);
        for notifier in notifiers {
            notifier.ring();
        }
        self.metrics.dispatched(events);
        if self.budget.is_exceeded() {
            self.budget.make_room();
        }
    }

    fn take_in(
        &self,
        contents: &mut Contents,
        object: StoredObject,
        is_deletion: bool,
        previous: Option<StoredObject>,
        notifiers: &mut Vec<Arc<Notifier>>,
    ) {
        contents.snapshot.revision = contents.snapshot.revision.max(object.revision);
        let arrived_seconds = self.age_seconds();
        let is_alone = AtomicBool::new(contents.absent.is_some());
        let departed = OnceLock::new();
        let event = Arc::new(Event { object, arrived_seconds, is_deletion, previous, is_alone, departed });
        contents.history_bytes += event.size_bytes();
        self.budget.take_history(event.size_bytes());
        notifiers.extend(contents.log.push(event.clone()));
        if contents.channels.is_empty() {
            return;
        }
        for key in self.lanes_of(&event) {
            if let Some(channel) = contents.channels.about(&key) {
                notifiers.extend(channel.push(event.clone()));
            }
        }
    }

    /// Returns the age of the cache.
    fn age_seconds(&self) -> u32 {
        u32::try_from(self.begun.elapsed().as_secs()).unwrap_or(u32::MAX)
    }

    /// Returns the channels that an event concerns, besides the log.
    fn lanes_of(&self, event: &Event) -> Vec<EventChannelKey> {
        let key = &*event.object.key;
        let mut channels = vec![EventChannelKey::Key(key.into())];
        if let Some(end) = key.rfind('/') {
            channels.push(EventChannelKey::Below(key.get(..=end).unwrap_or_default().into()));
        }
        for (position, field) in self.indexes.iter().enumerate() {
            let now = event.object.attributes.field(field);
            channels.push(EventChannelKey::Index(position, now.into()));
            let before = event.previous.as_ref().map_or(now, |previous| previous.attributes.field(field));
            if before != now {
                channels.push(EventChannelKey::Index(position, before.into()));
            }
        }
        channels
    }

    /// Drops the oldest events while there are too many, they are too old, or the budget is exceeded.
    fn trim(&self, contents: &mut Contents) {
        while let Some(oldest) = contents.log.oldest() {
            let is_large = contents.history_bytes > OWN_HISTORY_BYTES_MIN;
            let surplus =
                contents.log.len() > self.history_events || (is_large && self.budget.is_history_exceeded());
            let age_seconds = self.age_seconds().saturating_sub(oldest.arrived_seconds);
            if !surplus && age_seconds < HISTORY_AGE_SECONDS {
                break;
            }
            let Some(dropped) = contents.log.drop_oldest() else { break };
            contents.history_bytes -= dropped.size_bytes();
            self.budget.give_back_history(dropped.size_bytes());
            contents.floor = dropped.revision();
            if contents.channels.is_empty() {
                continue;
            }
            // Only the event's own channels: there may be ten thousand others.
            for key in self.lanes_of(&dropped) {
                if let Some(channel) = contents.channels.about(&key) {
                    channel.drop_until(dropped.revision());
                }
            }
        }
        self.forget_snapshots(contents.floor);
    }
}

// === impl CacheState: the budget ===

impl CacheState {
    /// Snapshots older than the history hold states that are not counted: their users must list again.
    fn forget_snapshots(&self, floor: Revision) {
        self.pages.forget_before(floor);
        self.standing.forget_before(floor);
    }

    /// Drops history that is too old or too large; for a cache without changes.
    pub(super) fn tidy(&self) {
        self.trim(&mut self.write());
    }

    /// Whether the cache holds the current objects.
    pub(super) fn holds_objects(&self) -> bool {
        self.holds_objects.load(Ordering::Acquire)
    }

    /// Whether the stored values of the objects can be read, as far as known.
    pub(super) fn is_confirmed(&self) -> bool {
        self.is_confirmed.load(Ordering::Acquire)
    }

    pub(super) fn set_confirmed(&self, is_confirmed: bool) {
        self.is_confirmed.store(is_confirmed, Ordering::Release);
    }

    /// Whether the released objects fit the budget again.
    pub(super) fn fits(&self) -> bool {
        let absent = self.read().absent;
        absent.is_some_and(|absent| self.budget.has_room_for(absent.bytes))
    }

    /// Releases the current objects: reads then go to the store, and only the history remains. Returns the objects,
    /// so that the caller can drop them where that may take time.
    pub(super) fn evict(&self) -> Objects {
        let mut contents = self.write();
        let objects = std::mem::take(&mut contents.snapshot.objects);
        let absent = Absent { objects: objects.len(), bytes: contents.object_bytes };
        self.set_absent(&mut contents, Some(absent));
        self.share.exchange(0, contents.object_bytes);
        contents.object_bytes = 0;
        // The history is now the only holder of objects that it shared.
        let mut history_bytes = 0;
        for event in contents.log.events() {
            event.is_alone.store(true, Ordering::Relaxed);
            history_bytes += event.size_bytes();
        }
        self.budget.take_history(history_bytes);
        self.budget.give_back_history(contents.history_bytes);
        contents.history_bytes = history_bytes;
        self.share.comply();
        self.trim(&mut contents);
        self.forget_snapshots(Revision::MAX);
        objects
    }

    fn set_absent(&self, contents: &mut Contents, absent: Option<Absent>) {
        contents.absent = absent;
        self.holds_objects.store(absent.is_none(), Ordering::Release);
    }

    /// Holds the current objects again, at the revision that the cache has reached.
    pub(super) fn hold(&self, filled: Filled) {
        let mut contents = self.write();
        contents.snapshot.objects = filled.objects;
        contents.object_bytes = filled.object_bytes;
        self.set_absent(&mut contents, filled.absent);
    }
}

impl CacheSource for CacheState {
    fn numbers(&self) -> CacheNumbers {
        let contents = self.read();
        let channels = contents.channels.iter().map(|channel| channel.watchers);
        CacheNumbers {
            revision: self.reached(),
            objects: contents.absent.map_or(contents.snapshot.objects.len(), |absent| absent.objects),
            holds_objects: self.reached() != 0 && contents.absent.is_none(),
            object_bytes: contents.object_bytes,
            history_events: contents.log.len(),
            history_bytes: contents.history_bytes,
            capacity_events: self.history_events,
            watchers: contents.log.watchers + channels.sum::<usize>(),
        }
    }
}

// === impl CacheState: reading ===

impl CacheState {
    fn read(&self) -> parking_lot::RwLockReadGuard<'_, Contents> {
        self.contents.read()
    }

    fn write(&self) -> parking_lot::RwLockWriteGuard<'_, Contents> {
        self.contents.write()
    }
}

impl Contents {
    /// Inserts an object. Returns the previous state, which is `previous` if the cache does not hold the objects.
    fn put(
        &mut self,
        share: &Share,
        object: &StoredObject,
        previous: Option<StoredObject>,
    ) -> Option<StoredObject> {
        let size_bytes = object.size_bytes();
        if let Some(absent) = &mut self.absent {
            absent.objects += usize::from(previous.is_none());
            absent.bytes = (absent.bytes + size_bytes).saturating_sub(bytes_of(previous.as_ref()));
            return previous;
        }
        let previous = self.snapshot.objects.insert(object.key.clone(), object.clone());
        self.exchange(share, size_bytes, bytes_of(previous.as_ref()));
        previous
    }

    /// Removes a deleted object. Returns the previous state.
    fn remove(&mut self, share: &Share, object: &StoredObject) -> Option<StoredObject> {
        if let Some(absent) = &mut self.absent {
            absent.objects = absent.objects.saturating_sub(1);
            absent.bytes = absent.bytes.saturating_sub(object.size_bytes());
            return Some(object.clone());
        }
        let previous = self.snapshot.objects.remove(&object.key);
        self.exchange(share, 0, bytes_of(previous.as_ref()));
        previous
    }

    fn exchange(&mut self, share: &Share, taken_bytes: usize, given_back_bytes: usize) {
        self.object_bytes = self.object_bytes + taken_bytes - given_back_bytes;
        share.exchange(taken_bytes, given_back_bytes);
    }

    fn channel(&self, channel: EventChannelId) -> Option<&EventChannel> {
        match channel {
            EventChannelId::Log => Some(&self.log),
            EventChannelId::Own(place) => self.channels.get(place),
        }
    }
}

impl Drop for CacheState {
    fn drop(&mut self) {
        let contents = self.read();
        self.budget.give_back_history(contents.history_bytes);
        self.share.exchange(0, contents.object_bytes);
    }
}

fn bytes_of(object: Option<&StoredObject>) -> usize {
    object.map_or(0, |object| object.size_bytes())
}
