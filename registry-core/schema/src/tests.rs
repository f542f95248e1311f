//! Small tables for each rule, and all of Kubernetes' types if upstream's data is available.

use serde_json::{Value, json};

use super::*;
use registry_meta::GroupVersionKind;
use registry_meta::budget::Budget;

mod own;
mod upstream;

/// A kind with every sort of field.
const FACTS: &str = "orlop facts 1
t - io.test.v1.Thing
 child 1 e -
 count 3 e -
 eventTime 9 - -
 kids 4 - -
 labels 5 e -
 maybe 3 pe -
 mode 2 e - - - \"fast\"
 nodePort 3 - -
 parent 1 pe -
 port 11 e -
 quantities 7 e -
 secret 8 e -
 seen 10 pe -
 selector 1 p -
 stored 4 n 9
t - io.test.v1.Child
 name 2 - -
 weight 3 pe - - - 5
s string - string
s int32 - int32
l 1 m name []v1.Child
m 2 map[string]string
s quantity io.k8s.apimachinery.pkg.api.resource.Quantity resource.Quantity
m 6 v1.ResourceList
s bytes - []uint8
s microtime - v1.MicroTime
s time - v1.Time
s intorstring - intstr.IntOrString
k 0 test.io v1 Thing
";

const THING: GroupVersionKind = GroupVersionKind { group: "test.io", version: "v1", kind: "Thing" };

fn thing() -> Schema {
    Arc::new(TypeTable::parse(FACTS).unwrap()).schema(THING).unwrap()
}

fn conformed(schema: &Schema, mut value: Value) -> (Value, Vec<FieldIssue>) {
    let mut issues = Vec::new();
    schema.conform(&mut value, &mut issues).unwrap();
    let mut again = value.clone();
    schema.conform(&mut again, &mut Vec::new()).unwrap();
    assert_eq!(again, value, "conforming again changes nothing");
    (value, issues)
}

fn refusal(schema: &Schema, mut value: Value) -> String {
    schema.conform(&mut value, &mut Vec::new()).unwrap_err().to_string()
}

/// Returns Go's zero value of the struct.
fn zero_thing() -> Value {
    json!({
        "child": {"name": ""}, "eventTime": null, "kids": null, "nodePort": 0, "port": 0, "selector": null,
        "stored": null,
    })
}

fn thing_with(fields: &Value) -> Value {
    let mut thing = zero_thing();
    for (key, value) in fields.as_object().unwrap() {
        thing[key] = value.clone();
    }
    thing
}

#[test]
fn absent_fields_look_as_go_writes_them() {
    assert_eq!(conformed(&thing(), json!({})).0, zero_thing());
    let nulls = json!({
        "child": null, "count": null, "kids": null, "labels": null, "maybe": null, "nodePort": null,
        "parent": null, "seen": null, "mode": null,
    });
    assert_eq!(conformed(&thing(), nulls).0, zero_thing());
}

#[test]
fn zeros_of_values_vanish_and_those_of_pointers_stay() {
    let zeros = json!({"count": 0, "mode": "", "labels": {}, "secret": "", "quantities": {}, "kids": []});
    assert_eq!(conformed(&thing(), zeros).0, thing_with(&json!({"kids": []})));
    let pointers = json!({"maybe": 0, "parent": {}});
    assert_eq!(conformed(&thing(), pointers).0, thing_with(&json!({"maybe": 0, "parent": {"name": ""}})));
}

#[test]
fn protobuf_has_no_empty_lists() {
    assert_eq!(conformed(&thing(), json!({"stored": []})).0, zero_thing());
}

#[test]
fn null_elements_become_zeros() {
    let nulls = json!({"kids": [null], "labels": {"a": null}});
    let zeros = thing_with(&json!({"kids": [{"name": ""}], "labels": {"a": ""}}));
    assert_eq!(conformed(&thing(), nulls).0, zeros);
}

#[test]
fn unknown_fields_are_dropped_and_noted() {
    let value =
        json!({"zork": 1, "kids": [{"name": "a", "foo": 1}], "child": {"bar": {}}, "labels": {"any": "x"}});
    let (value, issues) = conformed(&thing(), value);
    let kept = thing_with(&json!({"kids": [{"name": "a"}], "labels": {"any": "x"}}));
    assert_eq!(value, kept);
    let unknown = ["child.bar", "kids[0].foo", "zork"].map(|path| FieldIssue::Unknown(path.to_owned()));
    assert_eq!(issues, unknown);
}

