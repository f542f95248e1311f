//! Operations of readers and watchers on the state.

use std::time::{Duration, Instant};

use crate::Revision;
use crate::error::StorageError;

use super::super::event_channel::Event;
use super::super::event_channels::{EventChannelId, EventChannelKey};
use super::super::snapshots::Snapshot;
use super::{Attached, CacheState, Lagged};

impl CacheState {
    /// Whether the cache was filled.
    pub(in super::super) fn is_filled(&self) -> bool {
        self.reached() != 0
    }

    /// Returns the revision that the cache has reached; 0 before it is filled.
    pub(in super::super) fn reached(&self) -> Revision {
        *self.reached.borrow()
    }

    /// Returns a snapshot of all objects; `None` while the cache does not hold them.
    pub(in super::super) fn snapshot(&self) -> Option<Snapshot> {
        let contents = self.read();
        let is_held = contents.snapshot.revision > 0 && contents.absent.is_none();
        is_held.then(|| contents.snapshot.clone())
    }

    /// Waits until the cache has reached a revision.
    pub(in super::super) async fn reach(
        &self,
        revision: Revision,
        timeout: Duration,
    ) -> Result<(), StorageError> {
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

    /// Waits until the cache is filled.
    pub(in super::super) async fn filled(&self, timeout: Duration) -> bool {
        self.reach(1, timeout).await.is_ok()
    }

    /// Attaches a watcher to a channel: with the current state, or with the events after a revision.
    ///
    /// # Errors
    /// Returns the oldest revision that a watch may begin at if the wanted revision is older, or if the current state
    /// is wanted and not held; 0 while the cache is not filled.
    pub(in super::super) fn attach(
        &self,
        channel: EventChannelKey,
        after: Option<Revision>,
    ) -> Result<Attached, Revision> {
        let mut contents = self.write();
        let contents = &mut *contents;
        let mut backlog = Vec::new();
        if contents.snapshot.revision == 0 {
            return Err(0);
        }
        if after.is_none() && contents.absent.is_some() {
            return Err(contents.floor);
        }
        if let Some(after) = after {
            if after < contents.floor {
                return Err(contents.floor);
            }
            let start = contents.log.position_after(after);
            if channel != EventChannelKey::All {
                backlog = contents.log.read(start).into_iter().flatten().cloned().collect();
            }
        }
        let channel = contents.channels.open(channel);
        let own = match channel {
            EventChannelId::Log => &mut contents.log,
            EventChannelId::Own(place) => contents.channels.get_mut(place).ok_or(contents.floor)?,
        };
        own.watchers += 1;
        let cursor = match after {
            Some(after) if channel == EventChannelId::Log => own.position_after(after),
            _ => own.end(),
        };
        let notifier = own.notifier.clone();
        let snapshot = contents.snapshot.clone();
        Ok(Attached { channel, cursor, snapshot, backlog, notifier })
    }

    /// Returns the oldest revision that a watch may begin at; `None` while the cache is not filled.
    pub(in super::super) fn floor(&self) -> Option<Revision> {
        let contents = self.read();
        (contents.snapshot.revision > 0).then_some(contents.floor)
    }

    /// Detaches a watcher; a channel without watchers is removed.
    pub(in super::super) fn detach(&self, channel: EventChannelId) {
        let mut contents = self.write();
        match channel {
            EventChannelId::Log => contents.log.watchers -= 1,
            EventChannelId::Own(place) => contents.channels.leave(place),
        }
    }

    /// Whether the cache has watchers.
    pub(in super::super) fn is_watched(&self) -> bool {
        let contents = self.read();
        contents.log.watchers > 0 || contents.channels.iter().any(|channel| channel.watchers > 0)
    }

    /// Passes events of a watcher's channel to `see`, from its cursor on, up to a maximum. Returns their number.
    /// `see` runs while new events are blocked: it reads attributes and copies pointers only.
    pub(in super::super) fn read_lane(
        &self,
        channel: EventChannelId,
        cursor: u64,
        most: usize,
        see: impl FnMut(&Event),
    ) -> Result<u64, Lagged> {
        let contents = self.read();
        let lagged = Lagged { oldest: contents.floor };
        let events = contents.channel(channel).and_then(|own| own.read(cursor)).ok_or(lagged)?;
        let seen = most.min(events.len());
        events.take(most).map(AsRef::as_ref).for_each(see);
        Ok(seen as u64)
    }

    /// Returns the revision up to which a watcher has seen everything; `None` if there are unread events.
    pub(in super::super) fn progress(&self, channel: EventChannelId, cursor: u64) -> Option<Revision> {
        let contents = self.read();
        contents.channel(channel).is_some_and(|own| own.end() == cursor).then_some(contents.snapshot.revision)
    }
}
