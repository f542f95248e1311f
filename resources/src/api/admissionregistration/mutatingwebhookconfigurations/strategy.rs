//! Rules of MutatingWebhookConfigurations.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::api::admissionregistration::matching;
use crate::support::defaulting;
use crate::support::field::Field;

/// Defaults and validation of webhooks.
pub(super) struct MutatingWebhookStrategy;

impl ObjectStrategy for MutatingWebhookStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::each(&mut object.0, &["webhooks"], |webhook| {
            matching::default_webhook(webhook);
            defaulting::fill_absent(webhook, "reinvocationPolicy", "Never");
        });
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        matching::warnings_of_name(object)
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        matching::warnings_of_name(new)
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        matching::check_webhooks(&Field::top_level(object, "webhooks"), None, &context.budget, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        matching::check_webhooks(&Field::top_level(new, "webhooks"), Some(old), &context.budget, &mut errors);
        errors
    }
}
