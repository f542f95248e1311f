use serde_json::{Value, json};

use super::Definition;
use registry_meta::budget::Budget;
use registry_meta::{ErrorList, FieldPath};

fn field(definitions: &Value, schema: &Value) -> Definition {
    Definition::new(&json!({
        "title": "Thing", "type": "object", "properties": {"spec": schema}, "$defs": definitions,
    }))
}

/// Returns the structural form of a field's schema.
fn form(definitions: &Value, schema: &Value) -> Value {
    let definition = field(definitions, schema);
    assert!(definition.faults().is_empty(), "{}", definition.faults());
    definition.schema()["properties"]["spec"].clone()
}

#[test]
fn generated_schemas_become_structural() {
    let any = json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true});
    let definitions = json!({
        "Name": {"type": "string", "description": "A name.", "x-kubernetes-validations": [{"rule": "a"}]},
        "Side": {"oneOf": [{"const": "Port", "type": "string"}, {"type": "string", "enum": ["Star", "Board"]}]},
        "Lamp": {"oneOf": [
            {"type": "object", "properties": {"type": {"const": "oil", "type": "string"}, "litres": {"type": "integer"}}},
            {"type": "object", "properties": {"type": {"const": "gas", "type": "string"}, "litres": {"type": "string"}}},
        ]},
    });
    for (given, wanted) in [
        (
            json!({"type": ["integer", "null"], "format": "uint32", "minimum": 0}),
            json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        ),
        (
            json!({"type": "integer", "format": "int32", "exclusiveMinimum": 1}),
            json!({"type": "integer", "format": "int32", "minimum": 1, "exclusiveMinimum": true}),
        ),
        (
            json!({"$ref": "#/$defs/Name", "description": "Mine.", "maxLength": 3,
                "x-kubernetes-validations": [{"rule": "b"}]}),
            json!({"type": "string", "description": "Mine.", "maxLength": 3,
                "x-kubernetes-validations": [{"rule": "a"}, {"rule": "b"}]}),
        ),
        (
            json!({"anyOf": [{"$ref": "#/$defs/Side"}, {"type": "null"}]}),
            json!({"type": "string", "enum": ["Port", "Star", "Board"]}),
        ),
        (
            json!({"$ref": "#/$defs/Lamp"}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
             "type": {"type": "string", "enum": ["oil", "gas"]}, "litres": any}}),
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "boolean"}, "default": {"a": null}}),
            json!({"type": "object", "additionalProperties": {"type": "boolean"}, "default": {}}),
        ),
        (
            json!({"type": "integer", "anyOf": [{"minimum": 1}, {"maximum": -1}]}),
            json!({"type": "integer", "anyOf": [{"minimum": 1}, {"maximum": -1}]}),
        ),
        (json!({"x-kubernetes-int-or-string": true}), json!({"x-kubernetes-int-or-string": true})),
        (json!(true), any.clone()),
        (json!({"anyOf": [{"type": "string"}, {"type": "array"}]}), any.clone()),
    ] {
        assert_eq!(form(&definitions, &given), wanted, "{given}");
    }
}

#[test]
fn types_that_contain_themselves_are_validated_at_every_depth() {
    let definitions = json!({"Folder": {
        "type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 3},
            "folders": {"type": "array", "items": {"$ref": "#/$defs/Folder"}},
        },
    }});
    let definition = field(&definitions, &json!({"$ref": "#/$defs/Folder"}));
    assert!(definition.faults().is_empty(), "{}", definition.faults());
    let object = json!({"spec": {"name": "a", "folders": [{"name": "b", "folders": [{"name": "long", "folders": [{}]}]}]}});
    let mut errors = ErrorList::default();
    definition.structural().validate(&FieldPath::root(), &object, &Budget::unlimited(), &mut errors);
    let fields: Vec<String> = errors.0.iter().map(|error| error.field.to_string()).collect();
    assert_eq!(fields, ["spec.folders[0].folders[0].folders[0].name", "spec.folders[0].folders[0].name"]);
}

#[test]
fn rules_without_effect_are_faults() {
    let rules = json!([{"rule": "true"}]);
    let variant =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rules});
    let other = json!({"type": "object", "properties": {"b": {"type": "string"}}});
    for (definitions, schema) in [
        (json!({}), json!({"oneOf": [variant, other]})),
        (json!({"A": variant}), json!({"oneOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]})),
        (json!({}), json!({"type": "string", "x-kubernetes-validation": rules})),
        (json!({}), json!({"type": "string", "if": {"minLength": 1}})),
    ] {
        assert_eq!(field(&definitions, &schema).faults().0.len(), 1, "{schema}");
    }
}

#[test]
fn errors_name_the_type_and_its_field() {
    let definitions = json!({"Item": {"type": "object", "properties": {"name": {"type": "string"}}}});
    let definition = field(&definitions, &json!({"type": "array", "items": {"$ref": "#/$defs/Item"}}));
    let items = Definition::path().child("properties").key("spec").child("items");
    let name = items.child("properties").key("name");
    assert_eq!(definition.explain(&name.child("pattern")), "Item.name: pattern");
    assert_eq!(definition.explain(&items.child("default")), "Thing.spec: items (Item): default");
    let spec = Definition::path().child("properties").key("spec").child("x-kubernetes-list-type");
    assert_eq!(definition.explain(&spec), "Thing.spec: x-kubernetes-list-type");
}
