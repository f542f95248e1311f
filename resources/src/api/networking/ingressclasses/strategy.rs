//! Rules of IngressClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::resource::ObjectStrategy;
use resource_views::networking::v1::{IngressClass, IngressClassParametersReference};

use crate::api::networking::references;
use crate::support::defaulting;

const MAX_CONTROLLER_BYTES: usize = 250;
const SCOPES: [&str; 2] = ["Cluster", "Namespace"];

/// The controller is immutable; the parameters may change.
pub(super) struct IngressClassStrategy;

impl ObjectStrategy for IngressClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "parameters"], |parameters| {
            defaulting::fill_absent(parameters, "scope", "Cluster");
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = IngressClass(object).spec();
        let controller = spec.controller();
        if controller.text().len() > MAX_CONTROLLER_BYTES {
            errors.push(FieldError::too_long(controller.path(), MAX_CONTROLLER_BYTES));
        }
        controller.check_named(names::domain_prefixed_path, &mut errors);
        let parameters = spec.parameters();
        if parameters.exists() {
            check_parameters(&parameters, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let after = IngressClass(new).spec();
        let before = IngressClass(old).spec();
        if after.controller().text() != before.controller().text() {
            errors.push(after.controller().invalid_text("field is immutable"));
        }
        errors.append(self.validate(context, new));
        errors
    }
}

fn check_parameters(parameters: &IngressClassParametersReference<'_, '_>, errors: &mut ErrorList) {
    references::check_typed(&(*parameters).into(), errors);
    let scope = parameters.scope();
    let namespace = parameters.namespace();
    match scope.text() {
        "Namespace" if namespace.exists() => namespace.check(names::dns_label, errors),
        "Namespace" => errors.push(namespace.required("`parameters.scope` is set to 'Namespace'")),
        "Cluster" if namespace.exists() => {
            errors.push(namespace.forbidden("`parameters.scope` is set to 'Cluster'"));
        }
        "Cluster" => {}
        _ => errors.push(scope.unsupported(&SCOPES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn parameters_live_where_their_scope_says() {
        let causes = |controller: &str, parameters: Value| {
            let spec = json!({"controller": controller, "parameters": parameters});
            let mut class = Object::from_value(json!({"spec": spec})).unwrap();
            IngressClassStrategy.apply_defaults(&mut class);
            let errors = IngressClassStrategy.validate(&RequestContext::default(), &class);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(causes("a.example/b", json!(null)), none);
        assert_eq!(causes("a.example/b", json!({"kind": "K", "name": "n"})), none);
        assert_eq!(causes("", json!(null)), ["spec.controller"]);
        assert_eq!(causes("nopath", json!(null)), ["spec.controller"]);
        let scoped = |scope: &str, namespace: Value| {
            causes("a.example/b", json!({"kind": "K", "name": "n", "scope": scope, "namespace": namespace}))
        };
        assert_eq!(scoped("Namespace", json!("ns")), none);
        assert_eq!(scoped("Namespace", json!(null)), ["spec.parameters.namespace"]);
        assert_eq!(scoped("Cluster", json!("ns")), ["spec.parameters.namespace"]);
        assert_eq!(scoped("X", json!(null)), ["spec.parameters.scope"]);
    }
}
