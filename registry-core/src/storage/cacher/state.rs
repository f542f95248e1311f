//! What the cache holds: the present objects, and the events that led to them.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::metrics::{CacheMetrics, CacheNumbers, CacheSource};
use crate::storage::Revision;
use crate::storage::entry::StoredObject;
use crate::storage::error::StorageError;
use crate::storage::interface::WatchEvent;

use super::CacherOptions;
use super::bell::Bell;
use super::budget::CacheBudget;
use super::lane::{Event, Lane};
use super::lanes::{LaneId, LaneKey, Lanes};
use super::snapshots::{Pages, Snapshot, StandingSnapshots};

/// Events older than this are dropped even when there is room: as long as stores keep their history.
const HISTORY_AGE_SECONDS: u32 = 5 * 60;

/// When those may come back who were refused because the budget is exhausted, in seconds.
const RETRY_AFTER_SECONDS: u32 = 1;

/// A cache's state. Locks are held for pointer work only, never over I/O.
pub(super) struct State {
    contents: RwLock<Contents>,
    /// The revision reached; 0 before the cache is filled.
    reached: watch::Sender<Revision>,
    /// Snapshots that lists still being paged stand at.
    pub(super) pages: Pages,
    /// Snapshots that watches still begin with.
    pub(super) standing: StandingSnapshots,
    budget: Arc<CacheBudget>,
    pub(super) metrics: CacheMetrics,
    history_events: usize,
    indexes: &'static [&'static str],
    begun: Instant,
}

#[derive(Default)]
struct Contents {
    snapshot: Snapshot,
    /// Every event after `floor`.
    log: Lane,
    floor: Revision,
    lanes: Lanes,
    object_bytes: usize,
    history_bytes: usize,
}

/// Where a watcher begins.
pub(super) struct Attached {
    /// The lane it reads.
    pub(super) lane: LaneId,
    /// Its place in the lane.
    pub(super) cursor: u64,
    /// The state at that place.
    pub(super) snapshot: Snapshot,
    /// Events the lane does not have but the log does, from the wanted revision on.
    pub(super) backlog: Vec<Arc<Event>>,
    /// Rings when the lane has more.
    pub(super) bell: Arc<Bell>,
}

/// A watcher fell off its lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fallen {
    /// The oldest revision a watch may begin at.
    pub(super) oldest: Revision,
}

// === impl State: filling ===

impl State {
    pub(super) fn new(options: &CacherOptions, metrics: CacheMetrics) -> Self {
        Self {
            contents: RwLock::default(),
            reached: watch::Sender::new(0),
            pages: Pages::default(),
            standing: StandingSnapshots::default(),
            metrics,
            budget: options.budget.clone(),
            history_events: options.history_events,
            indexes: options.indexes,
            begun: Instant::now(),
        }
    }

    /// Starts over from a complete list: watchers that stood in the old history must list again.
    pub(super) fn fill(&self, snapshot: Snapshot) {
        self.metrics.filled();
        let reached = snapshot.revision;
        self.start_over(snapshot, reached);
    }

    /// Gives up what is here: until the next fill, reads go to the store.
    pub(super) fn lose(&self) {
        self.start_over(Snapshot::default(), 0);
    }

    fn start_over(&self, snapshot: Snapshot, reached: Revision) {
        let revision = snapshot.revision;
        let object_bytes = snapshot.objects.values().map(|object| object.size_bytes()).sum();
        let mut contents = self.write();
        self.budget.give_back_history(contents.history_bytes);
        self.budget.exchange_objects(object_bytes, contents.object_bytes);
        contents.history_bytes = 0;
        contents.object_bytes = object_bytes;
        let mut bells = Vec::from_iter(contents.log.clear());
        bells.extend(contents.lanes.iter_mut().filter_map(Lane::clear));
        contents.floor = revision;
        contents.snapshot = snapshot;
        self.forget_snapshots(revision);
        drop(contents);
        self.reached.send_replace(reached);
        for bell in bells {
            bell.ring();
        }
    }

