use std::time::Instant;

use super::*;

fn published(schema: Value, target: Target) -> Option<Value> {
    schema::published(schema, target).map(|mut schema| {
        schema::add_embedded(&mut schema, target);
        Value::Object(schema)
    })
}

/// Returns the published form of the schema of a field.
fn field(schema: &Value, target: Target) -> Value {
    let root = json!({ "type": "object", "properties": { "f": schema } });
    published(root, target).expect("it is structural")["properties"]["f"].take()
}

#[test]
fn complete_schemas_are_published_as_they_are() {
    let schema = json!({
        "type": "object",
        "title": "t",
        "description": "d",
        "externalDocs": { "url": "https://example.com" },
        "example": { "n": 1 },
        "default": { "n": 0, "m": {} },
        "required": ["n"],
        "minProperties": 1,
        "maxProperties": 9,
        "properties": {
            "n": {
                "type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "exclusiveMaximum": true,
                "multipleOf": 2, "enum": [2, 4], "default": false,
            },
            "s": { "type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a", "nullable": true },
            "m": { "type": "object", "additionalProperties": { "type": "string" }, "x-kubernetes-map-type": "atomic" },
            "open": { "type": "object", "additionalProperties": true },
            "closed": { "type": "object", "additionalProperties": false },
            "any": { "x-kubernetes-preserve-unknown-fields": true },
            "l": {
                "type": "array", "uniqueItems": true, "minItems": 0, "maxItems": 4,
                "items": { "type": "object", "properties": { "k": { "type": "string" } } },
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            },
        },
        "allOf": [{ "properties": { "n": { "not": { "enum": [2] } } } }, {}],
        "anyOf": [{ "required": ["n"] }, { "items": { "minimum": 1 } }],
        "oneOf": [{ "maxProperties": 3 }],
        "not": {},
        "x-kubernetes-validations": [{ "rule": "self.n > 0", "reason": "FieldValueInvalid", "optionalOldSelf": true }],
    });
    assert_eq!(published(schema.clone(), Target::V3), Some(schema));
}

#[test]
fn unset_fields_are_left_out() {
    let schema = json!({
        "type": "string", "description": "", "title": null, "nullable": false, "default": null, "example": null,
        "enum": [], "required": [], "pattern": "", "exclusiveMinimum": false, "uniqueItems": false, "allOf": [],
        "properties": {}, "x-kubernetes-embedded-resource": false, "x-kubernetes-list-map-keys": [],
        "x-unknown": 1, "x-kubernetes-validations": [{ "rule": "true", "message": "", "reason": null }],
    });
    let expected = json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "true" }] });
    assert_eq!(field(&schema, Target::V3), expected);
}

#[test]
fn integers_or_strings_have_their_types() {
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    let unfolded = |mut schema: Value, target| {
        schema["x-kubernetes-int-or-string"] = true.into();
        let mut published = field(&schema, target);
        published.as_object_mut().unwrap().remove("x-kubernetes-int-or-string").unwrap();
        published
    };
    assert_eq!(unfolded(json!({}), Target::V3), json!({ "anyOf": types }));
    assert_eq!(unfolded(json!({}), Target::V2), json!({}));
    assert_eq!(unfolded(json!({ "anyOf": types }), Target::V3), json!({ "anyOf": types }));
    let all = json!([{ "anyOf": types }, { "maximum": 3 }]);
    assert_eq!(unfolded(json!({ "allOf": all }), Target::V3), json!({ "allOf": all }));
    let any = json!([{ "minimum": 3 }]);
    assert_eq!(
        unfolded(json!({ "anyOf": any, "allOf": [{ "maximum": 5 }] }), Target::V3),
        json!({ "anyOf": any, "allOf": [{ "anyOf": types }, { "maximum": 5 }] })
    );
}

#[test]
fn schemas_of_v2_have_only_what_kubectl_understands() {
    let item = json!({ "type": "string" });
    let cases = [
        (json!({ "type": "object", "properties": { "a": item }, "nullable": true }), json!({})),
        (
            json!({ "type": "array", "items": item, "nullable": true, "maxItems": 3 }),
            json!({ "maxItems": 3 }),
        ),
        (json!({ "type": "array", "items": item }), json!({ "type": "array", "items": item })),
        (
            json!({ "type": "object", "properties": { "a": item }, "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "x-kubernetes-preserve-unknown-fields": true }),
        ),
        (
            json!({ "type": "array", "items": item, "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "x-kubernetes-preserve-unknown-fields": true }),
        ),
        (
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string", "nullable": true } } }),
            json!({ "type": "object", "properties": { "a": {} } }),
        ),
        (
            json!({ "type": "object", "required": ["a"], "additionalProperties": { "type": "string", "nullable": true } }),
            json!({ "type": "object", "additionalProperties": {} }),
        ),
        (json!({ "type": "string", "not": { "pattern": "a" }, "allOf": [{ "pattern": "b" }] }), item.clone()),
    ];
    for (schema, expected) in cases {
        assert_eq!(field(&schema, Target::V2), expected, "{schema}");
    }
}

#[test]
fn embedded_resources_have_types_and_metadata() {
    let schema = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "required": ["apiVersion", "spec"],
        "properties": { "metadata": { "type": "object" }, "spec": { "type": "object" } },
    });
    let embedded = field(&schema, Target::V3);
    assert_eq!(embedded["required"], json!(["apiVersion", "spec", "kind"]));
    assert_eq!(embedded["properties"]["kind"], text(EMBEDDED_KIND));
    assert_eq!(embedded["properties"]["metadata"], described("ObjectMeta", METADATA));
    assert_eq!(field(&json!({ "type": "array", "items": schema }), Target::V2)["items"], embedded);
    let open = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    assert_eq!(field(&open, Target::V3)["required"], json!(["kind", "apiVersion"]));
    assert_eq!(field(&open, Target::V2).get("properties"), None);
}

#[test]
fn schemas_without_a_structural_form_are_not_published() {
    let inner = [
        json!({ "$ref": "#/a" }),
        json!({ "type": "array", "items": [{ "type": "string" }] }),
        json!({ "type": "object", "patternProperties": { "a": {} } }),
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false }),
        json!({ "type": "string", "not": { "id": "a" } }),
        json!("a text"),
    ];
    for schema in inner {
        let root = json!({ "type": "object", "properties": { "f": schema } });
        assert_eq!(published(root.clone(), Target::V3), None, "{root}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth| {
        (0..depth).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }))
    };
    assert!(published(nested(100), Target::V3).is_some());
    assert_eq!(published(nested(200), Target::V3), None);
    let junctors = (0..200).fold(json!({ "pattern": "a" }), |inner, _| json!({ "not": inner }));
    assert_eq!(published(junctors, Target::V3), None);
}

#[test]
fn large_schemas_take_linear_time() {
    let names: Vec<String> = (0..100_000).map(|index| format!("p{index}")).collect();
    let properties: Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), json!({ "type": "string", "nullable": true, "maxLength": 5 })))
        .collect();
    let schema = json!({ "type": "object", "required": names, "properties": properties });
    let start = Instant::now();
    let new = published(schema.clone(), Target::V3).expect("it is structural");
    assert_eq!(new, schema);
    let old = published(schema, Target::V2).expect("it is structural");
    assert_eq!(old.get("required"), None);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
