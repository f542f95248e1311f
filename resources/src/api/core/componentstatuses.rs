//! `v1 ComponentStatus`: the health of the control plane's components, probed at each read.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{
    GetOptions, GroupResource, GroupVersionKind, ListOptions, Object, Scope, StatusError,
};
use registry_core::capabilities;
use registry_core::codec::stored;
use registry_core::registry::{Services, VirtualStorage};
use registry_core::resource::{Column, ResourceType, TableColumns};
use registry_core::rest::components::{Component, ComponentProbe};
use registry_core::rest::{Answer, Capabilities, Getter, Lister, Storage};
use registry_core::schema::{FieldOrder, Schema};
use registry_core::storage::{Attributes, Entry, ListPage, StoredObject};
use registry_derive::Resource;
use resource_views::core::v1::{ComponentCondition, ComponentStatus};
use serde_json::{Value, json};

/// The resource in error messages.
const RESOURCE: GroupResource = GroupResource { group: "", resource: "componentstatus" };
/// The beginning of every component's JSON; items of lists do not have it.
const HEAD: &str = r#"{"kind":"ComponentStatus","apiVersion":"v1","#;

/// `componentstatuses` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ComponentStatus,
    version = "v1",
    cluster,
    short("cs"),
    columns = COLUMNS,
    deprecated = "v1 ComponentStatus is deprecated in v1.19+",
    storage = ComponentStatusStorage,
)]
pub struct ComponentStatuses;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Status", |object| match healthy(object, |condition| condition.status().text()) {
        "True" => "Healthy".into(),
        "False" => "Unhealthy".into(),
        _ => "Unknown".into(),
    }),
    Column::text("Message", |object| healthy(object, |condition| condition.message().text()).into()),
    Column::text("Error", |object| healthy(object, |condition| condition.error().text()).into()),
];

/// Returns a field of the condition `Healthy`.
fn healthy<'o>(object: &'o Object, field: impl Fn(&ComponentCondition<'o, '_>) -> &'o str) -> &'o str {
    let conditions = ComponentStatus(object).conditions();
    let healthy = conditions.elements().find(|condition| condition.r#type().text() == "Healthy");
    healthy.map_or("", |condition| field(&condition))
}

/// Probes the components.
pub struct ComponentStatusStorage {
    resource: Arc<ResourceType>,
    components: Arc<dyn ComponentProbe>,
}

impl VirtualStorage for ComponentStatusStorage {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        let components = services.components.clone();
        capabilities!(Arc::new(Self { resource: resource.clone(), components }); getter, lister)
    }
}

impl Storage for ComponentStatusStorage {
    fn group_resource(&self) -> GroupResource {
        RESOURCE
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

    fn columns(&self) -> TableColumns {
        self.resource.columns.clone()
    }
}

#[async_trait]
impl Getter for ComponentStatusStorage {
    async fn get(
        &self,
        _context: &RequestContext,
        name: &str,
        _options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        let component = self.components.probe(name).await;
        component
            .map(|component| Answer::Object(status_of(&component)))
            .ok_or_else(|| StatusError::not_found(RESOURCE, name))
    }
}

#[async_trait]
impl Lister for ComponentStatusStorage {
    async fn list(&self, _context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError> {
        let mut items = Vec::new();
        for name in self.components.names() {
            let is_wanted = options.label_selector.matches(|_| None)
                && options.field_selector.matches(|field| if field == "metadata.name" { &name } else { "" });
            if !is_wanted {
                continue;
            }
            if let Some(component) = self.components.probe(&name).await {
                items.push(entry_of(&status_of(&component)));
            }
        }
        Ok(ListPage { items, ..ListPage::default() })
    }

    fn list_kind(&self) -> &'static str {
        "ComponentStatusList"
    }
}

fn status_of(component: &Component) -> Object {
    let health = if component.is_healthy { "True" } else { "False" };
    let mut condition = json!({ "type": "Healthy", "status": health });
    if let (Some(fields), false) = (condition.as_object_mut(), component.message.is_empty()) {
        fields.insert("message".to_owned(), component.message.as_str().into());
    }
    let mut status = Object::default();
    status.set_type("v1", "ComponentStatus");
    status.set(&["metadata", "name"], component.name.as_str().into());
    status.0.insert("conditions".to_owned(), Value::Array(vec![condition]));
    status
}

/// Returns the status in the form of list items.
fn entry_of(status: &Object) -> StoredObject {
    let item_offset = u32::try_from(HEAD.len()).unwrap_or_default();
    let json = stored::encode(status, FieldOrder::Usual);
    Arc::new(Entry::new(status.name().into(), 0, json, item_offset, Attributes::default()))
}
