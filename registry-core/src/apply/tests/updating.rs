//! Creates, updates and patches.

use serde_json::{Value, json};

use super::super::{FieldManager, FieldSet, MANAGED_FIELDS, Reset, keep_reset};
use super::{FIRST, SECOND, THIRD, created, manager, object, owners, stored, thing, updated};

#[test]
fn a_creator_manages_all_but_what_the_server_decides() {
    let mut new = object(json!({
        "metadata": {"labels": {"x": "1"}, "namespace": "n", "generation": 1},
        "spec": {"labels": {"a": "b"}, "ports": [{"port": 80, "protocol": "TCP"}]},
        "status": {"phase": "Ready"},
    }));
    manager().track_update(None, &mut new, "creator", FIRST).unwrap();
    assert_eq!(
        new.get(MANAGED_FIELDS),
        Some(&json!([{
            "apiVersion": "zoo.example.dev/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
                "f:spec": {
                    "f:labels": {".": {}, "f:a": {}},
                    "f:ports": {
                        ".": {},
                        "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}},
                    },
                },
            },
            "manager": "creator",
            "operation": "Update",
            "time": FIRST,
        }]))
    );
}

#[test]
fn changed_fields_change_hands() {
    let live = created(json!({"count": 1, "text": "t", "names": ["a", "b"], "rules": ["r"]}), "one");
    let new = updated(&live, json!({"count": 2, "names": ["b", "c"], "rules": ["r", "s"]}), "two");
    assert_eq!(
        owners(&new),
        json!({
            "one": {"f:names": {".": {}, "v:\"b\"": {}}},
            "two": {"f:count": {}, "f:names": {"v:\"c\"": {}}, "f:rules": {}},
        })
    );
    // List elements are identified by key, independent of their position.
    let again = updated(&new, json!({"count": 2, "names": ["c", "b"], "rules": ["r", "s"]}), "three");
    assert_eq!(again.get(MANAGED_FIELDS), new.get(MANAGED_FIELDS));
}

#[test]
fn an_update_that_changes_nothing_changes_no_managers() {
    let live = created(json!({"count": 1, "where": {"row": 1}}), "one");
    let mut same = live.clone();
    manager().track_update(Some(&live), &mut same, "two", THIRD).unwrap();
    assert_eq!(same, live);
    // A client that does not know `managedFields` does not send it.
    same.remove(MANAGED_FIELDS);
    manager().track_update(Some(&live), &mut same, "two", THIRD).unwrap();
    assert_eq!(same, live);
}

#[test]
fn duplicates_in_keyed_lists_are_managed_as_one() {
    let port = |name: &str| json!({"port": 1, "protocol": "TCP", "name": name});
    let live = created(json!({"ports": [port("a"), port("b")]}), "one");
    let key = "k:{\"port\":1,\"protocol\":\"TCP\"}";
    assert_eq!(owners(&live), json!({"one": {"f:ports": {".": {}, key: {}}}}));
    let new = updated(&live, json!({"ports": [port("a")]}), "two");
    assert_eq!(
        owners(&new),
        json!({
            "one": {"f:ports": {}},
            "two": {"f:ports": {key: {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}}},
        })
    );
}

#[test]
fn managers_can_be_forgotten_and_set() {
    let live = created(json!({"count": 1}), "one");
    for wish in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new.set(MANAGED_FIELDS, wish);
        let mut value = new.into_value();
        keep_reset(&mut value);
        let mut new = super::Object::from_value(value).expect("an object");
        manager().track_update(Some(&live), &mut new, "two", SECOND).unwrap();
        assert_eq!(new.get(MANAGED_FIELDS), None);
        // No managers are tracked from then on.
        let later = updated(&new, json!({"count": 2}), "two");
        assert_eq!(later.get(MANAGED_FIELDS), None);
    }
    let mut renamed = live.clone();
    renamed.set(
        MANAGED_FIELDS,
        json!([{"manager": "heir", "operation": "Update", "apiVersion": "zoo.example.dev/v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:count": {}}}, "time": FIRST}]),
    );
    manager().track_update(Some(&live), &mut renamed, "two", SECOND).unwrap();
    assert_eq!(owners(&renamed), json!({"heir": {"f:count": {}}}));
    let mut broken = live.clone();
    broken.set(MANAGED_FIELDS, json!([{"manager": "x", "operation": "Zork"}]));
    manager().track_update(Some(&live), &mut broken, "two", SECOND).unwrap();
    assert_eq!(broken, live);
}

#[test]
fn a_subresource_has_entries_of_its_own() {
    let mut live = created(json!({"count": 1}), "one");
    live.set(&["status"], json!({}));
    let mut new = live.clone();
    new.set(&["status"], json!({"phase": "Ready"}));
    new.set(&["spec", "count"], 7.into());
    new.set(MANAGED_FIELDS, json!([]));
    let status = FieldManager {
        subresource: "status",
        reset: Reset::Fields(FieldSet::from_paths([["spec"].as_slice()])),
        ..manager()
    };
    status.track_update(Some(&live), &mut new, "one", SECOND).unwrap();
    let entries = new.get(MANAGED_FIELDS).and_then(Value::as_array).expect("entries");
    let brief: Vec<Value> = entries
        .iter()
        .map(|entry| json!([entry.get("subresource"), entry["time"], entry["fieldsV1"]]))
        .collect();
    assert_eq!(
        brief,
        [
            json!([null, FIRST, {"f:spec": {"f:count": {}}}]),
            json!(["status", SECOND, {"f:status": {"f:phase": {}}}]),
        ]
    );
}

#[test]
fn the_oldest_of_too_many_updaters_become_one() {
    let mut live = created(json!({"labels": {"k": "v"}}), "first");
    for number in 0..14 {
        let mut new = live.clone();
        new.set(&["spec", "labels", &format!("k{number:02}")], "v".into());
        let time = format!("2026-01-01T00:01:{number:02}Z");
        manager().track_update(Some(&live), &mut new, &format!("m{number:02}"), &time).unwrap();
        live = stored(new);
    }
    let owners = owners(&live);
    let names: Vec<&str> = owners.as_object().expect("a map").keys().map(String::as_str).collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names[..2], ["ancient-changes", "m05"]);
    assert_eq!(owners["ancient-changes"]["f:labels"].as_object().map(serde_json::Map::len), Some(7));
}

#[test]
fn a_nameless_manager_is_unknown() {
    let mut new = thing(json!({"count": 1}));
    manager().track_update(None, &mut new, "", FIRST).unwrap();
    assert_eq!(owners(&new), json!({"unknown": {"f:count": {}}}));
}
