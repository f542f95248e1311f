//! Selection of the class for objects that name none.

use registry_core::api::Object;
use resource_views::core::v1::PersistentVolumeClaim;
use resource_views::storage::v1::StorageClass;

use crate::api::core::volume_claim::CLASS_ANNOTATION;

/// Returns the newest of the classes that an annotation marks as default; of equally old ones, the first by name.
pub(in crate::admission) fn choose(classes: Vec<Object>, annotations: &[&str]) -> Option<Object> {
    let is_default = |class: &Object| annotations.iter().any(|key| class.annotation(key) == Some("true"));
    classes.into_iter().filter(is_default).max_by(|left, right| {
        let created = |class: &Object| {
            StorageClass(class).metadata().creation_timestamp().optional_text().map(str::to_owned)
        };
        created(left).cmp(&created(right)).then_with(|| right.name().cmp(left.name()))
    })
}

/// Returns the storage class of a claim; empty if it has none.
pub(in crate::admission) fn class_of(claim: &Object) -> &str {
    claim
        .annotation(CLASS_ANNOTATION)
        .or_else(|| PersistentVolumeClaim(claim).spec().storage_class_name().optional_text())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newest_default_wins() {
        let class = |name: &str, created: &str, default: &str| {
            Object::from_value(json!({
                "metadata": {"name": name, "creationTimestamp": created, "annotations": {"default": default}},
            }))
            .unwrap()
        };
        let old = "2020-01-01T00:00:00Z";
        let new = "2021-01-01T00:00:00Z";
        let classes = vec![class("a", old, "true"), class("c", new, "true"), class("b", new, "true")];
        assert_eq!(choose(classes, &["default"]).unwrap().name(), "b");
        assert!(choose(vec![class("a", old, "false")], &["default"]).is_none());
    }
}
