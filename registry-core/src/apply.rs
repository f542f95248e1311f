//! Server-side apply and tracking of field ownership.
//!
//! Merging is a pure function of objects and their schema: no storage, no HTTP. Conversions by a webhook, which it may
//! need, are arguments: see `conversions`. A [`FieldManager`] provides the two operations that writes need:
//! [`track_update`](FieldManager::track_update) records which fields a create, update or patch changed, and
//! [`apply`](FieldManager::apply) merges an applied configuration. Both happen before mutating admission, as in
//! Kubernetes: changes made by admission and strategies have no manager.
//!
//! | module | contents |
//! |---|---|
//! | `element`, `set`, `fields_v1` | paths, sets of them, and their JSON |
//! | `shape` | how a type is treated by apply: as one value, or field by field |
//! | `collect`, `compare`, `merge` | the fields that a value sets; differences; merging and removing |
//! | `conversions` | conversions outside of this process, made before the fields are merged |
//! | `versions` | managers whose fields are of another version of the kind |
//! | `reconcile` | managers whose fields were recorded under another schema |
//! | `check` | whether an applied configuration fits its type |
//! | `managers`, `conflict` | the entries of `managedFields`; the conflict error |
//! | `last_applied` | migration from client-side apply |
//! | `mutation` | merging without managers, as policies do |
//! | `scale` | the managers of the replica count in a scale |
//!
//! Kubernetes concept: [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/);
//! `sigs.k8s.io/structured-merge-diff`, `k8s.io/apimachinery/pkg/util/managedfields`.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::api::{GroupVersionKind, Object, Reason, StatusError, split_api_version};
use crate::budget::Budget;
use crate::resource::{ResourceType, Versions};
use crate::schema::Schema;

mod check;
mod collect;
mod compare;
mod conflict;
mod conversions;
mod element;
mod fields_v1;
mod last_applied;
mod managers;
mod merge;
mod mutation;
mod reconcile;
pub mod scale;
mod set;
mod shape;
mod versions;

#[cfg(test)]
mod tests;

pub use conversions::{Conversions, Unconverted};
pub use element::{ElementError, PathElement};
pub use mutation::{MergeError, merge_configuration};
pub use set::FieldSet;

use check::Mismatches;
use compare::Changes;
use conflict::{Conflict, Refusal};
use fields_v1::WrittenSet;
use managers::{Entry, ManagedFieldsOperation, Manager, Managers, asks_for_reset};
use shape::ValueShape;

/// Manager of the fields of an object that had no managers before it was first applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Manager of fields if the request does not name one.
const UNKNOWN_MANAGER: &str = "unknown";

pub(crate) const MANAGED_FIELDS: &[&str] = &["metadata", "managedFields"];

/// Fields that never have a manager: the server sets them, or they identify the object.
static STRIPPED: LazyLock<FieldSet<'static>> = LazyLock::new(|| {
    const PATHS: &[&[&str]] = &[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        MANAGED_FIELDS,
        &["metadata", "resourceVersion"],
    ];
    FieldSet::from_paths(PATHS.iter().copied())
});

/// Tracks the managers of the objects of one path.
#[derive(Clone, Debug)]
pub struct FieldManager<'a> {
    /// The kind that the path accepts.
    pub kind: GroupVersionKind,
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// The subresource; empty for the main one.
    pub subresource: &'a str,
    /// The kind's schema.
    pub schema: Schema,
    /// Fields that this path ignores in what the client sends; they get no manager through it.
    pub reset: Reset<'a>,
    /// An empty object of the kind, conformed to the schema; new objects are compared with it.
    pub blank: &'a Object,
    /// The served versions of the kind; `None` if there is only this one.
    pub versions: Option<&'a Versions>,
    /// Conversions that were made outside of this process; none at first, see
    /// [`with_conversions`](Self::with_conversions).
    pub conversions: Conversions,
    /// The budget for what applying adds to an object; `None` if it is not limited.
    pub budget: Option<&'a Budget>,
}

