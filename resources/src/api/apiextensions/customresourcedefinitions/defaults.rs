//! Defaults of definitions.

use registry_core::api::Object;
use serde_json::{Value, json};

use crate::support::defaulting::{self, Fields};

use super::view;

/// Sets the defaults.
pub(super) fn apply(object: &mut Object) {
    defaulting::with_at(object, &["spec"], |spec| {
        defaulting::with(spec, "names", default_names);
        if spec.get("conversion").is_none_or(Value::is_null) {
            spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
        }
        defaulting::with(spec, "conversion", default_conversion);
    });
    if view::list(object.0.get("status"), "storedVersions").is_empty()
        && object.0.get("status").is_some_and(Value::is_object)
        && let Some(storage) = view::storage_version(object).map(str::to_owned)
    {
        object.set(&["status", "storedVersions"], json!([storage]));
    }
}

fn default_names(names: &mut Fields) {
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind.is_empty() {
        return;
    }
    defaulting::fill(names, "singular", kind.to_lowercase());
    defaulting::fill(names, "listKind", format!("{kind}List"));
}

fn default_conversion(conversion: &mut Fields) {
    let webhook = conversion.get("webhook");
    let says_nothing = webhook.is_some_and(|webhook| {
        view::get(Some(webhook), "clientConfig").is_none()
            && view::get(Some(webhook), "conversionReviewVersions").is_none()
    });
    if says_nothing {
        conversion.remove("webhook");
    }
    defaulting::with(conversion, "webhook", |webhook| {
        defaulting::with(webhook, "clientConfig", |client| {
            defaulting::with(client, "service", |service| {
                if service.get("port").is_none_or(Value::is_null) {
                    service.insert("port".to_owned(), 443.into());
                }
            });
        });
    });
}
