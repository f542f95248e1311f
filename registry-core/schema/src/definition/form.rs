//! Writes the structural form of a generated JSON schema: references are replaced by what they refer to, nullable
//! values by optional ones, and unions of objects by their fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use registry_meta::{ErrorList, FieldError, FieldPath};

use crate::structural::{RECURSIVE, SAME_AS};

use super::keywords;
use super::unions::{self, Variants};

/// Accepts JSON names with underscores in a struct.
const SNAKE_CASE: &str = "x-orlop-snake-case";
const RULES: &str = "x-kubernetes-validations";
/// The beginning of the names of Kubernetes' own types.
const FOREIGN: &str = "io.k8s.";
/// The fields of every object.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

type JsonMap = Map<String, Value>;

/// Writes the schema of a kind.
pub(super) struct Writer<'a> {
    definitions: Option<&'a JsonMap>,
    /// The names of the definitions around the current place.
    open: Vec<&'a str>,
    /// The definitions among them that contain themselves.
    recursive: BTreeSet<&'a str>,
    pub(super) faults: ErrorList,
    pub(super) types: Vec<(String, String)>,
}

// === impl Writer ===

impl<'a> Writer<'a> {
    pub(super) fn new(generated: &'a Value) -> Self {
        let definitions = generated.get("$defs").or_else(|| generated.get("definitions"));
        Self {
            definitions: definitions.and_then(Value::as_object),
            open: Vec::new(),
            recursive: BTreeSet::new(),
            faults: ErrorList::default(),
            types: Vec::new(),
        }
    }

    /// Writes the schema of the whole object. The type and the metadata are the same for every kind.
    pub(super) fn root(&mut self, generated: &'a Value, path: &FieldPath) -> JsonMap {
        let empty = Map::new();
        let name = generated.get("title").and_then(Value::as_str).unwrap_or("the struct");
        self.types.push((path.to_string(), name.to_owned()));
        let mut written = match generated.as_object() {
            Some(generated) => self.parts(generated, path, &OF_EVERY_OBJECT),
            None => empty,
        };
        written.insert("type".to_owned(), "object".into());
        if let Some(Value::Array(required)) = written.get_mut("required") {
            required.retain(|name| !name.as_str().is_some_and(|name| OF_EVERY_OBJECT.contains(&name)));
        }
        let properties = written.entry("properties").or_insert_with(|| Map::new().into());
        if let Value::Object(properties) = properties {
            properties.insert("apiVersion".to_owned(), json!({"type": "string"}));
            properties.insert("kind".to_owned(), json!({"type": "string"}));
            properties.insert("metadata".to_owned(), json!({"type": "object"}));
        }
        written
    }

    fn value(&mut self, schema: &'a Value, path: &FieldPath) -> JsonMap {
        match schema.as_object() {
            Some(schema) => self.schema(schema, path),
            None => any(),
        }
    }

    fn schema(&mut self, schema: &'a JsonMap, path: &FieldPath) -> JsonMap {
        if let Some(name) = unions::reference(schema) {
            let mut written = self.reference(name, path);
            let outer = self.parts(schema, path, &[]);
            overlay(&mut written, outer);
            return written;
        }
        match unions::variants(schema, self.definitions) {
            Variants::None => {
                let mut written = self.parts(schema, path, &[]);
                complete(&mut written);
                written
            }
            Variants::Single(variant) => {
                let mut written = self.value(variant, path);
                let outer = self.parts(schema, path, &[]);
                overlay(&mut written, outer);
                written
            }
            Variants::Choices(choices) => {
                let mut written = self.parts(schema, path, &[]);
                written.insert("enum".to_owned(), choices.into());
                complete(&mut written);
                written
            }
            Variants::Objects(variants) => self.union(schema, &variants, path),
            Variants::Mixed => {
                if unions::have_rules(schema, self.definitions) {
                    self.refuse_rules(path);
                }
                let mut written = any();
                let outer = self.parts(schema, path, &[]);
                overlay(&mut written, outer);
                written
            }
        }
    }

    fn reference(&mut self, name: &'a str, path: &FieldPath) -> JsonMap {
        let definition = self.definitions.and_then(|definitions| definitions.get(name));
        let Some(definition) = definition else { return any() };
        if self.open.contains(&name) {
            self.recursive.insert(name);
            let is_object = definition.get("type").is_some_and(|kind| kind == "object");
            let mut written = any();
            if is_object {
                written.insert("type".to_owned(), "object".into());
                written.remove("nullable");
            }
            written.insert(SAME_AS.to_owned(), name.into());
            return written;
        }
        let short = name.rsplit('.').next().unwrap_or(name);
        self.types.push((path.to_string(), short.to_owned()));
        self.open.push(name);
        let mut written = self.value(definition, path);
        self.open.pop();
        if self.recursive.contains(name) {
            if has_rules(&written) {
                let detail = "a type that contains itself cannot have rules, because they would not apply to \
                              what it contains: write them in the strategy";
                self.faults.push(FieldError::forbidden(path.child(RULES), detail));
            }
            written.insert(RECURSIVE.to_owned(), name.into());
        }
        written
    }