/// The fields that a path ignores in what the client sends.
///
/// Kubernetes concept: `rest.ResetFieldsStrategy` and `rest.ResetFieldsFilterStrategy`.
#[derive(Clone, Debug)]
pub enum Reset<'a> {
    /// These fields and everything below them. See [`reset_fields`].
    Fields(FieldSet<'a>),
    /// Everything except these paths and what is below them; `*` matches any list element.
    AllBut(&'static [&'static [&'static str]]),
}

/// Result of merging an applied configuration.
struct Applied<'a> {
    /// The object's fields; `None` if applying does not change any.
    fields: Option<Map<String, Value>>,
    managers: Managers<'a>,
}

/// Returns the fields that the main resource (`subresource` empty) or a subresource resets: the main resource resets
/// the status, `status` resets everything else; both also reset the fields that the declaration names.
pub fn reset_fields(resource: &ResourceType, subresource: &str) -> FieldSet<'static> {
    match subresource {
        "" => {
            let status: &[&[&str]] = if resource.has_status { &[&["status"]] } else { &[] };
            FieldSet::from_paths(status.iter().chain(resource.write_rules.reset).copied())
        }
        "status" => {
            let mut reset = FieldSet::from_paths(resource.write_rules.reset_by_status.iter().copied());
            let schema = resource.schema();
            for field in schema.root().fields() {
                let is_kept = match field.name() {
                    "apiVersion" | "kind" | "status" => true,
                    "metadata" => resource.is_builtin,
                    _ => false,
                };
                if !is_kept {
                    reset.insert(&[PathElement::field(field.name()).into_owned()]);
                }
            }
            reset
        }
        _ => FieldSet::default(),
    }
}

/// Preserves a client's request to reset all managers through conforming, which drops empty lists: replaces an empty
/// `managedFields` by a list with one empty entry, which means the same.
pub fn keep_reset(value: &mut Value) {
    let managed = value.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields"));
    if let Some(Value::Array(entries)) = managed
        && entries.is_empty()
    {
        entries.push(Value::Object(Map::new()));
    }
}

impl Default for Reset<'_> {
    /// The path can change every field.
    fn default() -> Self {
        Self::Fields(FieldSet::default())
    }
}

// === impl FieldManager: create, update, patch ===

impl FieldManager<'_> {
    /// Records in `managedFields` of the new object, with the time `now`, that `manager` changed the fields that differ
    /// from the live object (`None` if the object is created). `managedFields` in the new object is treated as the
    /// client's request: entries replace the stored ones, an empty list (preserved by [`keep_reset`]) resets them.
    ///
    /// An object whose managers are reset has none until it is applied.
    ///
    /// # Errors
    /// Fails if a conversion or a schema has to be made first. The new object is unchanged then.
    pub fn track_update(
        &self,
        live: Option<&Object>,
        new: &mut Object,
        manager: &str,
        now: &str,
    ) -> Result<(), Unconverted> {
        for object in live.into_iter().chain([&*new]) {
            self.check_prepared(object)?;
        }
        let claimed = new.remove(MANAGED_FIELDS);
        let is_remote = self.versions.is_some_and(Versions::are_converted_remotely);
        let sent = claimed.as_ref().filter(|_| is_remote).cloned();
        let live = live.unwrap_or(self.blank);
        let mut managers = self.managers_before(live, claimed);
        if managers.is_empty() && !live.uid().is_empty() {
            return Ok(());
        }
        self.reconcile(&mut managers);
        managers = match self.updated(live, new, managers, manager, now) {
            Ok(managers) => managers,
            Err(missing) => {
                if let Some(sent) = sent {
                    new.set(MANAGED_FIELDS, sent);
                }
                return Err(missing);
            }
        };
        managers.cap();
        if let Some(written) = managers.write() {
            new.metadata_mut().insert("managedFields".to_owned(), written);
        }
        Ok(())
    }

    fn managers_before<'m>(&self, live: &'m Object, claimed: Option<Value>) -> Managers<'m> {
        let stored = live.get(MANAGED_FIELDS);
        let managers = match claimed {
            // Most clients send `managedFields` back unchanged; this copy is not shared, so it is modified in place.
            Some(same) if Some(&same) == stored => Managers::stored(Some(Cow::Owned(same))),
            // A subresource does not change the managers of the main resource.
            Some(claimed) if self.subresource.is_empty() => {
                if asks_for_reset(&claimed) {
                    return Managers::default();
                }
                Managers::claimed(claimed)
            }
            _ => Ok(Managers::default()),
        };
        match managers {
            Ok(managers) if !managers.is_empty() => managers,
            _ => Managers::stored(stored.map(Cow::Borrowed)).unwrap_or_default(),
        }
    }

    /// Returns the managers after `manager` changed `live` to `new`.
    fn updated<'m>(
        &'m self,
        live: &'m Object,
        new: &'m Object,
        mut managers: Managers<'m>,
        manager: &'m str,
        now: &'m str,
    ) -> Result<Managers<'m>, Unconverted> {
        let comparison = self.compare(&mut managers, &live.0, &new.0)?;
        let own = self.manager(manager, ManagedFieldsOperation::Update);
        if comparison.own.changed.is_empty() && comparison.own.removed.is_empty() {
            return Ok(managers);
        }
        for entry in &mut managers.0 {
            entry.lose(comparison.seen_by(&entry.manager));
        }
        let changed = &comparison.own.changed;
        if !changed.is_empty() {
            let mut entry = managers.take(&own).unwrap_or_else(|| Entry::new(own));
            entry.fields.add(changed);
            entry.time = Some(Cow::Borrowed(now));
            managers.0.push(entry);
        }
        managers.drop_empty();
        Ok(managers)
    }

    /// Returns the differences between two objects in the fields that can have a manager through this path.
    fn changes<'m>(&'m self, old: &'m Map<String, Value>, new: &'m Map<String, Value>) -> Changes<'m> {
        let changes = match &self.reset {
            Reset::Fields(fields) => Changes::between(self.shape(), old, new, fields),
            Reset::AllBut(paths) => {
                let Changes { changed, removed } =
                    Changes::between(self.shape(), old, new, &FieldSet::default());
                Changes { changed: changed.only(paths), removed: removed.only(paths) }
            }
        };
        Changes {
            changed: changes.changed.difference(&STRIPPED),
            removed: changes.removed.difference(&STRIPPED),
        }
    }

    fn manager<'m>(&'m self, name: &'m str, operation: ManagedFieldsOperation) -> Manager<'m> {
        Manager {
            name: Cow::Borrowed(if name.is_empty() { UNKNOWN_MANAGER } else { name }),
            operation,
            api_version: Cow::Borrowed(self.api_version),
            subresource: Cow::Borrowed(self.subresource),
        }
    }

    fn shape(&self) -> ValueShape<'_> {
        ValueShape::Struct(self.schema.root())
    }
}

