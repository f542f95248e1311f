//! `v1 Event`: Event is a report of an event somewhere in the cluster.

pub(crate) mod columns;
mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use columns::Layout;

/// `events` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Event,
    version = "v1",
    plural = "events",
    short("ev"),
    storage_prefix = "events",
    selectable(involved_object.kind, involved_object.namespace, involved_object.name, involved_object.uid, involved_object.api_version, involved_object.resource_version, involved_object.field_path, reason, reporting_component, source.component as "source", type_),
    ttl_seconds = 3600,
    columns = COLUMNS,
    strategy = strategy::EventStrategy,
)]
pub struct Events;

static COLUMNS: &[Column] = &columns::of::<Events>();

impl Layout for Events {
    const FIRST: &'static str = "firstTimestamp";
    const LAST: &'static str = "lastTimestamp";
    const COUNT: &'static str = "count";
    const SOURCE: &'static str = "source";
    const ABOUT: &'static str = "involvedObject";
    const REPORTER: &'static str = "reportingComponent";
    const MESSAGE: &'static str = "message";
}
