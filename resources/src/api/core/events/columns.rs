//! The table of events: the same printers for both versions, whose field names differ.

use registry_core::api::Object;
use registry_core::resource::{CellValue, Column};
use resource_views::core::v1::Event;
use serde_json::Value;

use crate::support::printers;

/// The descriptions of the columns: those of the fields of `v1`, for both versions.
const LAST_SEEN: &str = "The time at which the most recent occurrence of this event was recorded.";
const TYPE: &str = "Type of this event (Normal, Warning), new types could be added in the future";
const REASON: &str = "This should be a short, machine understandable string that gives the reason for the \
    transition into the object's current status.";
const SUBOBJECT: &str = "If referring to a piece of an object instead of an entire object, this string should \
    contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if \
    the object reference is to a container within a pod, this would take on a value like: \"spec.containers{name}\" \
    (where \"name\" refers to the name of the container that triggered the event) or if no container name is \
    specified \"spec.containers[2]\" (container with index 2 in this pod). This syntax is chosen only to have some \
    well-defined way of referencing a part of an object.";
const SOURCE: &str = "The component reporting this event. Should be a short machine understandable string.";
const MESSAGE: &str = "A human-readable description of the status of this operation.";
const FIRST_SEEN: &str =
    "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)";

/// The names of a version for the fields that tables show.
pub(crate) trait Layout {
    /// Time of the first occurrence.
    const FIRST: &'static str;
    /// Time of the last occurrence.
    const LAST: &'static str;
    /// Number of occurrences.
    const COUNT: &'static str;
    /// Component and host of the reporter.
    const SOURCE: &'static str;
    /// The object that the event is about.
    const ABOUT: &'static str;
    /// The reporting controller.
    const REPORTER: &'static str;
    /// The message.
    const MESSAGE: &'static str;
}

/// The columns of a version.
pub(crate) const fn columns<L: Layout>() -> [Column; 10] {
    [
        Column::dated("Last Seen", last_seen::<L>).described(LAST_SEEN),
        Column::text("Type", |object| printers::text(object, &["type"])).described(TYPE),
        Column::text("Reason", |object| printers::text(object, &["reason"])).described(REASON),
        Column::text("Object", about::<L>).described("The object that this event is about."),
        Column::text("Subobject", |object| printers::text(object, &[L::ABOUT, "fieldPath"]))
            .described(SUBOBJECT)
            .wide(),
        Column::text("Source", source::<L>).described(SOURCE).wide(),
        Column::text("Message", |object| printers::trimmed(object, &[L::MESSAGE])).described(MESSAGE),
        Column::dated("First Seen", first_seen::<L>).described(FIRST_SEEN).wide(),
        Column::text("Count", count::<L>).described("The number of times this event has occurred.").wide(),
        Column { priority: 1, ..Column::NAME },
    ]
}

/// Returns the age of the last occurrence.
fn last_seen<L: Layout>(object: &Object) -> CellValue {
    let paths: [&[&str]; 4] = [&["series", "lastObservedTime"], &[L::LAST], &[L::FIRST], &["eventTime"]];
    CellValue::age_of(paths.iter().find_map(|path| object.get_str(path)))
}

/// Returns the age of the first occurrence.
fn first_seen<L: Layout>(object: &Object) -> CellValue {
    CellValue::age_of(object.get_str(&[L::FIRST]).or_else(|| Event(object).event_time().optional_text()))
}

/// Returns the object that the event is about, as `kind/name`; the kind alone if it has no name.
fn about<L: Layout>(object: &Object) -> Value {
    let part = |field| object.get_str(&[L::ABOUT, field]).unwrap_or_default();
    let kind = part("kind").to_lowercase();
    match part("name") {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

/// Returns component and host of the reporter, or else the controller and its instance.
fn source<L: Layout>(object: &Object) -> Value {
    let part = |path: &[&str]| object.get_str(path).filter(|text| !text.is_empty());
    let component = part(&[L::SOURCE, "component"]).or_else(|| part(&[L::REPORTER])).unwrap_or_default();
    match part(&[L::SOURCE, "host"]).or_else(|| part(&["reportingInstance"])) {
        Some(instance) => format!("{component}, {instance}").into(),
        None => component.into(),
    }
}

/// Returns the number of occurrences: that of the series, or else at least one.
fn count<L: Layout>(object: &Object) -> Value {
    let number = |path: &[&str]| object.get_i64(path).unwrap_or_default();
    match Event(object).series().value() {
        Some(Value::Object(_)) => number(&["series", "count"]).into(),
        _ => number(&[L::COUNT]).max(1).into(),
    }
}

#[cfg(test)]
mod tests {
    use registry_core::Resource;
    use serde_json::json;

    use super::*;
    use crate::api::core::events::Events;

    #[test]
    fn missing_parts_of_the_source_come_from_the_controller() {
        let cell = |name: &str, event: Value| {
            let object = Object::from_value(event).unwrap();
            let column = Events::TYPE.columns.iter().find(|column| column.name == name).unwrap();
            column.cell.value(&object).at(jiff::Timestamp::now())
        };
        for (event, source) in [
            (
                json!({"source": {"component": "kubelet", "host": "n1"}, "reportingComponent": "c"}),
                "kubelet, n1",
            ),
            (json!({"source": {"component": "kubelet"}, "reportingInstance": "i"}), "kubelet, i"),
            (json!({"reportingComponent": "c", "reportingInstance": "i"}), "c, i"),
            (json!({"reportingComponent": "c"}), "c"),
            (json!({"source": {"host": "n1"}}), ", n1"),
            (json!({}), ""),
        ] {
            assert_eq!(cell("Source", event.clone()), source, "{event}");
        }
        assert_eq!(cell("Object", json!({"involvedObject": {"kind": "Pod", "name": "p"}})), "pod/p");
        assert_eq!(cell("Object", json!({"involvedObject": {"kind": "Pod"}})), "pod");
        assert_eq!(cell("Count", json!({"series": {"count": 3}, "count": 9})), 3);
        assert_eq!(cell("Count", json!({})), 1);
    }
}
