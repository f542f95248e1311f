//! A watch for tests: returns one event after the other, each with a timeout.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;

use crate::Revision;
use crate::error::WatchError;
use crate::interface::{Interface, WatchEvent, WatchRequest, WatchStream};

use super::Widget;

/// Timeout of an event.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time without events after which a watch counts as silent.
const SILENCE: Duration = Duration::from_millis(300);

/// A watch, with the last revision seen.
pub struct Watcher {
    stream: WatchStream,
    /// The revision to resume from.
    pub revision: Revision,
}

/// An event in short form: its type, widget and revision.
pub(super) type Seen = (&'static str, Widget, Revision);

// === impl Watcher ===

impl Watcher {
    /// Starts a watch.
    pub async fn start(store: &dyn Interface, prefix: &str, request: WatchRequest) -> Self {
        let stream = store.watch(prefix, &request).await.expect("the watch starts");
        Self { stream, revision: request.revision.unwrap_or_default() }
    }

    /// Starts a watch of the changes after a revision.
    pub async fn after(store: &dyn Interface, prefix: &str, revision: Revision) -> Self {
        Self::start(store, prefix, WatchRequest { revision: Some(revision), ..WatchRequest::default() }).await
    }

    /// Wraps a watch that was started after `revision`.
    pub fn over(stream: WatchStream, revision: Revision) -> Self {
        Self { stream, revision }
    }

    /// Returns the next item.
    pub async fn item(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        let next = tokio::time::timeout(PATIENCE, self.stream.next()).await;
        next.expect("something happens on the watch in time")
    }

    /// Returns the next event.
    pub(super) async fn event(&mut self) -> WatchEvent {
        let event = self.item().await.expect("the watch goes on").expect("the watch does not fail");
        let revision = match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                object.revision
            }
            WatchEvent::Bookmark { revision, .. } => *revision,
        };
        assert!(revision > 0, "every event has a revision");
        self.revision = self.revision.max(revision);
        event
    }

    /// Returns the next event other than a bookmark, in short form.
    pub(super) async fn change(&mut self) -> Seen {
        loop {
            match self.event().await {
                WatchEvent::Added(object) => return ("ADDED", Widget::decode(&object), object.revision),
                WatchEvent::Modified(object) => {
                    return ("MODIFIED", Widget::decode(&object), object.revision);
                }
                WatchEvent::Deleted(object) => return ("DELETED", Widget::decode(&object), object.revision),
                WatchEvent::Bookmark { .. } => {}
            }
        }
    }

    /// Returns the next `count` changes: type, name and revision of each.
    pub(super) async fn changes(&mut self, count: usize) -> Vec<(&'static str, String, Revision)> {
        let mut changes = Vec::new();
        for _ in 0..count {
            let (kind, widget, revision) = self.change().await;
            changes.push((kind, widget.name, revision));
        }
        changes
    }

    /// Checks that nothing but bookmarks arrives for a while.
    pub(super) async fn silent(&mut self) {
        let silence = tokio::time::timeout(SILENCE, async {
            loop {
                match self.stream.next().await {
                    Some(Ok(WatchEvent::Bookmark { .. })) => {}
                    other => return other,
                }
            }
        });
        if let Ok(item) = silence.await {
            panic!("nothing should happen on the watch, but: {item:?}");
        }
    }

    /// Returns the initial state: the widgets added before its closing bookmark, and the bookmark's revision.
    pub(super) async fn initial_state(&mut self) -> (BTreeMap<String, Widget>, Revision) {
        let mut state = BTreeMap::new();
        loop {
            match self.event().await {
                WatchEvent::Added(object) => {
                    state.insert(object.key.to_string(), Widget::decode(&object));
                }
                WatchEvent::Bookmark { revision, initial_events_end: true } => return (state, revision),
                other => panic!("the initial state is ADDED only, then the bookmark; not {other:?}"),
            }
        }
    }
}
