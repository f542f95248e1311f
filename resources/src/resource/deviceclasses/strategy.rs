//! Rules of DeviceClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::resource::ObjectStrategy;

use crate::resource::requests;
use crate::support::field::Field;

/// Maximum number of selectors, and of configurations, of a class.
const MOST: usize = 32;

/// Validation of selectors and configurations.
pub(super) struct DeviceClassStrategy;

impl ObjectStrategy for DeviceClassStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let selectors = spec.get("selectors");
        let configurations = spec.get("config");
        for list in [&selectors, &configurations] {
            if list.len() > MOST {
                errors.push(FieldError::too_many(list.path(), list.len(), MOST));
            }
        }
        requests::check_selectors(&selectors, &mut errors);
        for configuration in configurations.elements() {
            requests::check_configuration(&configuration, &mut errors);
        }
        let extended = spec.get("extendedResourceName");
        extended.check_if_set(names::qualified_name, &mut errors);
        if extended.exists() && !extended.text().contains('/') {
            errors.push(extended.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"));
        }
        errors
    }
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
        assert_eq!(causes(json!({"config": [{}]})), ["spec.config[0]"]);
        assert_eq!(causes(json!({"config": vec![opaque("a.b"); MOST + 1]})), ["spec.config"]);
    }
}
