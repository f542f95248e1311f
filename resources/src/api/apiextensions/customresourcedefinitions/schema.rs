//! Reads the schemas in a definition: `JSONSchemaProps` as they are written in JSON.
//!
//! Rules walk a schema generically, over tables of its fields, so that fields are read by name rather than through a view.

use serde_json::{Map, Value};

/// A schema.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a> {
    value: &'a Value,
    fields: &'a Map<String, Value>,
}

/// The value of `items`.
#[derive(Clone, Copy)]
pub(super) enum Items<'a> {
    /// One schema for all elements.
    One(Schema<'a>),
    /// A schema for each element; not supported, but decoded.
    Many(&'a [Value]),
}

/// The value of `additionalProperties` and `additionalItems`.
#[derive(Clone, Copy)]
pub(super) enum Additional<'a> {
    Schema(Schema<'a>),
    Allowed(bool),
}

// === impl Schema ===

impl<'a> Schema<'a> {
    /// Reads a schema; `None` if there is none.
    pub(super) fn from_value(value: Option<&'a Value>) -> Option<Self> {
        value.and_then(|value| Some(Self { value, fields: value.as_object()? }))
    }

    /// Returns the schema as JSON.
    pub(super) fn value(self) -> &'a Value {
        self.value
    }

    /// Returns a copy of the fields.
    pub(super) fn to_map(self) -> Map<String, Value> {
        self.fields.clone()
    }

    /// Returns the names of the fields that are set.
    pub(super) fn set_fields(self) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
    }

    /// Returns a field that is set.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// Whether a field is set to anything but an empty text, list or map.
    pub(super) fn has(self, name: &str) -> bool {
        match self.get(name) {
            None => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            Some(_) => true,
        }
    }

    /// Returns a text; empty if unset.
    pub(super) fn text(self, name: &str) -> &'a str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the type; empty if unset.
    pub(super) fn kind(self) -> &'a str {
        self.text("type")
    }

    /// Whether a field is true.
    pub(super) fn is_true(self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// Returns the schema in a field.
    pub(super) fn child(self, name: &str) -> Option<Self> {
        Self::from_value(self.get(name))
    }

    /// Returns the list in a field; empty if unset.
    pub(super) fn list(self, name: &str) -> &'a [Value] {
        self.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the schemas in a list, with their places.
    pub(super) fn schemas(self, name: &str) -> impl Iterator<Item = (usize, Self)> {
        let elements = self.list(name).iter().enumerate();
        elements.filter_map(|(index, value)| Some((index, Self::from_value(Some(value))?)))
    }

    /// Returns the schemas in a map.
    pub(super) fn entries(self, name: &str) -> impl Iterator<Item = (&'a str, Self)> {
        let entries = self.get(name).and_then(Value::as_object).into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.as_str(), Self::from_value(Some(value))?)))
    }

    /// Returns the schema of a property.
    pub(super) fn property(self, name: &str) -> Option<Self> {
        Self::from_value(self.get("properties")?.get(name))
    }

    /// Whether there are properties.
    pub(super) fn has_properties(self) -> bool {
        self.has("properties")
    }

    /// Returns the schemas of elements.
    pub(super) fn items(self) -> Option<Items<'a>> {
        match self.get("items")? {
            Value::Array(list) => Some(Items::Many(list)),
            value => Self::from_value(Some(value)).map(Items::One),
        }
    }

    /// Returns the one schema of all elements.
    pub(super) fn item(self) -> Option<Self> {
        match self.items() {
            Some(Items::One(schema)) => Some(schema),
            _ => None,
        }
    }

    /// Returns what is said about other properties.
    pub(super) fn additional(self, name: &str) -> Option<Additional<'a>> {
        match self.get(name)? {
            Value::Bool(allowed) => Some(Additional::Allowed(*allowed)),
            value => Self::from_value(Some(value)).map(Additional::Schema),
        }
    }

    /// Returns the schema of other properties.
    pub(super) fn additional_schema(self) -> Option<Self> {
        match self.additional("additionalProperties") {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// Calls a function for every schema directly in this one.
    pub(super) fn for_each_child(self, visit: &mut dyn FnMut(Self)) {
        match self.items() {
            Some(Items::One(schema)) => visit(schema),
            Some(Items::Many(list)) => {
                list.iter().filter_map(|value| Self::from_value(Some(value))).for_each(&mut *visit);
            }
            None => {}
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            self.schemas(name).for_each(|(_, schema)| visit(schema));
        }
        for name in ["not", "additionalProperties", "additionalItems"] {
            self.child(name).into_iter().for_each(&mut *visit);
        }
        for name in ["properties", "patternProperties", "definitions", "dependencies"] {
            self.entries(name).for_each(|(_, schema)| visit(schema));
        }
    }

    /// Calls a function for this schema and every one below it.
    pub(super) fn for_each(self, visit: &mut dyn FnMut(Self)) {
        visit(self);
        self.for_each_child(&mut |child| child.for_each(visit));
    }

    /// Whether a condition holds for this schema or any below it.
    pub(super) fn any(self, condition: &dyn Fn(Schema<'_>) -> bool) -> bool {
        let mut found = condition(self);
        self.for_each_child(&mut |child| found = found || child.any(condition));
        found
    }

    /// Returns the reason why the schema has no structural form, in any place of it.
    pub(super) fn why_not_structural(self) -> Option<&'static str> {
        if let Some(reason) = self.why_unsupported() {
            return Some(reason);
        }
        let nested = ["not", "allOf", "anyOf", "oneOf"];
        let mut reason = None;
        for name in nested {
            let child = self.child(name).into_iter();
            let mut all = child.chain(self.schemas(name).map(|(_, schema)| schema));
            reason = reason.or_else(|| all.find_map(Self::why_not_structural));
        }
        if reason.is_none() && self.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            reason = Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined");
        }
        reason
            .or_else(|| match self.items() {
                Some(Items::One(schema)) => schema.why_not_structural(),
                Some(Items::Many(list)) if !list.is_empty() => {
                    Some("OpenAPIV3Schema 'items' must be a schema, but is an array")
                }
                _ => None,
            })
            .or_else(|| self.entries("properties").find_map(|(_, schema)| schema.why_not_structural()))
            .or_else(|| self.additional_schema().and_then(Self::why_not_structural))
    }

    fn why_unsupported(self) -> Option<&'static str> {
        const UNSUPPORTED: [(&str, &str); 7] = [
            ("id", "OpenAPIV3Schema 'id' is not supported"),
            ("$schema", "OpenAPIV3Schema 'schema' is not supported"),
            ("$ref", "OpenAPIV3Schema '$ref' is not supported"),
            ("patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported"),
            ("dependencies", "OpenAPIV3Schema 'dependencies' is not supported"),
            ("additionalItems", "OpenAPIV3Schema 'additionalItems' is not supported"),
            ("definitions", "OpenAPIV3Schema 'definitions' is not supported"),
        ];
        UNSUPPORTED.iter().find(|(name, _)| self.has(name)).map(|(_, reason)| *reason)
    }
}

impl<'a> Items<'a> {
    /// Returns the schemas for single elements, with their places.
    pub(super) fn many(self) -> impl Iterator<Item = (usize, Schema<'a>)> {
        let list = match self {
            Self::One(_) => &[],
            Self::Many(list) => list,
        };
        list.iter().enumerate().filter_map(|(index, value)| Some((index, Schema::from_value(Some(value))?)))
    }
}
