//! The paths that list others: of all groups, of one, and of the server's version.

use std::collections::BTreeSet;

use registry_core::api::GroupVersion;
use serde_json::{Map, Value, json};

use super::super::components::meta_name;
use super::super::names::{group_id, group_tag};

/// Returns the paths above those of the versions.
pub(super) fn paths(versions: impl Iterator<Item = GroupVersion>) -> Map<String, Value> {
    let groups: BTreeSet<&str> = versions.map(|version| version.group).collect();
    let mut paths = Map::new();
    let mut add = |path: String, about: &str, id: String, tag: String, kind: &str| {
        let produces = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
        let answer = json!({ "$ref": format!("#/definitions/{}", meta_name(kind)) });
        let operation = json!({
            "description": about, "operationId": id, "tags": [tag], "schemes": ["https"],
            "consumes": produces, "produces": produces,
            "responses": {
                "200": { "description": "OK", "schema": answer },
                "401": { "description": "Unauthorized" },
            },
        });
        paths.insert(path, json!({ "get": operation }));
    };
    let versions_of_api = "get available API versions";
    add("/apis/".to_owned(), versions_of_api, "getAPIVersions".to_owned(), "apis".to_owned(), "APIGroupList");
    for group in groups {
        if group.is_empty() {
            let id = "getCoreAPIVersions".to_owned();
            add("/api/".to_owned(), versions_of_api, id, "core".to_owned(), "APIVersions");
        } else {
            let id = format!("get{}APIGroup", group_id(group));
            add(format!("/apis/{group}/"), "get information of a group", id, group_tag(group), "APIGroup");
        }
    }
    paths
}