// === impl FieldManager: apply ===

impl FieldManager<'_> {
    /// Applies a configuration to the live object (`None` if it does not exist): sets the fields of the configuration,
    /// and removes fields that the manager applied before but no longer does, unless another manager has them too. The
    /// result is conformed but not defaulted, and its managers are updated.
    ///
    /// # Errors
    /// Fails if a conversion or a schema has to be made first.
    ///
    /// The result is 400 if the configuration has another kind or sets `managedFields`; 409 with a cause for each field
    /// if other managers have fields that it would change and `force` is not set; 500, as in Kubernetes, if it does not
    /// match its type.
    pub fn apply(
        &self,
        live: Option<&Object>,
        applied: &Object,
        manager: &str,
        force: bool,
        now: &str,
    ) -> Result<Result<Object, StatusError>, Unconverted> {
        match self.applied(live, applied, manager, force, now) {
            Ok(object) => Ok(Ok(object)),
            Err(Refusal::Conflicts(conflicts)) => Ok(Err(conflict::refuse(&conflicts))),
            Err(Refusal::Status(status)) => Ok(Err(status)),
            Err(Refusal::Unconverted(missing)) => Err(missing),
        }
    }

    fn applied(
        &self,
        live: Option<&Object>,
        applied: &Object,
        manager: &str,
        force: bool,
        now: &str,
    ) -> Result<Object, Refusal> {
        self.check(applied)?;
        let live = live.unwrap_or(self.blank);
        self.check_prepared(live)?;
        let merged = match self.merged(live, applied, manager, force, now) {
            Err(Refusal::Conflicts(conflicts)) if manager == last_applied::KUBECTL => {
                match self.beyond_last_applied(live, conflicts) {
                    remaining if remaining.is_empty() => self.merged(live, applied, manager, true, now),
                    remaining => Err(Refusal::Conflicts(remaining)),
                }
            }
            result => result,
        };
        let Applied { fields, managers } = merged?;
        let mut object = match fields {
            Some(fields) => self.conform(fields, applied)?,
            None => live.clone(),
        };
        object.remove(MANAGED_FIELDS);
        if let Some(written) = managers.write() {
            object.metadata_mut().insert("managedFields".to_owned(), written);
        }
        if manager == last_applied::KUBECTL {
            last_applied::refresh(&mut object, applied);
        }
        Ok(object)
    }

    fn check(&self, applied: &Object) -> Result<(), StatusError> {
        let (group, version) = split_api_version(applied.api_version());
        let kind = self.kind;
        if applied.kind() != kind.kind || group != kind.group || version != kind.version {
            return Err(StatusError::bad_request(format!("invalid object type: {}", kind_text(applied))));
        }
        if applied.get(MANAGED_FIELDS).is_some_and(Value::is_array) {
            return Err(StatusError::bad_request("metadata.managedFields must be nil"));
        }
        let mismatches = Mismatches::find(self.schema.root(), &applied.0);
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(plain_failure(format!(
            "failed to create typed patch object ({}): {mismatches}",
            object_text(applied)
        )))
    }

    fn merged<'m>(
        &'m self,
        live: &'m Object,
        applied: &'m Object,
        manager: &'m str,
        force: bool,
        now: &'m str,
    ) -> Result<Applied<'m>, Refusal> {
        let mut managers = Managers::stored(live.get(MANAGED_FIELDS).map(Cow::Borrowed)).map_err(|why| {
            Refusal::Status(plain_failure(format!("failed to decode managed fields: {why}")))
        })?;
        if managers.is_empty() {
            managers = self.updated(self.blank, live, managers, BEFORE_FIRST_APPLY, now)?;
        }
        self.reconcile(&mut managers);
        let mut fields = live.0.clone();
        merge::merge_maps(self.shape(), &mut fields, &applied.0);

        let own = self.manager(manager, ManagedFieldsOperation::Apply);
        let last = managers.take(&own);
        let set = FieldSet::from_fields(&applied.0, self.shape());
        let set = match &self.reset {
            Reset::Fields(fields) => set.recursive_difference(fields),
            Reset::AllBut(paths) => set.only(paths),
        };
        let time = last.as_ref().and_then(|last| last.time.clone());
        managers.0.push(Entry { manager: own.clone(), time, fields: WrittenSet::from_set(&set) });
        if let Some(last) = last {
            self.prune(&mut fields, &managers, &last)?;
        }
        self.settle(&mut managers, &own, live, &fields, force)?;

        let is_changed = fields != live.0;
        if let Some(mut entry) = managers.take(&own) {
            entry.fields.subtract(&STRIPPED);
            if is_changed {
                entry.time = Some(Cow::Borrowed(now));
            }
            managers.0.push(entry);
        }
        managers.drop_empty();
        Ok(Applied { fields: is_changed.then_some(fields), managers })
    }

    /// Takes the changed fields from the other managers, which is a conflict without `force`, and the removed fields.
    fn settle(
        &self,
        managers: &mut Managers<'_>,
        own: &Manager<'_>,
        live: &Object,
        fields: &Map<String, Value>,
        force: bool,
    ) -> Result<(), Refusal> {
        let comparison = self.compare(managers, &live.0, fields)?;
        let others = || |entry: &&mut Entry<'_>| !entry.manager.is(own);
        if !force {
            let mut conflicts: Vec<Conflict> = Vec::new();
            managers.0.sort_by(|a, b| a.manager.compare(&b.manager));
            for entry in managers.0.iter_mut().filter(others()) {
                let changed = &comparison.seen_by(&entry.manager).changed;
                entry.fields.intersection(changed).for_each(&mut |path| {
                    conflicts.push(Conflict::new(&entry.manager, path));
                });
            }
            if !conflicts.is_empty() {
                return Err(Refusal::Conflicts(conflicts));
            }
        }
        for entry in managers.0.iter_mut().filter(others()) {
            entry.lose(comparison.seen_by(&entry.manager));
        }
        Ok(())
    }

    fn conform(&self, fields: Map<String, Value>, applied: &Object) -> Result<Object, StatusError> {
        let mut value = Value::Object(fields);
        let conformed = match self.budget {
            Some(budget) => self.schema.conform_within(budget, &mut value, &mut Vec::new()),
            None => self.schema.conform(&mut value, &mut Vec::new()),
        };
        conformed.map_err(|fault| {
            plain_failure(format!(
                "failed to convert new typed object ({}) to object: {fault}",
                object_text(applied)
            ))
        })?;
        Ok(Object::from_value(value).unwrap_or_default())
    }
}

/// 500 without a reason: Kubernetes' response for errors that its code does not expect.
fn plain_failure(message: String) -> StatusError {
    StatusError::new(Reason::Unknown, message)
}

/// Formats an object for error messages: `namespace/name; group/version, Kind=Kind`.
fn object_text(object: &Object) -> String {
    format!("{}/{}; {}", object.namespace(), object.name(), kind_text(object))
}

fn kind_text(object: &Object) -> String {
    let (group, version) = split_api_version(object.api_version());
    format!("{group}/{version}, Kind={}", object.kind())
}
