//! `storagemigration.k8s.io/v1beta1 StorageVersionMigration`: the rewriting of all objects of a resource in its present
//! storage version.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::{Column, ColumnFormat};
use registry_derive::Resource;
use resource_views::storagemigration::v1beta1::StorageVersionMigration;
use serde_json::Value;

use crate::support::conditions;

/// `storageversionmigrations` of `storagemigration.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storagemigration::v1beta1::StorageVersionMigration,
    group = "storagemigration.k8s.io",
    version = "v1beta1",
    introduced = "1.35",
    off_by_default,
    feature_gate = StorageVersionMigrator,
    cluster,
    status,
    columns = COLUMNS,
    unconditional_update = false,
    reset_by_status(metadata),
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
    let spec = StorageVersionMigration(object).spec();
    let resource = spec.resource();
    match resource.group().text() {
        "" => resource.resource().text().into(),
        group => format!("{}.{group}", resource.resource().text()).into(),
    }
}

/// Returns the last of the conditions that are true.
fn status(object: &Object) -> Value {
    let is_true = conditions::all(object).filter(|condition| condition.status().text() == "True");
    let states = is_true.map(|condition| condition.r#type().text());
    let known = states.filter(|state| ["Running", "Failed", "Succeeded"].contains(state));
    known.last().map_or_else(|| "Unknown".into(), Value::from)
}
