//! `apps/v1 ControllerRevision`: ControllerRevision implements an immutable snapshot of state data.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::apps::v1::ControllerRevision;
use serde_json::Value;

use crate::support::printers;

/// `controllerrevisions` of `apps/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::ControllerRevision,
    group = "apps",
    version = "v1",
    retired("apps/v1beta2", "apps/v1beta1"),
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
    let metadata = ControllerRevision(object).metadata();
    let owners = metadata.owner_references();
    let Some(owner) = owners.elements().find(|owner| owner.controller().is_true()) else {
        return "<none>".into();
    };
    let kind = owner.kind().text().to_lowercase();
    match owner.api_version().text().split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{}", owner.name().text()).into(),
        None => format!("{kind}/{}", owner.name().text()).into(),
    }
}
