//! `certificatesigningrequests/approval`: approval and denial.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;

use super::validation::{self, Scope};
use super::{CertificateSigningRequests, conditions};

/// The `approval` subresource: only the conditions change.
pub struct Approval;

impl Subresource for Approval {
    type Parent = CertificateSigningRequests;
    type Storage = SubresourceStore;
    const NAME: &'static str = "approval";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(SubresourceStore::new(parent.clone(), &ApprovalRules); getter, updater, patcher)
    }
}

struct ApprovalRules;

/// The fields that the subresource changes.
const CHANGED: &[&[&str]] = &[&["metadata"], &["status", "conditions"]];

impl UpdateRules for ApprovalRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(CHANGED)
    }

    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = std::mem::replace(new, old.clone());
        for field in CHANGED {
            new.copy_field(&asked, field);
        }
        conditions::set_times(new, old);
    }

    fn validate(&self, _: &ResourceType, _: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check_update(new, old, Scope::Approval)
    }
}
