//! Duplicate owner references: the server keeps one of each and warns the client.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use serde_json::Value;

/// Removes references that equal an earlier one.
pub(super) fn settle(context: &RequestContext, object: &mut Object) {
    settle_at(context, object, "");
}

/// Removes the references that equal an earlier one after admission plug-ins have changed the object.
pub(in crate::handlers) fn settle_after_admission(context: &RequestContext, object: &mut Object) {
    settle_at(context, object, " after mutating admission happens");
}

/// Removes references that equal an earlier one. `when` says when they were found.
fn settle_at(context: &RequestContext, object: &mut Object, when: &str) {
    let references = object.0.get_mut("metadata").and_then(|metadata| metadata.get_mut("ownerReferences"));
    let Some(Value::Array(references)) = references else { return };
    if references.len() < 2 {
        return;
    }
    let mut known: HashSet<String> = HashSet::with_capacity(references.len());
    let mut repeated: Vec<String> = Vec::new();
    references.retain(|reference| {
        let is_new = known.insert(reference.to_string());
        if !is_new {
            repeated.push(uid_of(reference));
        }
        is_new
    });
    if !repeated.is_empty() {
        context.warn(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in \
             1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) \
             observed: {}",
            repeated.join(", ")
        ));
    }
}

fn uid_of(reference: &Value) -> String {
    reference.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_reference_counts_once() {
        let context = RequestContext::default();
        let owner = json!({"name": "a", "uid": "u"});
        let other = json!({"name": "b", "uid": "u"});
        let metadata = json!({"ownerReferences": [owner, other, owner]});
        let mut object = Object::from_value(json!({"metadata": metadata})).unwrap();
        settle(&context, &mut object);
        assert_eq!(object.get(&["metadata", "ownerReferences"]), Some(&json!([owner, other])));
        assert!(context.take_warnings()[0].ends_with("duplicate UID(s) observed: u"));
        settle_after_admission(&context, &mut object);
        assert!(context.take_warnings().is_empty());
        object.0["metadata"]["ownerReferences"] = json!([owner, owner]);
        settle_after_admission(&context, &mut object);
        assert!(
            context.take_warnings()[0].contains("duplicate entries after mutating admission happens; API")
        );
    }
}
