//! Definitions that are stored as `apiextensions.k8s.io/v1beta1`. Kube-apiserver serves this version no more, but stores all
//! definitions in it.
//!
//! Kubernetes concept: the conversions and defaults of `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions`.

use registry_core::api::Object;
use registry_core::budget::{Budget, Exhausted, memory};
use serde_json::{Map, Value, json};

/// The versions in which definitions may be stored although they are not served.
pub(super) const VERSIONS: &[&str] = &["v1beta1"];

/// The fields of the spec that all versions share, and their names in each version of `v1`.
const SHARED: [(&str, &str); 4] = [
    ("subresources", "subresources"),
    ("validation", "schema"),
    ("additionalPrinterColumns", COLUMNS),
    ("selectableFields", "selectableFields"),
];

const VERSION_LIST: &str = "versions";
const COLUMNS: &str = "additionalPrinterColumns";
const COLUMN_PATH: (&str, &str) = ("JSONPath", "jsonPath");

type Fields = Map<String, Value>;

/// Changes a definition of `v1beta1` into one of `v1`, and sets the defaults of `v1beta1`. The memory of what all versions
/// share is taken from a budget.
///
/// # Errors
/// Fails if the budget is exhausted.
pub(super) fn renew(definition: &mut Object, budget: &Budget) -> Result<(), Exhausted> {
    let Some(Value::Object(spec)) = definition.0.get_mut("spec") else { return Ok(()) };
    if text_of(spec, "scope").is_empty() {
        spec.insert("scope".to_owned(), "Namespaced".into());
    }
    if spec.get("preserveUnknownFields").is_none_or(Value::is_null) {
        spec.insert("preserveUnknownFields".to_owned(), true.into());
    }
    let version = spec.remove("version");
    let has_versions = spec.get(VERSION_LIST).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if let Some(Value::String(name)) = version.filter(|_| !has_versions) {
        let only = json!([{ "name": name, "served": true, "storage": true }]);
        spec.insert(VERSION_LIST.to_owned(), only);
    }
    share(spec, budget)?;
    if let Some(Value::Object(conversion)) = spec.get_mut("conversion") {
        renew_conversion(conversion);
    }
    Ok(())
}

/// Moves what all versions share into each of them.
fn share(spec: &mut Fields, budget: &Budget) -> Result<(), Exhausted> {
    let shared: Vec<(&str, Value)> = (SHARED.iter())
        .filter_map(|(name, own)| Some((*own, spec.remove(*name)?)))
        .filter(|(_, value)| !value.is_null())
        .collect();
    let bytes: usize = shared.iter().map(|(_, value)| memory::value_bytes(value)).sum();
    let Some(Value::Array(versions)) = spec.get_mut(VERSION_LIST) else { return Ok(()) };
    for version in versions.iter_mut().filter_map(Value::as_object_mut) {
        budget.take_bytes(bytes)?;
        for (name, value) in &shared {
            version.insert((*name).to_owned(), value.clone());
        }
        let columns = version.get_mut(COLUMNS).and_then(Value::as_array_mut);
        for column in columns.into_iter().flatten().filter_map(Value::as_object_mut) {
            if let Some(path) = column.remove(COLUMN_PATH.0) {
                column.insert(COLUMN_PATH.1.to_owned(), path);
            }
        }
    }
    Ok(())
}

/// Moves the fields of a webhook into `webhook`.
fn renew_conversion(conversion: &mut Fields) {
    let is_set = |value: &Value| !value.is_null();
    let client = conversion.remove("webhookClientConfig").filter(is_set);
    let versions = conversion.remove("conversionReviewVersions").filter(is_set);
    let is_webhook = text_of(conversion, "strategy") == "Webhook";
    let is_absent = versions.as_ref().and_then(Value::as_array).is_none_or(Vec::is_empty);
    let versions = if is_webhook && is_absent { Some(json!(["v1beta1"])) } else { versions };
    if client.is_none() && versions.is_none() {
        return;
    }
    let fields = [("clientConfig", client), ("conversionReviewVersions", versions)];
    let webhook: Fields =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    conversion.insert("webhook".to_owned(), webhook.into());
}

fn text_of<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewed(spec: &Value) -> Value {
        let mut definition = Object::from_value(json!({ "spec": spec })).unwrap();
        renew(&mut definition, &Budget::default()).unwrap();
        definition.0.remove("spec").unwrap()
    }

    #[test]
    fn shared_fields_are_moved_into_each_version() {
        let schema = json!({ "openAPIV3Schema": { "type": "object" } });
        let found = renewed(&json!({
            "group": "example.com", "scope": "Cluster", "version": "v1", "preserveUnknownFields": false,
            "validation": schema, "subresources": { "status": {} }, "additionalPrinterColumns": null,
            "versions": [
                { "name": "v1", "served": true, "storage": true },
                { "name": "v2", "additionalPrinterColumns": [{ "name": "Age", "JSONPath": ".a" }] },
            ],
        }));
        assert_eq!(
            found,
            json!({
                "group": "example.com", "scope": "Cluster", "preserveUnknownFields": false,
                "versions": [
                    { "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": { "status": {} } },
                    { "name": "v2", "schema": schema, "subresources": { "status": {} },
                      "additionalPrinterColumns": [{ "name": "Age", "jsonPath": ".a" }] },
                ],
            })
        );
    }

    #[test]
    fn absent_fields_have_the_defaults_of_their_time() {
        let found = renewed(&json!({
            "version": "v1",
            "conversion": { "strategy": "Webhook", "webhookClientConfig": { "url": "https://x" } },
        }));
        assert_eq!(
            found,
            json!({
                "scope": "Namespaced", "preserveUnknownFields": true,
                "versions": [{ "name": "v1", "served": true, "storage": true }],
                "conversion": { "strategy": "Webhook", "webhook": {
                    "clientConfig": { "url": "https://x" }, "conversionReviewVersions": ["v1beta1"],
                }},
            })
        );
        let none = renewed(
            &json!({ "versions": [{ "name": "v2" }], "version": "v1", "conversion": { "strategy": "None" } }),
        );
        assert_eq!(
            (&none["versions"], &none["conversion"]),
            (&json!([{ "name": "v2" }]), &json!({ "strategy": "None" }))
        );
    }

    #[test]
    fn malformed_and_large_definitions_do_no_harm() {
        for spec in [json!([]), json!(null), json!({ "versions": {} }), json!({ "versions": [1, null] })] {
            renewed(&spec);
        }
        let many = vec![json!({}); 100_000];
        let large = json!({ "description": "x".repeat(100_000) });
        let mut definition =
            Object::from_value(json!({ "spec": { "validation": large, "versions": many } })).unwrap();
        assert!(renew(&mut definition, &Budget::with_bytes(1 << 20)).is_err());
    }
}
