//! A watch as a test reads it: one event after the other, none waited for longer than a test should take.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;

use crate::storage::Revision;
use crate::storage::error::WatchError;
use crate::storage::interface::{Interface, WatchEvent, WatchRequest, WatchStream};

use super::Widget;

/// How long an event may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing must come for nothing to come.
const SILENCE: Duration = Duration::from_millis(300);

/// A watch with the last revision seen on it.
pub struct Watcher {
    stream: WatchStream,
    /// The revision to go on from.
    pub revision: Revision,
}

/// An event, short: what happened to which widget, and when.
pub(super) type Seen = (&'static str, Widget, Revision);

// === impl Watcher ===

impl Watcher {
    /// Starts watching.
    pub async fn start(store: &dyn Interface, prefix: &str, request: WatchRequest) -> Self {
        let stream = store.watch(prefix, &request).await.expect("the watch starts");
        Self { stream, revision: request.revision.unwrap_or_default() }
    }

    /// Starts watching what happens after a revision.
    pub async fn after(store: &dyn Interface, prefix: &str, revision: Revision) -> Self {
        Self::start(store, prefix, WatchRequest { revision: Some(revision), ..WatchRequest::default() }).await
    }

    /// A watch that was started already, after `revision`.
    pub fn over(stream: WatchStream, revision: Revision) -> Self {
        Self { stream, revision }
    }

    /// The next item.
    pub async fn item(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        let next = tokio::time::timeout(PATIENCE, self.stream.next()).await;
        next.expect("something happens on the watch in time")
    }

    /// The next event.
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

    /// The next event that is no bookmark, short.
    pub(super) async fn change(&mut self) -> Seen {
        loop {
            match self.event().await {
                WatchEvent::Added(object) => return ("ADDED", Widget::of(&object), object.revision),
                WatchEvent::Modified(object) => return ("MODIFIED", Widget::of(&object), object.revision),
                WatchEvent::Deleted(object) => return ("DELETED", Widget::of(&object), object.revision),
                WatchEvent::Bookmark { .. } => {}
            }
        }
    }

    /// The next `count` changes: kind, name and revision of each.
    pub(super) async fn changes(&mut self, count: usize) -> Vec<(&'static str, String, Revision)> {
        let mut changes = Vec::new();
        for _ in 0..count {
            let (kind, widget, revision) = self.change().await;
            changes.push((kind, widget.name, revision));
        }
        changes
    }

    /// Nothing but bookmarks comes for a while.
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

    /// The initial state: the widgets added before the bookmark that closes it, and the bookmark's revision.
    pub(super) async fn initial_state(&mut self) -> (BTreeMap<String, Widget>, Revision) {
        let mut state = BTreeMap::new();
        loop {
            match self.event().await {
                WatchEvent::Added(object) => {
                    state.insert(object.key.to_string(), Widget::of(&object));
                }
                WatchEvent::Bookmark { revision, initial_events_end: true } => return (state, revision),
                other => panic!("the initial state is ADDED only, then the bookmark; not {other:?}"),
            }
        }
    }
}
