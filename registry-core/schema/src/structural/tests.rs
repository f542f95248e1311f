//! Tests of what the recordings do not cover, and of hostile schemas and objects.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::{FieldIssue, ListKind, Scalar, Schema};
use registry_meta::budget::Budget;
use registry_meta::{ErrorList, FieldPath, GroupVersionKind};

use super::StructuralSchema;

mod hostile;

const KIND: GroupVersionKind = GroupVersionKind { group: "example.dev", version: "v1", kind: "Thing" };

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn spec(schema: &Value) -> StructuralSchema {
    StructuralSchema::compile(&object(&json!({"spec": schema})), false)
}

/// Returns the errors of a spec, sorted.
fn errors(schema: &Value, value: Value) -> Vec<String> {
    let mut errors = ErrorList::default();
    spec(schema).validate(&FieldPath::root(), &wrapped("spec", value), &Budget::default(), &mut errors);
    texts(&errors)
}

fn update_errors(schema: &Value, old: Value, new: Value) -> Vec<String> {
    let mut errors = ErrorList::default();
    let (old, new) = (wrapped("spec", old), wrapped("spec", new));
    spec(schema).validate_update(&FieldPath::root(), &new, &old, &Budget::default(), &mut errors);
    texts(&errors)
}

/// Puts a value into an object, without copying it.
fn wrapped(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

fn texts(errors: &ErrorList) -> Vec<String> {
    let mut texts: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    texts.sort_unstable();
    texts
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn numbers_have_ranges_and_factors() {
    let integer = json!({"type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 2});
    assert_eq!(errors(&integer, json!(4)), none());
    assert_eq!(errors(&integer, json!(4.0)), none());
    assert_eq!(
        errors(&integer, json!(11)),
        [
            "spec: Invalid value: 11: spec in body should be a multiple of 2",
            "spec: Invalid value: 11: spec in body should be less than or equal to 10",
        ]
    );
    let number = json!({"type": "number", "minimum": 0.5, "exclusiveMinimum": true, "multipleOf": 0.1});
    assert_eq!(errors(&number, json!(0.7)), none());
    assert_eq!(
        errors(&number, json!(0.5)),
        ["spec: Invalid value: 0.5: spec in body should be greater than 0.5"]
    );
    // An integer is compared with the whole part of a bound.
    assert_eq!(
        errors(&json!({"type": "number", "maximum": 5.5}), json!(6)),
        ["spec: Invalid value: 6: spec in body should be less than or equal to 5"]
    );
    assert_eq!(
        errors(&json!({"type": "number", "maximum": 1e21}), json!(1e22)),
        ["spec: Invalid value: 1e+22: spec in body should be less than or equal to 1e+21"]
    );
    assert_eq!(
        errors(&json!({"type": "integer"}), json!(1e19)),
        [
            "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in spec",
            "spec: Invalid value: \"number\": spec in body must be of type integer: \"number\"",
        ]
    );
    assert_eq!(
        errors(&json!({"type": "number", "format": "float"}), json!(1e39)),
        ["<nil>: Invalid value: \"\": Checked value must be of type number with format float in spec"]
    );
    assert_eq!(errors(&json!({"type": "integer", "format": "int32"}), json!(i32::MIN)), none());
}

#[test]
fn texts_have_lengths_patterns_and_formats() {
    let text = json!({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-zé]+$"});
    assert_eq!(errors(&text, json!("éé")), none());
    assert_eq!(errors(&text, json!("éééé")), ["spec: Too long: may not be more than 3 bytes"]);
    assert_eq!(
        errors(&text, json!("a")),
        ["spec: Invalid value: \"a\": spec in body should be at least 2 chars long"]
    );
    assert_eq!(
        errors(&text, json!("AA")),
        ["spec: Invalid value: \"AA\": spec in body should match '^[a-zé]+$'"]
    );
    let date = json!({"type": "string", "format": "date-time"});
    assert_eq!(
        errors(&date, json!("a\"")),
        ["spec: Invalid value: \"a\\\"\": spec in body must be of type date-time: \"a\\\"\""]
    );
    // A format is named in place of the type; lists pass, as in Kubernetes.
    assert_eq!(
        errors(&date, json!(5)),
        ["spec: Invalid value: \"int64\": spec in body must be of type date-time: \"int64\""]
    );
    assert_eq!(errors(&date, json!([])), none());
    assert_eq!(errors(&json!({"type": "string", "format": "zork"}), json!("x")), none());
}

#[test]
fn sizes_and_absent_properties() {
    let list = json!({"type": "array", "minItems": 2, "maxItems": 1, "items": {"type": "string"}});
    assert_eq!(
        errors(&list, json!(["a", null])),
        [
            "spec: Too many: 2: must have at most 1 items",
            "spec[1]: Invalid value: \"null\": spec[1] in body must be of type string: \"null\"",
        ]
    );
    let map = json!({
        "type": "object", "minProperties": 2, "required": ["a", "b"],
        "additionalProperties": {"type": "integer"},
    });
    assert_eq!(
        errors(&map, json!({"c": true})),
        [
            "spec.a: Required value",
            "spec.b: Required value",
            "spec.c: Invalid value: \"boolean\": spec.c in body must be of type integer: \"boolean\"",
            "spec: Invalid value: 1: spec in body should have at least 2 properties",
        ]
    );
    assert_eq!(
        errors(&json!({"type": "object", "maxProperties": 1}), json!({"a": 1, "b": 2})),
        ["spec: Too many: 2: must have at most 1 items"]
    );
}

#[test]
fn enums_convert_as_in_go() {
    let accepted = json!({"enum": ["a", 1, 2.5, {"b": 1}], "nullable": true});
    for value in [json!("a"), json!(1), json!(1.0), json!(97), json!(2.5), json!({"b": 1})] {
        assert_eq!(errors(&accepted, value.clone()), none(), "{value}");
    }
    let list = "supported values: \"a\", \"1\", \"2.5\", \"{\\\"b\\\":1}\"";
    assert_eq!(errors(&accepted, json!("b")), [format!("spec: Unsupported value: \"b\": {list}")]);
    assert_eq!(errors(&accepted, json!(null)), [format!("spec: Unsupported value: null: {list}")]);
    assert_eq!(errors(&accepted, json!(["<"])), [format!("spec: Unsupported value: [\"\\u003c\"]: {list}")]);
    let long: Vec<String> = (0..100).map(|number| format!("v{number}")).collect();
    let long = json!({"type": "string", "enum": long});
    assert_eq!(errors(&long, json!("v99")), none());
    assert_eq!(errors(&long, json!("v100")).len(), 1);
}

#[test]
fn combinations_report_the_best_alternative() {
    let any = json!({"type": "object", "anyOf": [
        {"required": ["a"]},
        {"properties": {"b": {"enum": [1]}}, "required": ["b", "c"]},
    ], "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}});
    assert_eq!(errors(&any, json!({"a": 1, "b": 2})), none());
    assert_eq!(
        errors(&any, json!({"b": 1})),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)",
            "spec.c: Required value"
        ]
    );
    let not = json!({"type": "string", "not": {"enum": ["a"]}});
    assert_eq!(
        errors(&not, json!("a")),
        ["<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)"]
    );
    let exclusive = json!({"type": "integer", "oneOf": [{"minimum": 1}, {"maximum": 1}, {"enum": [1]}]});
    assert_eq!(
        errors(&exclusive, json!(1)),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found 3 valid \
             alternatives"
        ]
    );
    let all = json!({"type": "integer", "allOf": [{"minimum": 2}, {"minimum": 2}, {"maximum": 5}]});
    assert_eq!(
        errors(&all, json!(1)),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate all the schemas (allOf)",
            "spec: Invalid value: 1: spec in body should be greater than or equal to 2",
        ]
    );
}

#[test]
fn unchanged_values_are_not_reported() {
    let short = json!({"type": "string", "maxLength": 1});
    let schema = object(&json!({"a": short, "b": short, "kind": short}));
    let too_long = |field: &str| vec![format!("spec.{field}: Too long: may not be more than 1 bytes")];
    assert_eq!(update_errors(&schema, json!({"a": "aa"}), json!({"a": "aa", "b": "b"})), none());
    assert_eq!(update_errors(&schema, json!({"a": "aa"}), json!({"a": "aa", "b": "bb"})), too_long("b"));
    assert_eq!(update_errors(&schema, json!({"a": "aa"}), json!({"a": "aaa"})), too_long("a"));
    // A keyed list finds the old element wherever it was; other lists count as a whole.
    let element = object(&json!({"name": {"type": "string"}, "a": short}));
    let keyed = json!({
        "type": "array", "items": element, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let old = json!([{"name": "x", "a": "aa"}, {"name": "y", "a": "bb"}]);
    let new = json!([{"name": "y", "a": "bb"}, {"name": "x", "a": "aa"}, {"name": "z"}]);
    assert_eq!(update_errors(&keyed, old.clone(), new.clone()), none());
    let plain = json!({"type": "array", "items": element});
    assert_eq!(update_errors(&plain, old.clone(), old.clone()), none());
    assert_eq!(update_errors(&plain, old.clone(), new).len(), 2);
    // A key that was not there before does not correspond to anything.
    assert_eq!(update_errors(&keyed, old, json!([{"name": "w", "a": "aa"}])), too_long("[0].a").map_index());
    // Errors in alternatives are ratcheted, too.
    let any = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"properties": {"a": {"maxLength": 1}}}]});
    assert_eq!(update_errors(&any, json!({"a": "aa"}), json!({"a": "aa", "b": "c"})), none());
    assert_eq!(update_errors(&any, json!({"a": "aa"}), json!({"a": "bb", "b": "c"})).len(), 2);
}

/// Writes the path of an element without the dot before it.
trait MapIndex {
    fn map_index(self) -> Self;
}

impl MapIndex for Vec<String> {
    fn map_index(self) -> Self {
        self.into_iter().map(|text| text.replace(".[", "[")).collect()
    }
}

#[test]
fn the_type_of_an_object_is_never_ratcheted() {
    let schema =
        StructuralSchema::compile(&object(&json!({"kind": {"type": "string", "maxLength": 1}})), false);
    let value = json!({"kind": "Thing"});
    let mut errors = ErrorList::default();
    schema.validate_update(
        &FieldPath::root(),
        &value,
        &json!({"kind": "Thing", "old": 1}),
        &Budget::default(),
        &mut errors,
    );
    assert_eq!(texts(&errors), ["kind: Too long: may not be more than 1 bytes"]);
}

#[test]
fn a_subresource_is_validated_alone() {
    let schema = object(&json!({"status": object(&json!({"a": {"type": "integer"}}))}));
    let status = StructuralSchema::compile(&schema, false).property("status").unwrap();
    let mut errors = ErrorList::default();
    status.validate(&FieldPath::new("status"), &json!({"a": "x"}), &Budget::default(), &mut errors);
    status.validate(&FieldPath::new("status"), &json!([]), &Budget::default(), &mut errors);
    assert_eq!(
        texts(&errors),
        [
            "status.a: Invalid value: \"string\": a in body must be of type integer: \"string\"",
            "status: Invalid value: \"array\":  in body must be of type object: \"array\"",
        ]
    );
    assert!(status.property("b").is_none());
}

#[test]
fn lists_that_were_faulty_before_may_stay_so() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}});
    let check = |new: &Value, old: Option<&Value>| {
        let mut errors = ErrorList::default();
        spec(&set).validate_lists(&FieldPath::root(), new, old, &mut errors);
        texts(&errors)
    };
    let (good, bad) = (json!({"spec": [1, 1.0, 2]}), json!({"spec": [1, 2, 1, 1]}));
    assert_eq!(check(&good, None), none());
    assert_eq!(check(&bad, Some(&good)), ["spec[2]: Duplicate value: 1"]);
    assert_eq!(check(&bad, Some(&bad)), none());
}