    /// Writes a union of objects as an object with the fields of all variants. Which belong together is checked against
    /// the struct.
    fn union(&mut self, schema: &'a JsonMap, variants: &[&'a JsonMap], path: &FieldPath) -> JsonMap {
        let mut written = self.parts(schema, path, &[]);
        for variant in variants {
            let mut variant = self.parts(variant, path, &[]);
            if variant.contains_key(RULES) {
                self.refuse_rules(path);
            }
            let Some(Value::Object(more)) = variant.remove("properties") else { continue };
            let properties = written.entry("properties").or_insert_with(|| Map::new().into());
            if let Value::Object(properties) = properties {
                unions::add_fields(properties, more);
            }
        }
        written.insert("type".to_owned(), "object".into());
        written.insert(keywords::KEEPS_UNKNOWN.to_owned(), true.into());
        written
    }

    fn refuse_rules(&mut self, path: &FieldPath) {
        let detail = "variants of an enum with data cannot have rules: write them at the enum or its fields, or in the \
                      strategy";
        self.faults.push(FieldError::forbidden(path.child(RULES), detail));
    }

    /// Writes what a schema itself says, and the schemas below it, except for some properties.
    fn parts(&mut self, schema: &'a JsonMap, path: &FieldPath, omitted: &[&str]) -> JsonMap {
        let mut written = keywords::written(schema, path, &mut self.faults);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            let fields = self.fields(schema, properties, path, omitted);
            written.insert("properties".to_owned(), fields.into());
        }
        let values = schema.get("additionalProperties").or_else(|| {
            // Maps whose keys are numbers.
            let patterns = schema.get("patternProperties")?.as_object()?;
            patterns.values().next()
        });
        match values {
            Some(Value::Bool(false)) if omitted.is_empty() && !schema.contains_key("properties") => {
                written.insert("additionalProperties".to_owned(), false.into());
            }
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => {
                written.insert(keywords::KEEPS_UNKNOWN.to_owned(), true.into());
            }
            Some(values) => {
                let values = self.value(values, &path.child("additionalProperties"));
                written.insert("additionalProperties".to_owned(), values.into());
            }
        }
        if keywords::type_name(schema) == Some("array") {
            let items = match schema.get("items") {
                Some(items) => self.value(items, &path.child("items")),
                None => any(),
            };
            written.insert("items".to_owned(), items.into());
            keywords::write_uniqueness(schema, &mut written);
        }
        if is_opaque(schema, self.open.last()) {
            written.insert(keywords::KEEPS_UNKNOWN.to_owned(), true.into());
        }
        written
    }

    fn fields(
        &mut self,
        schema: &JsonMap,
        properties: &'a JsonMap,
        path: &FieldPath,
        omitted: &[&str],
    ) -> JsonMap {
        let is_foreign = self.open.last().is_some_and(|name| name.starts_with(FOREIGN));
        let accepts_snake_case = is_foreign || schema.get(SNAKE_CASE) == Some(&Value::Bool(true));
        let below = path.child("properties");
        let mut written = Map::new();
        for (name, schema) in properties.iter().filter(|(name, _)| !omitted.contains(&name.as_str())) {
            let path = below.key(name);
            if !accepts_snake_case && name.trim_matches('_').contains('_') {
                let detail = format!(
                    "Kubernetes writes camelCase: add `#[serde(rename_all = \"camelCase\")]` to the type, or \
                     `#[schemars(extend(\"{SNAKE_CASE}\" = true))]` to keep the name"
                );
                self.faults.push(FieldError::invalid(path.clone(), name.as_str(), detail));
            }
            written.insert(name.clone(), self.value(schema, &path).into());
        }
        written
    }
}

/// Returns the schema of any value.
fn any() -> JsonMap {
    let flags = [keywords::KEEPS_UNKNOWN, "nullable"];
    flags.into_iter().map(|flag| (flag.to_owned(), true.into())).collect()
}

/// Adds what a structural schema requires: a type, or that any value is accepted.
fn complete(written: &mut JsonMap) {
    if written.contains_key("type") || written.contains_key(keywords::INT_OR_STRING) {
        return;
    }
    let values = written.get("enum").and_then(Value::as_array);
    let is_text = values.is_some_and(|values| values.iter().all(Value::is_string));
    if written.contains_key("properties") || written.contains_key("additionalProperties") {
        written.insert("type".to_owned(), "object".into());
    } else if is_text {
        written.insert("type".to_owned(), "string".into());
    } else {
        written.append(&mut any());
    }
}

/// Adds what a place says about its value to what the value's type says. The rules of both apply.
fn overlay(written: &mut JsonMap, outer: JsonMap) {
    for (key, value) in outer {
        match (written.get_mut(&key), value) {
            (Some(Value::Array(rules)), Value::Array(mut more)) if key == RULES => rules.append(&mut more),
            (_, value) => {
                written.insert(key, value);
            }
        }
    }
}

/// Whether a schema describes one of Kubernetes' types for objects of any form.
fn is_opaque(schema: &JsonMap, name: Option<&&str>) -> bool {
    name.is_some_and(|name| name.starts_with(FOREIGN))
        && keywords::type_name(schema) == Some("object")
        && !schema.contains_key("properties")
        && !schema.contains_key("additionalProperties")
}

fn has_rules(schema: &JsonMap) -> bool {
    let below = |value: &Value| match value {
        Value::Object(schema) => has_rules(schema),
        _ => false,
    };
    schema.contains_key(RULES) || schema.values().any(below)
}
