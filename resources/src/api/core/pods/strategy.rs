//! Rules of pods.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{DeleteOptions, Object};
use registry_core::features::{Feature, Features};
use registry_core::resource::{Deletion, GatedField, ObjectStrategy};
use resource_views::core::v1::{Pod, PodMut};
use serde_json::json;

use super::{preparation, spec_change, status};
use crate::api::core::pod_spec::validation::annotations;
use crate::api::core::pod_spec::{defaults, gated, validation, warnings};

/// Defaults, validation, quality of service, graceful deletion.
pub(super) struct PodStrategy {
    /// Whether a pod on a node can be nominated for another one.
    accepts_late_nominations: bool,
}

/// The rules with the default features.
#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const PodStrategy: PodStrategy = PodStrategy { accepts_late_nominations: false };

impl ObjectStrategy for PodStrategy {
    fn for_features(&self, features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        let clears_nominations = features.contains(Feature::ClearingNominatedNodeNameAfterBinding);
        Some(Arc::new(Self { accepts_late_nominations: !clears_nominations }))
    }

    fn gated_fields(&self) -> Vec<GatedField> {
        gated::pod()
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaults::apply_to_pod(object);
        // If both fields are set, the older one, with a single address, takes precedence.
        let status = Pod(object).status();
        let address = status.pod_ip().text();
        let first = status.pod_ips().elements().next().map(|entry| entry.ip().text());
        if !address.is_empty() && first != Some(address) {
            let only = json!([{"ip": address}]);
            PodMut(object).status().or_new().pod_ips().set_value(only);
        }
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        preparation::prepare(context, object);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_pod(object, &validation::options_of_pod(context, None), &mut errors);
        let spec = Pod(object).spec();
        let ephemeral = spec.ephemeral_containers();
        if !ephemeral.is_empty() {
            errors.push(ephemeral.forbidden("cannot be set on create"));
        }
        let node = spec.node_name();
        if !node.text().is_empty() && !spec.scheduling_gates().is_empty() {
            errors.push(node.forbidden("cannot be set until all schedulingGates have been cleared"));
        }
        annotations::check_profiles(&Pod(object).metadata().annotations(), &spec, &mut errors);
        errors
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        status::prepare(new, old);
    }

    fn validate_status_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        status::validate(context, new, old, self.accepts_late_nominations)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        spec_change::validate(context, new, old)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::name_warnings(object, "the Pod's hostname");
        warnings.extend(warnings::pod_warnings(object));
        warnings
    }

    fn check_graceful_delete(
        &self,
        _context: &RequestContext,
        object: &Object,
        options: &mut DeleteOptions,
    ) -> Deletion {
        let spec = Pod(object).spec();
        let own_seconds = spec.termination_grace_period_seconds().number();
        let mut seconds = options.grace_period_seconds.unwrap_or(own_seconds);
        let assigned = !spec.node_name().text().is_empty();
        let over = matches!(Pod(object).status().phase().text(), "Succeeded" | "Failed");
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
