//! The paths that list others: of all groups, and of each; and that of the server's version. In v3, each has a document of its
//! own, which is small, and created for each request.

use std::collections::BTreeSet;

use registry_core::json_fields::put;
use registry_core::schema::TypeTable;
use registry_core::schema::openapi::components;
use serde_json::{Map, Value, json};

use super::ServedVersions;
use super::names::{group_id, group_tag};
use super::operations::OBJECT_TYPES;
use super::references::{meta_name, reference};
use super::version::{LazyDescriptions, Version, built_in_document};

/// The path of the document of `/version`.
const VERSION: &str = "version";
/// The name of the schema of `/version`.
const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";
/// The fields of `/version` that are always there, with their descriptions.
const REQUIRED: [(&str, &str); 9] = [
    ("major", "Major is the major version of the binary version"),
    ("minor", "Minor is the minor version of the binary version"),
    ("gitVersion", ""),
    ("gitCommit", ""),
    ("gitTreeState", ""),
    ("buildDate", ""),
    ("goVersion", ""),
    ("compiler", ""),
    ("platform", ""),
];
/// The other fields of `/version`, with their descriptions.
const OPTIONAL: [(&str, &str); 4] = [
    ("emulationMajor", "EmulationMajor is the major version of the emulation version"),
    ("emulationMinor", "EmulationMinor is the minor version of the emulation version"),
    (
        "minCompatibilityMajor",
        "MinCompatibilityMajor is the major version of the minimum compatibility version",
    ),
    (
        "minCompatibilityMinor",
        "MinCompatibilityMinor is the minor version of the minimum compatibility version",
    ),
];

/// An operation of one of these paths.
struct Root {
    description: &'static str,
    operation: String,
    tag: String,
    media_types: &'static [&'static str],
    /// The name of the schema of responses.
    schema: String,
}

/// Returns the paths of all documents, below the index.
pub(super) fn paths(served: &dyn ServedVersions) -> Vec<String> {
    roots(&served.versions()).into_iter().map(|(path, _)| path).collect()
}

/// Returns the document at a path below the index, if it is one of these.
pub(super) fn document(
    below: &str,
    served: &dyn ServedVersions,
    descriptions: &LazyDescriptions,
) -> Option<Value> {
    let (_, root) = roots(&served.versions()).into_iter().find(|(path, _)| path == below)?;
    let schemas = match TypeTable::meta().schema_named(&root.schema) {
        Some(schema) => components(&[&schema], descriptions.as_ref()),
        None => Map::from_iter([version_info()]),
    };
    let paths = json!({ format!("/{below}/"): { "get": root.operation() } });
    Some(built_in_document(&paths, &schemas))
}

/// Returns the operations of all of these paths.
pub(super) fn operations(versions: &[Version<'_>]) -> impl Iterator<Item = (String, Value)> {
    roots(versions).into_iter().map(|(path, root)| (format!("/{path}/"), root.operation()))
}

/// Returns all of them by their paths. The groups of custom kinds have none.
fn roots(versions: &[Version<'_>]) -> Vec<(String, Root)> {
    let groups: BTreeSet<&str> =
        versions.iter().filter(|version| !version.is_custom()).map(|version| version.id.group).collect();
    let list = |description, operation: &str, tag: &str, kind| Root {
        description,
        operation: operation.to_owned(),
        tag: tag.to_owned(),
        media_types: &OBJECT_TYPES,
        schema: meta_name(kind),
    };
    let versions = "get available API versions";
    let version = Root {
        description: "get the version information for this server",
        operation: "getCodeVersion".to_owned(),
        tag: VERSION.to_owned(),
        media_types: &["application/json"],
        schema: VERSION_INFO.to_owned(),
    };
    let mut roots = vec![
        (VERSION.to_owned(), version),
        ("apis".to_owned(), list(versions, "getAPIVersions", "apis", "APIGroupList")),
    ];
    roots.extend(groups.into_iter().map(|group| match group {
        "" => ("api".to_owned(), list(versions, "getCoreAPIVersions", "core", "APIVersions")),
        group => {
            let operation = format!("get{}APIGroup", group_id(group));
            let list = list("get information of a group", &operation, &group_tag(group), "APIGroup");
            (format!("apis/{group}"), list)
        }
    }));
    roots
}

/// Returns the schema of the server's version, by its name.
pub(super) fn version_info() -> (String, Value) {
    let field = |(name, description): (&str, &str), mut field: Value| {
        if !description.is_empty() {
            put(&mut field, "description", description);
        }
        (name.to_owned(), field)
    };
    let required = REQUIRED.map(|described| field(described, json!({ "type": "string", "default": "" })));
    let optional = OPTIONAL.map(|described| field(described, json!({ "type": "string" })));
    let properties: Map<String, Value> = required.into_iter().chain(optional).collect();
    let info = json!({
        "description": "Info contains versioning information. how we'll want to distribute that information.",
        "type": "object", "required": REQUIRED.map(|(name, _)| name), "properties": properties,
    });
    (VERSION_INFO.to_owned(), info)
}

// === impl Root ===

impl Root {
    fn operation(&self) -> Value {
        let schema = json!({ "schema": reference(&self.schema) });
        let types = self.media_types.iter().map(|media_type| ((*media_type).to_owned(), schema.clone()));
        let content: Map<String, Value> = types.collect();
        json!({
            "description": self.description, "operationId": self.operation, "tags": [self.tag],
            "responses": {
                "200": { "description": "OK", "content": content },
                "401": { "description": "Unauthorized" },
            },
        })
    }
}
