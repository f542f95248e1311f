//! What the subresources share that change one part of a pod.

use registry_core::api::{FieldPath, Object};

/// A pod that a kubelet runs from a file of its node: what is in the API is its mirror image.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// Makes a changed pod the old one again, but for its managers; gives back what it was to become.
pub(super) fn keep_old(new: &mut Object, old: &Object) -> Object {
    let asked = std::mem::replace(new, old.clone());
    new.copy_field(&asked, &["metadata", "managedFields"]);
    asked
}

/// Counts a change of the spec in the generation.
pub(super) fn count_change(new: &mut Object, old: &Object) {
    if new.0.get("spec") != old.0.get("spec") {
        new.set(&["metadata", "generation"], (old.generation() + 1).into());
    }
}

/// Whether the pod is the mirror image of a static one.
pub(super) fn is_static(pod: &Object) -> bool {
    pod.annotations().any(|(key, _)| key == MIRROR_ANNOTATION)
}

/// Where errors are that are about the pod itself: a path with one empty step, as kube-apiserver writes it.
pub(super) fn pod_itself() -> FieldPath {
    FieldPath::root().key("")
}
