//! `fleet.example.dev/v1 Port`: a virtual resource. Ports are not stored: they are the ports that ships are in.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::api::{
    GetOptions, GroupResource, GroupVersionKind, ListOptions, Object, Scope, StatusError,
};
use registry_core::registry::{Services, Stores, VirtualStorage};
use registry_core::resource::TableColumns;
use registry_core::rest::{Answer, Capabilities, Getter, Lister, Storage};
use registry_core::schema::Schema;
use registry_core::storage::{Entry, ListPage};
use registry_core::{RequestContext, Resource as _, ResourceType, capabilities};
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Ship;

// ANCHOR: port
/// A port with ships of the fleet.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "fleet.example.dev",
    version = "v1",
    column("Ships", ships, type = integer),
    // The type that serves it, in the place of a store.
    storage = Ports
)]
pub struct Port {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The number of ships in the port.
    #[serde(default)]
    pub ships: i32,
}
// ANCHOR_END: port

/// The ports of all ships.
pub struct Ports {
    resource: Arc<ResourceType>,
    stores: Stores,
}

// ANCHOR: install
impl VirtualStorage for Ports {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        let (resource, stores) = (resource.clone(), services.stores.clone());
        // The verbs, in discovery too. Each needs the trait of its name.
        capabilities!(Arc::new(Self { resource, stores }); getter, lister)
    }
}

impl Storage for Ports {
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

    fn columns(&self) -> TableColumns {
        self.resource.columns.clone()
    }
}
// ANCHOR_END: install

// ANCHOR: read
#[async_trait]
impl Getter for Ports {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        _options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        let ports = self.ports(context).await?;
        let found = ports.into_iter().find(|port| port.name() == name);
        found.map(Answer::Object).ok_or_else(|| StatusError::not_found(self.group_resource(), name))
    }
}

#[async_trait]
impl Lister for Ports {
    async fn list(&self, context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError> {
        let is_selected = |port: &&Object| {
            let field = |name: &str| match name {
                "metadata.name" => port.name(),
                "metadata.namespace" => port.namespace(),
                _ => "",
            };
            options.field_selector.matches(field) && options.label_selector.matches(|_| None)
        };
        let ports = self.ports(context).await?;
        let items = ports.iter().filter(is_selected).map(|port| Arc::new(Entry::unstored(port))).collect();
        Ok(ListPage { items, ..ListPage::default() })
    }

    fn list_kind(&self) -> &'static str {
        Port::TYPE.list_kind
    }
}

// === impl Ports ===

impl Ports {
    /// Returns the ports in the namespace of a request, or in all, by namespace and name.
    async fn ports(&self, context: &RequestContext) -> Result<Vec<Object>, StatusError> {
        let ships = self.stores.get(Ship::TYPE);
        let ships = ships.ok_or_else(|| StatusError::internal("ships are not served"))?;
        let page = ships.list(context, &ListOptions::default()).await?;
        let mut counts: BTreeMap<(String, String), i32> = BTreeMap::new();
        for stored in &page.items {
            let ship = ships.read(stored)?;
            if let Some(port) = ship.get_str(&["spec", "port"]) {
                *counts.entry((ship.namespace().to_owned(), port.to_owned())).or_default() += 1;
            }
        }
        Ok(counts.into_iter().map(|((namespace, name), ships)| port(&namespace, &name, ships)).collect())
    }
}
// ANCHOR_END: read

fn port(namespace: &str, name: &str, ships: i32) -> Object {
    let mut port = Port::TYPE.new_object();
    port.set(&["metadata"], json!({ "name": name, "namespace": namespace }));
    port.set(&["ships"], ships.into());
    port
}
