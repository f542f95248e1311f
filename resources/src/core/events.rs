//! `v1 Event`: Event is a report of an event somewhere in the cluster.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::cells;

/// `events` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Event,
    version = "v1",
    plural = "events",
    short("ev"),
    storage_prefix = "events",
    selectable(involved_object.kind, involved_object.namespace, involved_object.name, involved_object.uid, involved_object.api_version, involved_object.resource_version, involved_object.field_path, reason, reporting_component, source.component = "source", type_ = "type"),
    ttl_seconds = 3600,
    columns = COLUMNS,
    strategy = strategy::EventStrategy,
)]
pub struct Events;

static COLUMNS: &[Column] = &[
    Column::text("Last Seen", last_seen),
    Column::text("Type", |object| cells::text(object, &["type"])),
    Column::text("Reason", |object| cells::text(object, &["reason"])),
    Column::text("Object", involved_object),
    Column::text("Subobject", |object| cells::text(object, &["involvedObject", "fieldPath"])).wide(),
    Column::text("Source", source).wide(),
    Column::text("Message", |object| cells::trimmed(object, &["message"])),
    Column::text("First Seen", first_seen).wide(),
    Column::text("Count", count).wide(),
    Column { priority: 1, ..Column::NAME },
];

/// When it happened last.
fn last_seen(object: &Object) -> Value {
    let series = object.get_str(&["series", "lastObservedTime"]);
    let times = [
        series,
        object.get_str(&["lastTimestamp"]),
        object.get_str(&["firstTimestamp"]),
        object.get_str(&["eventTime"]),
    ];
    cells::age_of(times.into_iter().flatten().next())
}

/// When it happened first.
fn first_seen(object: &Object) -> Value {
    let times = [object.get_str(&["firstTimestamp"]), object.get_str(&["eventTime"])];
    cells::age_of(times.into_iter().flatten().next())
}

/// What it happened to, as `kind/name`.
fn involved_object(object: &Object) -> Value {
    let part = |field| object.get_str(&["involvedObject", field]).unwrap_or_default();
    format!("{}/{}", part("kind").to_lowercase(), part("name")).into()
}

/// Who saw it: component and host, or controller and instance.
fn source(object: &Object) -> Value {
    let part = |path: &[&str]| object.get_str(path).filter(|text| !text.is_empty()).map(str::to_owned);
    let component = part(&["source", "component"]).or_else(|| part(&["reportingComponent"]));
    let host = part(&["source", "host"]).or_else(|| part(&["reportingInstance"]));
    [component, host].into_iter().flatten().collect::<Vec<_>>().join(", ").into()
}

/// How often it happened.
fn count(object: &Object) -> Value {
    let of = |path: &[&str]| object.get_i64(path).filter(|count| *count > 0);
    of(&["series", "count"]).or_else(|| of(&["count"])).unwrap_or(1).into()
}
