//! Migration from client-side apply: kubectl stores the last applied configuration in an annotation of the object.

use serde_json::Value;

use crate::api::Object;
use crate::api::validation::object_meta::MAX_ANNOTATIONS_BYTES;

use super::compare::Changes;
use super::conflict::Conflict;
use super::{FieldManager, FieldSet};

/// The only manager for which client-side apply is migrated.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Returns the conflicts whose fields differ from the last applied configuration: the client can change a field
    /// that still has the value that it applied.
    pub(super) fn beyond_last_applied(&self, live: &Object, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let Some(last) = self.last_applied(live) else { return conflicts };
        let Changes { changed, removed } =
            Changes::between(self.shape(), &last.0, &live.0, &FieldSet::default());
        let unchanged =
            FieldSet::from_fields(&last.0, self.shape()).difference(&changed).difference(&removed);
        conflicts.into_iter().filter(|conflict| !unchanged.has(&conflict.path)).collect()
    }

    fn last_applied(&self, live: &Object) -> Option<Object> {
        let text = annotation(live)?;
        let object: Object = serde_json::from_str(text).ok()?;
        (object.api_version() == self.api_version).then_some(object)
    }
}

/// Updates the annotation, if present, to the applied configuration; otherwise, later client-side applies would undo
/// this apply.
pub(super) fn refresh(object: &mut Object, applied: &Object) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    applied.remove(&["metadata", "annotations", ANNOTATION]);
    let text = format!("{}\n", Value::Object(applied.0));
    object.set(&["metadata", "annotations", ANNOTATION], text.into());
    let size: usize = object.annotations().map(|(key, value)| key.len() + value.len()).sum();
    if size > MAX_ANNOTATIONS_BYTES {
        object.remove(&["metadata", "annotations", ANNOTATION]);
    }
}

fn annotation(object: &Object) -> Option<&str> {
    object.get_str(&["metadata", "annotations", ANNOTATION]).filter(|text| !text.is_empty())
}
