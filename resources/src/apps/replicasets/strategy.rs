//! Rules of ReplicaSets.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::apps::workload::{self, Workload};
use crate::core::pod_spec::{defaults, warnings};
use crate::support::defaulting::fill_at;
use crate::support::field::{Field, ShownAsGo as _};

/// Defaults and validation; the selector is immutable.
pub(super) struct ReplicaSetStrategy;

impl ObjectStrategy for ReplicaSetStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "replicas"], 1);
        defaults::apply_to_template(object, &["spec", "template"]);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = errors_of(context, new, Some(old));
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        new.get("selector").check_immutable_as(workload::SELECTOR, &old.get("selector"), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of_new_workload(object, &["spec", "template"])
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::of_changed_workload(new, old, &["spec", "template"])
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let counts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        workload::check_status(new, &counts, &["terminatingReplicas"], "readyReplicas", &mut errors);
        errors
    }
}

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Field::of(object, "spec");
    spec.get("replicas").check_not_negative(&mut errors);
    spec.get("minReadySeconds").check_not_negative(&mut errors);
    workload::check_selector_and_template(context, object, old, Workload::REPLICA_SET, &mut errors);
    errors
}
