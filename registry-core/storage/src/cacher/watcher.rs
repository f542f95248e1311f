//! A watcher: a cursor into a channel, with a selector.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, Sleep};

use crate::Revision;
use crate::entry::StoredObject;
use crate::error::{StorageError, WatchError};
use crate::interface::{WatchEvent, WatchRequest, WatchStream};
use crate::predicate::Predicate;
use crate::versioned::metadata::replace_resource_version;

use super::event_channel::Event;
use super::event_channels::{EventChannelId, EventChannelKey};
use super::initial::Initial;
use super::notifier::Listener;
use super::state::{Attached, CacheState, Lagged};
use super::{Cacher, FRESH_TIMEOUT};

/// Number of events that a watcher takes from its channel at a time.
const BATCH: usize = 64;

/// Time between the last bookmark of a watch and its end: a client that watches again continues from nearly the newest revision.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

// === impl Cacher ===

impl Cacher {
    /// Opens a watch on the cache; a watch that begins before the cache's history goes to the store.
    pub(super) async fn open_watch(
        &self,
        prefix: &str,
        request: &WatchRequest,
    ) -> Result<WatchStream, StorageError> {
        if !self.state.filled(FRESH_TIMEOUT).await {
            return self.watch_store(prefix, request).await;
        }
        let initial = match (request.send_initial_events, request.revision) {
            (Some(wanted), _) => wanted,
            (None, None | Some(0)) => true,
            (None, Some(_)) => false,
        };
        if initial {
            let consistent = match request.revision {
                None => self.catch_up().await?,
                Some(revision) => self.catch_up_with_named(revision).await?,
            };
            if !consistent {
                return self.watch_store(prefix, request).await;
            }
        }
        let after = (!initial).then(|| request.revision.filter(|revision| *revision > 0)).flatten();
        // "From now on": no past events, whatever the current state is.
        let after = if initial { None } else { Some(after.unwrap_or_else(|| self.now())) };
        let channel = self.lane_of(prefix, &request.predicate);
        match self.state.attach(channel, after) {
            Ok(attached) => Ok(self.stream(prefix, request, attached, initial, after)),
            Err(_) => self.watch_store(prefix, request).await,
        }
    }

    /// Returns the start revision of a watch that begins now: not older than any observed revision.
    fn now(&self) -> Revision {
        self.state.reached().max(self.observed.load(Ordering::Acquire))
    }

    /// Returns the most specific channel for a watch.
    pub(super) fn lane_of(&self, prefix: &str, predicate: &Predicate) -> EventChannelKey {
        if !prefix.ends_with('/') {
            return EventChannelKey::Key(prefix.into());
        }
        let indexed = self.options.indexes.iter().enumerate();
        let mut values =
            indexed.filter_map(|(position, field)| Some((position, predicate.fields.required_value(field)?)));
        if let Some((position, value)) = values.next() {
            return EventChannelKey::Index(position, value.into());
        }
        if prefix == self.options.prefix {
            EventChannelKey::All
        } else {
            EventChannelKey::Below(prefix.into())
        }
    }

    /// Returns the events of an attached watch: those after a revision, or the initial state first.
    pub(super) fn stream(
        &self,
        prefix: &str,
        request: &WatchRequest,
        attached: Attached,
        initial: bool,
        after: Option<Revision>,
    ) -> WatchStream {
        let within = match self.lane_of(prefix, &request.predicate) {
            EventChannelKey::Index(..) if prefix != self.options.prefix => Some(prefix.into()),
            _ => None,
        };
        let mut ready = VecDeque::new();
        let mut watcher = Watcher {
            place: WatcherPosition { state: self.state.clone(), channel: attached.channel },
            cursor: attached.cursor,
            listener: Listener::new(attached.notifier),
            within,
            predicate: request.predicate.clone(),
            after: after.unwrap_or_default(),
            bookmarks: request
                .bookmarks
                .then(|| Bookmarks::new(self.options.bookmark_period, request.timeout)),
            ready: VecDeque::new(),
            over: false,
        };
        for event in attached.backlog.iter().filter(|event| is_within(&event.object.key, prefix)) {
            ready.extend(watcher.see(event));
        }
        watcher.ready = ready;
        let initial = initial.then(|| {
            let closes = request.send_initial_events == Some(true);
            Initial::new(self.state.clone(), attached.snapshot, prefix, &request.predicate, closes)
        });
        match initial {
            Some(initial) => initial.chain(watcher).boxed(),
            None => watcher.boxed(),
        }
    }
}

/// Whether a key is the watched key, or below the watched prefix.
fn is_within(key: &str, watched: &str) -> bool {
    if watched.ends_with('/') { key.starts_with(watched) } else { key == watched }
}

/// A watcher's position; dropping it detaches the watcher.
struct WatcherPosition {
    state: Arc<CacheState>,
    channel: EventChannelId,
}

impl Drop for WatcherPosition {
    fn drop(&mut self) {
        self.state.detach(self.channel);
    }
}

