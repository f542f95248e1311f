//! Rules of pods.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{DeleteOptions, Object};
use registry_core::resource::{Deletion, ObjectStrategy};
use serde_json::{Value, json};

use super::{preparation, spec_change, status};
use crate::core::pod_spec::validation::annotations;
use crate::core::pod_spec::{defaults, validation, warnings};
use crate::support::field::Field;

/// Defaults, validation, quality of service, graceful deletion.
pub(super) struct PodStrategy;

impl ObjectStrategy for PodStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaults::apply_to_pod(object);
        // If both fields are set, the older one, with a single address, takes precedence.
        let address = object.get_str(&["status", "podIP"]).filter(|address| !address.is_empty());
        if let Some(address) = address {
            let first = object.get(&["status", "podIPs"]).and_then(|all| all.get(0)?.get("ip"));
            if first.and_then(Value::as_str) != Some(address) {
                let only = json!([{"ip": address}]);
                object.set(&["status", "podIPs"], only);
            }
        }
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        preparation::prepare(context, object);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_pod(object, &validation::options_of_pod(context, None), &mut errors);
        let spec = Field::of(object, "spec");
        let ephemeral = spec.get("ephemeralContainers");
        if !ephemeral.is_empty() {
            errors.push(ephemeral.forbidden("cannot be set on create"));
        }
        let node = spec.get("nodeName");
        if !node.text().is_empty() && !spec.get("schedulingGates").is_empty() {
            errors.push(node.forbidden("cannot be set until all schedulingGates have been cleared"));
        }
        let metadata = Field::of(object, "metadata");
        annotations::check_profiles(&metadata.get("annotations"), &spec, &mut errors);
        errors
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["status"]);
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        status::prepare(new, old);
    }

    fn validate_status_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        status::validate(context, new, old)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        spec_change::validate(context, new, old)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::of_name(object, "the Pod's hostname");
        warnings.extend(warnings::of_pod(object));
        warnings
    }

    fn check_graceful_delete(
        &self,
        _context: &RequestContext,
        object: &Object,
        options: &mut DeleteOptions,
    ) -> Deletion {
        let mut seconds = options
            .grace_period_seconds
            .or_else(|| object.get_i64(&["spec", "terminationGracePeriodSeconds"]))
            .unwrap_or_default();
        let assigned = object.get_str(&["spec", "nodeName"]).is_some_and(|node| !node.is_empty());
        let over = matches!(object.get_str(&["status", "phase"]), Some("Succeeded" | "Failed"));
        // The pod is not assigned to a node, or has terminated: there is nothing to wait for.
        if !assigned || over {
            seconds = 0;
        }
        if seconds < 0 {
            seconds = 1;
        }
        options.grace_period_seconds = Some(seconds);
        Deletion::Graceful
    }
}
