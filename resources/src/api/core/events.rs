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
    short("ev"),
    selectable(involved_object.kind, involved_object.namespace, involved_object.name, involved_object.uid, involved_object.api_version, involved_object.resource_version, involved_object.field_path, reason, reporting_component, source.component or reporting_component as "source", type_),
    ttl_seconds = 3600,
    columns = COLUMNS,
    create_on_update,
    plain_finalizers,
    metadata_errors_once,
    // Recorders generate names; any valid path segment is allowed.
    names = PathSegment,
    strategy = strategy::EventStrategy,
)]
pub struct Events;

static COLUMNS: &[Column] = &columns::columns::<Events>();

impl Layout for Events {
    const FIRST: &'static str = "firstTimestamp";
    const LAST: &'static str = "lastTimestamp";
    const COUNT: &'static str = "count";
    const SOURCE: &'static str = "source";
    const ABOUT: &'static str = "involvedObject";
    const REPORTER: &'static str = "reportingComponent";
    const MESSAGE: &'static str = "message";
}

#[cfg(test)]
mod tests {
    use registry_core::Resource;
    use registry_core::api::Object;
    use serde_json::json;

    use super::Events;

    #[test]
    fn an_event_without_a_source_is_selected_by_its_controller() {
        for (event, source) in [
            (json!({"source": {"component": "kubelet"}, "reportingComponent": "c"}), "kubelet"),
            (json!({"source": {"host": "n"}, "reportingComponent": "c"}), "c"),
            (json!({"source": {"component": ""}, "reportingComponent": "c"}), "c"),
            (json!({"reportingComponent": "c"}), "c"),
            (json!({}), ""),
        ] {
            let stored = Events::TYPE.instantiate().attributes_of(event.to_string().as_bytes()).unwrap();
            assert_eq!(stored.field("source"), source, "{event}");
            assert_eq!(Events::TYPE.instantiate().attributes(&Object::from_value(event).unwrap()), stored);
        }
    }
}
