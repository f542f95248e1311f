//! Prunes, defaults and validates a value by a structural schema, as kube-apiserver does with a custom resource.

use registry_meta::budget::Budget;
use registry_meta::validation::{ErrorList, FieldPath};
use registry_schema::StructuralSchema;
use serde_json::json;

fn main() {
    let schema = json!({
        "type": "object",
        "required": ["image"],
        "properties": {
            "image": {"type": "string"},
            "replicas": {"type": "integer", "minimum": 0, "default": 1},
        },
    });
    let structural = StructuralSchema::compile(&schema, false);
    let budget = Budget::default();
    let mut value = json!({"replicas": -1, "unknown": true});

    let mut pruned = Vec::new();
    structural.prune(&mut value, &mut pruned);
    println!("pruned: {}", pruned.len());
    if let Err(exhausted) = structural.apply_defaults(&mut value, &budget) {
        println!("the defaults are too large: {exhausted}");
        return;
    }
    let mut errors = ErrorList::default();
    structural.validate(&FieldPath::new("spec"), &value, &budget, &mut errors);
    for error in errors.0 {
        println!("{error}");
    }
}
