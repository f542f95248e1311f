//! The managers of an object's fields: `metadata.managedFields`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::compare::Changes;
use super::element::ElementError;
use super::fields_v1::WrittenSet;

/// Maximum number of managers with operation `Update`; beyond it, the oldest are merged.
const UPDATE_MANAGERS: usize = 10;

/// The manager that represents the merged oldest updates.
const ANCIENT: &str = "ancient-changes";

/// The operation by which a manager acquired its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ManagedFieldsOperation {
    /// By applying them.
    Apply,
    /// By creating, updating or patching them.
    Update,
}

/// The manager of an entry of `managedFields`. A manager has one entry for everything it applied and one for its
/// updates in each version; both for each subresource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Manager<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) operation: ManagedFieldsOperation,
    pub(super) api_version: Cow<'a, str>,
    pub(super) subresource: Cow<'a, str>,
}

/// A manager and its fields.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) manager: Manager<'a>,
    /// Time of the manager's last change, formatted as `metav1.Time`; `None` if it has never changed a value.
    pub(super) time: Option<Cow<'a, str>>,
    pub(super) fields: WrittenSet<'a>,
}

/// All managers of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Managers<'a>(pub(super) Vec<Entry<'a>>);

/// Error of `managedFields` that cannot be read. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManagersError {
    #[error("error decoding versioned set: error decoding set: {0}")]
    Fields(#[from] ElementError),
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    NoApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {found:?} in managed fields entry {index}")]
    FieldsType { index: usize, found: String },
}

// === impl Manager ===

impl Manager<'_> {
    /// Whether both identify the same entry.
    pub(super) fn is(&self, other: &Manager<'_>) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == ManagedFieldsOperation::Apply || self.api_version == other.api_version)
    }

    /// Returns the part that identifies the entry.
    fn identity(self) -> Self {
        match self.operation {
            ManagedFieldsOperation::Apply => Self { api_version: Cow::Borrowed(""), ..self },
            ManagedFieldsOperation::Update => self,
        }
    }

    /// The fallback order of managers.
    pub(super) fn compare(&self, other: &Manager<'_>) -> Ordering {
        let by_name = self.name.cmp(&other.name).then_with(|| self.operation.cmp(&other.operation));
        by_name
            .then_with(|| self.api_version.cmp(&other.api_version))
            .then_with(|| self.subresource.cmp(&other.subresource))
    }
}

impl ManagedFieldsOperation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

// === impl Managers ===

impl<'a> Managers<'a> {
    /// Parses `managedFields` sent by a client. The error message is Kubernetes'.
    pub(super) fn claimed(managed_fields: Value) -> Result<Self, ManagersError> {
        Self::read(Cow::Owned(managed_fields), |fields_v1| Ok(WrittenSet::claimed(&fields_v1)?))
    }

    /// Parses the managers of a stored object.
    pub(super) fn stored(managed_fields: Option<Cow<'a, Value>>) -> Result<Self, ManagersError> {
        managed_fields
            .map_or_else(|| Ok(Self::default()), |value| Self::read(value, |set| Ok(WrittenSet::stored(set))))
    }

    fn read(
        managed_fields: Cow<'a, Value>,
        read_set: impl Fn(Cow<'a, Value>) -> Result<WrittenSet<'a>, ManagersError>,
    ) -> Result<Self, ManagersError> {
        let mut managers = Self::default();
        let mut places: HashMap<Manager<'a>, usize> = HashMap::new();
        for (index, entry) in items(managed_fields).into_iter().enumerate() {
            let entry = Entry::read(entry, index, &read_set)?;
            let key = entry.manager.clone().identity();
            // If a manager has two entries, the later one wins.
            if let Some(earlier) = places.get(&key).and_then(|place| managers.0.get_mut(*place)) {
                *earlier = entry;
            } else {
                places.insert(key, managers.0.len());
                managers.0.push(entry);
            }
        }
        Ok(managers)
    }

    /// Formats `managedFields`, in Kubernetes' order; `None` if there are no managers.
    pub(super) fn write(mut self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by(|a, b| {
            let by_operation = a.manager.operation.cmp(&b.manager.operation);
            by_operation.then_with(|| a.time.cmp(&b.time)).then_with(|| a.manager.compare(&b.manager))
        });
        Some(self.0.into_iter().map(Entry::write).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, manager: &Manager<'_>) -> Option<Entry<'a>> {
        self.position(manager).map(|place| self.0.swap_remove(place))
    }

    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// Merges the oldest updates of each version until the limit is met.
    pub(super) fn cap(&mut self) {
        let is_update = |entry: &Entry<'a>| entry.manager.operation == ManagedFieldsOperation::Update;
        let mut count = self.0.iter().filter(|entry| is_update(entry)).count();
        if count <= UPDATE_MANAGERS {
            return;
        }
        let (mut updates, applies): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.0).into_iter().partition(is_update);
        updates.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.manager.compare(&b.manager)));
        let mut kept: Vec<Entry<'a>> = applies;
        // Index of the oldest entry of each version.
        let mut firsts: Vec<usize> = Vec::new();
        for entry in updates {
            let version = entry.manager.api_version.clone();
            let is_first =
                |place: &&usize| kept.get(**place).is_some_and(|first| first.manager.api_version == version);
            let first = firsts.iter().find(is_first).copied();
            match first.and_then(|place| kept.get_mut(place)) {
                Some(first) if count > UPDATE_MANAGERS => {
                    first.manager.name = Cow::Borrowed(ANCIENT);
                    first.manager.subresource = Cow::Borrowed("");
                    first.fields.add(&entry.fields.to_set());
                    // The later time of both, since the entries are sorted by age.
                    first.time = entry.time;
                    count -= 1;
                }
                other => {
                    if other.is_none() {
                        firsts.push(kept.len());
                    }
                    kept.push(entry);
                }
            }
        }
        self.0 = kept;
    }

