//! Test support: an in-memory storage and a resource to store in it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::api::{GroupVersionKind, Object, Preconditions, Scope, StatusError};
use crate::codec::stored;
use crate::context::RequestContext;
use crate::release::Lifecycle;
use crate::resource::{ObjectStrategy, ResourceDescription, ResourceProperties, ScalePaths, SelectableField};
use crate::rest::{Answer, UpdatedObject};
use crate::schema::{FieldOrder, Schema};
use crate::storage::interface::{UpdateAction, UpdateOutcome, ValidateDeletion};
use crate::storage::{
    Entry, Interface, ListPage, ListRequest, NewValue, NotReady, PreconditionField, Revision, StorageError,
    StoredObject, TryUpdate, Updated, WatchRequest, WatchStream,
};

/// An in-memory storage without history and watches.
#[derive(Default)]
pub(crate) struct MemoryStorage {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    revision: Revision,
    objects: BTreeMap<String, StoredObject>,
    /// Number of following creations that find their name taken.
    collisions: usize,
    /// Concurrent changes, each made just before an update commits.
    interference: VecDeque<fn(&mut Object)>,
    ttl: Option<Duration>,
    listed: Vec<String>,
}

// === impl MemoryStorage ===

impl MemoryStorage {
    /// Makes the next creations find their name taken.
    pub(crate) fn collide(&self, times: usize) {
        self.state().collisions = times;
    }

    /// Changes the object concurrently, just before the next update commits.
    pub(crate) fn interfere(&self, change: fn(&mut Object)) {
        self.state().interference.push_back(change);
    }

    /// Returns the time to live of the last written object.
    pub(crate) fn last_time_to_live(&self) -> Option<Duration> {
        self.state().ttl
    }

    /// Returns the key ranges that were listed.
    pub(crate) fn listed(&self) -> Vec<String> {
        self.state().listed.clone()
    }

