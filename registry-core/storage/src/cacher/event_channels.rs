//! The channels of a cache other than its log: one for each group of watchers that an event may concern.

use std::collections::HashMap;

use slab::Slab;

use super::event_channel::EventChannel;

/// The subject of a channel. A watcher uses the most specific channel that its request allows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum EventChannelKey {
    /// All events of the resource: the log itself.
    All,
    /// The events below a key prefix (a namespace).
    Below(Box<str>),
    /// The events of one key.
    Key(Box<str>),
    /// The events of objects whose indexed field has or had this value.
    Index(usize, Box<str>),
}

/// Identifies a channel without string comparison. Valid while the channel has a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventChannelId {
    /// The log.
    Log,
    /// A separate channel.
    Own(usize),
}

/// The channels that have watchers.
#[derive(Debug, Default)]
pub(super) struct EventChannels {
    places: HashMap<EventChannelKey, usize>,
    channels: Slab<(EventChannelKey, EventChannel)>,
}

// === impl EventChannels ===

impl EventChannels {
    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Returns the channel for a key, creating it if necessary. The caller is counted as a watcher.
    pub(super) fn open(&mut self, key: EventChannelKey) -> EventChannelId {
        if key == EventChannelKey::All {
            return EventChannelId::Log;
        }
        let channels = &mut self.channels;
        let place =
            self.places.entry(key.clone()).or_insert_with(|| channels.insert((key, EventChannel::default())));
        EventChannelId::Own(*place)
    }

    /// Removes a watcher from a channel; a channel without watchers is removed.
    pub(super) fn leave(&mut self, place: usize) {
        let Some((_, channel)) = self.channels.get_mut(place) else { return };
        channel.watchers -= 1;
        if channel.watchers == 0 {
            let (key, _) = self.channels.remove(place);
            self.places.remove(&key);
        }
    }

    /// Returns the channel at an index.
    pub(super) fn get(&self, place: usize) -> Option<&EventChannel> {
        self.channels.get(place).map(|(_, channel)| channel)
    }

    /// Returns the channel at an index, mutably.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut EventChannel> {
        self.channels.get_mut(place).map(|(_, channel)| channel)
    }

    /// Returns the channel for a key, if it has watchers.
    pub(super) fn about(&mut self, key: &EventChannelKey) -> Option<&mut EventChannel> {
        let place = *self.places.get(key)?;
        self.get_mut(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &EventChannel> {
        self.channels.iter().map(|(_, (_, channel))| channel)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut EventChannel> {
        self.channels.iter_mut().map(|(_, (_, channel))| channel)
    }
}
