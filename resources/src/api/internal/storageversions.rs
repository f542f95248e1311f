//! `internal.apiserver.k8s.io/v1alpha1 StorageVersion`: the versions in which the servers of a cluster store a resource.

pub(crate) mod report;
mod strategy;
mod validation;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::apiserverinternal::v1alpha1::StorageVersion;
use serde_json::Value;

use crate::support::printers;

/// `storageversions` of `internal.apiserver.k8s.io/v1alpha1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apiserverinternal::v1alpha1::StorageVersion,
    group = "internal.apiserver.k8s.io",
    version = "v1alpha1",
    off_by_default,
    cluster,
    status,
    columns = COLUMNS,
    unconditional_update = false,
    reset_by_status(metadata),
    names = Any,
    strategy = strategy::StorageVersionStrategy,
)]
pub struct StorageVersions;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("CommonEncodingVersion", |object| {
        printers::text_or(object, &["status", "commonEncodingVersion"], "<unset>")
    })
    .documented_by(&["status", "commonEncodingVersion"]),
    Column::text("StorageVersions", versions).documented_by(&["status", "storageVersions"]),
    Column::AGE,
];

/// Returns the version of each server: `server-a=apps/v1,server-b=apps/v1`; the first three, and the number of further
/// ones.
fn versions(object: &Object) -> Value {
    let status = StorageVersion(object).status();
    let all: Vec<String> = status
        .storage_versions()
        .elements()
        .map(|version| format!("{}={}", version.api_server_id().text(), version.encoding_version().text()))
        .collect();
    printers::first_three(&all, "<unset>")
}
