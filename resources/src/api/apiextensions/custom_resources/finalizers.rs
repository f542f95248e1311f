//! Warnings about the names of finalizers. Other kinds refuse such names; custom resources may already have them.

use std::collections::BTreeSet;

use registry_core::api::Object;
use registry_core::api::go_text::quote;
use registry_core::api::validation::names::qualified_name;

/// The finalizers of Kubernetes itself.
const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// Returns warnings about the finalizers that a write adds.
pub(super) fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let mut added: BTreeSet<&str> = new.finalizers().collect();
    for present in old.into_iter().flat_map(Object::finalizers) {
        added.remove(present);
    }
    added.into_iter().flat_map(finalizer_warnings).collect()
}

fn finalizer_warnings(name: &str) -> Vec<String> {
    let warning = |text: &str| format!("metadata.finalizers: {}: {text}", quote(name));
    let mut warnings: Vec<String> = qualified_name(name).iter().map(|text| warning(text)).collect();
    if !name.contains('/') && !STANDARD.contains(&name) {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        warnings.push(warning(&format!(
            "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        )));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use registry_core::api::Object;
    use serde_json::json;

    use super::warnings;

    fn with_finalizers(finalizers: &[&str]) -> Object {
        Object::from_value(json!({"metadata": {"finalizers": finalizers}})).unwrap()
    }

    #[test]
    fn added_finalizers_should_be_qualified() {
        let new = with_finalizers(&["example.com", "cleanup", "example.com/done", "orphan"]);
        let expected = [
            "metadata.finalizers: \"cleanup\": prefer a domain-qualified finalizer name to avoid accidental conflicts with \
             other finalizer writers",
            "metadata.finalizers: \"example.com\": prefer a domain-qualified finalizer name including a path (/) to avoid \
             accidental conflicts with other finalizer writers",
        ];
        assert_eq!(warnings(&new, None), expected);
        assert_eq!(warnings(&new, Some(&with_finalizers(&["cleanup"]))), expected[1..]);
        assert!(warnings(&new, Some(&new)).is_empty());
        let odd = warnings(&with_finalizers(&["a\u{7f}"]), None);
        assert!(odd[0].starts_with("metadata.finalizers: \"a\\x7f\": "), "as Go quotes it: {odd:?}");
    }
}
