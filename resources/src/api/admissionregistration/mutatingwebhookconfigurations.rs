//! `admissionregistration.k8s.io/v1 MutatingWebhookConfiguration`: MutatingWebhookConfiguration describes the configuration of and admission webhook that accept or reject and may change the object.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `mutatingwebhookconfigurations` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration,
    group = "admissionregistration.k8s.io",
    version = "v1",
    plural = "mutatingwebhookconfigurations",
    categories("api-extensions"),
    cluster,
    generation,
    storage_prefix = "mutatingwebhookconfigurations",
    columns = COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    metadata_errors_once,
    strategy = strategy::MutatingWebhookStrategy,
)]
pub struct MutatingWebhookConfigurations;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Webhooks", |object| printers::count(object, &["webhooks"]))
        .described("Webhooks indicates the number of webhooks registered in this configuration"),
    Column::AGE,
];
