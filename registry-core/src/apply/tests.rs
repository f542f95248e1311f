//! Field ownership of a kind that has every sort of field.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::{Conversions, FieldManager, FieldSet, MANAGED_FIELDS, Reset};
use crate::api::{GroupVersionKind, Object, StatusError};
use crate::schema::{Schema, TypeTable};

mod applying;
mod converting;
mod emptying;
mod reconciling;
mod sets;
mod updating;

const KIND: GroupVersionKind = GroupVersionKind { group: "zoo.example.dev", version: "v1", kind: "Thing" };
const FIRST: &str = "2026-01-01T00:00:01Z";
const SECOND: &str = "2026-01-01T00:00:02Z";
const THIRD: &str = "2026-01-01T00:00:03Z";

/// `names` is a set, `rules` is atomic, `ports` is keyed by two fields of which one has a default, `where` is an atomic
/// struct, `context` is optional, `deep` is a keyed list in a keyed list.
const FACTS: &str = "orlop facts 1
s string - string
s int64 - int64
m 0 map[string]string
l 0 s - []string
l 0 a - []string
t - test.v1.Port
 name 0 e -
 port 1 - -
 protocol 0 e - - - \"TCP\"
l 5 m port,protocol []v1.Port
t a test.v1.Where
 row 1 e -
 shelf 0 e -
t - test.v1.Deep
 inner 6 e -
 name 0 - -
l 8 m name []v1.Deep
t - test.v1.Spec
 context 15 pe -
 count 1 pe -
 deep 9 e -
 labels 2 e -
 names 3 e -
 ports 6 e -
 rules 4 e -
 text 0 e -
 where 7 pe -
s any - []v1.ManagedFieldsEntry
t - test.v1.ObjectMeta
 annotations 2 e -
 generation 1 e -
 labels 2 e -
 managedFields 11 e -
 name 0 e -
 namespace 0 e -
 resourceVersion 0 e -
 uid 0 e -
t - test.v1.Status
 phase 0 e -
t - test.v1.Thing
 apiVersion 0 e -
 kind 0 e -
 metadata 12 e -
 spec 10 e -
 status 13 e -
t - test.v1.Context
 user 1 pe -
k 14 zoo.example.dev v1 Thing
";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let table = Arc::new(TypeTable::parse(FACTS).expect("the facts are well formed"));
    table.schema(KIND).expect("the kind is there")
});

static BLANK: LazyLock<Object> = LazyLock::new(|| conformed(json!({})));

fn manager() -> FieldManager<'static> {
    FieldManager {
        kind: KIND,
        api_version: "zoo.example.dev/v1",
        subresource: "",
        schema: SCHEMA.clone(),
        reset: Reset::Fields(FieldSet::from_paths([["status"].as_slice()])),
        blank: &BLANK,
        versions: None,
        conversions: Conversions::default(),
        budget: None,
    }
}

/// Creates a thing with this spec.
#[allow(clippy::needless_pass_by_value, reason = "a spec is written where it is used")]
fn thing(spec: Value) -> Object {
    object(json!({"spec": spec}))
}

fn object(mut value: Value) -> Object {
    value["apiVersion"] = "zoo.example.dev/v1".into();
    value["kind"] = "Thing".into();
    value["metadata"]["name"] = "a".into();
    Object::from_value(value).expect("an object")
}

fn conformed(value: Value) -> Object {
    let mut value = object(value).into_value();
    value["metadata"].as_object_mut().expect("metadata").remove("name");
    SCHEMA.conform(&mut value, &mut Vec::new()).expect("it fits");
    Object::from_value(value).expect("an object")
}

/// Returns the object as stored, which has a uid.
fn stored(mut object: Object) -> Object {
    object.set(&["metadata", "uid"], "u".into());
    object
}

fn apply(live: Option<&Object>, spec: Value, name: &str) -> Result<Object, StatusError> {
    manager().apply(live, &thing(spec), name, false, SECOND).unwrap()
}

fn applied(live: Option<&Object>, spec: Value, name: &str) -> Object {
    stored(apply(live, spec, name).expect("no conflict"))
}

fn created(spec: Value, name: &str) -> Object {
    let mut object = thing(spec);
    manager().track_update(None, &mut object, name, FIRST).unwrap();
    stored(object)
}

fn updated(live: &Object, spec: Value, name: &str) -> Object {
    let mut object = live.clone();
    object.set(&["spec"], spec);
    manager().track_update(Some(live), &mut object, name, SECOND).unwrap();
    object
}

/// Returns each manager's fields below the spec, as `manager: fields`.
fn owners(object: &Object) -> Value {
    let entries = object.get(MANAGED_FIELDS).and_then(Value::as_array).into_iter().flatten();
    entries
        .map(|entry| {
            let name = entry["manager"].as_str().expect("a manager").to_owned();
            (name, entry["fieldsV1"]["f:spec"].clone())
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn causes(failure: &StatusError) -> Vec<(&str, &str)> {
    let details = failure.details.as_ref().expect("details");
    details.causes.iter().map(|cause| (cause.field.as_str(), cause.message.as_str())).collect()
}
