//! The reference history: every state, and the writer that produces it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use registry_meta::{Preconditions, StatusError};
use registry_storage::embedded::Embedded;
use registry_storage::interface::{AnyDeletion, UpdateAction};
use registry_storage::mvcc::{Committed, Mvcc};
use registry_storage::testing::Widget;
use registry_storage::{Interface, Revision, StorageError, StoredObject, TryUpdate};

/// Widgets by key, each with the revision that wrote it.
pub(crate) type Objects = BTreeMap<String, (Revision, Widget)>;

/// A change: the previous and the new state.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: Revision,
    pub(crate) key: String,
    pub(crate) before: Option<Widget>,
    pub(crate) after: Option<Widget>,
}

/// The reference: all changes of widgets, and the newest and compacted revisions of the store.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) changes: Vec<Change>,
    objects: Objects,
    /// The newest revision of the whole store.
    pub(crate) newest: Revision,
    /// Older revisions are unavailable.
    pub(crate) compacted: Revision,
    foreign: Revision,
}

/// Makes changes through the store under test.
pub(crate) struct Writer {
    pub(crate) store: Arc<dyn Interface>,
    pub(crate) engine: Arc<Embedded>,
}

/// Replaces a widget.
struct Replace(Widget);

#[async_trait]
impl TryUpdate for Replace {
    async fn try_update(&mut self, _: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        Ok(self.0.write())
    }
}

/// Retries an operation that failed without effect.
pub(crate) async fn insist<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, StorageError>
where
    F: Future<Output = Result<T, StorageError>>,
{
    loop {
        match attempt().await {
            Err(StorageError::Unavailable { .. }) => {}
            outcome => return outcome,
        }
    }
}

fn key(name: u8) -> String {
    format!("{}w{name}", crate::PREFIX)
}

// === impl History ===

impl History {
    pub(crate) fn new(newest: Revision) -> Self {
        Self { changes: Vec::new(), objects: Objects::new(), newest, compacted: 0, foreign: 0 }
    }

    /// Returns the state at a revision.
    pub(crate) fn at(&self, revision: Revision) -> Objects {
        let mut objects = Objects::new();
        for change in self.changes.iter().take_while(|change| change.revision <= revision) {
            match &change.after {
                Some(widget) => objects.insert(change.key.clone(), (change.revision, widget.clone())),
                None => objects.remove(&change.key),
            };
        }
        objects
    }

    /// Returns the revision a number of revisions ago, limited to those at which there was a state.
    pub(crate) fn ago(&self, revisions: u64) -> Revision {
        self.newest.saturating_sub(revisions).max(1)
    }

    fn happened(&mut self, revision: Revision, key: String, after: Option<Widget>) {
        assert!(revision > self.newest, "revision {revision} was given twice");
        self.newest = revision;
        let before = match &after {
            Some(widget) => self.objects.insert(key.clone(), (revision, widget.clone())),
            None => self.objects.remove(&key),
        };
        let before = before.map(|(_, widget)| widget);
        self.changes.push(Change { revision, key, before, after });
    }
}

// === impl Writer ===

impl Writer {
    pub(crate) async fn put(&self, history: &mut History, name: u8, color: u8, tier: u8) {
        let key = key(name);
        let count = history.newest;
        let widget = Widget::named(&format!("w{name}")).color(&format!("color-{color}")).count(count);
        let widget = widget.label("tier", &tier.to_string());
        let written = if history.objects.contains_key(&key) {
            let update = || async {
                let mut replace = Replace(widget.clone());
                self.store.guaranteed_update(&key, &Preconditions::default(), &mut replace, None).await
            };
            insist(update).await.unwrap().object
        } else {
            insist(|| self.store.create(&key, widget.value(), None)).await.unwrap()
        };
        assert_eq!(Widget::decode(&written), widget);
        history.happened(written.revision, key, Some(widget));
    }

    pub(crate) async fn delete(&self, history: &mut History, name: u8) {
        let key = key(name);
        let delete =
            || async { self.store.delete(&key, &Preconditions::default(), &mut AnyDeletion, None).await };
        match insist(delete).await {
            Ok(gone) => {
                assert_eq!(
                    Some(Widget::decode(&gone)),
                    history.objects.get(&key).map(|(_, own)| own.clone())
                );
                history.happened(gone.revision, key, None);
            }
            Err(StorageError::NotFound { .. }) => assert!(!history.objects.contains_key(&key)),
            Err(error) => panic!("{error}"),
        }
    }

    /// Another server compacts.
    pub(crate) async fn compact(&self, history: &mut History, ago: u8) {
        let revision = history.ago(ago.into());
        self.engine.compact(revision).await.unwrap();
        history.compacted = history.compacted.max(revision);
    }

    /// Another server writes another resource.
    pub(crate) async fn foreign(&self, history: &mut History) {
        let key = format!("{}others/a", crate::ROOT);
        let outcome = self.engine.put_if(&key, history.foreign, Bytes::from_static(b"1"), None).await;
        let Ok(Committed::At(revision)) = outcome else { panic!("{outcome:?}") };
        (history.newest, history.foreign) = (revision, revision);
    }
}
