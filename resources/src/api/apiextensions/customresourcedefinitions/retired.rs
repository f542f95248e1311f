//! Definitions that are stored as `apiextensions.k8s.io/v1beta1`. Kube-apiserver serves this version no more, but stores all
//! definitions in it. What it names otherwise than `v1` has no views, and is read by name.
//!
//! Kubernetes concept: the conversions and defaults of `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions`.

use registry_core::api::Object;
use registry_core::budget::{Budget, Exhausted, memory};
use resource_views::apiextensions::v1::{
    CustomResourceConversionMut, CustomResourceDefinitionMut, CustomResourceDefinitionSpecMut,
    WebhookConversionMut,
};
use resource_views::slot::Fields;
use serde_json::{Value, json};

/// The fields of the spec that all versions share, and their names in each version of `v1`.
const SHARED: [(&str, &str); 4] = [
    ("subresources", "subresources"),
    ("validation", "schema"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Changes a definition of `v1beta1` into one of `v1`, and sets the defaults of `v1beta1`. The memory of what all versions
/// share is taken from a budget.
///
/// # Errors
/// Fails if the budget is exhausted.
pub(super) fn renew(definition: &mut Object, budget: &Budget) -> Result<(), Exhausted> {
    let Some(mut spec) = CustomResourceDefinitionMut(definition).spec().present() else { return Ok(()) };
    spec.scope().or("Namespaced");
    spec.preserve_unknown_fields().or_if_absent(true);
    if let Some(Value::String(name)) = spec.0.remove("version") {
        spec.versions().or_if_empty(|| json!([{ "name": name, "served": true, "storage": true }]));
    }
    share(&mut spec, budget)?;
    spec.conversion().edit(renew_conversion);
    Ok(())
}

/// Moves what all versions share into each of them.
fn share(spec: &mut CustomResourceDefinitionSpecMut<'_>, budget: &Budget) -> Result<(), Exhausted> {
    let shared: Vec<(&str, Value)> = (SHARED.iter())
        .filter_map(|(name, own)| Some((*own, spec.0.remove(*name)?)))
        .filter(|(_, value)| !value.is_null())
        .collect();
    let bytes: usize = shared.iter().map(|(_, value)| memory::value_bytes(value)).sum();
    for mut version in spec.versions().elements() {
        budget.take_bytes(bytes)?;
        for (name, value) in &shared {
            version.0.insert((*name).to_owned(), value.clone());
        }
        for mut column in version.additional_printer_columns().elements() {
            if let Some(path) = column.0.remove("JSONPath") {
                column.json_path().set_value(path);
            }
        }
    }
    Ok(())
}

/// Moves the fields of a webhook into `webhook`.
fn renew_conversion(mut conversion: CustomResourceConversionMut<'_>) {
    let is_set = |value: &Value| !value.is_null();
    let client = conversion.0.remove("webhookClientConfig").filter(is_set);
    let versions = conversion.0.remove("conversionReviewVersions").filter(is_set);
    let is_webhook = conversion.strategy().is("Webhook");
    let is_absent = versions.as_ref().and_then(Value::as_array).is_none_or(Vec::is_empty);
    let versions = if is_webhook && is_absent { Some(json!(["v1beta1"])) } else { versions };
    if client.is_none() && versions.is_none() {
        return;
    }
    let mut fields = Fields::new();
    let mut webhook = WebhookConversionMut(&mut fields);
    if let Some(client) = client {
        webhook.client_config().set_value(client);
    }
    if let Some(versions) = versions {
        webhook.conversion_review_versions().set_value(versions);
    }
    conversion.webhook().set_value(fields.into());
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
