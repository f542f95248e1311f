//! Reviews: requests that are created as objects and returned with their answer, without being stored.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{
    CreateOptions, ErrorList, FieldError, FieldPath, GroupResource, GroupVersionKind, Object, Scope,
    StatusError,
};
use registry_core::capabilities;
use registry_core::context::UserInfo;
use registry_core::registry::Services;
use registry_core::resource::ResourceType;
use registry_core::rest::access::AccessReviewer;
use registry_core::rest::{Answer, Capabilities, Creater, NewObject, Storage, ValidateObject};
use registry_core::schema::Schema;
use serde_json::{Map, Value};

/// Answers one kind of review.
#[async_trait]
pub(crate) trait Review: Send + Sync + 'static {
    /// Returns the answer, for the object's `status`.
    ///
    /// # Errors
    /// The review is invalid.
    async fn answer(
        access: &dyn AccessReviewer,
        context: &RequestContext,
        question: &Object,
    ) -> Result<Value, StatusError>;

    /// Returns the object that the answer is added to: the review. Reviews of the requesting user return none of its fields.
    fn response(question: Object, _schema: &Schema) -> Object {
        question
    }
}

/// Serves a kind of review, which can only be created.
pub(crate) struct ReviewStorage<R> {
    resource: Arc<ResourceType>,
    access: Arc<dyn AccessReviewer>,
    review: std::marker::PhantomData<R>,
}

// === impl ReviewStorage ===

impl<R: Review> ReviewStorage<R> {
    pub(crate) fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        let access = services.access.clone();
        capabilities!(Arc::new(Self { resource: resource.clone(), access, review: std::marker::PhantomData }); creater)
    }
}

impl<R: Review> Storage for ReviewStorage<R> {
    fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.resource.kind
    }

    fn scope(&self) -> Scope {
        self.resource.scope
    }

    fn schema(&self) -> Schema {
        self.resource.schema()
    }
}

#[async_trait]
impl<R: Review> Creater for ReviewStorage<R> {
    async fn create(
        &self,
        context: &RequestContext,
        NewObject { object, .. }: NewObject,
        admission: &dyn ValidateObject,
        _options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let status = R::answer(self.access.as_ref(), context, &object).await?;
        admission.validate(context, Some(&object), None).await?;
        let mut response = R::response(object, &self.resource.schema());
        response.set(&["status"], status);
        Ok(Answer::Object(response))
    }
}

/// Returns an object of a review's kind without any field set.
pub(crate) fn blank(question: &Object, schema: &Schema) -> Object {
    let mut blank = Object::default();
    blank.set_type(question.api_version(), question.kind());
    let mut value = blank.clone().into_value();
    match schema.conform(&mut value, &mut Vec::new()) {
        Ok(()) => Object::from_value(value).unwrap_or(blank),
        Err(_) => blank,
    }
}

/// Returns 422 with the message of these APIs, which does not name the kind.
pub(crate) fn invalid(group: &'static str, errors: &ErrorList) -> StatusError {
    StatusError::invalid(GroupVersionKind { group, version: "", kind: "" }, "", errors)
}

/// Returns an error with this detail if a review has metadata.
pub(crate) fn check_no_metadata(question: &Object, detail: &str) -> Option<FieldError> {
    let metadata = question.metadata()?;
    let is_ignored = |key: &str| matches!(key, "namespace" | "managedFields");
    let is_empty = metadata.iter().all(|(key, value)| is_ignored(key) || value.is_null());
    (!is_empty).then(|| {
        let error = FieldError::invalid(FieldPath::new("metadata"), metadata.clone(), detail);
        error.shown_as(in_order(metadata, &METADATA_ORDER))
    })
}

/// The fields of `ObjectMeta` in the order of the Go struct.
const METADATA_ORDER: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// The fields of `ManagedFieldsEntry` in the order of the Go struct.
const MANAGER_ORDER: [&str; 7] =
    ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// The fields of `OwnerReference` in the order of the Go struct.
const OWNER_ORDER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];

/// Returns fields as Go writes the struct that has them in this order.
fn in_order(fields: &Map<String, Value>, order: &[&str]) -> String {
    let of_list = |list: &[Value], order: &[&str]| {
        let items = list.iter().filter_map(Value::as_object).map(|item| in_order(item, order));
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    };
    let present = order.iter().filter_map(|key| Some((*key, fields.get(*key)?)));
    let written = present.filter(|(_, value)| !value.is_null()).map(|(key, value)| {
        let value = match (key, value) {
            ("managedFields", Value::Array(list)) => of_list(list, &MANAGER_ORDER),
            ("ownerReferences", Value::Array(list)) => of_list(list, &OWNER_ORDER),
            (_, value) => value.to_string(),
        };
        format!("{key:?}:{value}")
    });
    format!("{{{}}}", written.collect::<Vec<_>>().join(","))
}

/// Returns a user in the form of reviews.
pub(crate) fn user_info(user: &UserInfo) -> Value {
    let mut shown = Map::new();
    shown.insert("username".to_owned(), user.name.as_str().into());
    if !user.uid.is_empty() {
        shown.insert("uid".to_owned(), user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        shown.insert("groups".to_owned(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        let extra: Map<String, Value> =
            user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into())).collect();
        shown.insert("extra".to_owned(), extra.into());
    }
    shown.into()
}
