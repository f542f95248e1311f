//! Rules of RuntimeClasses.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use resource_views::node::v1::RuntimeClass;
use resource_views::{Map, Quantity, Typed as _};

use crate::api::core::pod_spec::validation;
use crate::support::field::ShownAsGo as _;
use crate::support::label_selector;

/// The handler is immutable.
pub(super) struct RuntimeClassStrategy;

impl ObjectStrategy for RuntimeClassStrategy {
    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let class = RuntimeClass(object);
        class.handler().check_named(names::dns_label, &mut errors);
        let overhead = class.overhead();
        let options = validation::options_of_pod(context, None);
        if let Some(amounts) = overhead.pod_fixed().value() {
            // The path of the errors has no `podFixed`.
            let amounts = Map::<Quantity<'_, '_>>::typed(overhead.with_value(amounts));
            validation::check_overhead(&amounts, &options, &mut errors);
        }
        let scheduling = class.scheduling();
        label_selector::check_labels(&scheduling.node_selector(), &mut errors);
        let mut seen = HashSet::new();
        let tolerations = scheduling.tolerations();
        for toleration in tolerations.elements() {
            if !seen.insert((*toleration).value()) {
                errors.push(toleration.duplicate().shown_as(toleration.go_text("<core.Toleration>")));
            }
        }
        validation::check_tolerations(&tolerations, &options, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        RuntimeClass(new).handler().check_immutable(&RuntimeClass(old).handler(), &mut errors);
        errors
    }
}