#[test]
fn type_errors_use_the_words_of_gos_decoder() {
    let schema = thing();
    for (value, message) in [
        (json!([]), "json: cannot unmarshal array into Go value of type v1.Thing"),
        (
            json!({"kids": "nope"}),
            "json: cannot unmarshal string into Go struct field Thing.kids of type []v1.Child",
        ),
        (
            json!({"kids": [{"name": true}]}),
            "json: cannot unmarshal bool into Go struct field Child.kids.name of type string",
        ),
        (
            json!({"labels": {"k": 1}}),
            "json: cannot unmarshal number into Go struct field Thing.labels of type string",
        ),
        (
            json!({"count": 3_000_000_000_u64}),
            "json: cannot unmarshal number 3000000000 into Go struct field Thing.count of type int32",
        ),
        (
            json!({"count": 1.5}),
            "json: cannot unmarshal number 1.5 into Go struct field Thing.count of type int32",
        ),
        (json!({"port": true}), "json: cannot unmarshal bool into Go struct field Thing.port of type int32"),
        (json!({"secret": "!!!"}), "illegal base64 data at input byte 0"),
        (
            json!({"quantities": {"cpu": "abc"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            json!({"eventTime": "zork"}),
            "parsing time \"zork\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"zork\" as \"2006\"",
        ),
        (
            json!({"eventTime": "2020-01-01T00:00:00Z"}),
            "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\"",
        ),
        (json!({"seen": "2020-02-31T00:00:00Z"}), "parsing time \"2020-02-31T00:00:00Z\": day out of range"),
        (
            json!({"seen": "0000-01-01T00:00:00+02:00"}),
            "parsing time \"0000-01-01T00:00:00+02:00\": year out of range",
        ),
        (
            json!({"eventTime": "9999-12-31T23:59:59.000000-00:01"}),
            "parsing time \"9999-12-31T23:59:59.000000-00:01\": year out of range",
        ),
        (json!({"seen": 5}), "json: cannot unmarshal number into Go struct field Thing.seen of type string"),
    ] {
        assert_eq!(refusal(&schema, value), message);
    }
}

#[test]
fn scalars_are_written_the_canonical_way() {
    let value = json!({
        "eventTime": "2020-01-01T01:00:00.000001+01:00",
        "seen": "2020-01-01T01:00:00.5+01:00",
        "secret": "YWJj\nZA==",
        "quantities": {"cpu": 0.5, "memory": "1024Mi"},
        "port": "http",
    });
    let canonical = thing_with(&json!({
        "eventTime": "2020-01-01T00:00:00.000001Z",
        "seen": "2020-01-01T00:00:00Z",
        "secret": "YWJjZA==",
        "quantities": {"cpu": "500m", "memory": "1Gi"},
        "port": "http",
    }));
    assert_eq!(conformed(&thing(), value).0, canonical);
    for (seen, event_time, canonical_seen, canonical_event_time) in [
        (
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.999999Z",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.999999Z",
        ),
        (
            "2020-01-01T1:00:00,5Z",
            "2020-01-01T01:00:00,000001Z",
            "2020-01-01T01:00:00Z",
            "2020-01-01T01:00:00.000001Z",
        ),
    ] {
        let value = conformed(&thing(), json!({"seen": seen, "eventTime": event_time})).0;
        assert_eq!(
            (&value["seen"], &value["eventTime"]),
            (&canonical_seen.into(), &canonical_event_time.into())
        );
    }
}

#[test]
fn defaults_fill_absent_fields_at_any_depth() {
    let schema = thing();
    let mut value = conformed(&schema, json!({"kids": [{"name": "a"}, {"name": "b", "weight": 0}]})).0;
    schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
    let defaulted = thing_with(&json!({
        "mode": "fast",
        "child": {"name": "", "weight": 5},
        "kids": [{"name": "a", "weight": 5}, {"name": "b", "weight": 0}],
    }));
    assert_eq!(value, defaulted);
}

#[test]
fn engines_can_walk_types() {
    let schema = thing();
    let kids = schema.root().field("kids").unwrap();
    assert_eq!(kids.ty().list_kind(), Some(ListKind::Map));
    assert_eq!(kids.ty().list_keys(), ["name".into()]);
    assert_eq!(kids.ty().element().unwrap().field("weight").unwrap().default(), Some(&json!(5)));
    assert_eq!(schema.root().field("stored").unwrap().protobuf_path(), [9]);
    assert_eq!(schema.root().field("labels").unwrap().ty().value().unwrap().scalar(), Some(Scalar::String));
    assert!(schema.root().field("zork").is_none());
}

#[test]
fn facts_that_do_not_hold_together_are_refused() {
    let broken = ["", "orlop facts 0\n", "orlop facts 1\nl 7 - - []string\n", "orlop facts 1\nx\n"];
    for facts in broken {
        assert!(TypeTable::parse(facts).is_err(), "{facts:?}");
    }
    assert!(TypeTable::meta().names().count() > 20, "the table in this crate is sound");
}

#[test]
fn quantities_have_one_canonical_form() {
    for (text, canonical) in [
        ("0", "0"),
        ("0.0", "0"),
        ("0Gi", "0"),
        ("1", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("0.001", "1m"),
        ("100m", "100m"),
        ("1000", "1k"),
        ("1k", "1k"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("1E3", "1E3"),
        ("100E", "100E"),
        ("12e6", "12e6"),
        ("0.1e3", "100"),
        ("1024", "1024"),
        ("1Ki", "1Ki"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("8Ei", "9223372036854775807"),
        ("-1Gi", "-1Gi"),
        ("-0.5", "-500m"),
        ("1.1n", "2n"),
        ("0.5n", "1n"),
        ("1n", "1n"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("100000000000000000000000", "100e21"),
        ("1.0000000001", "1000000001n"),
        ("+1", "+1"),
        ("1.500", "1.500"),
        ("2048Ki", "2Mi"),
        ("500Mi", "500Mi"),
        ("0.000000001Gi", "1073741824n"),
    ] {
        assert_eq!(
            Quantity::parse(text).map(|quantity| quantity.to_string()),
            Ok(canonical.to_owned()),
            "{text}"
        );
    }
    for text in ["", "abc", "1.2.3", "1 ", "1m5x", "NaN"] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Format), "{text:?}");
    }
    for text in ["--1", "1mm", "1e", "1i", "1kM", "1Gi5"] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Suffix), "{text:?}");
    }
}
