//! Rules of MutatingWebhookConfigurations.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use registry_core::resource::ObjectStrategy;
use resource_views::admissionregistration::v1::{
    MutatingWebhookConfiguration, MutatingWebhookConfigurationMut, ValidatingWebhookMut,
};

use crate::api::admissionregistration::matching;

/// Defaults and validation of webhooks.
pub(super) struct MutatingWebhookStrategy;

impl ObjectStrategy for MutatingWebhookStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        for mut webhook in MutatingWebhookConfigurationMut(object).webhooks().elements() {
            matching::default_webhook(ValidatingWebhookMut(webhook.0));
            webhook.reinvocation_policy().or_if_absent("Never");
        }
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
    let webhooks = MutatingWebhookConfiguration(object).webhooks();
    let before = old.map(|old| MutatingWebhookConfiguration(old).webhooks());
    matching::check_webhooks(&webhooks, before.as_ref(), budget, &mut errors);
    errors
}
