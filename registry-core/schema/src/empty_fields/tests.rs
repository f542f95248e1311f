use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use crate::{EmptyFields, Schema, TypeTable};
use registry_meta::budget::Budget;
use registry_meta::{GroupVersionKind, Object};

const FACTS: &str = "orlop facts 1
s string - string
l 0 a - []string
m 0 map[string]string
t - test.v1.LabelSelector
 matchLabels 2 e -
t - test.v1.Spec
 always 1 n -
 items 1 e -
 map 2 e -
 named 8 e -
 parts 5 e -
 selector 3 pe -
 text 0 e -
l 4 a - []v1.Spec
t - test.v1.ObjectMeta
 labels 2 e -
t - test.v1.Thing
 apiVersion 0 e -
 kind 0 e -
 metadata 6 e -
 spec 4 e -
m 4 map[string]v1.Spec
k 7 zoo.example.dev v1 Thing
";

const KIND: GroupVersionKind = GroupVersionKind { group: "zoo.example.dev", version: "v1", kind: "Thing" };

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Arc::new(TypeTable::parse(FACTS).unwrap()).schema(KIND).unwrap());

fn conformed(more: &Value) -> (Object, EmptyFields) {
    let mut value = more.clone();
    value["apiVersion"] = "zoo.example.dev/v1".into();
    value["kind"] = "Thing".into();
    let mut empty = EmptyFields::default();
    SCHEMA.conform_as_sent(&Budget::unlimited(), &mut value, &mut Vec::new(), &mut empty).unwrap();
    let mut object = Object::from_value(value).unwrap();
    SCHEMA.nil_empties(&mut object.0);
    (object, empty)
}

#[test]
fn empty_lists_come_back_for_validation_only() {
    let sent = json!({"metadata": {"labels": {}}, "spec": {
        "always": [], "items": [], "map": {}, "selector": {"matchLabels": {}}, "text": "",
        "parts": [{"always": ["a"], "items": []}, {"always": ["a"], "map": {"a": "b"}}],
    }});
    let (mut object, empty) = conformed(&sent);
    let stored = json!({"always": null, "selector": {}, "parts": [{"always": ["a"]}, {"always": ["a"], "map": {"a": "b"}}]});
    assert_eq!(object.get(&["spec"]), Some(&stored));

    let kept = object.clone();
    empty.put_back(&mut object, |root| root != "spec");
    assert_eq!(object, kept);
    empty.put_back(&mut object, |_| true);
    let seen = json!({
        "always": [], "items": [], "selector": {},
        "parts": [{"always": ["a"], "items": []}, {"always": ["a"], "map": {"a": "b"}}],
    });
    assert_eq!(object.get(&["spec"]), Some(&seen));
    // A default that was set meanwhile stays.
    object.set(&["spec", "items"], json!(["x"]));
    empty.take_out(&mut object);
    assert_eq!(object.get(&["spec", "always"]), Some(&json!([])));
    SCHEMA.nil_empties(&mut object.0);
    assert_eq!(object.remove(&["spec", "items"]), Some(json!(["x"])));
    assert_eq!(object, kept);
}

#[test]
fn fields_whose_parent_is_gone_are_left_alone() {
    let (_, empty) = conformed(&json!({"spec": {"always": ["a"], "parts": [{"items": []}, {"items": []}]}}));
    let mut object = Object::from_value(json!({"spec": {"parts": [{}]}})).unwrap();
    empty.put_back(&mut object, |_| true);
    assert_eq!(object.into_value(), json!({"spec": {"parts": [{"items": []}]}}));
    let mut other = Object::from_value(json!({"spec": "x"})).unwrap();
    empty.put_back(&mut other, |_| true);
    empty.take_out(&mut other);
    assert_eq!(other.into_value(), json!({"spec": "x"}));
}

#[test]
fn an_object_with_all_fields_set_notes_nothing() {
    let (_, empty) = conformed(&json!({"spec": {"always": ["a"], "text": "b"}}));
    assert!(empty.is_empty());
}

#[test]
fn the_length_of_the_paths_is_bounded() {
    let parts: Vec<Value> = (0..10_000).map(|_| json!({"always": ["a"], "items": []})).collect();
    let (object, empty) = conformed(&json!({"spec": {"always": ["a"], "parts": parts}}));
    let mut seen = object.clone();
    empty.put_back(&mut seen, |_| true);
    let restored = seen.get(&["spec", "parts"]).and_then(Value::as_array).unwrap();
    let restored = restored.iter().filter(|part| part.get("items").is_some()).count();
    assert!((500..10_000).contains(&restored), "{restored}");
    // Paths beyond the limit are not copied: that would take minutes here.
    let parts = vec![json!({"always": ["a"], "items": []}); 100_000];
    let named = json!({"a".repeat(1 << 20): {"always": ["a"], "parts": parts}});
    let (_, empty) = conformed(&json!({"spec": {"always": ["a"], "named": named}}));
    assert!(empty.is_empty());
}
