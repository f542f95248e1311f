//! The bootstrap objects of Kubernetes, which code generation took from a real server.

use registry_core::api::Object;
use registry_core::resource::Resource;
use serde_json::Value;

/// One object per line.
static OBJECTS: &str = include_str!("../generated/bootstrap.jsonl");

/// Returns the objects of one kind.
pub(crate) fn bootstrap_objects<R: Resource>() -> Vec<Object> {
    lines::<R>().filter_map(parse).collect()
}

/// Returns the object of one kind with this name. Only lines with the name are parsed.
pub(crate) fn bootstrap_object<R: Resource>(name: &str) -> Option<Object> {
    let member = format!("\"name\":\"{name}\"");
    let lines = lines::<R>().filter(|line| line.contains(&member));
    lines.filter_map(parse).find(|object| object.name() == name)
}

/// Returns the lines of one kind: they begin with the type, so that others need not be parsed.
fn lines<R: Resource>() -> impl Iterator<Item = &'static str> {
    let kind = R::TYPE.kind;
    let prefix = format!("{{\"apiVersion\":\"{}\",\"kind\":\"{}\",", kind.group_version(), kind.kind);
    OBJECTS.lines().filter(move |line| line.starts_with(&prefix))
}

fn parse(line: &str) -> Option<Object> {
    Object::from_value(serde_json::from_str::<Value>(line).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use crate::api::rbac::clusterroles::ClusterRoles;

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
        let roles = bootstrap_objects::<ClusterRoles>();
        assert_eq!(roles.len(), 70);
        for role in &roles {
            assert_eq!(bootstrap_object::<ClusterRoles>(role.name()).as_ref(), Some(role));
        }
        assert_eq!(bootstrap_object::<ClusterRoles>("system"), None);
    }
}