    pub(crate) fn revision(&self) -> Revision {
        self.state().revision
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state().objects.keys().map(|key| key.rsplit('/').next().unwrap().to_owned()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn write(&mut self, key: &str, bytes: &Bytes, value: NewValue) -> StoredObject {
        self.revision += 1;
        let (line, item_offset) = stored::with_resource_version(bytes, self.revision).unwrap();
        let entry = Arc::new(Entry::new(key.into(), self.revision, line, item_offset, value.attributes));
        self.objects.insert(key.to_owned(), entry.clone());
        entry
    }

    fn remove(&mut self, key: &str) -> StoredObject {
        self.revision += 1;
        let last = self.objects.remove(key).unwrap();
        let (line, item_offset) = stored::with_resource_version(
            &stored::encode(&stored::decode(last.json()).unwrap(), FieldOrder::Usual),
            self.revision,
        )
        .unwrap();
        let key = last.key.clone();
        let attributes = last.attributes.clone();
        Arc::new(Entry::new(key, self.revision, line, item_offset, attributes))
    }
}

fn check(preconditions: &Preconditions, entry: &StoredObject) -> Result<(), StorageError> {
    let found = stored::decode(entry.json()).unwrap();
    match &preconditions.uid {
        Some(uid) if uid != found.uid() => Err(StorageError::Precondition {
            field: PreconditionField::Uid,
            wanted: uid.clone(),
            found: found.uid().to_owned(),
        }),
        _ => Ok(()),
    }
}

#[async_trait]
impl Interface for MemoryStorage {
    async fn create(
        &self,
        key: &str,
        value: NewValue,
        ttl: Option<Duration>,
    ) -> Result<StoredObject, StorageError> {
        let mut state = self.state();
        if state.collisions > 0 {
            state.collisions -= 1;
            return Err(StorageError::Exists { key: key.to_owned() });
        }
        if state.objects.contains_key(key) {
            return Err(StorageError::Exists { key: key.to_owned() });
        }
        state.ttl = ttl;
        Ok(state.write(key, &value.bytes.clone(), value))
    }

    async fn get(
        &self,
        key: &str,
        _not_older_than: Option<Revision>,
    ) -> Result<Option<StoredObject>, StorageError> {
        Ok(self.state().objects.get(key).cloned())
    }

    async fn list(&self, prefix: &str, request: &ListRequest) -> Result<ListPage, StorageError> {
        let mut state = self.state();
        state.listed.push(prefix.to_owned());
        let after = request.continue_token.clone().unwrap_or_default();
        let within = |key: &str| if prefix.ends_with('/') { key.starts_with(prefix) } else { key == prefix };
        let selected = state
            .objects
            .iter()
            .filter(|(key, entry)| within(key) && **key > after && request.predicate.selects(entry));
        let mut items: Vec<StoredObject> = selected.map(|(_, entry)| entry.clone()).collect();
        let mut continue_token = None;
        if request.limit > 0 && items.len() > usize::try_from(request.limit).unwrap() {
            items.truncate(usize::try_from(request.limit).unwrap());
            continue_token = items.last().map(|entry| entry.key.to_string());
        }
        Ok(ListPage { revision: state.revision, items, continue_token, ..ListPage::default() })
    }

    async fn watch(&self, _: &str, _: &WatchRequest) -> Result<WatchStream, StorageError> {
        Err(StorageError::unavailable("this storage does not watch"))
    }

    async fn guaranteed_update(
        &self,
        key: &str,
        preconditions: &Preconditions,
        update: &mut dyn TryUpdate,
        _hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        loop {
            let current = self.state().objects.get(key).cloned();
            if current.is_none() && !update.accepts_absent() {
                return Err(StorageError::NotFound { key: key.to_owned() });
            }
            if let Some(entry) = &current {
                check(preconditions, entry)?;
            }
            let action = update.try_update(current.as_ref()).await?;
            let mut state = self.state();
            if let (Some(change), Some(entry)) = (state.interference.pop_front(), &current) {
                let mut object = stored::decode(entry.json()).unwrap();
                change(&mut object);
                let bytes = stored::encode(&object, FieldOrder::Usual);
                let value =
                    NewValue { bytes: bytes.clone(), shown: None, attributes: entry.attributes.clone() };
                state.write(key, &bytes, value);
                continue;
            }
            return Ok(match (action, current) {
                (UpdateAction::Keep, Some(object)) => Updated { object, outcome: UpdateOutcome::Unchanged },
                (UpdateAction::Keep, None) => return Err(StorageError::NotFound { key: key.to_owned() }),
                (UpdateAction::Delete, _) => {
                    Updated { object: state.remove(key), outcome: UpdateOutcome::Deleted }
                }
                (UpdateAction::Write { value, ttl }, current) => {
                    let present = current.map(|entry| {
                        (stored::encode(&stored::decode(entry.json()).unwrap(), FieldOrder::Usual), entry)
                    });
                    let outcome = match present {
                        Some((bytes, object)) if bytes == value.bytes => {
                            return Ok(Updated { object, outcome: UpdateOutcome::Unchanged });
                        }
                        Some(_) => UpdateOutcome::Changed,
                        None => UpdateOutcome::Created,
                    };
                    state.ttl = ttl;
                    Updated { object: state.write(key, &value.bytes.clone(), value), outcome }
                }
            });
        }
    }

    async fn delete(
        &self,
        key: &str,
        preconditions: &Preconditions,
        validate: &mut dyn ValidateDeletion,
        _hint: Option<StoredObject>,
    ) -> Result<StoredObject, StorageError> {
        let current = self.state().objects.get(key).cloned();
        let current = current.ok_or_else(|| StorageError::NotFound { key: key.to_owned() })?;
        check(preconditions, &current)?;
        validate.validate_deletion(&current).await?;
        Ok(self.state().remove(key))
    }

    async fn count(&self, prefix: &str) -> Result<u64, StorageError> {
        Ok(self.state().objects.keys().filter(|key| key.starts_with(prefix)).count() as u64)
    }

    async fn current_revision(&self) -> Result<Revision, StorageError> {
        Ok(self.state().revision)
    }

    async fn request_progress(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn readiness(&self) -> Result<(), NotReady> {
        Ok(())
    }
}

// === the resource ===

const WIDGET: GroupVersionKind = GroupVersionKind { group: "example.com", version: "v1", kind: "Widget" };

/// Returns the description of widgets, a resource with every feature.
pub(crate) const fn widgets(strategy: fn() -> Arc<dyn ObjectStrategy>) -> ResourceDescription {
    ResourceDescription {
        properties: ResourceProperties {
            kind: WIDGET,
            list_kind: "WidgetList",
            plural: "widgets",
            singular: "widget",
            short_names: &[],
            categories: &[],
            scope: Scope::Namespaced,
            storage_prefix: "widgets",
            lifecycle: Lifecycle { introduced: None, removed: None },
            deprecation: None,
            retired: &[],
            selectable: &[SelectableField {
                name: "spec.color",
                path: &["spec", "color"],
                other_path: &[],
                absent: "",
            }],
            indexes: &[],
            field_names: &["metadata.name", "metadata.namespace", "spec.color"],
            row_conditions: None,
            has_status: true,
            has_generation: true,
            scale: Some(ScalePaths {
                replicas: &["spec", "replicas"],
                current: &["status", "replicas"],
                selector: Some(&["spec", "selector"]),
            }),
            time_to_live_seconds: None,
            returns_deleted_object: false,
            serves_deletecollection: true,
            write_rules: crate::resource::WriteRules::OWN,
            is_builtin: false,
            declared_at: "here",
        },
        enabled_by_default: true,
        feature: None,
        columns: &[],
        strategy,
        schema: widget_schema,
        hub: None,
    }
}

fn widget_schema() -> Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        let replicas = json!({"type": "integer", "maximum": 100});
        let report = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
        let spec = json!({"type": "object", "properties": {"replicas": replicas}});
        let properties = json!({"spec": spec, "status": report});
        Schema::from_json_schema(&json!({"type": "object", "properties": properties}), WIDGET)
    });
    SCHEMA.clone()
}