#[test]
fn objects_are_normalised() {
    let schema = object(&json!({
        "spec": {"type": "object", "properties": {
            "n": {"type": "integer"}, "s": {"type": "string"}, "keep": {"nullable": true, "type": "string"},
            "d": {"type": "string", "default": "x"}, "open": {"x-kubernetes-preserve-unknown-fields": true},
            "closed": {"type": "object", "additionalProperties": true},
        }},
    }));
    let schema = Schema::for_custom_resource(&schema, false, KIND);
    let mut value = json!({
        "apiVersion": "example.dev/v1", "kind": "Thing", "zork": 1,
        "metadata": {"name": "a", "labels": {}, "creationTimestamp": null, "zork": 1},
        "spec": {
            "n": 2.0, "s": null, "keep": null, "d": null, "open": {"a": null, "f": 3.0, "g": 0.5}, "zork": {},
            "closed": {"a": {"b": 1}},
        },
    });
    let mut issues = Vec::new();
    schema.conform(&mut value, &mut issues).unwrap();
    schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
    let expected = json!({
        "apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "a"},
        "spec": {
            "n": 2, "keep": null, "d": "x", "open": {"a": null, "f": 3, "g": 0.5}, "closed": {"a": {}},
        },
    });
    assert_eq!(value, expected);
    let unknown = |path: &str| FieldIssue::Unknown(path.to_owned());
    assert_eq!(issues, ["metadata.zork", "spec.closed.a.b", "spec.zork", "zork"].map(unknown));
    assert!(schema.definition().is_none() && !schema.has_protobuf());
    let mut wrong = json!({"metadata": {"name": true}});
    assert_eq!(
        schema.conform(&mut wrong, &mut Vec::new()).unwrap_err().text,
        "json: cannot unmarshal bool into Go struct field ObjectMeta.name of type string"
    );
    assert!(schema.conform(&mut json!([]), &mut Vec::new()).is_err());
}

