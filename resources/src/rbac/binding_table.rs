//! The table of role bindings, in a namespace or in the cluster.

use registry_core::api::Object;
use registry_core::resource::Column;
use serde_json::Value;

use crate::cells;

pub(super) static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Role", role),
    Column::AGE,
    Column::text("Users", |object| subjects(object, "User")).wide(),
    Column::text("Groups", |object| subjects(object, "Group")).wide(),
    Column::text("ServiceAccounts", |object| subjects(object, "ServiceAccount")).wide(),
];

/// The names of the subjects of one kind.
fn subjects(object: &Object, kind: &str) -> Value {
    let subjects = cells::elements(object, &["subjects"]);
    let names =
        subjects.filter(|subject| subject.get("kind").and_then(Value::as_str) == Some(kind)).map(|subject| {
            let name = subject.get("name").and_then(Value::as_str).unwrap_or_default();
            match subject.get("namespace").and_then(Value::as_str) {
                Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        });
    names.collect::<Vec<_>>().join(", ").into()
}

/// The role bound, as `Kind/name`.
fn role(object: &Object) -> Value {
    let part = |field| object.get_str(&["roleRef", field]).unwrap_or_default();
    format!("{}/{}", part("kind"), part("name")).into()
}
