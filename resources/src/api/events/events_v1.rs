//! `events.k8s.io/v1 Event`: Event is a report of an event somewhere in the cluster. It is stored as `v1 Event`.

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_core::resource::conversion::{ConversionError, Spoke};
use registry_derive::Resource;

use crate::api::core::events::Events;
use crate::api::core::events::columns::{self, Layout};

/// `events` of `events.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::events::v1::Event,
    group = "events.k8s.io",
    version = "v1",
    retired("events.k8s.io/v1beta1"),
    short("ev"),
    hub = Events,
    selectable(
        regarding.kind => involved_object.kind,
        regarding.namespace => involved_object.namespace,
        regarding.name => involved_object.name,
        regarding.uid => involved_object.uid,
        regarding.api_version => involved_object.api_version,
        regarding.resource_version => involved_object.resource_version,
        regarding.field_path => involved_object.field_path,
        reason,
        reporting_controller => reporting_component,
        type_,
    ),
    columns = COLUMNS,
)]
pub struct EventsV1;

static COLUMNS: &[Column] = &columns::columns::<EventsV1>();

/// Fields with different names: here, and in `v1`.
const RENAMED: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

impl Spoke for EventsV1 {
    type Hub = Events;

    fn to_hub(mut object: Object) -> Result<Object, ConversionError> {
        for (here, hub) in RENAMED {
            rename(&mut object, here, hub);
        }
        Ok(object)
    }

    fn from_hub(mut object: Object) -> Result<Object, ConversionError> {
        for (here, hub) in RENAMED {
            rename(&mut object, hub, here);
        }
        Ok(object)
    }
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.0.remove(from) {
        object.0.insert(to.to_owned(), value);
    }
}

impl Layout for EventsV1 {
    const FIRST: &'static str = "deprecatedFirstTimestamp";
    const LAST: &'static str = "deprecatedLastTimestamp";
    const COUNT: &'static str = "deprecatedCount";
    const SOURCE: &'static str = "deprecatedSource";
    const ABOUT: &'static str = "regarding";
    const REPORTER: &'static str = "reportingController";
    const MESSAGE: &'static str = "note";
}

#[cfg(test)]
mod tests {
    use registry_core::resource::testing::{assert_lossless, assert_round_trips};
    use serde_json::json;

    use super::*;

    #[test]
    fn both_versions_say_the_same() {
        assert_lossless::<EventsV1>();
        for event in [
            json!({"apiVersion": "v1", "kind": "Event", "message": "m", "count": 2, "source": {"host": "n"}}),
            json!({"apiVersion": "events.k8s.io/v1", "note": "m", "series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}}),
        ] {
            assert_round_trips::<EventsV1>(&Object::from_value(event).unwrap());
        }
    }
}