#[test]
fn stored_metadata_loses_what_is_invalid() {
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true});
    let schema = spec(&embedded);
    let mut value = json!({
        "metadata": {"name": 1, "labels": {"a": "b"}},
        "spec": {"apiVersion": 1, "kind": "Pod", "metadata": {"name": "a", "labels": 1, "zork": 2}},
    });
    let mut issues = Vec::new();
    schema.coerce_metadata(&mut value, true, &mut issues).unwrap();
    let expected =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"kind": "Pod", "metadata": {"name": "a"}}});
    assert_eq!(value, expected);
    assert_eq!(issues, [FieldIssue::Unknown("spec.metadata.zork".to_owned())]);
    let mut value = json!({"spec": {"apiVersion": 1}});
    let error = schema.coerce_metadata(&mut value, false, &mut issues).unwrap_err();
    assert_eq!(error.text, "spec.apiVersion: Invalid value: 1: must be a string");
}

#[test]
fn unknown_fields_can_be_preserved_everywhere() {
    let schema = StructuralSchema::compile(&object(&json!({"a": {"type": "string"}})), true);
    let mut value = json!({"a": null, "b": {"c": 1}});
    let mut issues = Vec::new();
    schema.prune(&mut value, &mut issues);
    schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
    assert_eq!((value, issues), (json!({"a": null, "b": {"c": 1}}), Vec::new()));
    assert!(schema.keeps_unknown());
}

