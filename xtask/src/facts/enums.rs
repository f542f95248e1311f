//! The values of enumerated fields. The published documents are without them (they are written with the feature gate
//! `OpenAPIEnums` off): they are in the definitions that Kubernetes' servers are compiled with.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::FactsError;
use super::go::openapi_name;
use super::openapi::OpenApi;

/// The definitions, generated Go code, in Kubernetes' tree.
const DEFINITIONS: &str = "pkg/generated/openapi/zz_generated.openapi.go";

/// The first line about the values, which are the end of a field's description.
const HEADER: &str = "Possible enum values:";

/// The place in the definitions that is being read.
#[derive(Default)]
struct Reader<'a> {
    /// The paths of packages, by the names under which they are imported.
    packages: HashMap<&'a str, &'a str>,
    /// The OpenAPI names of types, by the functions that define them.
    types: HashMap<&'a str, String>,
    function: &'a str,
    field: &'a str,
    /// The end of the field's description from the header on, with the space before it.
    text: String,
}

/// Returns all enumerated fields of types in the documents, in the form `registry_core::schema::openapi::Descriptions` reads.
pub(super) fn table(kubernetes: &Path, openapi: &OpenApi) -> Result<String, FactsError> {
    let path = kubernetes.join(DEFINITIONS);
    let source = std::fs::read_to_string(&path).map_err(|source| FactsError::Io { path, source })?;
    fields(&source, openapi)
}

fn fields(source: &str, openapi: &OpenApi) -> Result<String, FactsError> {
    let mut reader = Reader::default();
    let mut table = String::new();
    for line in source.lines() {
        let code = line.trim_start_matches('\t');
        // gofmt's indentation tells the parts of a definition.
        match line.len() - code.len() {
            0 => reader.function = code.strip_prefix("func ").and_then(name).unwrap_or(reader.function),
            1 => reader.import(code),
            2 => reader.register(code),
            5 => reader.begin_field(code),
            7 if code.starts_with("Description:") => reader.describe(code)?,
            _ => {}
        }
        if code.starts_with("Enum:") {
            let is_nested = line.len() - code.len() > 7;
            let (ty, values) = (reader.ty()?, values(code)?);
            let Some(field) = openapi.properties(ty).and_then(|fields| fields.get(reader.field)) else {
                continue;
            };
            // The reader of the table derives the place from the field's type.
            if is_nested != ["items", "additionalProperties"].iter().any(|inner| field.get(inner).is_some()) {
                return Err(contradiction(code));
            }
            // Writing into a string cannot fail.
            let _ = writeln!(table, "{ty} {} {}", reader.field, json!([values, reader.text]));
        }
    }
    Ok(table)
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// `corev1 "k8s.io/api/core/v1"`
    fn import(&mut self, code: &'a str) {
        if let Some((name, path)) = code.split_once(" \"") {
            self.packages.insert(name, path.trim_end_matches('"'));
        }
    }

    /// `corev1.Pod{}.OpenAPIModelName(): schema_k8sio_api_core_v1_Pod(ref),`
    fn register(&mut self, code: &'a str) {
        if let Some((ty, function)) = code.split_once("{}.OpenAPIModelName():")
            && let Some((package, ty)) = ty.split_once('.')
            && let Some(path) = self.packages.get(package)
            && let Some(function) = name(function.trim_start())
        {
            self.types.insert(function, openapi_name(&format!("{path}.{ty}")));
        }
    }

    /// `"restartPolicy": {`
    fn begin_field(&mut self, code: &'a str) {
        if let Some(field) = code.strip_prefix('"').and_then(|rest| rest.strip_suffix("\": {")) {
            self.field = field;
            self.text.clear();
        }
    }

    /// `Description: "…",`
    fn describe(&mut self, code: &str) -> Result<(), FactsError> {
        let literal = code.trim_start_matches("Description:").trim().trim_end_matches(',');
        // A literal with the header is a JSON string too; raw literals, which are none, are without it.
        if literal.contains(HEADER) {
            let text: String = serde_json::from_str(literal).map_err(|_| contradiction(code))?;
            let about = text.split(HEADER).next().unwrap_or_default().trim_end();
            text.get(about.len()..).unwrap_or_default().clone_into(&mut self.text);
        }
        Ok(())
    }

    /// The OpenAPI name of the type that is being defined.
    fn ty(&self) -> Result<&str, FactsError> {
        self.types.get(self.function).map(String::as_str).ok_or_else(|| contradiction(self.function))
    }
}

/// Returns the name before a parenthesis.
fn name(code: &str) -> Option<&str> {
    code.split_once('(').map(|(name, _)| name)
}

