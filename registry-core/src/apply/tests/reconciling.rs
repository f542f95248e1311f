//! Managers whose fields were recorded before fields became atomic, or while they were.

use serde_json::{Value, json};

use super::{FieldManager, SECOND, THIRD, causes, manager, owners, stored, thing};
use crate::api::Object;
use crate::schema::Schema;

/// A struct, a keyed list, a map and a map of structs, as one field each or as several.
fn schema(is_atomic: bool) -> Schema {
    let (map, list) = if is_atomic { ("atomic", "atomic") } else { ("granular", "map") };
    let text = json!({"type": "string"});
    let part = json!({"type": "object", "properties": {"a": text, "b": text}, "x-kubernetes-map-type": map});
    let element = json!({"type": "object", "properties": {"k": text, "v": text}});
    let mut items = json!({"type": "array", "items": element, "x-kubernetes-list-type": list});
    if !is_atomic {
        items["x-kubernetes-list-map-keys"] = json!(["k"]);
    }
    let spec = json!({"type": "object", "properties": {
        "part": part,
        "list": items,
        "map": {"type": "object", "additionalProperties": text, "x-kubernetes-map-type": map},
        "parts": {"type": "object", "additionalProperties": part},
        "text": text,
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    Schema::from_json_schema(&json!({"type": "object", "properties": {"spec": spec}}), super::KIND)
}

fn full() -> Value {
    json!({
        "part": {"a": "1", "b": "1"},
        "list": [{"k": "1", "v": "1"}],
        "map": {"x": "1"},
        "parts": {"p": {"a": "1"}},
        "text": "t",
        "open": {"x": {"y": 1}},
    })
}

fn managed(is_atomic: bool) -> FieldManager<'static> {
    FieldManager { schema: schema(is_atomic), ..manager() }
}

fn applied_by_first(is_atomic: bool) -> Object {
    stored(managed(is_atomic).apply(None, &thing(full()), "first", false, SECOND).unwrap().expect("new"))
}

#[test]
fn a_manager_of_parts_is_the_manager_of_what_has_become_atomic() {
    let live = applied_by_first(false);
    let now_atomic = managed(true);
    let open = json!({"f:x": {".": {}, "f:y": {}}});
    let first = json!({
        "f:list": {}, "f:map": {}, "f:part": {}, "f:parts": {"f:p": {}}, "f:text": {}, "f:open": open,
    });

    // An update that changes nothing.
    let mut same = live.clone();
    now_atomic.track_update(Some(&live), &mut same, "second", THIRD).unwrap();
    assert_eq!(owners(&same), json!({"first": first}));

    // Another manager's change takes the whole.
    let mut updated = live.clone();
    updated.set(&["spec", "map"], json!({"x": "1", "y": "2"}));
    updated.set(&["spec", "parts", "p"], json!({"b": "1"}));
    now_atomic.track_update(Some(&live), &mut updated, "second", THIRD).unwrap();
    let left = json!({"f:list": {}, "f:part": {}, "f:text": {}, "f:open": open});
    let second = json!({"f:map": {}, "f:parts": {"f:p": {}}});
    assert_eq!(owners(&updated), json!({"first": left, "second": second}));

    // An apply is a conflict, even if it sets only what has no manager in the parts.
    let other = thing(json!({"list": [{"k": "2"}], "part": {"a": "2"}, "text": "t"}));
    let failure = now_atomic.apply(Some(&live), &other, "second", false, THIRD).unwrap().unwrap_err();
    let message = "conflict with \"first\"";
    assert_eq!(causes(&failure), [(".spec.list", message), (".spec.part", message)]);
    let forced = now_atomic.apply(Some(&live), &other, "second", true, THIRD).unwrap().expect("forced");
    let left = json!({"f:map": {}, "f:parts": {"f:p": {}}, "f:text": {}, "f:open": open});
    assert_eq!(owners(&forced), json!({"first": left, "second": {"f:list": {}, "f:part": {}, "f:text": {}}}));

    // Fields that the manager no longer applies are removed as a whole.
    let less = now_atomic.apply(Some(&live), &thing(json!({"text": "t"})), "first", false, THIRD).unwrap();
    let less = less.expect("no conflict");
    assert_eq!(less.get(&["spec"]), Some(&json!({"text": "t"})));
    assert_eq!(owners(&less), json!({"first": {"f:text": {}}}));
}

#[test]
fn a_manager_of_what_was_atomic_is_not_the_manager_of_its_parts() {
    let live = applied_by_first(true);
    let other = thing(json!({"part": {"a": "2"}, "map": {"y": "2"}}));
    let new =
        managed(false).apply(Some(&live), &other, "second", false, THIRD).unwrap().expect("no conflict");
    assert_eq!(new.get(&["spec", "part"]), Some(&json!({"a": "2", "b": "1"})));
    let mut expected = owners(&live);
    expected["second"] = json!({"f:part": {"f:a": {}}, "f:map": {"f:y": {}}});
    assert_eq!(owners(&new), expected);
}
