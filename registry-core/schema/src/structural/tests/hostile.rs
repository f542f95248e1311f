//! Schemas and objects that are made to cost time or memory.

use super::*;
use registry_meta::budget::Budget;

/// Longer than any of these takes in a debug build on a busy machine, and shorter than what is quadratic.
const LONG: Duration = Duration::from_secs(20);

fn within_time(work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let taken = start.elapsed();
    assert!(taken < LONG, "it took {taken:?}");
}

fn error_bytes(errors: &ErrorList) -> usize {
    errors.0.iter().map(|error| error.to_string().len()).sum()
}

#[test]
fn a_schema_can_have_many_nodes() {
    within_time(|| {
        let text = json!({"type": "string", "maxLength": 1, "default": "aa"});
        let properties: Map<String, Value> =
            (0..100_000).map(|place| (format!("p{place}"), text.clone())).collect();
        let schema =
            Schema::for_custom_resource(&object(&json!({"spec": object(&properties.into())})), false, KIND);
        let mut value = json!({"spec": {}});
        schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
        assert_eq!(value["spec"].as_object().unwrap().len(), 100_000);
        let mut errors = ErrorList::default();
        schema.structural().unwrap().validate(&FieldPath::root(), &value, &Budget::default(), &mut errors);
        assert!(errors.0.len() > 1_000 && error_bytes(&errors) < 2 << 20);
        // What an object does not have costs nothing.
        let list: Vec<Value> = vec![json!({}); 10_000];
        let lists = json!({"type": "array", "items": {"type": "object", "properties": {}}});
        let mut errors = ErrorList::default();
        spec(&lists).validate(&FieldPath::root(), &json!({"spec": list}), &Budget::default(), &mut errors);
        assert!(errors.is_empty());
    });
}

#[test]
fn a_schema_can_be_deep() {
    within_time(|| {
        let mut schema = json!({"type": "integer"});
        let mut value = json!("x");
        for _ in 0..200 {
            schema = wrapped("properties", wrapped("a", schema));
            value = wrapped("a", value);
        }
        assert_eq!(errors(&schema, value).len(), 1);
        // Deeper than any request: what is too deep accepts everything.
        let mut schema = json!({"type": "integer"});
        let mut value = json!("x");
        for _ in 0..1_000 {
            schema = wrapped("items", schema);
            value = Value::Array(vec![value]);
        }
        assert_eq!(errors(&schema, value), none());
    });
}

#[test]
fn a_list_can_have_many_duplicates() {
    within_time(|| {
        let keyed = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": object(&json!({"name": {"type": "string"}, "v": {"type": "string"}})),
        });
        let list: Vec<Value> =
            (0..100_000).map(|place| json!({"name": format!("n{}", place / 2), "v": 1})).collect();
        let value = json!({"spec": list});
        let schema = spec(&keyed);
        let mut errors = ErrorList::default();
        schema.validate_lists(&FieldPath::root(), &value, None, &mut errors);
        assert!(errors.0.len() > 1_000 && error_bytes(&errors) < 2 << 20);
        let mut errors = ErrorList::default();
        schema.validate_update(&FieldPath::root(), &value, &value.clone(), &Budget::default(), &mut errors);
        assert!(errors.is_empty(), "nothing changed");
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        let same = json!({"spec": vec!["a"; 100_000]});
        let mut errors = ErrorList::default();
        spec(&set).validate_lists(&FieldPath::root(), &same, None, &mut errors);
        assert_eq!(texts(&errors), ["spec[1]: Duplicate value: \"a\""]);
    });
}

#[test]
fn long_keys_are_not_repeated_for_every_error() {
    within_time(|| {
        let map = json!({"type": "object", "additionalProperties": {
            "type": "array", "items": {"type": "string", "anyOf": [{"maxLength": 1}, {"maxLength": 2}]},
        }});
        let mut value = Map::new();
        value.insert("k".repeat(1 << 20), vec![json!(1); 100_000].into());
        let mut found = ErrorList::default();
        spec(&map).validate(&FieldPath::root(), &json!({"spec": value}), &Budget::default(), &mut found);
        assert!(!found.is_empty() && error_bytes(&found) < 8 << 20);
        // Resources and sets below a long key.
        let resource = json!({"type": "object", "x-kubernetes-embedded-resource": true});
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": resource});
        let map = json!({"type": "object", "additionalProperties": set});
        let pairs = (0..20_000).map(|place| json!({"a": place / 2}));
        let mut value = Map::new();
        value.insert("k".repeat(1 << 20), pairs.collect());
        let value = wrapped("spec", value.into());
        let mut found = ErrorList::default();
        spec(&map).validate_embedded(&FieldPath::root(), &value, &mut found);
        assert!(!found.is_empty() && error_bytes(&found) < 8 << 20);
        let mut found = ErrorList::default();
        spec(&map).validate_lists(&FieldPath::root(), &value, None, &mut found);
        assert!(!found.is_empty() && error_bytes(&found) < 8 << 20);
        // Unknown fields below a long key.
        let unknown: Map<String, Value> = (0..10_000).map(|place| (format!("u{place}"), json!(1))).collect();
        let mut value = Map::new();
        value.insert("k".repeat(1 << 20), unknown.into());
        let closed =
            json!({"type": "object", "additionalProperties": object(&json!({"a": {"type": "string"}}))});
        let mut issues = Vec::new();
        spec(&closed).prune(&mut json!({"spec": value}), &mut issues);
        assert!(!issues.is_empty() && issues.len() < 10);
    });
}

#[test]
fn patterns_are_limited() {
    within_time(|| {
        let exploding = json!({"type": "string", "pattern": "((a{1000}){1000}){1000}"});
        let found = errors(&exploding, json!("a"));
        let expected = "spec in body should match '((a{1000}){1000}){1000}, but pattern is invalid: error parsing \
                        regexp: invalid repeat count: `{1000}`'";
        assert_eq!(found, [format!("spec: Invalid value: \"a\": {expected}")]);
        let backtracking = json!({"type": "string", "pattern": "^(a+)+$"});
        assert_eq!(errors(&backtracking, json!(format!("{}b", "a".repeat(50_000)))).len(), 1);
    });
}

#[test]
fn nested_values_are_compared_once() {
    within_time(|| {
        // Every level has an error, so every level asks whether the value below has changed.
        let mut schema = json!({"type": "string", "maxLength": 1});
        let mut value = json!("a".repeat(100_000));
        for _ in 0..200 {
            schema = json!({"type": "object", "required": ["x"], "properties": {"a": schema}});
            value = json!({"a": value});
        }
        assert_eq!(update_errors(&schema, value.clone(), value), none());
    });
}

#[test]
fn odd_schemas_accept_anything() {
    for schema in [
        json!(null),
        json!("x"),
        json!({"type": 5, "properties": [], "items": true, "required": "a", "enum": {}, "allOf": {}, "not": 1}),
        json!({"type": "zork", "minLength": "a", "maximum": "b", "x-kubernetes-list-type": "zork", "default": null}),
    ] {
        for value in [json!(null), json!(1), json!([{}]), json!({"a": [1]})] {
            assert_eq!(errors(&schema, value), none(), "{schema}");
        }
        Schema::for_custom_resource(&schema, false, KIND);
    }
}