/// Creates a widget with this name and additional fields.
pub(crate) fn widget(name: &str, more: &Value) -> Object {
    let mut value = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"replicas": 1},
    });
    overlay(&mut value, more);
    Object::from_value(value).unwrap()
}

fn overlay(value: &mut Value, more: &Value) {
    match (value, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (key, more) in more {
                overlay(fields.entry(key).or_insert(Value::Null), more);
            }
        }
        (value, more) => *value = more.clone(),
    }
}

/// Returns the object of an answer, stored or not.
pub(crate) fn object_of(answer: &Answer) -> Object {
    match answer {
        Answer::Stored(entry) => stored::decode(entry.json()).unwrap(),
        Answer::Object(object) => object.clone(),
        Answer::Success(status) => panic!("no object but {status:?}"),
    }
}

/// An update that replaces the object.
pub(crate) struct Replace(pub(crate) Object);

#[async_trait]
impl UpdatedObject for Replace {
    fn preconditions(&self) -> Preconditions {
        let uid = Some(self.0.uid().to_owned()).filter(|uid| !uid.is_empty());
        Preconditions { uid, resource_version: None }
    }

    async fn updated_object(
        &mut self,
        _: &RequestContext,
        _: Option<&Object>,
    ) -> Result<Object, StatusError> {
        Ok(self.0.clone())
    }
}

/// An update computed from the current object, as for patches; creates the object if absent.
pub(crate) struct Edit<F>(pub(crate) F);

#[async_trait]
impl<F: FnMut(&mut Object) + Send> UpdatedObject for Edit<F> {
    async fn updated_object(
        &mut self,
        _: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut object = current.cloned().unwrap_or_default();
        (self.0)(&mut object);
        Ok(object)
    }

    fn forces_create(&self) -> bool {
        true
    }
}
