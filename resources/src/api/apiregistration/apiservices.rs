//! `apiregistration.k8s.io/v1 APIService`: APIService represents a server for a particular GroupVersion.

pub mod available_condition;
pub mod local;
mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::apiregistration::v1::APIService;
use serde_json::Value;

use crate::support::conditions;

/// `apiservices` of `apiregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService,
    group = "apiregistration.k8s.io",
    version = "v1",
    retired("apiregistration.k8s.io/v1beta1"),
    categories("api-extensions"),
    cluster,
    status,
    columns = COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    reset_by_status(metadata),
    // `v1.` is the name for the core group.
    names = PathSegment,
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
    let spec = APIService(object).spec();
    let service = spec.service();
    match (service.namespace().optional_text(), service.name().optional_text()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        _ => "Local".into(),
    }
}

/// Returns whether the service is available, and the reason if not.
fn available(object: &Object) -> Value {
    let Some(condition) = conditions::find(object, "Available") else { return "Unknown".into() };
    match condition.status().text() {
        "True" => "True".into(),
        status => format!("{status} ({})", condition.reason().text()).into(),
    }
}
