//! Bindings that are stored as `v1alpha1`, whose subjects have a version in place of a group.
//!
//! Kubernetes concept: the conversions of `pkg/apis/rbac/v1alpha1`.

use registry_core::api::{Object, split_api_version};
use resource_views::rbac::{v1, v1alpha1};

const GROUP: &str = "rbac.authorization.k8s.io";
/// The group of every user who is known.
const AUTHENTICATED: &str = "system:authenticated";

/// Changes a binding of `v1alpha1`, of a namespace or of the cluster, into one of `v1`.
pub(super) fn renew_binding(binding: &mut Object) {
    v1alpha1::RoleBindingMut(binding).subjects().elements().for_each(renew_subject);
}

fn renew_subject(mut subject: v1alpha1::SubjectMut<'_>) {
    let api_version = subject.api_version().remove();
    let mut subject = v1::SubjectMut(subject.0);
    let group = match subject.kind().text() {
        "ServiceAccount" => "",
        "User" | "Group" => GROUP,
        _ => {
            split_api_version(api_version.as_ref().and_then(|version| version.as_str()).unwrap_or_default()).0
        }
    };
    subject.api_group().set(group);
    if subject.kind().is("User") && subject.name().is("*") {
        subject.kind().set("Group");
        subject.name().set(AUTHENTICATED);
    }
}
