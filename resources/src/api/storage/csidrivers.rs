//! `storage.k8s.io/v1 CSIDriver`: a driver of volumes (Container Storage Interface) in the cluster.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::storage::v1::CSIDriver;
use serde_json::Value;

use crate::support::printers;

/// `csidrivers` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::CSIDriver,
    group = "storage.k8s.io",
    version = "v1",
    retired("storage.k8s.io/v1beta1"),
    cluster,
    returns_deleted_object,
    columns = COLUMNS,
    unconditional_update = false,
    strategy = strategy::CSIDriverStrategy,
)]
pub struct CSIDrivers;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::boolean("AttachRequired", |object| printers::flag(object, &["spec", "attachRequired"]))
        .documented_by(&["spec", "attachRequired"]),
    Column::boolean("PodInfoOnMount", |object| printers::flag(object, &["spec", "podInfoOnMount"]))
        .documented_by(&["spec", "podInfoOnMount"]),
    Column::boolean("StorageCapacity", |object| printers::flag(object, &["spec", "storageCapacity"]))
        .documented_by(&["spec", "storageCapacity"]),
    Column::text("TokenRequests", token_requests).documented_by(&["spec", "tokenRequests"]),
    Column::boolean("RequiresRepublish", |object| printers::flag(object, &["spec", "requiresRepublish"]))
        .documented_by(&["spec", "requiresRepublish"]),
    Column::text("Modes", modes).documented_by(&["spec", "volumeLifecycleModes"]),
    Column::AGE,
];

/// Returns the audiences of the tokens that the driver receives.
fn token_requests(object: &Object) -> Value {
    let spec = CSIDriver(object).spec();
    let requests = spec.token_requests();
    let audiences: Vec<&str> = requests.elements().map(|request| request.audience().text()).collect();
    if audiences.is_empty() { "<unset>".into() } else { audiences.join(",").into() }
}

/// Returns the supported lifecycle modes of volumes.
fn modes(object: &Object) -> Value {
    let spec = CSIDriver(object).spec();
    printers::or_none(spec.volume_lifecycle_modes().texts().collect::<Vec<_>>().join(","))
}