#[test]
fn types_tell_how_parts_are_managed() {
    let item = object(&json!({"name": {"type": "string", "default": "x"}}));
    let schema = object(&json!({"spec": {"type": "object", "properties": {
        "map": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "list": {"type": "array", "items": {"type": "string"}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true},
        "when": {"type": "string", "format": "date-time"},
        "pod": {"type": "object", "x-kubernetes-embedded-resource": true},
    }}}));
    let schema = Schema::for_custom_resource(&schema, false, KIND);
    let root = schema.root();
    assert_eq!(
        root.field("metadata").unwrap().ty().field("labels").unwrap().ty().value().unwrap().scalar(),
        Some(Scalar::String)
    );
    let spec = root.field("spec").unwrap().ty();
    let ty = |name: &str| spec.field(name).unwrap().ty();
    assert_eq!((ty("map").list_kind(), ty("map").list_keys().len()), (Some(ListKind::Map), 1));
    assert_eq!(ty("map").element().unwrap().field("name").unwrap().default(), Some(&json!("x")));
    assert_eq!(
        (ty("set").list_kind(), ty("list").list_kind()),
        (Some(ListKind::Set), Some(ListKind::Atomic))
    );
    assert!(ty("atomic").is_atomic() && !ty("labels").is_atomic() && !spec.is_atomic());
    assert!(ty("free").value().unwrap().is_open() && ty("any").is_open() && ty("port").is_open());
    assert_eq!(ty("when").scalar(), Some(Scalar::IntOrString));
    assert!(ty("pod").field("metadata").is_some() && ty("pod").field("kind").is_some());
}

