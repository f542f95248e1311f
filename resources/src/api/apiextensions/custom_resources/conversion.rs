//! The conversion of custom resources between versions.
//!
//! | module | contents |
//! |---|---|
//! | `webhook` | conversion by a webhook |
//! | `review` | the request and the answer of a webhook |
//! | `metadata` | what a webhook may change of an object |

use std::sync::Arc;

use registry_core::resource::conversion::Converter;
use registry_core::rest::webhook::WebhookCaller;

use crate::api::apiextensions::customresourcedefinitions::definition::{Conversion, Definition};

mod metadata;
mod review;
mod webhook;

use webhook::WebhookConverter;

/// Returns the conversions from a version to the hub, and back. The caller sets `apiVersion`, and conforms the object to the
/// schema of the other version.
pub(super) fn between_versions(definition: &Definition, webhooks: &Arc<dyn WebhookCaller>) -> Converter {
    match &definition.conversion {
        Conversion::None => Converter::Functions { to_hub: Box::new(Ok), from_hub: Box::new(Ok) },
        Conversion::Webhook(webhook) => {
            Converter::Remote(Arc::new(WebhookConverter::new(webhook.clone(), webhooks.clone())))
        }
    }
}
