//! A client that watches with a selector, and compares every event with the recorded history.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use registry_meta::selector::{FieldSelector, LabelSelector};
use registry_storage::interface::{ListRequest, WatchEvent, WatchRequest, WatchStream};
use registry_storage::testing::Widget;
use registry_storage::{Interface, Predicate, Revision, StorageError, WatchError};

use super::history::{Change, History, Objects, insist};

/// Timeout of an event that must come.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time to wait for an event that need not come.
const MOMENT: Duration = Duration::from_millis(1);

/// The selection of a client.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    color: Option<&'static str>,
    tier: Option<&'static str>,
    name: Option<&'static str>,
}

/// An expected event: its type, and the widget with the revision of the event.
type Due = (&'static str, String, Revision, Widget);

/// A client.
pub(crate) struct Client {
    store: Arc<dyn Interface>,
    filter: Filter,
    watch: Option<WatchStream>,
    /// All events up to this revision were seen.
    revision: Revision,
    /// Earlier revisions, to resume from.
    remembered: Vec<Revision>,
    /// The initial state received so far.
    beginning: Option<Objects>,
}

// === impl Filter ===

impl Filter {
    /// Everything; an indexed field; a label; both; one object.
    pub(crate) const ALL: [Self; 5] = [
        Self { color: None, tier: None, name: None },
        Self { color: Some("color-1"), tier: None, name: None },
        Self { color: None, tier: Some("1"), name: None },
        Self { color: Some("color-2"), tier: Some("0"), name: None },
        Self { color: None, tier: None, name: Some("w1") },
    ];

    fn predicate(&self) -> Predicate {
        let fields = self.color.map(|color| FieldSelector::parse(&format!("spec.color={color}")).unwrap());
        let labels = self.tier.map(|tier| LabelSelector::parse(&format!("tier={tier}")).unwrap());
        Predicate { labels: labels.unwrap_or_default(), fields: fields.unwrap_or_default(), shard: None }
    }

    fn keys(&self) -> String {
        format!("{}{}", crate::PREFIX, self.name.unwrap_or_default())
    }

    fn matches(&self, widget: &Widget) -> bool {
        self.color.is_none_or(|color| widget.color == color)
            && self.tier.is_none_or(|tier| widget.labels["tier"] == tier)
            && self.name.is_none_or(|name| widget.name == name)
    }

    /// Returns the event that this client must receive for a change.
    fn due(&self, change: &Change) -> Option<Due> {
        let before = change.before.clone().filter(|widget| self.matches(widget));
        let after = change.after.clone().filter(|widget| self.matches(widget));
        let (kind, widget) = match (before, after) {
            (None, Some(after)) => ("ADDED", after),
            (Some(_), Some(after)) => ("MODIFIED", after),
            (Some(before), None) => ("DELETED", before),
            (None, None) => return None,
        };
        Some((kind, change.key.clone(), change.revision, widget))
    }

    fn state(&self, history: &History, revision: Revision) -> Objects {
        history.at(revision).into_iter().filter(|(_, (_, widget))| self.matches(widget)).collect()
    }
}

// === impl Client: beginning ===

impl Client {
    pub(crate) fn new(store: Arc<dyn Interface>, filter: Filter) -> Self {
        Self { store, filter, watch: None, revision: 0, remembered: Vec::new(), beginning: None }
    }

    /// Lists the newest state, and watches from there.
    pub(crate) async fn relist(&mut self, history: &History) {
        let request = ListRequest { predicate: self.filter.predicate(), ..ListRequest::default() };
        let keys = self.filter.keys();
        let page = insist(|| self.store.list(&keys, &request)).await.unwrap();
        assert!(page.revision >= history.newest, "a list shows every write acknowledged before it");
        let listed: Objects = page
            .items
            .iter()
            .map(|item| (item.key.to_string(), (item.revision, Widget::decode(item))))
            .collect();
        assert_eq!(listed, self.filter.state(history, page.revision), "at {}", page.revision);
        self.revision = page.revision;
        self.watch_from(history, self.revision).await;
    }

    /// Watches again from an earlier revision.
    pub(crate) async fn resume(&mut self, history: &History, ago: usize) {
        let at = self.remembered.len().checked_sub(1 + ago);
        let Some(revision) = at.map(|at| self.remembered[at]) else { return self.relist(history).await };
        self.watch_from(history, revision).await;
    }

    async fn watch_from(&mut self, history: &History, revision: Revision) {
        self.revision = revision;
        self.beginning = None;
        let revision = Some(revision);
        let request = WatchRequest { revision, ..self.request() };
        self.watch = match self.open(&request).await {
            Ok(watch) => Some(watch),
            Err(StorageError::Compacted { .. }) => self.was_compacted(history),
            Err(error) => panic!("{error}"),
        };
    }

    /// Starts a watch with the initial state: at least as new as its last revision, or any.
    pub(crate) async fn begin(&mut self, history: &History, any: bool) {
        let revision = if any { Some(0) } else { None };
        let request = WatchRequest { revision, send_initial_events: Some(true), ..self.request() };
        self.revision = if any { 0 } else { history.newest };
        self.beginning = Some(Objects::new());
        self.watch = Some(self.open(&request).await.unwrap());
    }

    fn request(&self) -> WatchRequest {
        WatchRequest { predicate: self.filter.predicate(), bookmarks: true, ..WatchRequest::default() }
    }

    async fn open(&self, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        let keys = self.filter.keys();
        insist(|| self.store.watch(&keys, request)).await
    }

    /// The store may require a new list only if the history is really compacted.
    fn was_compacted(&self, history: &History) -> Option<WatchStream> {
        assert!(self.revision < history.compacted, "{} is there to be had", self.revision);
        None
    }
}

// === impl Client: reading ===

impl Client {
    /// Reads available events, up to a maximum.
    pub(crate) async fn read(&mut self, history: &History, most: usize) {
        for _ in 0..most {
            if !self.read_one(history, MOMENT).await {
                return;
            }
        }
    }

    /// Reads until all expected events have arrived, and checks that there are no others.
    pub(crate) async fn converge(&mut self, history: &History) {
        let begun = tokio::time::Instant::now();
        while self.beginning.is_some() || self.next_due(history).is_some() || self.watch.is_none() {
            assert!(begun.elapsed() < PATIENCE, "{:?} is still due", self.next_due(history));
            self.read_one(history, PATIENCE).await;
        }
        while self.read_one(history, MOMENT).await {
            // Bookmarks never end.
            if self.revision >= history.newest {
                return;
            }
        }
    }

    /// Reads an event, if it arrives in time. A watch that ended is resumed at its revision.
    async fn read_one(&mut self, history: &History, patience: Duration) -> bool {
        let Some(watch) = &mut self.watch else {
            self.relist(history).await;
            return true;
        };
        match tokio::time::timeout(patience, watch.next()).await {
            Err(_) => return false,
            Ok(Some(Ok(event))) => self.see(history, event),
            // Only a cache's history is shorter than the store's: a client that fell off must start again.
            Ok(Some(Err(WatchError::Compacted { .. }))) => self.watch = None,
            Ok(Some(Err(WatchError::Interrupted(_))) | None) if self.beginning.is_none() => {
                self.watch_from(history, self.revision).await;
            }
            Ok(Some(Err(WatchError::Interrupted(_))) | None) => self.watch = None,
            Ok(Some(Err(error))) => panic!("{error}"),
        }
        true
    }

    fn see(&mut self, history: &History, event: WatchEvent) {
        let (kind, object) = match event {
            WatchEvent::Bookmark { revision, initial_events_end } => {
                return self.see_bookmark(history, revision, initial_events_end);
            }
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
        };
        let key = object.key.to_string();
        let widget = Widget::decode(&object);
        if let Some(beginning) = &mut self.beginning {
            assert_eq!(kind, "ADDED", "the present state is told before anything else");
            let twice = beginning.insert(key, (object.revision, widget));
            assert_eq!(twice, None, "each object is told once");
            return;
        }
        let due = self.next_due(history);
        assert_eq!(Some((kind, key, object.revision, widget)), due, "after {}", self.revision);
        self.stand_at(object.revision);
    }

    fn see_bookmark(&mut self, history: &History, revision: Revision, initial_events_end: bool) {
        assert!(revision >= self.revision, "a bookmark goes back, from {} to {revision}", self.revision);
        assert_eq!(initial_events_end, self.beginning.is_some());
        if let Some(beginning) = self.beginning.take() {
            assert_eq!(beginning, self.filter.state(history, revision), "at {revision}");
        } else if let Some(due) = self.next_due(history) {
            assert!(due.2 > revision, "{due:?} is missing before the bookmark of {revision}");
        }
        self.stand_at(revision);
    }

    fn stand_at(&mut self, revision: Revision) {
        self.revision = revision;
        self.remembered.push(revision);
    }

    /// Returns the next event that the client must receive.
    fn next_due(&self, history: &History) -> Option<Due> {
        let mut later = history.changes.iter().filter(|change| change.revision > self.revision);
        later.find_map(|change| self.filter.due(change))
    }
}
