//! Rules of DeviceClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use registry_core::resource::ObjectStrategy;
use resource_views::resource::v1::DeviceClass;

use crate::api::core::pod_spec::resource_names;
use crate::api::resource::{requests, selectors};
use crate::support::semantic;

/// Validation of selectors and configurations.
pub(super) struct DeviceClassStrategy;

impl ObjectStrategy for DeviceClassStrategy {
    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        check(object, None, &context.budget)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        check(new, Some(old), &context.budget)
    }
}

fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = DeviceClass(object).spec();
    selectors::check(&spec.selectors(), budget, &mut errors);
    let configurations = spec.config();
    let is_stored = old
        .is_some_and(|old| semantic::equal(configurations.value(), DeviceClass(old).spec().config().value()));
    if configurations.check_count(requests::MAX_CONFIGURATIONS, &mut errors) {
        for configuration in configurations.elements() {
            requests::check_configuration(&configuration, is_stored, &mut errors);
        }
    }
    let extended = spec.extended_resource_name();
    if extended.exists() && !resource_names::is_extended(extended.text()) {
        errors.push(extended.invalid("must be a valid extended resource name"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_class_says_which_devices_and_how_to_set_them_up() {
        let causes = |spec: Value| {
            let class = Object::from_value(json!({"spec": spec})).unwrap();
            let errors = DeviceClassStrategy.validate(&RequestContext::default(), &class);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        let opaque = |driver: &str| json!({"opaque": {"driver": driver, "parameters": {"a": 1}}});
        assert_eq!(
            causes(json!({"selectors": [{"cel": {"expression": "true"}}], "config": [opaque("a.b")]})),
            none
        );
        assert_eq!(causes(json!({"selectors": [{}]})), ["spec.selectors[0].cel"]);
        assert_eq!(causes(json!({"selectors": [{"cel": {}}]})), ["spec.selectors[0].cel.expression"]);
        assert_eq!(causes(json!({"config": [opaque("Bad!")]})), ["spec.config[0].opaque.driver"]);
        assert_eq!(causes(json!({"config": [{}]})), ["spec.config[0].opaque"]);
        assert_eq!(causes(json!({"config": vec![opaque("a.b"); 33]})), ["spec.config"]);
    }
}
