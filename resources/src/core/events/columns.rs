//! The table of events: the same cells from both versions, which name their fields differently.

use registry_core::api::Object;
use registry_core::resource::Column;
use serde_json::Value;

use crate::cells;

/// What a version calls the fields that tables show.
pub(crate) trait Layout {
    /// When it happened first.
    const FIRST: &'static str;
    /// When it happened last.
    const LAST: &'static str;
    /// How often it happened.
    const COUNT: &'static str;
    /// Who saw it, as component and host.
    const SOURCE: &'static str;
    /// What it happened to.
    const ABOUT: &'static str;
    /// Which controller saw it.
    const REPORTER: &'static str;
    /// What happened.
    const MESSAGE: &'static str;
}

/// The columns of a version.
pub(crate) const fn of<L: Layout>() -> [Column; 10] {
    [
        Column::text("Last Seen", last_seen::<L>),
        Column::text("Type", |object| cells::text(object, &["type"])),
        Column::text("Reason", |object| cells::text(object, &["reason"])),
        Column::text("Object", about::<L>),
        Column::text("Subobject", |object| cells::text(object, &[L::ABOUT, "fieldPath"])).wide(),
        Column::text("Source", source::<L>).wide(),
        Column::text("Message", |object| cells::trimmed(object, &[L::MESSAGE])),
        Column::text("First Seen", first_seen::<L>).wide(),
        Column::text("Count", count::<L>).wide(),
        Column { priority: 1, ..Column::NAME },
    ]
}

/// When it happened last.
fn last_seen<L: Layout>(object: &Object) -> Value {
    let paths: [&[&str]; 4] = [&["series", "lastObservedTime"], &[L::LAST], &[L::FIRST], &["eventTime"]];
    cells::age_of(paths.iter().find_map(|path| object.get_str(path)))
}

/// When it happened first.
fn first_seen<L: Layout>(object: &Object) -> Value {
    cells::age_of(object.get_str(&[L::FIRST]).or_else(|| object.get_str(&["eventTime"])))
}

/// What it happened to, as `kind/name`.
fn about<L: Layout>(object: &Object) -> Value {
    let part = |field| object.get_str(&[L::ABOUT, field]).unwrap_or_default();
    format!("{}/{}", part("kind").to_lowercase(), part("name")).into()
}

/// Who saw it: component and host, or controller and instance.
fn source<L: Layout>(object: &Object) -> Value {
    let part = |path: &[&str]| object.get_str(path).filter(|text| !text.is_empty()).map(str::to_owned);
    let component = part(&[L::SOURCE, "component"]).or_else(|| part(&[L::REPORTER]));
    let host = part(&[L::SOURCE, "host"]).or_else(|| part(&["reportingInstance"]));
    [component, host].into_iter().flatten().collect::<Vec<_>>().join(", ").into()
}

/// How often it happened.
fn count<L: Layout>(object: &Object) -> Value {
    let of = |path: &[&str]| object.get_i64(path).filter(|count| *count > 0);
    of(&["series", "count"]).or_else(|| of(&[L::COUNT])).unwrap_or(1).into()
}
