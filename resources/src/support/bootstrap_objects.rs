//! The bootstrap objects of Kubernetes, which code generation took from a real server.

use registry_core::api::Object;
use registry_core::resource::Resource;
use serde_json::Value;

/// One object per line.
static OBJECTS: &str = include_str!("../generated/bootstrap.jsonl");

/// Returns the objects of one kind. Lines begin with the type, so that others need not be parsed.
pub(crate) fn bootstrap_objects<R: Resource>() -> Vec<Object> {
    let kind = R::TYPE.kind;
    let prefix = format!("{{\"apiVersion\":\"{}\",\"kind\":\"{}\",", kind.group_version(), kind.kind);
    let lines = OBJECTS.lines().filter(|line| line.starts_with(&prefix));
    lines.filter_map(|line| Object::from_value(serde_json::from_str::<Value>(line).ok()?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object_with_a_type_and_a_name() {
        for line in OBJECTS.lines() {
            let object: Object =
                Object::from_value(serde_json::from_str(line).expect("JSON")).expect("an object");
            assert!(
                !object.api_version().is_empty() && !object.kind().is_empty() && !object.name().is_empty()
            );
            let kind = object.kind();
            assert!(
                line.starts_with(&format!(
                    "{{\"apiVersion\":\"{}\",\"kind\":\"{kind}\",",
                    object.api_version()
                ))
            );
        }
        assert_eq!(bootstrap_objects::<crate::api::rbac::clusterroles::ClusterRoles>().len(), 70);
    }
}
