//! Writes versions and schemas as the messages of errors show them: as Go's structs without JSON names, in the order of
//! their fields, including unset ones.

use registry_core::schema::html::escape_for_pages;
use serde_json::Value;

use super::view::{Parts, Spec, Version};

/// Length after which no more is written, in bytes: each schema, however small, is more than a kilobyte long.
const MAX_BYTES: usize = 256 << 10;

/// The form of a field.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Bool,
    Number,
    /// Any JSON, or null.
    Optional,
    /// A struct, or null.
    Pointer(&'static [Field]),
    List(&'static [Field]),
    /// A schema, or null.
    Schema,
    Schemas,
    SchemaMap,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema or a list of schemas.
    SchemaOrList,
    /// A map of schemas or lists of names.
    Dependencies,
}

/// A field: its name in Go, its name in JSON, and its form.
type Field = (&'static str, &'static str, Form);

static VALIDATION: &[Field] = &[("OpenAPIV3Schema", "openAPIV3Schema", Form::Schema)];

static SUBRESOURCES: &[Field] = &[
    ("Status", "status", Form::Pointer(&[])),
    (
        "Scale",
        "scale",
        Form::Pointer(&[
            ("SpecReplicasPath", "specReplicasPath", Form::Text),
            ("StatusReplicasPath", "statusReplicasPath", Form::Text),
            ("LabelSelectorPath", "labelSelectorPath", Form::Optional),
        ]),
    ),
];

static COLUMN: &[Field] = &[
    ("Name", "name", Form::Text),
    ("Type", "type", Form::Text),
    ("Format", "format", Form::Text),
    ("Description", "description", Form::Text),
    ("Priority", "priority", Form::Number),
    ("JSONPath", "jsonPath", Form::Text),
];

static SELECTABLE: &[Field] = &[("JSONPath", "jsonPath", Form::Text)];

static RULE: &[Field] = &[
    ("Rule", "rule", Form::Text),
    ("Message", "message", Form::Text),
    ("MessageExpression", "messageExpression", Form::Text),
    ("Reason", "reason", Form::Optional),
    ("FieldPath", "fieldPath", Form::Text),
    ("OptionalOldSelf", "optionalOldSelf", Form::Optional),
];

static DOCUMENTATION: &[Field] = &[("Description", "description", Form::Text), ("URL", "url", Form::Text)];

static SCHEMA: &[Field] = &[
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Optional),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Bool),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Optional),
    ("Maximum", "maximum", Form::Optional),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Bool),
    ("Minimum", "minimum", Form::Optional),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Bool),
    ("MaxLength", "maxLength", Form::Optional),
    ("MinLength", "minLength", Form::Optional),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Optional),
    ("MinItems", "minItems", Form::Optional),
    ("UniqueItems", "uniqueItems", Form::Bool),
    ("MultipleOf", "multipleOf", Form::Optional),
    ("Enum", "enum", Form::Optional),
    ("MaxProperties", "maxProperties", Form::Optional),
    ("MinProperties", "minProperties", Form::Optional),
    ("Required", "required", Form::Optional),
    ("Items", "items", Form::SchemaOrList),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Form::SchemaOrBool),
    ("PatternProperties", "patternProperties", Form::SchemaMap),
    ("Dependencies", "dependencies", Form::Dependencies),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::SchemaMap),
    ("ExternalDocs", "externalDocs", Form::Pointer(DOCUMENTATION)),
    ("Example", "example", Form::Optional),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Optional),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Bool),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Bool),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Optional),
    ("XListType", "x-kubernetes-list-type", Form::Optional),
    ("XMapType", "x-kubernetes-map-type", Form::Optional),
    ("XValidations", "x-kubernetes-validations", Form::List(RULE)),
];

/// Returns the fields of a schema in the order of Go's struct: their names in Go and in JSON.
pub(super) fn schema_fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMA.iter().map(|(name, json, _)| (*name, *json))
}

/// Returns a schema as messages show it.
pub(super) fn schema_text(schema: Option<&Value>) -> String {
    let mut writer = Writer(String::new());
    writer.value(schema, Form::Schema);
    escape_for_pages(writer.0)
}

/// Returns the items of a list as messages show them: the schema or the schemas.
pub(super) fn items_text(items: Option<&Value>) -> String {
    let mut writer = Writer(String::new());
    writer.value(items, Form::SchemaOrList);
    escape_for_pages(writer.0)
}

/// Returns versions as messages show them.
pub(super) fn versions_text(spec: &Spec<'_>) -> String {
    let versions = &spec.versions;
    if spec.get("versions").is_none() {
        return "null".to_owned();
    }
    let mut writer = Writer("[".to_owned());
    for (place, version) in versions.iter().enumerate() {
        if writer.0.len() > MAX_BYTES {
            break;
        }
        writer.separate(place);
        writer.version(version);
    }
    writer.0.push(']');
    escape_for_pages(writer.0)
}

/// The text so far.
struct Writer(String);

// === impl Writer ===

