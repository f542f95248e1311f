//! The conversion of custom resources between versions.

use registry_core::resource::conversion::{ConversionError, ConvertObject};

use crate::apiextensions::customresourcedefinitions::definition::{Conversion, Definition};

/// Returns the conversions from a version to the hub, and back. The caller sets `apiVersion`, and conforms the object to the
/// schema of the other version.
pub(super) fn between_versions(definition: &Definition) -> (ConvertObject, ConvertObject) {
    match &definition.conversion {
        Conversion::None => (Box::new(Ok), Box::new(Ok)),
        Conversion::Webhook(_) => {
            let kind = format!("{}.{}", definition.accepted_names.kind, definition.group);
            let refuse = move || -> ConvertObject {
                let text = format!("conversion webhook for {kind} failed: webhooks are not supported");
                Box::new(move |_| Err(ConversionError(text.clone())))
            };
            (refuse(), refuse())
        }
    }
}
