//! Compiles a validation rule of a schema, and validates an object with it.

use registry_cel::{RuleBudget, ValidationRules};
use registry_meta::validation::{ErrorList, FieldPath};
use serde_json::json;

fn main() {
    let schema = json!({
        "type": "object",
        "properties": {"replicas": {"type": "integer"}, "maxReplicas": {"type": "integer"}},
        "x-kubernetes-validations": [{
            "rule": "self.replicas <= self.maxReplicas",
            "messageExpression": "'at most ' + string(self.maxReplicas) + ' replicas'",
        }],
    });
    let Some(rules) = ValidationRules::compile(&schema, false) else {
        println!("the schema has no rules");
        return;
    };
    let object = json!({"replicas": 5, "maxReplicas": 3});
    let mut errors = ErrorList::default();
    rules.validate(&FieldPath::new("spec"), &object, None, &mut RuleBudget::default(), &mut errors);
    for error in errors.0 {
        println!("{error}");
    }
}
