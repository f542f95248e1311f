//! The columns that volumes and claims to them have in common.

use registry_core::api::Object;
use registry_core::resource::Column;
use serde_json::Value;

/// The phase.
pub(crate) const STATUS: Column = Column::text("Status", phase).documented_by(&["status", "phase"]);

/// A file system or a block device.
pub(crate) const VOLUME_MODE: Column =
    Column::text("VolumeMode", |object| super::text_or(object, &["spec", "volumeMode"], "<unset>"))
        .documented_by(&["spec", "volumeMode"])
        .wide();

/// Returns its phase, or that it is terminating.
fn phase(object: &Object) -> Value {
    if object.deletion_timestamp().is_some() {
        return "Terminating".into();
    }
    super::text(object, &["status", "phase"])
}