    /// Takes in what happened, in order, in one step; then wakes whom it concerns.
    pub(super) fn apply(&self, happened: impl IntoIterator<Item = WatchEvent>) {
        let mut bells = Vec::new();
        let mut events = 0;
        let mut contents = self.write();
        for change in happened {
            match change {
                WatchEvent::Bookmark { revision, .. } => {
                    contents.snapshot.revision = contents.snapshot.revision.max(revision);
                    // Watchers that wait for bookmarks only look at the revision; they need no bell.
                }
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    events += 1;
                    self.take_in(&mut contents, object, false, &mut bells);
                }
                WatchEvent::Deleted(object) => {
                    events += 1;
                    self.take_in(&mut contents, object, true, &mut bells);
                }
            }
        }
        self.metrics.received(events);
        self.trim(&mut contents);
        let revision = contents.snapshot.revision;
        drop(contents);
        self.reached.send_replace(revision);
        for bell in bells {
            bell.ring();
        }
        self.metrics.dispatched(events);
    }

    fn take_in(
        &self,
        contents: &mut Contents,
        object: StoredObject,
        is_deletion: bool,
        bells: &mut Vec<Arc<Bell>>,
    ) {
        let (previous, taken_bytes) = if is_deletion {
            (contents.snapshot.objects.remove(&object.key), 0)
        } else {
            let previous = contents.snapshot.objects.insert(object.key.clone(), object.clone());
            (previous, object.size_bytes())
        };
        let given_back_bytes = previous.as_ref().map_or(0, |previous| previous.size_bytes());
        contents.object_bytes = contents.object_bytes + taken_bytes - given_back_bytes;
        self.budget.exchange_objects(taken_bytes, given_back_bytes);
        contents.snapshot.revision = contents.snapshot.revision.max(object.revision);
        let arrived_seconds = self.age_seconds();
        let event =
            Arc::new(Event { object, arrived_seconds, is_deletion, previous, departed: OnceLock::new() });
        contents.history_bytes += event.size_bytes();
        self.budget.take_history(event.size_bytes());
        bells.extend(contents.log.push(event.clone()));
        if contents.lanes.is_empty() {
            return;
        }
        for key in self.lanes_of(&event) {
            if let Some(lane) = contents.lanes.about(&key) {
                bells.extend(lane.push(event.clone()));
            }
        }
    }

    /// How long the cache is there.
    fn age_seconds(&self) -> u32 {
        u32::try_from(self.begun.elapsed().as_secs()).unwrap_or(u32::MAX)
    }

    /// The lanes an event concerns, beside the log itself.
    fn lanes_of(&self, event: &Event) -> Vec<LaneKey> {
        let key = &*event.object.key;
        let mut lanes = vec![LaneKey::Key(key.into())];
        if let Some(end) = key.rfind('/') {
            lanes.push(LaneKey::Below(key.get(..=end).unwrap_or_default().into()));
        }
        for (position, field) in self.indexes.iter().enumerate() {
            let now = event.object.attributes.field(field);
            lanes.push(LaneKey::Index(position, now.into()));
            let before = event.previous.as_ref().map_or(now, |previous| previous.attributes.field(field));
            if before != now {
                lanes.push(LaneKey::Index(position, before.into()));
            }
        }
        lanes
    }

    /// Drops the oldest events while there are too many, they are too old, or the budget is exceeded.
    fn trim(&self, contents: &mut Contents) {
        while let Some(oldest) = contents.log.oldest() {
            let surplus = contents.log.len() > self.history_events || self.budget.is_exceeded();
            let age_seconds = self.age_seconds().saturating_sub(oldest.arrived_seconds);
            if !surplus && age_seconds < HISTORY_AGE_SECONDS {
                break;
            }
            let Some(dropped) = contents.log.drop_oldest() else { break };
            contents.history_bytes -= dropped.size_bytes();
            self.budget.give_back_history(dropped.size_bytes());
            contents.floor = dropped.revision();
            if contents.lanes.is_empty() {
                continue;
            }
            // Its own lanes only: there may be ten thousand others.
            for key in self.lanes_of(&dropped) {
                if let Some(lane) = contents.lanes.about(&key) {
                    lane.drop_until(dropped.revision());
                }
            }
        }
        self.forget_snapshots(contents.floor);
    }
}

// === impl State: the budget ===

impl State {
    /// Snapshots of a time before the history hold what nobody counts any more: who still stands there begins again.
    fn forget_snapshots(&self, floor: Revision) {
        self.pages.forget_before(floor);
        self.standing.forget_before(floor);
    }

    /// Whether there is room for what one more list or watch holds on to, after history went.
    ///
    /// # Errors
    /// [`StorageError::Overloaded`]: there is none.
    pub(super) fn admit(&self) -> Result<(), StorageError> {
        if !self.budget.is_exhausted() {
            return Ok(());
        }
        self.trim(&mut self.write());
        if !self.budget.is_exhausted() {
            return Ok(());
        }
        self.budget.refuse();
        Err(StorageError::Overloaded { retry_after_seconds: RETRY_AFTER_SECONDS })
    }
}

impl CacheSource for State {
    fn numbers(&self) -> CacheNumbers {
        let contents = self.read();
        let lanes = contents.lanes.iter().map(|lane| lane.watchers);
        CacheNumbers {
            revision: self.reached(),
            objects: contents.snapshot.objects.len(),
            object_bytes: contents.object_bytes,
            history_events: contents.log.len(),
            history_bytes: contents.history_bytes,
            capacity_events: self.history_events,
            watchers: contents.log.watchers + lanes.sum::<usize>(),
        }
    }
}

