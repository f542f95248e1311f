//! `v1 ConfigMap`: ConfigMap holds configuration data for pods to consume.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::support::printers;

/// `configmaps` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ConfigMap,
    version = "v1",
    short("cm"),
    columns = COLUMNS,
    strategy = strategy::ConfigMapStrategy,
)]
pub struct ConfigMaps;

static COLUMNS: &[Column] = &[Column::NAME, Column::text("Data", data).documented_by(&["data"]), Column::AGE];

/// Returns the number of entries, text and binary.
fn data(object: &Object) -> Value {
    (printers::length(object, &["data"]) + printers::length(object, &["binaryData"])).into()
}
