//! The `scale` subresource: an object's replica count as `autoscaling/v1 Scale`.
//!
//! Kubernetes concept: [the scale subresource](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource).

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::api::{
    FieldError, FieldPath, GetOptions, GroupResource, GroupVersionKind, Object, Scope, StatusError,
    UpdateOptions,
};
use crate::apply::MANAGED_FIELDS;
use crate::apply::scale::{managers_of_parent, managers_of_scale};
use crate::context::RequestContext;
use crate::resource::{Cell, Column, ColumnFormat, ColumnType, ResourceType, ScalePaths, TableColumns};
use crate::rest::{Answer, Getter, Storage, UpdatedObject, Updater, ValidateObject};
use crate::schema::{Schema, TypeTable};
use crate::storage::EncodingBudget;

use super::converted::VersionAdapter;
use super::object_adapter::{AdaptedAdmission, AdaptedUpdate, ObjectAdapter};
use super::store::{MainRules, Store};
use super::subresource::PresentOnly;

mod selector;

const SCALE: GroupVersionKind = GroupVersionKind { group: "autoscaling", version: "v1", kind: "Scale" };

/// The `scale` subresource of a store.
pub struct ScaleStore {
    parent: Arc<Store>,
    kind: ScaleKind,
    /// The version of the parent that is scaled, if it is not the stored one.
    version: Option<VersionAdapter>,
}

/// The kind of the scaled resource.
#[derive(Clone, Copy, Debug)]
enum ScaleKind {
    /// A compiled resource, which declares its scale.
    Declared,
    /// One version of a custom resource, whose own rules check the replica count.
    Custom(ScalePaths),
}

/// Converts between an object and its scale.
struct ScaleAdapter {
    paths: ScalePaths,
    /// Whether the object's own rules check the replica count.
    is_custom: bool,
}

/// Whether an object without a replica count has a scale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unset {
    /// No.
    Refused,
    /// Yes, with zero replicas, because the count is about to be set.
    Zero,
}

/// The table columns of scales.
static COLUMNS: [Column; 4] = [
    Column { format: ColumnFormat::Plain, ..Column::NAME },
    Column::new("Desired", ColumnType::Integer, Cell::Path(&["spec", "replicas"]))
        .described("replicas is the desired number of instances for the scaled object."),
    Column::new("Available", ColumnType::Integer, Cell::Path(&["status", "replicas"]))
        .described("replicas is the actual number of observed instances of the scaled object."),
    Column::AGE,
];

/// The table columns of scales of custom resources.
static CUSTOM_COLUMNS: [Column; 4] = [
    Column::NAME,
    Column::new("Desired", ColumnType::Integer, Cell::Path(&["spec", "replicas"]))
        .described("Number of desired replicas"),
    Column::new("Available", ColumnType::Integer, Cell::Path(&["status", "replicas"]))
        .described("Number of actual replicas"),
    Column::CUSTOM_AGE,
];

/// The replica count of an object that has none, which a change of its scale must replace.
const UNSET_REPLICAS: i64 = i32::MIN as i64;

// === impl ScaleStore ===

impl ScaleStore {
    /// Creates the `scale` subresource of this store.
    pub fn new(parent: Arc<Store>) -> Arc<Self> {
        Arc::new(Self { parent, kind: ScaleKind::Declared, version: None })
    }

    /// Creates the `scale` subresource of a custom resource in one version. Other versions than the stored one are
    /// converted; `kept` is the memory budget of what is kept of that.
    pub fn custom(
        parent: Arc<Store>,
        resource: &Arc<ResourceType>,
        paths: ScalePaths,
        kept: &Arc<EncodingBudget>,
    ) -> Arc<Self> {
        let version = resource.hub.as_ref().map(|hub| VersionAdapter::new(resource, hub, kept));
        Arc::new(Self { parent, kind: ScaleKind::Custom(paths), version })
    }

    /// Returns the parent's store.
    pub fn parent(&self) -> &Arc<Store> {
        &self.parent
    }

    fn paths(&self) -> Result<ScalePaths, StatusError> {
        let declared = match self.kind {
            ScaleKind::Declared => self.parent.resource().scale,
            ScaleKind::Custom(paths) => Some(paths),
        };
        declared.ok_or_else(|| {
            StatusError::internal(format!("{:?} does not say where its scale is", self.parent.resource()))
        })
    }

    fn is_custom(&self) -> bool {
        matches!(self.kind, ScaleKind::Custom(_))
    }

    async fn answer(&self, parent: Answer) -> Result<Answer, StatusError> {
        let parent = match &self.version {
            Some(version) => version.answer(parent).await?,
            None => parent,
        };
        let object = match parent {
            Answer::Stored(entry) => self.parent.read(&entry)?,
            Answer::Object(object) => object,
            success @ Answer::Success(_) => return Ok(success),
        };
        Ok(Answer::Object(scale_of(self.paths()?, &object, Unset::Refused)?))
    }
}

impl Storage for ScaleStore {
    fn group_resource(&self) -> GroupResource {
        self.parent.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        SCALE
    }

    fn scope(&self) -> Scope {
        self.parent.scope()
    }

