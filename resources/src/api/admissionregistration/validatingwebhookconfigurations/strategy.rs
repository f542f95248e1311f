//! Rules of ValidatingWebhookConfigurations.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use registry_core::resource::ObjectStrategy;
use resource_views::admissionregistration::v1::{
    ValidatingWebhookConfiguration, ValidatingWebhookConfigurationMut,
};

use crate::api::admissionregistration::matching;

/// Defaults and validation of webhooks.
pub(super) struct ValidatingWebhookStrategy;

impl ObjectStrategy for ValidatingWebhookStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        ValidatingWebhookConfigurationMut(object).webhooks().elements().for_each(matching::default_webhook);
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        matching::warnings_of_name(object)
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        check(object, None, &context.budget)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        check(new, Some(old), &context.budget)
    }
}

fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
    let mut errors = ErrorList::default();
    let webhooks = ValidatingWebhookConfiguration(object).webhooks();
    let before = old.map(|old| ValidatingWebhookConfiguration(old).webhooks().seen_as());
    matching::check_webhooks(&webhooks.seen_as(), before.as_ref(), budget, &mut errors);
    errors
}
