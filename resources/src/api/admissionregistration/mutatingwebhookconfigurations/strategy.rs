//! Rules of MutatingWebhookConfigurations.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use registry_core::features::Features;
use registry_core::resource::ObjectStrategy;
use resource_views::admissionregistration::v1::{
    MutatingWebhookConfiguration, MutatingWebhookConfigurationMut, ValidatingWebhookMut,
};

use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{self, ReservedNames};

/// Defaults and validation of webhooks.
#[derive(Clone, Copy)]
pub(super) struct MutatingWebhookStrategy {
    names: ReservedNames,
}

/// The rules with the default features.
#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const MutatingWebhookStrategy: MutatingWebhookStrategy =
    MutatingWebhookStrategy { names: ReservedNames::Warned };

impl ObjectStrategy for MutatingWebhookStrategy {
    fn for_features(&self, features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        Some(Arc::new(Self { names: ReservedNames::for_features(features) }))
    }

    fn apply_defaults(&self, object: &mut Object) {
        for mut webhook in MutatingWebhookConfigurationMut(object).webhooks().elements() {
            matching::default_webhook(ValidatingWebhookMut(webhook.0));
            webhook.reinvocation_policy().or_if_absent("Never");
        }
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        reserved_names::warnings(object)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        self.names.warnings_on_create(object)
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = check(object, None, &context.budget);
        self.names.check(object, &mut errors);
        errors
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
