//! Tests of definitions over a store in memory: what is accepted, what is refused, and in which words.

mod bench;
mod hostile;
mod life;
mod recordings;
mod status;

use serde_json::{Value, json};

/// Returns a valid definition of `widgets.example.com` with this schema.
fn widgets(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}
