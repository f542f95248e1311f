//! `certificatesigningrequests/approval`: how an approver says yes or no.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, time};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;

use super::CertificateSigningRequests;
use crate::edit;
use crate::field::Field;

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

impl UpdateRules for ApprovalRules {
    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = std::mem::replace(new, old.clone());
        new.copy_field(&asked, &["metadata"]);
        new.copy_field(&asked, &["status", "conditions"]);
        edit::with(&mut new.0, "status", |status| {
            edit::each(status, &["conditions"], |condition| {
                for field in ["lastUpdateTime", "lastTransitionTime"] {
                    edit::fill(condition, field, time::now());
                }
            });
        });
    }

    fn validate(&self, _: &ResourceType, _: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let (new, old) = (Field::of(new, "status"), Field::of(old, "status"));
        let (new, old) = (new.get("conditions"), old.get("conditions"));
        let has = |conditions: &Field<'_, '_>, kind: &str| {
            conditions.elements().any(|condition| condition.get("type").text() == kind)
        };
        for kind in ["Approved", "Denied", "Failed"] {
            if has(&old, kind) && !has(&new, kind) {
                errors.push(new.forbidden(format!("updates may not remove a condition of type \"{kind}\"")));
            }
        }
        if has(&new, "Approved") && has(&new, "Denied") {
            errors.push(new.invalid("Approved and Denied conditions are mutually exclusive"));
        }
        errors
    }
}