    fn schema(&self) -> Schema {
        scale_schema()
    }

    fn columns(&self) -> TableColumns {
        TableColumns::declared(if self.is_custom() { &CUSTOM_COLUMNS } else { &COLUMNS })
    }
}

#[async_trait]
impl Getter for ScaleStore {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        self.answer(self.parent.get(context, name, options).await?).await
    }
}

#[async_trait]
impl Updater for ScaleStore {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        let adapter = ScaleAdapter { paths: self.paths()?, is_custom: self.is_custom() };
        // An object that does not exist has no scale.
        let mut present = PresentOnly(update);
        let mut rescaled = AdaptedUpdate { adapter: &adapter, external: &mut present };
        let admission = AdaptedAdmission { adapter: &adapter, external: admission };
        let parent = self.parent.with_rules(&MainRules);
        let (answer, created) = match &self.version {
            None => parent.update(context, name, &mut rescaled, &admission, options).await?,
            Some(version) => {
                let mut update = AdaptedUpdate { adapter: version, external: &mut rescaled };
                let admission = AdaptedAdmission { adapter: version, external: &admission };
                parent.update(context, name, &mut update, &admission, options).await?
            }
        };
        Ok((self.answer(answer).await?, created))
    }
}

/// The stored object is the parent, the external object is its scale.
#[async_trait]
impl ObjectAdapter for ScaleAdapter {
    async fn to_external(&self, object: &Object) -> Result<Object, StatusError> {
        scale_of(self.paths, object, Unset::Zero)
    }

    async fn to_change(&self, current: &Object) -> Result<Object, StatusError> {
        let mut present = self.to_external(current).await?;
        let api_version = SCALE.group_version().api_version();
        if let Some(managers) = managers_of_scale(current, self.paths.replicas, &api_version) {
            present.set(MANAGED_FIELDS, managers);
        }
        if self.is_custom && current.get_i64(self.paths.replicas).is_none() {
            present.set(&["spec", "replicas"], UNSET_REPLICAS.into());
        }
        Ok(present)
    }

    async fn to_stored(&self, wanted: Object, current: Option<&Object>) -> Result<Object, StatusError> {
        let Some(current) = current else {
            return Err(StatusError::internal("a scale was to be set of an object that is not there"));
        };
        let replicas = wanted.get_i64(&["spec", "replicas"]).unwrap_or_default();
        if self.is_custom && replicas == UNSET_REPLICAS {
            let field = self.paths.replicas.join(".");
            let text = format!("the spec replicas field \".{field}\" cannot be empty");
            return Err(StatusError::bad_request(text));
        }
        if replicas < 0 && !self.is_custom {
            let field = FieldPath::new("spec").child("replicas");
            let error = FieldError::invalid(field, replicas, "must be greater than or equal to 0");
            return Err(StatusError::invalid(SCALE, wanted.name(), &error.into()));
        }
        let mut object = current.clone();
        object.set(self.paths.replicas, replicas.into());
        match managers_of_parent(current, self.paths.replicas, wanted.get(MANAGED_FIELDS)) {
            Some(managers) => object.set(MANAGED_FIELDS, managers),
            None => {
                object.remove(MANAGED_FIELDS);
            }
        }
        // The store checks both against the parent object.
        object.copy_field(&wanted, &["metadata", "name"]);
        // The scale of a custom resource can be updated without a resource version.
        if !(self.is_custom && wanted.resource_version().is_empty()) {
            object.copy_field(&wanted, &["metadata", "resourceVersion"]);
        }
        Ok(object)
    }
}

/// Returns the scale of an object.
fn scale_of(paths: ScalePaths, object: &Object, unset: Unset) -> Result<Object, StatusError> {
    let wanted = object.get_i64(paths.replicas);
    if wanted.is_none() && unset == Unset::Refused {
        let field = paths.replicas.join(".");
        return Err(StatusError::internal(format!("the spec replicas field \".{field}\" does not exist")));
    }
    let mut spec = Map::new();
    if let Some(replicas) = wanted.filter(|replicas| *replicas != 0) {
        spec.insert("replicas".to_owned(), replicas.into());
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), object.get_i64(paths.current).unwrap_or_default().into());
    let selector = paths.selector.and_then(|path| object.get(path)).map(selector::to_text);
    if let Some(selector) = selector.filter(|text| !text.is_empty()) {
        status.insert("selector".to_owned(), selector.into());
    }
    let mut scale = Object::default();
    scale.set_type(&SCALE.group_version().api_version(), SCALE.kind);
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        scale.copy_field(object, &["metadata", field]);
    }
    scale.set(&["spec"], Value::Object(spec));
    scale.set(&["status"], Value::Object(status));
    Ok(scale)
}

/// Returns the schema of a scale, a kind that every server has, with its protobuf form.
fn scale_schema() -> Schema {
    // The schema is part of this crate, and tests write scales in protobuf, so the kind exists.
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
        let known = TypeTable::meta().schema(SCALE);
        known.unwrap_or_else(|| Schema::from_json_schema(&Value::Null, SCALE))
    });
    SCHEMA.clone()
}
