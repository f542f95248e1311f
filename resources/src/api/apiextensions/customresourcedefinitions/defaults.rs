//! Defaults of definitions.

use registry_core::api::Object;
use resource_views::apiextensions::v1::{
    CustomResourceConversionMut, CustomResourceDefinitionMut, CustomResourceDefinitionNamesMut,
};
use serde_json::json;

use super::view;

/// Sets the defaults.
pub(super) fn apply(object: &mut Object) {
    CustomResourceDefinitionMut(object).spec().edit(|mut spec| {
        spec.names().edit(default_names);
        spec.conversion().or_value(|| json!({"strategy": "None"}));
        spec.conversion().edit(default_conversion);
    });
    if let Some(storage) = view::storage_version(object).map(str::to_owned) {
        CustomResourceDefinitionMut(object)
            .status()
            .edit(|mut status| status.stored_versions().or_if_empty(|| json!([storage])));
    }
}

fn default_names(mut names: CustomResourceDefinitionNamesMut<'_>) {
    let kind = names.kind().text().to_owned();
    if !kind.is_empty() {
        names.singular().or(&kind.to_lowercase());
        names.list_kind().or(&format!("{kind}List"));
    }
}

fn default_conversion(mut conversion: CustomResourceConversionMut<'_>) {
    let says_something = conversion.webhook().present().is_some_and(|mut webhook| {
        !webhook.client_config().is_absent() || !webhook.conversion_review_versions().is_absent()
    });
    if !says_something {
        conversion.webhook().remove();
    }
    conversion.webhook().edit(|mut webhook| {
        webhook.client_config().edit(|mut client| {
            client.service().edit(|mut service| service.port().or_if_absent(443));
        });
    });
}
