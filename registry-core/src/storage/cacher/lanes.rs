//! The lanes of a cache beside its log: one for each group of watchers that an event may concern alone.

use std::collections::HashMap;

use slab::Slab;

use super::lane::Lane;

/// What a lane is about. The most telling one a watcher's request allows is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum LaneKey {
    /// Every event of the resource: the log itself.
    All,
    /// The events below a key prefix (a namespace's).
    Below(Box<str>),
    /// The events of one key.
    Key(Box<str>),
    /// The events of objects whose indexed field has, or had, this value.
    Index(usize, Box<str>),
}

/// Where a lane is found without comparing texts. Good for as long as somebody watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneId {
    /// The log.
    Log,
    /// A lane of its own.
    Own(usize),
}

/// Those that somebody watches.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    places: HashMap<LaneKey, usize>,
    lanes: Slab<(LaneKey, Lane)>,
}

// === impl Lanes ===

impl Lanes {
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The lane about this, which begins now if there was none. Whoever opens it counts himself among its watchers.
    pub(super) fn open(&mut self, key: LaneKey) -> LaneId {
        if key == LaneKey::All {
            return LaneId::Log;
        }
        let lanes = &mut self.lanes;
        let place = self.places.entry(key.clone()).or_insert_with(|| lanes.insert((key, Lane::default())));
        LaneId::Own(*place)
    }

    /// One of its watchers leaves a lane; nobody's lane is removed.
    pub(super) fn leave(&mut self, place: usize) {
        let Some((_, lane)) = self.lanes.get_mut(place) else { return };
        lane.watchers -= 1;
        if lane.watchers == 0 {
            let (key, _) = self.lanes.remove(place);
            self.places.remove(&key);
        }
    }

    /// The lane at a place.
    pub(super) fn get(&self, place: usize) -> Option<&Lane> {
        self.lanes.get(place).map(|(_, lane)| lane)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Lane> {
        self.lanes.get_mut(place).map(|(_, lane)| lane)
    }

    /// The lane about something, if it is watched.
    pub(super) fn about(&mut self, key: &LaneKey) -> Option<&mut Lane> {
        let place = *self.places.get(key)?;
        self.get_mut(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().map(|(_, (_, lane))| lane)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut().map(|(_, (_, lane))| lane)
    }
}
