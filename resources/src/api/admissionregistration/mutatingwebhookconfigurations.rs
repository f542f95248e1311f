//! `admissionregistration.k8s.io/v1 MutatingWebhookConfiguration`: webhooks that may change or refuse writes.

mod strategy;

use registry_derive::Resource;

use super::policy_printers;

/// `mutatingwebhookconfigurations` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration,
    group = "admissionregistration.k8s.io",
    version = "v1",
    retired("admissionregistration.k8s.io/v1beta1" => super::retired::renew_mutating),
    categories("api-extensions"),
    cluster,
    generation,
    columns = policy_printers::WEBHOOK_COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    metadata_errors_once,
    strategy = strategy::MutatingWebhookStrategy,
)]
pub struct MutatingWebhookConfigurations;