/// A running watch.
struct Watcher {
    place: WatcherPosition,
    cursor: u64,
    listener: Listener,
    /// The prefix that events must be below, unless the channel implies it.
    within: Option<Box<str>>,
    predicate: Predicate,
    /// Only events after this revision are sent.
    after: Revision,
    bookmarks: Option<Bookmarks>,
    ready: VecDeque<WatchEvent>,
    over: bool,
}

/// The schedule of a watcher's bookmarks: periodically, and shortly before the watch ends.
///
/// Kubernetes concept: `nextBookmarkTime` of the Cacher.
struct Bookmarks {
    period: Duration,
    last: Option<Instant>,
    /// The time at which the next bookmark is due: available here, unlike in the timer.
    due: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Watcher {
    /// Converts an event for this watcher, if it concerns it.
    fn see(&self, event: &Event) -> Option<WatchEvent> {
        let is_elsewhere = |prefix: &str| !is_within(&event.object.key, prefix);
        if event.revision() <= self.after || self.within.as_deref().is_some_and(is_elsewhere) {
            return None;
        }
        let matches = |object: &StoredObject| self.predicate.selects(object);
        let before = event.previous.as_ref().is_some_and(matches);
        let now = !event.is_deletion && matches(&event.object);
        match (before, now) {
            (false, true) => Some(WatchEvent::Added(event.object.clone())),
            (true, true) => Some(WatchEvent::Modified(event.object.clone())),
            (true, false) if event.is_deletion => Some(WatchEvent::Deleted(event.object.clone())),
            (true, false) => Some(WatchEvent::Deleted(event.departed())),
            (false, false) => None,
        }
    }

    /// Reads the channel's new events. Returns the first that concerns this watcher.
    fn read(&mut self) -> Result<Option<WatchEvent>, Lagged> {
        let mut first = None;
        let mut ready = std::mem::take(&mut self.ready);
        let place = &self.place;
        let read = place.state.read_lane(place.channel, self.cursor, BATCH, |event| {
            let seen = self.see(event);
            if first.is_none() {
                first = seen;
            } else {
                ready.extend(seen);
            }
        });
        self.ready = ready;
        self.cursor += read?;
        Ok(first)
    }
}

impl Stream for Watcher {
    type Item = Result<WatchEvent, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let own = &mut *self;
        loop {
            if let Some(event) = own.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if own.over {
                return Poll::Ready(None);
            }
            // Register first, read second: an event between the two still wakes the task.
            let is_new_task = own.listener.listen(context);
            if own.listener.end() != own.cursor {
                match own.read() {
                    Ok(Some(first)) => return Poll::Ready(Some(Ok(first))),
                    Ok(None) => continue,
                    Err(Lagged { oldest }) => {
                        own.over = true;
                        own.place.state.metrics.terminated_watcher();
                        let failure = WatchError::Compacted { requested: own.after, oldest };
                        return Poll::Ready(Some(Err(failure)));
                    }
                }
            }
            let is_due =
                own.bookmarks.as_mut().is_some_and(|bookmarks| bookmarks.is_due(context, is_new_task));
            if !is_due {
                return Poll::Pending;
            }
            // A bookmark must not overtake the events it covers that have arrived since.
            if let Some(revision) = own.place.state.progress(own.place.channel, own.cursor) {
                // A watch may begin ahead of the cache.
                let revision = revision.max(own.after);
                own.ready.push_back(WatchEvent::Bookmark { revision, initial_events_end: false });
            }
        }
    }
}

// === impl Bookmarks ===

impl Bookmarks {
    fn new(period: Duration, timeout: Option<Duration>) -> Self {
        let now = Instant::now();
        let last = timeout.and_then(|timeout| now.checked_add(timeout.checked_sub(LAST_BOOKMARK)?));
        let due = due_after(now, period, last);
        Self { period, last, due, timer: Box::pin(tokio::time::sleep_until(due)) }
    }

    /// Whether a bookmark is due; if not, the task is woken when it is.
    fn is_due(&mut self, context: &mut Context<'_>, is_new_task: bool) -> bool {
        // The timer knows its task already: in most cases the registration is up to date.
        if !is_new_task && Instant::now() < self.due {
            return false;
        }
        let is_due = self.poll(context).is_ready();
        if is_due {
            self.due = due_after(Instant::now(), self.period, self.last);
            self.timer.as_mut().reset(self.due);
            // If it is due at once, the next poll sends it. Registers the task's waker.
            let _ = self.poll(context);
        }
        is_due
    }

    /// Called once per task: the timer must register the waker even if the task's cooperative budget is exhausted.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut tokio::task::unconstrained(self.timer.as_mut())).poll(context)
    }
}

/// Returns the time of the next bookmark.
fn due_after(now: Instant, period: Duration, last: Option<Instant>) -> Instant {
    let next = now + period;
    last.filter(|last| *last > now).map_or(next, |last| last.min(next))
}

impl Event {
    /// Returns the previous state, with the revision of the change; created once for all watchers.
    fn departed(&self) -> StoredObject {
        let made = self.departed.get_or_init(|| {
            let Some(previous) = &self.previous else { return self.object.clone() };
            match replace_resource_version(previous.line(), self.revision()) {
                Ok(line) => Arc::new(previous.at_revision(self.revision(), line)),
                Err(_) => previous.clone(),
            }
        });
        made.clone()
    }
}
