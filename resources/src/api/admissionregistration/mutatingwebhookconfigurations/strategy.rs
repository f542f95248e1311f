//! Rules of MutatingWebhookConfigurations.

use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{
    MutatingWebhookConfiguration, MutatingWebhookConfigurationMut, ValidatingWebhookMut,
};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{ReservingStrategy, Rules};

/// Defaults and validation of webhooks.
pub(super) struct MutatingWebhookRules;

/// The rules, and those of names.
pub(super) type MutatingWebhookStrategy = ReservingStrategy<MutatingWebhookRules>;

#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const MutatingWebhookStrategy: MutatingWebhookStrategy = ReservingStrategy::DEFAULT;

impl Rules for MutatingWebhookRules {
    fn apply_defaults(object: &mut Object) {
        for mut webhook in MutatingWebhookConfigurationMut(object).webhooks().elements() {
            matching::default_webhook(ValidatingWebhookMut(webhook.0));
            webhook.reinvocation_policy().or_if_absent("Never");
        }
    }

    fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
        let mut errors = ErrorList::default();
        let webhooks = MutatingWebhookConfiguration(object).webhooks();
        let before = old.map(|old| MutatingWebhookConfiguration(old).webhooks());
        matching::check_webhooks(&webhooks, before.as_ref(), budget, &mut errors);
        errors
    }
}
