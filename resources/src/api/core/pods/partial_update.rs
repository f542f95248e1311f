//! Functions shared by the subresources that change a part of a pod.

use registry_core::api::{FieldPath, Object};
use resource_views::core::v1::Pod;

use crate::api::core::pod_spec::validation::annotations::MIRROR;

/// Restores the old pod except for its managers; returns the requested new state.
pub(super) fn keep_old(new: &mut Object, old: &Object) -> Object {
    let asked = std::mem::replace(new, old.clone());
    new.copy_field(&asked, &["metadata", "managedFields"]);
    asked
}

/// Increments the generation if the spec changed.
pub(super) fn count_change(new: &mut Object, old: &Object) {
    if Pod(new).spec().value() != Pod(old).spec().value() {
        new.set(&["metadata", "generation"], (old.generation() + 1).into());
    }
}

/// Whether the pod is the mirror pod of a static one.
pub(super) fn is_static(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_some()
}

/// Returns the path of errors about the pod itself: a path with one empty segment, as kube-apiserver writes it.
pub(super) fn pod_itself() -> FieldPath {
    FieldPath::root().key("")
}