#[test]
fn defaults_in_the_metadata_of_embedded_resources_are_parts_of_object_meta() {
    let embedded = |metadata: Value| json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"metadata": metadata}});
    let text = |default: Value| json!({"type": "string", "default": default});
    let whole = json!({"type": "object", "default": {"name": "Bar", "unknown": "x", "labels": {"a": "b"}}});
    let parts = object(&json!({
        "name": text(json!("Bar")), "unknown": text(json!("x")), "generation": text(json!("no number")),
        "labels": object(&json!({"app": text(json!("web"))})),
    }));
    let schema = object(&json!({
        "whole": embedded(whole), "parts": embedded(parts), "no": embedded(json!({"type": "array", "default": ["x"]})),
        "plain": object(&json!({"metadata": {"type": "object", "default": {"name": "Bar"}}})),
    }));
    let mut value = json!({"spec": {
        "whole": {}, "parts": {"metadata": {"labels": {}}}, "no": {}, "plain": {},
    }});
    let schema = spec(&schema);
    assert!(schema.lacks_defaults(value.as_object().unwrap()));
    schema.apply_defaults(&mut value, &Budget::default()).unwrap();
    assert_eq!(
        value["spec"],
        json!({
            "whole": {"metadata": {"name": "Bar", "labels": {"a": "b"}}},
            "parts": {"metadata": {"name": "Bar", "labels": {"app": "web"}}},
            "no": {},
            "plain": {"metadata": {}},
        })
    );
    assert!(!schema.lacks_defaults(value.as_object().unwrap()));
}

#[test]
fn missing_defaults_are_found_wherever_they_would_be_set() {
    let default = json!({"type": "string", "default": "x"});
    let item = json!({"type": "object", "properties": {"a": default}});
    let schema = spec(&object(&json!({
        "list": {"type": "array", "items": item}, "map": {"type": "object", "additionalProperties": item},
        "null": {"type": "string", "default": "x"}, "nullable": {"type": "string", "default": "x", "nullable": true},
    })));
    let complete =
        json!({"null": "x", "nullable": null, "list": [{"a": "b"}], "map": {"k": {"a": "b"}}, "other": {}});
    let lacks = |spec: &Value| schema.lacks_defaults(wrapped("spec", spec.clone()).as_object().unwrap());
    assert!(!lacks(&complete));
    for (name, value) in [
        ("null", json!(null)),
        ("list", json!([{"a": "b"}, {}])),
        ("map", json!({"k": {}})),
        ("list", json!([{"a": null}])),
    ] {
        let mut lacking = complete.clone();
        lacking[name] = value;
        assert!(lacks(&lacking), "{name}");
    }
    for hostile in [json!(1), json!([]), json!({"list": {}, "map": [1], "null": 1, "nullable": 2})] {
        let mut value = wrapped("spec", hostile.clone());
        let lacking = lacks(&hostile);
        let before = value.clone();
        schema.apply_defaults(&mut value, &Budget::default()).unwrap();
        assert_eq!(lacking, before != value, "{hostile}");
    }
}
