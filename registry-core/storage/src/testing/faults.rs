//! Checks the store over an engine with faults: the final state must be consistent with the reported results.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Revision;
use crate::error::StorageError;
use crate::interface::{AnyDeletion, Interface, ListRequest, WatchEvent, WatchRequest};
use crate::mvcc::Mvcc;
use registry_meta::Preconditions;

use super::widget::increment;
use super::{FaultPlan, FaultyMvcc, Watcher, Widget, widget_store};

const WRITERS: usize = 6;
const ROUNDS: usize = 40;
const PLAN: FaultPlan = FaultPlan { fail: 60, lose_answer: 80, delay: 200, break_watch: 50 };

/// The states of a widget that the results of its writer allow.
#[derive(Debug, Default)]
struct Model {
    /// Whether the widget must exist; `None` after a result that leaves it open.
    present: Option<bool>,
    /// The count is between the number of acknowledged and of attempted increments.
    at_least: u64,
    at_most: u64,
}

/// Runs writers through a [`FaultyMvcc`] over `engine`, then compares the actual state with the results that each
/// writer received, and with the events that a watcher received (across its interruptions).
///
/// # Panics
/// Panics if they differ.
pub async fn fault_tolerance(engine: Arc<dyn Mvcc>, prefix: &str, seed: u64) {
    let start = engine.current_revision().await.expect("the engine answers");
    let faulty = widget_store(FaultyMvcc::new(Arc::clone(&engine), PLAN, seed));
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| tokio::spawn(writer(Arc::clone(&faulty), format!("{prefix}w{number}"))))
        .collect();
    let mut models = Vec::new();
    for writer in writers {
        models.push(writer.await.expect("a writer does not panic"));
    }
    let sound = widget_store(engine);
    let end = sound.create(&format!("{prefix}zz-end"), Widget::named("end").value(), None).await;
    let end = end.expect("the last write succeeds").revision;
    let listed = sound.list(prefix, &ListRequest::default()).await.expect("the list is read");
    let state: BTreeMap<String, Widget> =
        listed.items.iter().map(|object| (object.key.to_string(), Widget::decode(object))).collect();
    for (number, model) in models.iter().enumerate() {
        let found = state.get(&format!("{prefix}w{number}"));
        assert!(
            model.present.is_none_or(|present| present == found.is_some()),
            "seed {seed}, w{number}: {model:?} but {found:?}"
        );
        if let Some(widget) = found {
            assert!(
                (model.at_least..=model.at_most).contains(&widget.count),
                "seed {seed}, w{number}: {model:?} but {widget:?}"
            );
        }
    }
    let seen = follow(faulty.as_ref(), prefix, start, end).await;
    assert_eq!(seen, state, "seed {seed}: the watch shows what is there");
}

/// Creates, increments and deletes a widget, recording the results.
async fn writer(store: Arc<dyn Interface>, key: String) -> Model {
    let mut model = Model { present: Some(false), ..Model::default() };
    for round in 0..ROUNDS {
        match round % 8 {
            0 => create(store.as_ref(), &key, &mut model).await,
            7 => delete(store.as_ref(), &key, &mut model).await,
            _ => count(store.as_ref(), &key, &mut model).await,
        }
    }
    model
}

async fn create(store: &dyn Interface, key: &str, model: &mut Model) {
    match store.create(key, Widget::named("w").value(), None).await {
        Ok(_) => {
            assert_ne!(model.present, Some(true), "{key} was created twice");
            *model = Model { present: Some(true), ..Model::default() };
        }
        Err(StorageError::Exists { .. }) => {
            assert_ne!(model.present, Some(false), "{key} exists although it was never created");
            model.present = Some(true);
        }
        Err(StorageError::Unavailable { .. }) => {
            if model.present != Some(true) {
                model.present = None;
                model.at_least = 0;
            }
        }
        Err(other) => panic!("a create of {key} fails otherwise: {other}"),
    }
}

async fn count(store: &dyn Interface, key: &str, model: &mut Model) {
    match store.guaranteed_update(key, &Preconditions::default(), &mut increment(), None).await {
        Ok(updated) => {
            let count = Widget::decode(&updated.object).count;
            assert!(model.present != Some(false) && count > model.at_least && count <= model.at_most + 1);
            *model = Model { present: Some(true), at_least: count, at_most: count };
        }
        Err(StorageError::NotFound { .. }) => {
            assert_ne!(model.present, Some(true), "{key} is lost");
            *model = Model { present: Some(false), ..Model::default() };
        }
        Err(StorageError::Unavailable { .. }) => model.at_most += 1,
        Err(other) => panic!("an update of {key} fails otherwise: {other}"),
    }
}

async fn delete(store: &dyn Interface, key: &str, model: &mut Model) {
    match store.delete(key, &Preconditions::default(), &mut AnyDeletion, None).await {
        Ok(_) => {
            assert_ne!(model.present, Some(false), "{key} was deleted twice");
            *model = Model { present: Some(false), ..Model::default() };
        }
        Err(StorageError::NotFound { .. }) => {
            assert_ne!(model.present, Some(true), "{key} is lost");
            *model = Model { present: Some(false), ..Model::default() };
        }
        Err(StorageError::Unavailable { .. }) => {
            if model.present != Some(false) {
                model.present = None;
                model.at_least = 0;
            }
        }
        Err(other) => panic!("a delete of {key} fails otherwise: {other}"),
    }
}

/// Watches from `start` to `end`, resuming from the last revision whenever the watch breaks.
async fn follow(
    store: &dyn Interface,
    prefix: &str,
    start: Revision,
    end: Revision,
) -> BTreeMap<String, Widget> {
    let mut revision = start;
    let mut state = BTreeMap::new();
    while revision < end {
        let request = WatchRequest { revision: Some(revision), ..WatchRequest::default() };
        let Ok(stream) = store.watch(prefix, &request).await else { continue };
        let mut watcher = Watcher::over(stream, revision);
        while revision < end
            && let Some(Ok(event)) = watcher.item().await
        {
            revision = apply(&mut state, event, revision);
        }
    }
    state
}

/// Applies an event to a state. Returns the event's revision, which must be greater than the previous one.
fn apply(state: &mut BTreeMap<String, Widget>, event: WatchEvent, after: Revision) -> Revision {
    let (object, existed, exists) = match event {
        WatchEvent::Added(object) => (object, false, true),
        WatchEvent::Modified(object) => (object, true, true),
        WatchEvent::Deleted(object) => (object, true, false),
        WatchEvent::Bookmark { revision, .. } => return revision.max(after),
    };
    let key = object.key.to_string();
    assert!(object.revision > after, "an event for {key} comes twice or out of order");
    let before = if exists { state.insert(key.clone(), Widget::decode(&object)) } else { state.remove(&key) };
    assert_eq!(before.is_some(), existed, "an event for {key} does not fit the state before");
    object.revision
}
