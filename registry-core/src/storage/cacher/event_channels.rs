//! The channels of a cache beside its log: one for each group of watchers that an event may concern alone.

use std::collections::HashMap;

use slab::Slab;

use super::event_channel::EventChannel;

/// What a channel is about. The most telling one a watcher's request allows is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum EventChannelKey {
    /// Every event of the resource: the log itself.
    All,
    /// The events below a key prefix (a namespace's).
    Below(Box<str>),
    /// The events of one key.
    Key(Box<str>),
    /// The events of objects whose indexed field has, or had, this value.
    Index(usize, Box<str>),
}

/// Where a channel is found without comparing texts. Good for as long as somebody watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventChannelId {
    /// The log.
    Log,
    /// A channel of its own.
    Own(usize),
}

/// Those that somebody watches.
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

    /// The channel about this, which begins now if there was none. Whoever opens it counts himself among its watchers.
    pub(super) fn open(&mut self, key: EventChannelKey) -> EventChannelId {
        if key == EventChannelKey::All {
            return EventChannelId::Log;
        }
        let channels = &mut self.channels;
        let place =
            self.places.entry(key.clone()).or_insert_with(|| channels.insert((key, EventChannel::default())));
        EventChannelId::Own(*place)
    }

    /// One of its watchers leaves a channel; nobody's channel is removed.
    pub(super) fn leave(&mut self, place: usize) {
        let Some((_, channel)) = self.channels.get_mut(place) else { return };
        channel.watchers -= 1;
        if channel.watchers == 0 {
            let (key, _) = self.channels.remove(place);
            self.places.remove(&key);
        }
    }

    /// The channel at a place.
    pub(super) fn get(&self, place: usize) -> Option<&EventChannel> {
        self.channels.get(place).map(|(_, channel)| channel)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut EventChannel> {
        self.channels.get_mut(place).map(|(_, channel)| channel)
    }

    /// The channel about something, if it is watched.
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
