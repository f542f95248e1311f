//! Configurations of webhooks that are stored as `v1beta1`, whose defaults are others than those of `v1`.
//!
//! Kubernetes concept: the defaults of `pkg/apis/admissionregistration/v1beta1`.

use registry_core::api::Object;
use resource_views::admissionregistration::v1::{
    MutatingWebhookConfigurationMut, ValidatingWebhookConfigurationMut, ValidatingWebhookMut,
};
use serde_json::json;

/// Changes a configuration of validating webhooks.
pub(super) fn renew_validating(configuration: &mut Object) {
    ValidatingWebhookConfigurationMut(configuration).webhooks().elements().for_each(default_webhook);
}

/// Changes a configuration of mutating webhooks, which have the same fields and more.
pub(super) fn renew_mutating(configuration: &mut Object) {
    let webhooks = MutatingWebhookConfigurationMut(configuration).webhooks().elements();
    webhooks.for_each(|webhook| default_webhook(ValidatingWebhookMut(webhook.0)));
}

fn default_webhook(mut webhook: ValidatingWebhookMut<'_>) {
    webhook.failure_policy().or_if_absent("Ignore");
    webhook.match_policy().or_if_absent("Exact");
    webhook.side_effects().or_if_absent("Unknown");
    webhook.timeout_seconds().or_if_absent(30);
    webhook.admission_review_versions().or_if_empty(|| json!(["v1beta1"]));
}
