//! Maps and lists that lose all that was applied below them.

use serde_json::{Value, json};

use super::{FieldManager, MANAGED_FIELDS, SECOND, manager, owners, stored, thing};
use crate::api::Object;
use crate::schema::Schema;

/// Fields of a custom kind: a union, maps of maps, maps of sets, a keyed list, a set and an open field.
fn custom_schema() -> Schema {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "object", "additionalProperties": text()});
    let map_of = |values: Value| json!({"type": "object", "additionalProperties": values});
    let set = || json!({"type": "array", "x-kubernetes-list-type": "set", "items": text()});
    let part = || json!({"type": "object", "properties": {"z": text()}});
    let element = json!({"type": "object", "properties": {"k": text(), "m": texts(), "s": set()}});
    let spec = json!({"type": "object", "properties": {
        "union": {"type": "object", "properties": {"x": part(), "y": part()}},
        "maps": map_of(texts()),
        "sets": map_of(set()),
        "set": set(),
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": element},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    Schema::from_json_schema(&json!({"type": "object", "properties": {"spec": spec}}), super::KIND)
}

enum Step {
    Apply(&'static str, Value),
    Update(&'static str, Value),
}

use Step::{Apply, Update};

fn run(manager: &FieldManager<'_>, steps: &[Step]) -> Object {
    let mut live: Option<Object> = None;
    for step in steps {
        let new = match step {
            Apply(name, spec) => {
                let applied = manager.apply(live.as_ref(), &thing(spec.clone()), name, false, SECOND);
                applied.unwrap().expect("no conflict")
            }
            Update(name, spec) => {
                let mut new = live.clone().unwrap_or_else(|| thing(json!({})));
                new.set(&["spec"], spec.clone());
                manager.track_update(live.as_ref(), &mut new, name, SECOND).unwrap();
                new
            }
        };
        live = Some(stored(new));
    }
    live.expect("a step")
}

/// Checks the spec and its owners after the steps, and that the last manager has the same after applying again.
fn check(manager: &FieldManager<'_>, table: Vec<(Vec<Step>, Value, Value)>) {
    for (steps, spec, expected) in table {
        let object = run(manager, &steps);
        assert_eq!(
            object.get(&["spec"]).unwrap_or(&Value::Null),
            &spec,
            "{}",
            object.get(MANAGED_FIELDS).unwrap()
        );
        assert_eq!(owners(&object), expected, "{spec}");
        if let Some(Apply(name, applied)) = steps.last() {
            let again = manager.apply(Some(&object), &thing(applied.clone()), name, false, SECOND).unwrap();
            assert_eq!(owners(&again.expect("no conflict")), expected, "{spec}");
        }
    }
}

#[test]
fn an_emptied_map_or_list_stays_if_a_manager_has_something_there() {
    let full = || json!({"maps": {"k": {"x": "1"}}});
    let bare = || json!({"maps": {"k": {}}});
    let keyed = |element: Value| json!({"keyed": [element]});
    let k1 = "k:{\"k\":\"1\"}";
    let table = vec![
        // A member of a union.
        (
            vec![
                Apply("one", json!({"union": {"x": {"z": "1"}}})),
                Apply("one", json!({"union": {"x": {}}})),
            ],
            json!({"union": {"x": {}}}),
            json!({"one": {"f:union": {"f:x": {}}}}),
        ),
        // Maps of maps: emptied by its manager, or by another one than the manager that keeps it.
        (vec![Apply("one", full()), Apply("one", bare())], bare(), json!({"one": {"f:maps": {"f:k": {}}}})),
        (
            vec![Apply("one", full()), Apply("two", bare()), Apply("one", json!({"maps": {}}))],
            bare(),
            json!({"one": {"f:maps": {}}, "two": {"f:maps": {"f:k": {}}}}),
        ),
        (
            vec![Update("one", bare()), Apply("two", full()), Apply("two", json!({}))],
            bare(),
            json!({"one": {"f:maps": {".": {}, "f:k": {}}}, "two": {}}),
        ),
        // An emptied list.
        (
            vec![Apply("one", json!({"sets": {"k": ["a", "b"]}})), Apply("one", json!({"sets": {"k": []}}))],
            json!({"sets": {"k": []}}),
            json!({"one": {"f:sets": {"f:k": {}}}}),
        ),
        // Below the element of a keyed list.
        (
            vec![
                Apply("one", keyed(json!({"k": "1", "m": {"x": "1"}}))),
                Apply("one", keyed(json!({"k": "1", "m": {}}))),
            ],
            keyed(json!({"k": "1", "m": {}})),
            json!({"one": {"f:keyed": {k1: {".": {}, "f:k": {}, "f:m": {}}}}}),
        ),
        // Without a schema, at any depth.
        (
            vec![
                Apply("one", json!({"open": {"x": {"y": {"z": 1}}}})),
                Apply("one", json!({"open": {"x": {}}})),
            ],
            json!({"open": {"x": {}}}),
            json!({"one": {"f:open": {"f:x": {}}}}),
        ),
        (
            vec![
                Apply("one", json!({"open": {"x": {"y": {"z": 1}}}})),
                Apply("two", json!({"open": {"x": {"y": {}}}})),
                Apply("one", json!({})),
            ],
            json!({"open": {"x": {"y": {}}}}),
            json!({"one": {}, "two": {"f:open": {"f:x": {".": {}, "f:y": {}}}}}),
        ),
        // Fields of another manager below a removed key are removed too. The map stays, because it had an element in it.
        (
            vec![
                Apply("one", full()),
                Update("two", json!({"maps": {"k": {"x": "1", "y": "2"}}})),
                Apply("one", json!({"union": {}})),
            ],
            json!({"maps": {}, "union": {}}),
            json!({"one": {"f:union": {}}}),
        ),
        // The whole spec.
        (vec![Apply("one", full()), Apply("one", json!({}))], json!({}), json!({"one": {}})),
    ];
    let schema = custom_schema();
    check(&FieldManager { schema, ..manager() }, table);
}

#[test]
fn an_emptied_map_or_list_goes_if_no_manager_has_it() {
    let two = || json!({"maps": {"k": {"x": "1"}, "l": {"x": "1"}}});
    let table = vec![
        (
            vec![Apply("one", two()), Apply("one", json!({"maps": {"l": {"x": "1"}}}))],
            json!({"maps": {"l": {"x": "1"}}}),
            json!({"one": {"f:maps": {"f:l": {".": {}, "f:x": {}}}}}),
        ),
        // A list of a struct has no manager itself.
        (
            vec![
                Apply("one", json!({"set": ["a"], "maps": {}})),
                Apply("one", json!({"set": [], "maps": {}})),
            ],
            json!({"maps": {}}),
            json!({"one": {"f:maps": {}}}),
        ),
        (
            vec![
                Apply("one", json!({"keyed": [{"k": "1", "s": ["a"]}, {"k": "2"}]})),
                Apply("one", json!({"keyed": [{"k": "1", "s": []}]})),
            ],
            json!({"keyed": [{"k": "1"}]}),
            json!({"one": {"f:keyed": {"k:{\"k\":\"1\"}": {".": {}, "f:k": {}}}}}),
        ),
        // Another manager has a key beside.
        (
            vec![
                Apply("one", two()),
                Update("two", json!({"maps": {"k": {"x": "1"}, "l": {"x": "1"}, "m": {"x": "1"}}})),
                Apply("one", json!({"union": {}})),
            ],
            json!({"maps": {"m": {"x": "1"}}, "union": {}}),
            json!({"one": {"f:union": {}}, "two": {"f:maps": {"f:m": {".": {}, "f:x": {}}}}}),
        ),
    ];
    let schema = custom_schema();
    check(&FieldManager { schema, ..manager() }, table);
}

#[test]
fn an_emptied_struct_of_a_builtin_kind_stays_if_it_is_optional() {
    let table = vec![
        (
            vec![Apply("one", json!({"context": {"user": 5}})), Apply("one", json!({"context": {}}))],
            json!({"context": {}}),
            json!({"one": {"f:context": {}}}),
        ),
        (
            vec![
                Apply("one", json!({"context": {"user": 5}, "text": "t"})),
                Apply("one", json!({"text": "t"})),
            ],
            json!({"text": "t"}),
            json!({"one": {"f:text": {}}}),
        ),
    ];
    check(&manager(), table);
}
