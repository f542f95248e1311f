//! Converts OpenAPI v3 to v2.

use serde_json::{Map, Value, json};

use registry_core::json_fields::put;

use super::super::operations::CUSTOM_TYPES;

/// Converts a schema: a reference is kept beside its description, defaults are removed, and a union is
/// reduced to the form that old clients can read.
pub(super) fn schema(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    fields.remove("default");
    let is_union = fields.remove("oneOf").is_some() | fields.remove("anyOf").is_some();
    if is_union && !fields.contains_key("type") {
        fields.insert("type".to_owned(), "string".into());
    }
    if let Some(Value::Array(all)) = fields.remove("allOf") {
        // The server writes `allOf` only to add something to a reference.
        for part in all {
            if let Value::Object(part) = part {
                fields.extend(part);
            }
        }
    }
    if let Some(reference) = fields.get_mut("$ref") {
        let name = reference.as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        *reference = format!("#/definitions/{name}").into();
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(value) = fields.get_mut(inner) {
            *value = self::schema(value.take());
        }
    }
    for property in fields.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        *property.1 = self::schema(property.1.take());
    }
    Value::Object(fields)
}

/// Converts the operations and parameters of a path.
pub(super) fn path_item(item: Value) -> Value {
    let Value::Object(fields) = item else { return item };
    let fields = fields.into_iter().map(|(name, value)| {
        let value = if name == "parameters" { parameters(value) } else { operation(value) };
        (name, value)
    });
    Value::Object(fields.collect())
}

fn operation(operation: Value) -> Value {
    let Value::Object(mut fields) = operation else { return operation };
    let mut own: Vec<Value> = fields
        .remove("parameters")
        .map(parameters)
        .and_then(|value| if let Value::Array(all) = value { Some(all) } else { None })
        .unwrap_or_default();
    let mut consumes = vec![Value::from("*/*")];
    let body = fields.remove("requestBody");
    let has_body = body.is_some();
    if let Some(body) = body {
        let (types, schema) = content(body.get("content"));
        consumes = types;
        let mut parameter = json!({ "name": "body", "in": "body", "schema": schema });
        if body.get("required") == Some(&Value::Bool(true)) {
            put(&mut parameter, "required", true);
        }
        own.insert(0, parameter);
    }
    let mut produces = Vec::new();
    if let Some(Value::Object(responses)) = fields.get_mut("responses") {
        for response in responses.values_mut() {
            let Some(fields) = response.as_object_mut() else { continue };
            if let Some(own) = fields.remove("content") {
                let (types, schema) = content(Some(&own));
                produces = types;
                fields.insert("schema".to_owned(), schema);
            }
        }
    }
    if !own.is_empty() {
        fields.insert("parameters".to_owned(), own.into());
    }
    // Documents and custom kinds consume what they produce, other operations without a body accept anything.
    let is_document = !fields.contains_key("x-kubernetes-action");
    let is_of_custom = !has_body && produces.iter().eq(CUSTOM_TYPES);
    if is_document || is_of_custom {
        consumes.clone_from(&produces);
    }
    fields.insert("consumes".to_owned(), consumes.into());
    fields.insert("produces".to_owned(), produces.into());
    fields.insert("schemes".to_owned(), json!(["https"]));
    Value::Object(fields)
}

/// Returns the media types of a body, and the schema of the first, which all share.
fn content(content: Option<&Value>) -> (Vec<Value>, Value) {
    let empty = Map::new();
    let types = content.and_then(Value::as_object).unwrap_or(&empty);
    let of_first = types.values().next().and_then(|first| first.get("schema")).cloned().unwrap_or_default();
    (types.keys().map(|name| name.clone().into()).collect(), schema(of_first))
}

/// Converts parameters, which contain their type in v2.
fn parameters(parameters: Value) -> Value {
    let Value::Array(all) = parameters else { return parameters };
    let flat = all.into_iter().map(|mut parameter| {
        if let Value::Object(fields) = &mut parameter
            && let Some(Value::Object(schema)) = fields.remove("schema")
        {
            fields.extend(schema);
        }
        parameter
    });
    flat.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stand_beside_what_is_said_of_them() {
        let v3 = json!({
            "type": "object",
            "properties": {
                "a": { "default": {}, "description": "d", "allOf": [{ "$ref": "#/components/schemas/x.A" }] },
                "b": { "type": "array", "items": { "$ref": "#/components/schemas/x.B" } },
                "default": { "oneOf": [{ "type": "string" }, { "type": "number" }] },
            },
        });
        let v2 = json!({
            "type": "object",
            "properties": {
                "a": { "description": "d", "$ref": "#/definitions/x.A" },
                "b": { "type": "array", "items": { "$ref": "#/definitions/x.B" } },
                "default": { "type": "string" },
            },
        });
        assert_eq!(schema(v3), v2);
    }

    #[test]
    fn bodies_are_parameters() {
        let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/x.A" } } });
        let v3 = json!({ "post": {
            "parameters": [{ "name": "p", "in": "query", "schema": { "type": "string" } }],
            "requestBody": { "content": content, "required": true },
            "responses": { "200": { "description": "OK", "content": content } },
            "x-kubernetes-action": "post",
        } });
        let v2 = json!({ "post": {
            "parameters": [
                { "name": "body", "in": "body", "required": true, "schema": { "$ref": "#/definitions/x.A" } },
                { "name": "p", "in": "query", "type": "string" },
            ],
            "responses": { "200": { "description": "OK", "schema": { "$ref": "#/definitions/x.A" } } },
            "x-kubernetes-action": "post",
            "consumes": ["application/json"], "produces": ["application/json"], "schemes": ["https"],
        } });
        assert_eq!(path_item(v3), v2);
    }
}
