//! `apiregistration.k8s.io/v1 APIService`: APIService represents a server for a particular GroupVersion.

pub mod availability;
pub mod local;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::support::printers;

/// `apiservices` of `apiregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService,
    group = "apiregistration.k8s.io",
    version = "v1",
    plural = "apiservices",
    categories("api-extensions"),
    cluster,
    status,
    storage_prefix = "apiregistration.k8s.io/apiservices",
    columns = COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    reset_by_status(metadata),
    strategy = strategy::APIServiceStrategy,
)]
pub struct APIServices;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Service", service).described("The reference to the service that hosts this API endpoint."),
    Column::text("Available", available).described("Whether this service is available."),
    Column::AGE,
];

/// Returns the service that implements the API, or `Local`.
fn service(object: &Object) -> Value {
    let part = |field| object.get_str(&["spec", "service", field]);
    match (part("namespace"), part("name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        _ => "Local".into(),
    }
}

/// Returns whether the service is available, and the reason if not.
fn available(object: &Object) -> Value {
    let mut conditions = printers::elements(object, &["status", "conditions"]);
    let found =
        conditions.find(|condition| condition.get("type").and_then(Value::as_str) == Some("Available"));
    let Some(condition) = found else { return "Unknown".into() };
    let part = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
    if part("status") == "True" {
        "True".into()
    } else {
        format!("{} ({})", part("status"), part("reason")).into()
    }
}
