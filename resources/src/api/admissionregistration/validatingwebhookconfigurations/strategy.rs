//! Rules of ValidatingWebhookConfigurations.

use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{
    ValidatingWebhookConfiguration, ValidatingWebhookConfigurationMut,
};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{ReservingStrategy, Rules};

/// Defaults and validation of webhooks.
pub(super) struct ValidatingWebhookRules;

/// The rules, and those of names.
pub(super) type ValidatingWebhookStrategy = ReservingStrategy<ValidatingWebhookRules>;

#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const ValidatingWebhookStrategy: ValidatingWebhookStrategy = ReservingStrategy::DEFAULT;

impl Rules for ValidatingWebhookRules {
    fn apply_defaults(object: &mut Object) {
        ValidatingWebhookConfigurationMut(object).webhooks().elements().for_each(matching::default_webhook);
    }

    fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
        let mut errors = ErrorList::default();
        let webhooks = ValidatingWebhookConfiguration(object).webhooks();
        let before = old.map(|old| ValidatingWebhookConfiguration(old).webhooks().seen_as());
        matching::check_webhooks(&webhooks.seen_as(), before.as_ref(), budget, &mut errors);
        errors
    }
}