    fn position(&self, manager: &Manager<'_>) -> Option<usize> {
        self.0.iter().position(|entry| entry.manager.is(manager))
    }
}

// === impl Entry ===

impl<'a> Entry<'a> {
    /// Creates an entry without fields.
    pub(super) fn new(manager: Manager<'a>) -> Self {
        Self { manager, time: None, fields: WrittenSet::default() }
    }

    /// Removes the fields that another manager changed or removed.
    pub(super) fn lose(&mut self, changes: &Changes<'_>) {
        self.fields.subtract(&changes.changed);
        self.fields.subtract(&changes.removed);
    }

    fn read(
        mut entry: Cow<'a, Value>,
        index: usize,
        read_set: impl Fn(Cow<'a, Value>) -> Result<WrittenSet<'a>, ManagersError>,
    ) -> Result<Self, ManagersError> {
        let mut text = |field: &str| take_text(&mut entry, field).unwrap_or_default();
        let operation = match &*text("operation") {
            "Apply" => ManagedFieldsOperation::Apply,
            "Update" => ManagedFieldsOperation::Update,
            _ => return Err(ManagersError::Operation),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err(ManagersError::NoApiVersion);
        }
        match &*text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagersError::NoFieldsType(index)),
            other => return Err(ManagersError::FieldsType { index, found: other.to_owned() }),
        }
        let name = text("manager");
        let subresource = text("subresource");
        let time = take_text(&mut entry, "time");
        let fields = take(&mut entry, "fieldsV1").map(read_set).transpose()?.unwrap_or_default();
        Ok(Self { manager: Manager { name, operation, api_version, subresource }, time, fields })
    }

    fn write(self) -> Value {
        let mut map = Map::new();
        let mut put = |field: &str, value: Value| map.insert(field.to_owned(), value);
        put("apiVersion", self.manager.api_version.into_owned().into());
        put("fieldsType", "FieldsV1".into());
        put("fieldsV1", self.fields.into_value());
        put("operation", self.manager.operation.as_str().into());
        if !self.manager.name.is_empty() {
            put("manager", self.manager.name.into_owned().into());
        }
        if !self.manager.subresource.is_empty() {
            put("subresource", self.manager.subresource.into_owned().into());
        }
        if let Some(time) = self.time {
            put("time", time.into_owned().into());
        }
        Value::Object(map)
    }
}

/// Returns the elements of a list; empty for other values.
fn items(list: Cow<'_, Value>) -> Vec<Cow<'_, Value>> {
    match list {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        _ => Vec::new(),
    }
}

/// Takes a field of a map; moves it out if the map is owned.
fn take<'a>(map: &mut Cow<'a, Value>, field: &str) -> Option<Cow<'a, Value>> {
    match map {
        Cow::Borrowed(map) => map.get(field).map(Cow::Borrowed),
        Cow::Owned(map) => map.as_object_mut()?.remove(field).map(Cow::Owned),
    }
}

fn take_text<'a>(map: &mut Cow<'a, Value>, field: &str) -> Option<Cow<'a, str>> {
    match take(map, field)? {
        Cow::Borrowed(Value::String(text)) => Some(Cow::Borrowed(text)),
        Cow::Owned(Value::String(text)) => Some(Cow::Owned(text)),
        _ => None,
    }
}

/// Whether a client requests a reset of all managers: an empty list, or a list of one empty entry.
pub(super) fn asks_for_reset(managed_fields: &Value) -> bool {
    match managed_fields.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(only)]) => only.is_empty(),
        _ => false,
    }
}
