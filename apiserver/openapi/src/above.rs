//! The v3 documents of paths above those of the versions: of the server's version, of all groups and of each group.
//!
//! They are small, and created for each request.

use std::collections::BTreeSet;

use registry_core::schema::openapi::components;
use registry_core::schema::{Schema, TypeTable};
use serde_json::{Map, Value, json};

use super::ServedVersions;
use super::components::{meta_name, reference};
use super::names::{group_id, group_tag};
use super::operations::OBJECT_TYPES;
use super::version::{LazyDescriptions, built_in_document};

/// The path of the document of `/version`.
const VERSION: &str = "version";
/// The name of the schema of `/version`.
const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";
/// The fields of `/version` that are always there.
const REQUIRED: [&str; 9] = [
    "major",
    "minor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
];
/// The other fields of `/version`.
const OPTIONAL: [&str; 4] =
    ["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"];

/// A path that lists groups or versions.
struct Listing {
    description: &'static str,
    operation: String,
    tag: String,
    kind: &'static str,
}

/// Returns the paths of all documents, below the index.
pub(super) fn paths(served: &dyn ServedVersions) -> Vec<String> {
    let groups = groups(served);
    let of_groups =
        groups.iter().map(|group| if group.is_empty() { "api".to_owned() } else { format!("apis/{group}") });
    ["apis", VERSION].map(str::to_owned).into_iter().chain(of_groups).collect()
}

/// Returns the document at a path below the index, if it is one of these.
pub(super) fn document(
    below: &str,
    served: &dyn ServedVersions,
    descriptions: &LazyDescriptions,
) -> Option<Value> {
    if below == VERSION {
        return Some(version_document());
    }
    let listing = Listing::at(below, served)?;
    let types: Map<String, Value> =
        OBJECT_TYPES.map(|media_type| (media_type.to_owned(), listing.content())).into_iter().collect();
    let schema = TypeTable::meta().schema_named(&meta_name(listing.kind));
    let roots: Vec<&Schema> = schema.iter().collect();
    let operation = operation(listing.description, &listing.operation, &listing.tag, &Value::Object(types));
    Some(complete(&format!("/{below}/"), &operation, &components(&roots, descriptions.as_ref())))
}

// === impl Listing ===

impl Listing {
    fn at(below: &str, served: &dyn ServedVersions) -> Option<Self> {
        let versions = "get available API versions";
        match below {
            "api" => groups(served).contains("").then(|| Self {
                description: versions,
                operation: "getCoreAPIVersions".to_owned(),
                tag: "core".to_owned(),
                kind: "APIVersions",
            }),
            "apis" => Some(Self {
                description: versions,
                operation: "getAPIVersions".to_owned(),
                tag: "apis".to_owned(),
                kind: "APIGroupList",
            }),
            _ => {
                let group = below.strip_prefix("apis/").filter(|group| !group.is_empty())?;
                groups(served).contains(group).then(|| Self {
                    description: "get information of a group",
                    operation: format!("get{}APIGroup", group_id(group)),
                    tag: group_tag(group),
                    kind: "APIGroup",
                })
            }
        }
    }

    fn content(&self) -> Value {
        json!({ "schema": reference(&meta_name(self.kind)) })
    }
}

/// Returns the groups of built-in kinds. Those of custom kinds have no documents of their own.
fn groups(served: &dyn ServedVersions) -> BTreeSet<&str> {
    let versions = served.versions().into_iter();
    versions.filter(|version| !version.is_custom()).map(|version| version.id.group).collect()
}

fn version_document() -> Value {
    let required = REQUIRED.map(|name| (name.to_owned(), json!({ "type": "string", "default": "" })));
    let optional = OPTIONAL.map(|name| (name.to_owned(), json!({ "type": "string" })));
    let properties: Map<String, Value> = required.into_iter().chain(optional).collect();
    let info = json!({
        "description": "Info contains versioning information.",
        "type": "object", "required": REQUIRED, "properties": properties,
    });
    let schemas = Map::from_iter([(VERSION_INFO.to_owned(), info)]);
    let content = json!({ "application/json": { "schema": reference(VERSION_INFO) } });
    let description = "get the version information for this server";
    complete("/version/", &operation(description, "getCodeVersion", VERSION, &content), &schemas)
}

fn operation(description: &str, id: &str, tag: &str, content: &Value) -> Value {
    json!({
        "description": description, "operationId": id, "tags": [tag],
        "responses": {
            "200": { "description": "OK", "content": content },
            "401": { "description": "Unauthorized" },
        },
    })
}

fn complete(path: &str, operation: &Value, schemas: &Map<String, Value>) -> Value {
    built_in_document(&json!({ path: { "get": operation } }), schemas)
}
