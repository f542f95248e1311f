//! `namespaces/finalize`: how the namespace controller says that a namespace is empty.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{GroupResource, GroupVersionKind, Object, Scope, StatusError, UpdateOptions};
use registry_core::capabilities;
use registry_core::registry::store::UpdateRules;
use registry_core::registry::{Store, Subresource};
use registry_core::resource::ResourceType;
use registry_core::rest::{Answer, Capabilities, Storage, UpdatedObject, Updater, ValidatingAdmission};
use registry_core::schema::Schema;

use super::Namespaces;

/// The `finalize` subresource of namespaces: only `spec.finalizers` changes.
pub struct Finalize {
    namespaces: Arc<Store>,
}

impl Subresource for Finalize {
    type Parent = Namespaces;
    const NAME: &'static str = "finalize";

    fn install(parent: &Arc<Store>) -> Capabilities {
        capabilities!(Arc::new(Self { namespaces: parent.clone() }); updater)
    }
}

impl Storage for Finalize {
    fn group_resource(&self) -> GroupResource {
        self.namespaces.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.namespaces.kind()
    }

    fn scope(&self) -> Scope {
        self.namespaces.scope()
    }

    fn schema(&self) -> &'static Schema {
        self.namespaces.schema()
    }
}

#[async_trait]
impl Updater for Finalize {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidatingAdmission,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        self.namespaces.update_by(context, name, update, admission, options, &FinalizeRules).await
    }
}

struct FinalizeRules;

impl UpdateRules for FinalizeRules {
    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = std::mem::replace(new, old.clone());
        new.copy_field(&asked, &["spec", "finalizers"]);
        if new
            .get(&["spec", "finalizers"])
            .is_some_and(|finalizers| finalizers.as_array().is_some_and(Vec::is_empty))
        {
            new.remove(&["spec", "finalizers"]);
        }
    }

    fn validate(
        &self,
        resource: &ResourceType,
        context: &RequestContext,
        new: &Object,
        _: &Object,
    ) -> ErrorList {
        resource.strategy.validate(context, new)
    }
}