/// `Enum: []interface{}{"Always", "Never"},`
fn values(code: &str) -> Result<Value, FactsError> {
    let values = code.split_once("[]interface{}{").and_then(|(_, rest)| rest.strip_suffix("},"));
    let values = values.and_then(|values| serde_json::from_str(&format!("[{values}]")).ok());
    values.ok_or_else(|| contradiction(code))
}

fn contradiction(code: &str) -> FactsError {
    FactsError::Contradiction(format!("{DEFINITIONS}: not as expected: {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns generated definitions of the type `Pod`, with these lines in its fields.
    fn definitions(fields: &str) -> String {
        let indented = fields.replace("    ", "\t");
        format!(
            "package openapi\n\nimport (\n\tcorev1 \"k8s.io/api/core/v1\"\n)\n\n\
             func GetOpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {{\n\
             \treturn map[string]common.OpenAPIDefinition{{\n\
             \t\tcorev1.Pod{{}}.OpenAPIModelName():     schema_Pod(ref),\n\t}}\n}}\n\n\
             func schema_Pod(ref common.ReferenceCallback) common.OpenAPIDefinition {{\n{indented}}}\n\n\
             func schema_Unregistered(ref common.ReferenceCallback) common.OpenAPIDefinition {{\n}}\n"
        )
    }

    fn table_of(fields: &str) -> Result<String, FactsError> {
        let text = json!({ "type": "string" });
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let properties = json!({ "policy": text, "phase": text, "modes": list });
        let schemas = json!({ "io.k8s.api.core.v1.Pod": { "properties": properties } });
        let mut openapi = OpenApi::default();
        openapi.add(&json!({ "components": { "schemas": schemas } }));
        super::fields(&definitions(fields), &openapi)
    }

    const POLICY: &str = r#"
                    "policy": {
                        SchemaProps: spec.SchemaProps{
                            Description: "It \"restarts\".\n\nPossible enum values:\n - `\"Always\"` restarts\n - `\"Never\"`",
                            Enum:        []interface{}{"Always", "Never"},
                        },
                    },
"#;
    const MODES: &str = r#"
                    "modes": {
                        SchemaProps: spec.SchemaProps{
                            Description: `Raw, with "quotes".`,
                            Items: &spec.SchemaOrArray{
                                Schema: &spec.Schema{
                                    SchemaProps: spec.SchemaProps{
                                        Enum:   []interface{}{"*", "a,b"},
                                    },
                                },
                            },
                        },
                    },
"#;

    #[test]
    fn values_are_those_of_fields_in_the_documents_with_the_end_of_their_descriptions() {
        let text = r#""\n\nPossible enum values:\n - `\"Always\"` restarts\n - `\"Never\"`""#;
        let policy = format!("io.k8s.api.core.v1.Pod policy [[\"Always\",\"Never\"],{text}]\n");
        let modes = "io.k8s.api.core.v1.Pod modes [[\"*\",\"a,b\"],\"\"]\n";
        assert_eq!(table_of(&format!("{POLICY}{MODES}")).unwrap(), format!("{policy}{modes}"));
        let unpublished = POLICY.replace("policy", "another");
        assert_eq!(table_of(&format!("{unpublished}{MODES}")).unwrap(), modes, "not in the documents");
        assert_eq!(table_of("").unwrap(), "");
    }

    #[test]
    fn definitions_of_another_form_are_refused() {
        let refused = |fields: &str| match table_of(fields) {
            Err(FactsError::Contradiction(text)) => text,
            other => panic!("{other:?}"),
        };
        for (place, other) in [
            (r#"{"Always", "Never"},"#, r#"{"Always", Never},"#),
            (r#"{"Always", "Never"},"#, "strings(),"),
            (r#""policy": {"#, r#""modes": {"#),
            ("restarts\\n", "restarts\\x"),
        ] {
            let text = refused(&POLICY.replace(place, other));
            assert!(text.starts_with(DEFINITIONS), "{other}: {text}");
        }
        refused(&MODES.replace("modes", "policy"));
        let unregistered = definitions("").replace("schema_Unregistered(ref", "schema_Other(ref");
        let unregistered = unregistered.replace(
            "common.OpenAPIDefinition {\n}\n",
            "common.OpenAPIDefinition {\n\t\t\t\t\t\t\tEnum: []interface{}{\"a\"},\n}\n",
        );
        let error = super::fields(&unregistered, &OpenApi::default()).unwrap_err();
        assert!(error.to_string().contains("schema_Other"), "{error}");
    }
}
