//! Rules of CSIDrivers.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::json;

use crate::support::defaulting;
use crate::support::field::Field;

/// Defaults and validation; whether volumes are attached is immutable.
pub(super) struct CSIDriverStrategy;

impl ObjectStrategy for CSIDriverStrategy {
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with(&mut object.0, "spec", |spec| {
            defaulting::fill(spec, "attachRequired", true);
            for flag in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
                defaulting::fill(spec, flag, false);
            }
            defaulting::fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
            if defaulting::is_empty(spec.get("volumeLifecycleModes")) {
                spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
            }
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let modes = ["Persistent", "Ephemeral"];
        for mode in spec.get("volumeLifecycleModes").elements() {
            if !modes.contains(&mode.text()) {
                let path = spec.get("volumeLifecycleModes").path();
                errors.push(FieldError::not_supported(path, mode.text(), &modes));
            }
        }
        let policies = ["ReadWriteOnceWithFSType", "None", "File"];
        spec.get("fsGroupPolicy").check_one_of(&policies, &mut errors);
        let mut audiences = HashSet::new();
        for request in spec.get("tokenRequests").elements() {
            let audience = request.get("audience");
            let seconds = request.get("expirationSeconds");
            if audiences.contains(&audience.text()) {
                errors.push(audience.duplicate());
            }
            audiences.insert(audience.text());
            if seconds.integer().is_some_and(|seconds| seconds < 600) {
                errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
            }
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        if new.get("attachRequired").value() != old.get("attachRequired").value() {
            let path = new.get("attachedRequired").path();
            let value = new.get("attachRequired").value().cloned().unwrap_or_default();
            errors.push(FieldError::invalid(path, value, "field is immutable"));
        }
        let modes = "volumeLifecycleModes";
        new.get(modes).check_immutable(&old.get(modes), &mut errors);
        errors
    }
}