impl Writer {
    fn version(&mut self, version: &Version<'_>) {
        let name = Value::from(version.name);
        let warning = version.deprecation_warning().map(Value::from).unwrap_or_default();
        let Version { served, storage, deprecated, .. } = version;
        let head = format!(
            "{{\"Name\":{name},\"Served\":{served},\"Storage\":{storage},\"Deprecated\":{deprecated},\
             \"DeprecationWarning\":{warning}"
        );
        self.0.push_str(&head);
        let Parts { validation, subresources, columns, selectable } = version.parts;
        self.0.push_str(",\"Schema\":");
        self.value(validation, Form::Pointer(VALIDATION));
        self.0.push_str(",\"Subresources\":");
        self.value(subresources, Form::Pointer(SUBRESOURCES));
        self.0.push_str(",\"AdditionalPrinterColumns\":");
        self.list_or_null(columns, COLUMN);
        self.0.push_str(",\"SelectableFields\":");
        self.list_or_null(selectable, SELECTABLE);
        self.0.push('}');
    }

    fn list_or_null(&mut self, list: &[Value], fields: &'static [Field]) {
        if list.is_empty() { self.0.push_str("null") } else { self.list(list, fields) }
    }

    fn list(&mut self, list: &[Value], fields: &'static [Field]) {
        self.0.push('[');
        for (place, value) in list.iter().enumerate() {
            if self.0.len() > MAX_BYTES {
                break;
            }
            self.separate(place);
            self.structure(Some(value), fields);
        }
        self.0.push(']');
    }

    fn value(&mut self, value: Option<&Value>, form: Form) {
        if self.0.len() > MAX_BYTES {
            return;
        }
        let value = value.filter(|value| !value.is_null());
        match (form, value) {
            (Form::Text, None) => self.0.push_str("\"\""),
            (Form::Bool, None) => self.0.push_str("false"),
            (Form::Number, None) => self.0.push('0'),
            (_, None) => self.0.push_str("null"),
            (Form::Text | Form::Bool | Form::Number | Form::Optional, Some(value)) => {
                self.0.push_str(&value.to_string());
            }
            (Form::Pointer(fields), value) => self.structure(value, fields),
            (Form::Schema, value) => self.structure(value, SCHEMA),
            (Form::List(fields), Some(Value::Array(list))) => self.list(list, fields),
            (Form::Schemas, Some(Value::Array(list))) => self.list(list, SCHEMA),
            (Form::SchemaMap, Some(Value::Object(map))) => {
                self.map(map, &mut |writer, value| writer.structure(Some(value), SCHEMA));
            }
            (Form::Dependencies, Some(Value::Object(map))) => self.map(map, &mut Self::dependency),
            (Form::SchemaOrBool, Some(Value::Bool(allowed))) => {
                let text = format!("{{\"Allows\":{allowed},\"Schema\":null}}");
                self.0.push_str(&text);
            }
            (Form::SchemaOrBool, value) => {
                self.0.push_str("{\"Allows\":true,\"Schema\":");
                self.value(value, Form::Schema);
                self.0.push('}');
            }
            (Form::SchemaOrList, Some(Value::Array(list))) => {
                self.0.push_str("{\"Schema\":null,\"JSONSchemas\":");
                self.list_or_null(list, SCHEMA);
                self.0.push('}');
            }
            (Form::SchemaOrList, value) => {
                self.0.push_str("{\"Schema\":");
                self.value(value, Form::Schema);
                self.0.push_str(",\"JSONSchemas\":null}");
            }
            (Form::List(_) | Form::Schemas | Form::SchemaMap | Form::Dependencies, Some(_)) => {
                self.0.push_str("null");
            }
        }
    }

    fn dependency(&mut self, value: &Value) {
        self.0.push_str("{\"Schema\":");
        self.value(Some(value).filter(|value| value.is_object()), Form::Schema);
        self.0.push_str(",\"Property\":");
        self.value(Some(value).filter(|value| value.is_array()), Form::Optional);
        self.0.push('}');
    }

    fn map(&mut self, map: &serde_json::Map<String, Value>, write: &mut dyn FnMut(&mut Self, &Value)) {
        self.0.push('{');
        for (place, (key, value)) in map.iter().enumerate() {
            if self.0.len() > MAX_BYTES {
                break;
            }
            self.separate(place);
            self.0.push_str(&Value::from(key.as_str()).to_string());
            self.0.push(':');
            write(self, value);
        }
        self.0.push('}');
    }

    fn structure(&mut self, value: Option<&Value>, fields: &'static [Field]) {
        if self.0.len() > MAX_BYTES {
            return;
        }
        self.0.push('{');
        for (place, (name, json, form)) in fields.iter().enumerate() {
            self.separate(place);
            self.0.push('"');
            self.0.push_str(name);
            self.0.push_str("\":");
            self.value(value.and_then(|value| value.get(json)), *form);
        }
        self.0.push('}');
    }

    fn separate(&mut self, place: usize) {
        if place > 0 {
            self.0.push(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_shows_all_its_fields() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "items": {"type": "string"},
            "x-kubernetes-validations": [{"rule": "self < 1"}],
        });
        let text = schema_text(Some(&schema));
        assert!(text.starts_with(r#"{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object""#));
        assert!(text.contains(r#""AdditionalProperties":{"Allows":false,"Schema":null}"#));
        assert!(text.contains(r#""Items":{"Schema":{"ID":"""#));
        assert!(text.contains(r#""XValidations":[{"Rule":"self \u003c 1","Message":"""#));
        assert!(text.ends_with(r#""FieldPath":"","OptionalOldSelf":null}]}"#));
    }

    #[test]
    fn a_huge_schema_is_cut() {
        let many: serde_json::Map<String, Value> = (0..100_000).map(|n| (n.to_string(), json!({}))).collect();
        assert!(schema_text(Some(&json!({"properties": many}))).len() < 2 * MAX_BYTES);
    }
}
