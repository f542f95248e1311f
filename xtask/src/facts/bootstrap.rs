//! The objects that a server creates at start: roles, priority levels, API services and so on.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{FactsError, read_json};

/// The metadata fields that are kept. The others are specific to one server.
const KEPT_METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// Resources that depend on the operator's flags.
const BY_FLAGS: [&str; 1] = ["servicecidrs"];

/// Returns all objects, one per line, with their types; sorted by type, namespace and name.
pub(super) fn objects(upstream: &Path) -> Result<String, FactsError> {
    let served: BTreeMap<String, Vec<Map<String, Value>>> =
        read_json(&upstream.join("bootstrap-objects.json"))?;
    let discovery: Value = read_json(&upstream.join("discovery-aggregated.json"))?;
    let mut lines = BTreeMap::new();
    for (path, objects) in served {
        let (api_version, resource) = split(&path)
            .ok_or_else(|| FactsError::Contradiction(format!("{path} is not a path of a resource")))?;
        if BY_FLAGS.contains(&resource) {
            continue;
        }
        let Some(kind) = kind_of(&discovery, api_version, resource) else {
            let text = format!("{path} is served, and discovery knows nothing of it");
            return Err(FactsError::Contradiction(text));
        };
        for object in objects {
            let object = wanted(object);
            let metadata = object.get("metadata");
            let of = |field| metadata.and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default();
            let key = [api_version, kind, of("namespace"), of("name")].map(str::to_owned);
            lines.insert(key, line(api_version, kind, object));
        }
    }
    Ok(lines.into_values().fold(String::new(), |text, line| text + &line + "\n"))
}

/// `/apis/apps/v1/deployments` → `apps/v1`, `deployments`.
fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("/apis/").or_else(|| path.strip_prefix("/api/"))?;
    path.rsplit_once('/')
}

fn kind_of<'a>(discovery: &'a Value, api_version: &str, resource: &str) -> Option<&'a str> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let items =
        |root: &'a Value, field: &str| root.get(field).and_then(Value::as_array).into_iter().flatten();
    let groups = ["api", "apis"].into_iter().filter_map(|root| discovery.get(root));
    let mut groups = groups.flat_map(|root| items(root, "items"));
    let group = groups.find(|candidate| {
        candidate.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default() == group
    })?;
    let version = items(group, "versions").find(|candidate| candidate["version"] == version)?;
    let resource = items(version, "resources").find(|candidate| candidate["resource"] == resource)?;
    resource.pointer("/responseKind/kind")?.as_str()
}

/// Returns the object without the fields that servers and controllers set.
fn wanted(mut object: Map<String, Value>) -> Map<String, Value> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| KEPT_METADATA.contains(&field.as_str()));
    }
    object.remove("status");
    if object.contains_key("aggregationRule") {
        // A controller sets the rules of an aggregated role.
        object.remove("rules");
    }
    object
}

/// Returns the object as one line, which begins with its type, so that readers of one kind need not parse the others.
fn line(api_version: &str, kind: &str, object: Map<String, Value>) -> String {
    let fields = Value::Object(object).to_string();
    let fields = fields.strip_prefix('{').unwrap_or_default();
    format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",{fields}")
}
