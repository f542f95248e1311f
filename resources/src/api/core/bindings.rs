//! `v1 Binding`: assigns a pod to a node. Superseded by `pods/binding`, which schedulers use.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, GroupResource, GroupVersionKind, Scope, StatusError};
use registry_core::capabilities;
use registry_core::features::Features;
use registry_core::registry::{Services, Stores, VirtualStorage};
use registry_core::resource::ResourceType;
use registry_core::rest::{Answer, Capabilities, Creater, NewObject, Storage, ValidateObject};
use registry_core::schema::Schema;
use registry_derive::Resource;

use crate::api::core::pods::Pods;
use crate::api::core::pods::binding::PodBinding;
use crate::support::lookup::Lookup;

/// `bindings` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Binding,
    version = "v1",
    storage = BindingStorage,
)]
pub struct Bindings;

/// Executes bindings; they are not stored.
pub struct BindingStorage {
    resource: Arc<ResourceType>,
    stores: Stores,
    features: Features,
}

impl VirtualStorage for BindingStorage {
    fn install(resource: &Arc<ResourceType>, services: &Services) -> Capabilities {
        let (resource, stores) = (resource.clone(), services.stores.clone());
        capabilities!(Arc::new(Self { resource, stores, features: services.features }); creater)
    }
}

impl Storage for BindingStorage {
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
impl Creater for BindingStorage {
    async fn create(
        &self,
        context: &RequestContext,
        NewObject { mut object, .. }: NewObject,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        // The uid is a precondition in `pods/binding` only.
        object.metadata_mut().remove("uid");
        let pods = Lookup::within::<Pods>(&self.stores)?;
        let binding = PodBinding::new(pods.store().clone(), self.features);
        binding.bind(context, &object, admission, options).await
    }
}
