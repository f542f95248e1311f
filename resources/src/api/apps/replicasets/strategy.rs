//! Rules of ReplicaSets.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::apps::v1::{ReplicaSet, ReplicaSetMut};

use crate::api::core::pod_spec::{defaults, warnings};
use crate::api::core::workload::{self, Counts, Workload};
use crate::support::field::ShownAsGo as _;

/// Defaults and validation; the selector is immutable.
pub(super) struct ReplicaSetStrategy;

impl ObjectStrategy for ReplicaSetStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        workload::gated_fields()
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = ReplicaSetMut(object).spec().or_new();
        spec.replicas().or(1);
        defaults::apply_to_template(spec.template());
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = errors_of(context, new, Some(old));
        let (new, old) = (ReplicaSet(new).spec(), ReplicaSet(old).spec());
        new.selector().check_immutable_as(workload::SELECTOR, &old.selector(), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::new_workload_warnings(object, &ReplicaSet(object).spec().template())
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::changed_workload_warnings(new, old, &ReplicaSet(new).spec().template())
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = ReplicaSet(new).status();
        let counts = Counts {
            replicas: status.replicas(),
            observed_generation: status.observed_generation(),
            ready: status.ready_replicas(),
            available: status.available_replicas(),
            shares: &[status.fully_labeled_replicas(), status.ready_replicas(), status.available_replicas()],
            others: &[status.terminating_replicas()],
        };
        counts.check("readyReplicas", &mut errors);
        errors
    }
}

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = ReplicaSet(object).spec();
    spec.replicas().check_not_negative(&mut errors);
    spec.min_ready_seconds().check_not_negative(&mut errors);
    let old = old.map(|old| ReplicaSet(old).spec());
    let old = old.as_ref().map(resource_views::apps::v1::ReplicaSetSpec::template);
    let template = spec.template();
    if Workload::REPLICA_SET.check_selector(&spec.selector(), &template, &mut errors) {
        Workload::REPLICA_SET.check_template(context, &template, old.as_ref(), &mut errors);
    }
    errors
}
