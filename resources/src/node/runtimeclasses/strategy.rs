//! Rules of RuntimeClasses.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::resource::ObjectStrategy;

use crate::core::pod_spec::validation;
use crate::support::field::{Field, ShownAsGo as _};
use crate::support::label_selector;

/// The handler is immutable.
pub(super) struct RuntimeClassStrategy;

impl ObjectStrategy for RuntimeClassStrategy {
    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let handler = Field::of(object, "handler");
        if handler.check_present(&mut errors) {
            handler.check(names::dns_label, &mut errors);
        }
        let overhead = Field::of(object, "overhead");
        let options = validation::options_of_pod(context, None);
        if let Some(amounts) = overhead.get("podFixed").value() {
            // The path of the errors has no `podFixed`.
            validation::check_overhead(&overhead.holding(amounts), &options, &mut errors);
        }
        let scheduling = Field::of(object, "scheduling");
        label_selector::check_labels(&scheduling.get("nodeSelector"), &mut errors);
        let mut seen = HashSet::new();
        let tolerations = scheduling.get("tolerations");
        for toleration in tolerations.elements() {
            if seen.contains(&toleration.value()) {
                errors.push(toleration.duplicate().shown_as(toleration.go_text("<core.Toleration>")));
            }
            seen.insert(toleration.value());
        }
        validation::check_tolerations(&tolerations, &options, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "handler").check_immutable(&Field::of(old, "handler"), &mut errors);
        errors
    }
}
