//! A storage whose watches a test scripts.

use std::collections::VecDeque;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;

use crate::api::Preconditions;
use crate::codec::stored;
use crate::registry::testing::widget;
use crate::schema::FieldOrder;
use crate::storage::interface::ValidateDeletion;
use crate::storage::{
    Entry, Interface, ListPage, ListRequest, NewValue, NotReady, TryUpdate, Updated, WatchRequest,
    WatchStream,
};

use super::*;

/// Answers watches with what a test has scripted, one after the other; the last answer holds for all further ones.
#[derive(Default)]
pub(super) struct Scripted {
    answers: Mutex<VecDeque<Result<WatchStream, StorageError>>>,
    opened: Mutex<Vec<(Instant, WatchRequest)>>,
    /// The error of every watch after the scripted ones; without it they are silent.
    pub(super) otherwise: Mutex<Option<StorageError>>,
    /// Whether the watches after the scripted ones end at once.
    pub(super) ends: Mutex<bool>,
}

// === impl Scripted ===

impl Scripted {
    pub(super) fn answer(&self, answer: Result<WatchStream, StorageError>) {
        self.answers.lock().push_back(answer);
    }

    /// Returns the requests so far, with their times.
    pub(super) fn opened(&self) -> Vec<(Instant, WatchRequest)> {
        self.opened.lock().clone()
    }

    /// Returns the start revisions of the watches so far; `None` for those that list first.
    pub(super) fn positions(&self) -> Vec<Option<Revision>> {
        let position = |(_, request): (Instant, WatchRequest)| {
            let position = request.revision.filter(|revision| *revision > 0);
            assert_eq!(request.send_initial_events, Some(position.is_none()));
            assert!(request.bookmarks);
            position
        };
        self.opened().into_iter().map(position).collect()
    }
}

/// Creates a stored widget.
pub(super) fn entry(namespace: &str, name: &str, revision: Revision) -> StoredObject {
    let object = widget(name, &json!({"metadata": {"namespace": namespace}}));
    let (json, item_offset) =
        stored::with_resource_version(&stored::encode(&object, FieldOrder::ByName), revision).unwrap();
    let key = format!("/registry/widgets/{namespace}/{name}");
    Arc::new(Entry::new(key.into(), revision, json, item_offset, WIDGETS.instantiate().attributes(&object)))
}

#[async_trait]
impl Interface for Scripted {
    async fn watch(&self, prefix: &str, request: &WatchRequest) -> Result<WatchStream, StorageError> {
        assert_eq!(prefix, "/registry/widgets/", "all namespaces");
        self.opened.lock().push((Instant::now(), request.clone()));
        if let Some(answer) = self.answers.lock().pop_front() {
            return answer;
        }
        if let Some(error) = self.otherwise.lock().clone() {
            return Err(error);
        }
        if *self.ends.lock() {
            return Ok(futures::stream::empty().boxed());
        }
        Ok(futures::stream::pending().boxed())
    }

    async fn create(&self, _: &str, _: NewValue, _: Option<Duration>) -> Result<StoredObject, StorageError> {
        Err(unavailable())
    }

    async fn get(&self, _: &str, _: Option<Revision>) -> Result<Option<StoredObject>, StorageError> {
        Err(unavailable())
    }

    async fn list(&self, _: &str, _: &ListRequest) -> Result<ListPage, StorageError> {
        Err(unavailable())
    }

    async fn guaranteed_update(
        &self,
        _: &str,
        _: &Preconditions,
        _: &mut dyn TryUpdate,
        _: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        Err(unavailable())
    }

    async fn delete(
        &self,
        _: &str,
        _: &Preconditions,
        _: &mut dyn ValidateDeletion,
        _: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError> {
        Err(unavailable())
    }

    async fn count(&self, _: &str) -> Result<u64, StorageError> {
        Err(unavailable())
    }

    async fn current_revision(&self) -> Result<Revision, StorageError> {
        Err(unavailable())
    }

    async fn request_progress(&self) -> Result<(), StorageError> {
        Err(unavailable())
    }

    fn readiness(&self) -> Result<(), NotReady> {
        Ok(())
    }
}