// === impl State: reading ===

impl State {
    /// Whether the cache was filled.
    pub(super) fn is_filled(&self) -> bool {
        self.reached() != 0
    }

    /// The revision the cache has come to; 0 before it is filled.
    pub(super) fn reached(&self) -> Revision {
        *self.reached.borrow()
    }

    /// Everything there is now, in one step; `None` while the cache is not filled.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let snapshot = self.read().snapshot.clone();
        (snapshot.revision > 0).then_some(snapshot)
    }

    /// Waits until the cache has reached a revision.
    pub(super) async fn reach(&self, revision: Revision, timeout: Duration) -> Result<(), StorageError> {
        if *self.reached.borrow() >= revision {
            self.metrics.waited(Duration::ZERO);
            return Ok(());
        }
        let begun = Instant::now();
        let mut reached = self.reached.subscribe();
        let arrival = tokio::time::timeout(timeout, reached.wait_for(|reached| *reached >= revision)).await;
        self.metrics.waited(begun.elapsed());
        match arrival {
            Ok(Ok(_)) => Ok(()),
            _ => Err(StorageError::FutureRevision { requested: revision, current: *self.reached.borrow() }),
        }
    }

    /// Waits until the cache was filled.
    pub(super) async fn filled(&self, timeout: Duration) -> bool {
        self.reach(1, timeout).await.is_ok()
    }

    /// Attaches a watcher to a lane: with the present state, or with the events after a revision.
    ///
    /// # Errors
    /// The oldest revision a watch may begin at, when the wanted one is older; 0 while the cache is not filled.
    pub(super) fn attach(&self, lane: LaneKey, after: Option<Revision>) -> Result<Attached, Revision> {
        let mut contents = self.write();
        let contents = &mut *contents;
        let mut backlog = Vec::new();
        if contents.snapshot.revision == 0 {
            return Err(0);
        }
        if let Some(after) = after {
            if after < contents.floor {
                return Err(contents.floor);
            }
            let start = contents.log.position_after(after);
            if lane != LaneKey::All {
                backlog = contents.log.read(start).into_iter().flatten().cloned().collect();
            }
        }
        let lane = contents.lanes.open(lane);
        let own = match lane {
            LaneId::Log => &mut contents.log,
            LaneId::Own(place) => contents.lanes.get_mut(place).ok_or(contents.floor)?,
        };
        own.watchers += 1;
        let cursor = match after {
            Some(after) if lane == LaneId::Log => own.position_after(after),
            _ => own.end(),
        };
        let (bell, snapshot) = (own.bell.clone(), contents.snapshot.clone());
        Ok(Attached { lane, cursor, snapshot, backlog, bell })
    }

    /// The oldest revision a watch may begin at; `None` while the cache is not filled.
    pub(super) fn floor(&self) -> Option<Revision> {
        let contents = self.read();
        (contents.snapshot.revision > 0).then_some(contents.floor)
    }

    /// Detaches a watcher; a lane nobody reads is removed.
    pub(super) fn detach(&self, lane: LaneId) {
        let mut contents = self.write();
        match lane {
            LaneId::Log => contents.log.watchers -= 1,
            LaneId::Own(place) => contents.lanes.leave(place),
        }
    }

    /// Shows `see` what a watcher's lane has from its cursor on, at most so many; how many there were. What it does
    /// keeps others from taking in events: it looks at attributes, and copies pointers.
    pub(super) fn read_lane(
        &self,
        lane: LaneId,
        cursor: u64,
        most: usize,
        see: impl FnMut(&Event),
    ) -> Result<u64, Fallen> {
        let contents = self.read();
        let fallen = Fallen { oldest: contents.floor };
        let events = contents.lane(lane).and_then(|own| own.read(cursor)).ok_or(fallen)?;
        let seen = most.min(events.len());
        events.take(most).map(AsRef::as_ref).for_each(see);
        Ok(seen as u64)
    }

    /// The revision up to which a watcher has seen everything; `None` when there is something to read.
    pub(super) fn progress(&self, lane: LaneId, cursor: u64) -> Option<Revision> {
        let contents = self.read();
        contents.lane(lane).is_some_and(|own| own.end() == cursor).then_some(contents.snapshot.revision)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Contents> {
        self.contents.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn lane(&self, lane: LaneId) -> Option<&Lane> {
        match lane {
            LaneId::Log => Some(&self.log),
            LaneId::Own(place) => self.lanes.get(place),
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let contents = self.read();
        self.budget.give_back_history(contents.history_bytes);
        self.budget.exchange_objects(0, contents.object_bytes);
    }
}
