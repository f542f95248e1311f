//! `apps/v1 ControllerRevision`: ControllerRevision implements an immutable snapshot of state data.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::support::printers;

/// `controllerrevisions` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::ControllerRevision,
    group = "apps",
    version = "v1",
    plural = "controllerrevisions",
    storage_prefix = "controllerrevisions",
    columns = COLUMNS,
    strategy = strategy::ControllerRevisionStrategy,
)]
pub struct ControllerRevisions;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Controller", controller).described("Controller of the object"),
    Column::text("Revision", |object| printers::number(object, &["revision"])).documented_by(&["revision"]),
    Column::AGE,
];

/// Returns the controlling owner, as `kind.group/name`.
fn controller(object: &Object) -> Value {
    let owners = printers::elements(object, &["metadata", "ownerReferences"]);
    let mut controllers = owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    let Some(owner) = controllers.next() else { return "<none>".into() };
    let part = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = part("kind").to_lowercase();
    match part("apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{}", part("name")).into(),
        None => format!("{kind}/{}", part("name")).into(),
    }
}
