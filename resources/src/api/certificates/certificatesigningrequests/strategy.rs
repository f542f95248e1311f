//! Rules of CertificateSigningRequests.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use super::conditions;
use super::validation::{self, Scope};
use crate::support::defaulting;

/// The server records the requesting user; the request is immutable.
pub(super) struct CertificateSigningRequestStrategy;

impl ObjectStrategy for CertificateSigningRequestStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        if defaulting::is_empty_at(object, &["spec", "usages"]) {
            object.remove(&["spec", "usages"]);
        }
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        // The user is the authenticated one, whatever the request claims.
        for field in ["username", "uid", "groups", "extra"] {
            object.remove(&["spec", field]);
        }
        let user = &context.user;
        if !user.name.is_empty() {
            object.set(&["spec", "username"], user.name.as_str().into());
        }
        if !user.uid.is_empty() {
            object.set(&["spec", "uid"], user.uid.as_str().into());
        }
        if !user.groups.is_empty() {
            object.set(&["spec", "groups"], user.groups.clone().into());
        }
        if !user.extra.is_empty() {
            let extra = user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into()));
            object.set(&["spec", "extra"], Value::Object(extra.collect()));
        }
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["spec"]);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        validation::check(object, None)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check_update(new, old, Scope::Object)
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        conditions::keep_decisions(new, old);
        conditions::set_times(new, old);
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check_update(new, old, Scope::Status)
    }
}
