//! `certificatesigningrequests/approval`: how an approver says yes or no.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{
    GetOptions, GroupResource, GroupVersionKind, Object, Scope, StatusError, UpdateOptions,
};
use registry_core::capabilities;
use registry_core::registry::store::UpdateRules;
use registry_core::registry::{Store, Subresource};
use registry_core::resource::ResourceType;
use registry_core::rest::{
    Answer, Capabilities, Getter, Storage, UpdatedObject, Updater, ValidatingAdmission,
};
use registry_core::schema::Schema;

use super::{CertificateSigningRequests, conditions};

/// The `approval` subresource: only the conditions change.
pub struct Approval {
    requests: Arc<Store>,
}

impl Subresource for Approval {
    type Parent = CertificateSigningRequests;
    const NAME: &'static str = "approval";

    fn install(parent: &Arc<Store>) -> Capabilities {
        capabilities!(Arc::new(Self { requests: parent.clone() }); getter, updater, patcher)
    }
}

impl Storage for Approval {
    fn group_resource(&self) -> GroupResource {
        self.requests.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.requests.kind()
    }

    fn scope(&self) -> Scope {
        self.requests.scope()
    }

    fn schema(&self) -> &'static Schema {
        self.requests.schema()
    }
}

#[async_trait]
impl Getter for Approval {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        self.requests.get(context, name, options).await
    }
}

#[async_trait]
impl Updater for Approval {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidatingAdmission,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        self.requests.update_by(context, name, update, admission, options, &ApprovalRules).await
    }
}

struct ApprovalRules;

impl UpdateRules for ApprovalRules {
    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = std::mem::replace(new, old.clone());
        new.copy_field(&asked, &["metadata"]);
        new.copy_field(&asked, &["status", "conditions"]);
        conditions::set_times(new, old);
    }

    fn validate(&self, _: &ResourceType, _: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        conditions::check(new, old, &mut errors);
        errors
    }
}
