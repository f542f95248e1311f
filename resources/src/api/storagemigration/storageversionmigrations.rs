//! `storagemigration.k8s.io/v1beta1 StorageVersionMigration`: the rewriting of all objects of a resource in its present
//! storage version.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::{Column, ColumnFormat};
use registry_derive::Resource;
use serde_json::Value;

use crate::support::printers;

/// `storageversionmigrations` of `storagemigration.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storagemigration::v1beta1::StorageVersionMigration,
    group = "storagemigration.k8s.io",
    version = "v1beta1",
    plural = "storageversionmigrations",
    introduced = "1.35",
    off_by_default,
    feature_gate = StorageVersionMigrator,
    cluster,
    status,
    storage_prefix = "storageversionmigrations",
    columns = COLUMNS,
    unconditional_update = false,
    reset_by_status(metadata, spec),
    strategy = strategy::StorageVersionMigrationStrategy,
)]
pub struct StorageVersionMigrations;

static COLUMNS: &[Column] = &[
    Column { format: ColumnFormat::Plain, ..Column::NAME },
    Column::text("Resource", resource).described("GroupResource to migrate"),
    Column::text("Status", status).described("Status of the migration"),
];

/// Returns the resource, as `deployments.apps`.
fn resource(object: &Object) -> Value {
    let part = |field| object.get_str(&["spec", "resource", field]).unwrap_or_default();
    match part("group") {
        "" => part("resource").into(),
        group => format!("{}.{group}", part("resource")).into(),
    }
}

/// Returns the last of the conditions that are true.
fn status(object: &Object) -> Value {
    let text = |condition: &Value, field| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let conditions = printers::elements(object, &["status", "conditions"]);
    let states = conditions
        .filter(|condition| text(condition, "status") == "True")
        .map(|condition| text(condition, "type"));
    let known = states.filter(|state| ["Running", "Failed", "Succeeded"].contains(&state.as_str()));
    known.last().map_or_else(|| "Unknown".into(), Value::from)
}
