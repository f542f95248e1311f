//! Rules of ReplicationControllers.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, PropagationPolicy};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::core::v1::{ReplicationController, ReplicationControllerMut};

use crate::api::core::pod_spec::{defaults, gated, warnings};
use crate::api::core::workload::{Counts, Workload};

/// Defaults and validation; pods are orphaned on deletion by default.
pub(super) struct ReplicationControllerStrategy;

impl ObjectStrategy for ReplicationControllerStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        gated::spec("spec.template.spec")
    }

    fn apply_defaults(&self, object: &mut Object) {
        let labels = ReplicationController(object).spec().template().metadata().labels().value().cloned();
        let mut spec = ReplicationControllerMut(object).spec().or_new();
        spec.replicas().or(1);
        defaults::apply_to_template(spec.template());
        if let Some(labels) =
            labels.filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()))
        {
            spec.selector().or_if_empty(|| labels.clone());
            ReplicationControllerMut(object).metadata().or_new().labels().or_if_empty(|| labels);
        }
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        errors_of(context, new, Some(old))
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::new_workload_warnings(object, &ReplicationController(object).spec().template())
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        // Kubernetes warns of the template before the change.
        if new.generation() == old.generation() {
            return Vec::new();
        }
        warnings::template_warnings(&ReplicationController(old).spec().template())
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = ReplicationController(new).status();
        let counts = Counts {
            replicas: status.replicas(),
            observed_generation: status.observed_generation(),
            ready: status.ready_replicas(),
            available: status.available_replicas(),
            shares: &[status.fully_labeled_replicas(), status.ready_replicas(), status.available_replicas()],
            others: &[],
        };
        counts.check("readyReplicas", &mut errors);
        errors
    }

    fn default_propagation_policy(&self) -> PropagationPolicy {
        PropagationPolicy::Orphan
    }
}

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = ReplicationController(object).spec();
    spec.min_ready_seconds().check_not_negative(&mut errors);
    let selector = spec.selector();
    let template = spec.template();
    selector.check_not_empty(&mut errors);
    spec.replicas().check_not_negative(&mut errors);
    if !template.exists() {
        errors.push(template.required(""));
        return errors;
    }
    let metadata = template.metadata();
    let labels = metadata.labels();
    if selector.entries().any(|(key, value)| labels.entry(key).value() != value.value()) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
    let old = old.map(|old| ReplicationController(old).spec());
    let old = old.as_ref().map(resource_views::core::v1::ReplicationControllerSpec::template);
    Workload::REPLICATION_CONTROLLER.check_template(context, &template, old.as_ref(), &mut errors);
    errors
}
