//! Classes that are stored as `v1alpha1`, whose fields are in a spec.
//!
//! Kubernetes concept: the conversions of `pkg/apis/node/v1alpha1`.

use registry_core::api::Object;
use resource_views::node::v1::RuntimeClassMut;
use resource_views::node::v1alpha1;
use serde_json::Value;

/// Changes a class of `v1alpha1` into one of `v1`.
pub(super) fn renew(class: &mut Object) {
    let spec = v1alpha1::RuntimeClassMut(class).spec().remove();
    let Some(Value::Object(mut fields)) = spec else { return };
    let mut spec = v1alpha1::RuntimeClassSpecMut(&mut fields);
    if let Some(handler) = spec.runtime_handler().remove() {
        RuntimeClassMut(class).handler().set_value(handler);
    }
    if let Some(overhead) = spec.overhead().remove() {
        RuntimeClassMut(class).overhead().set_value(overhead);
    }
    if let Some(scheduling) = spec.scheduling().remove() {
        RuntimeClassMut(class).scheduling().set_value(scheduling);
    }
}
