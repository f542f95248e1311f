//! Rules that roles and bindings share.

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use serde_json::Value;

use crate::support::defaulting;
use crate::support::field::{Field, ShownAsGo as _};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Sets the default API groups of the role and of the subjects.
pub(super) fn default_binding(object: &mut Object) {
    defaulting::with(&mut object.0, "roleRef", |role| defaulting::fill(role, "apiGroup", GROUP));
    defaulting::each(&mut object.0, &["subjects"], |subject| {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            defaulting::fill(subject, "apiGroup", GROUP);
        }
    });
}

/// Checks the rules of a role.
pub(super) fn check_rules(object: &Object, is_namespaced: bool, errors: &mut ErrorList) {
    for rule in Field::top_level(object, "rules").elements() {
        let urls = rule.get("nonResourceURLs");
        let resources = rule.get("resources");
        let groups = rule.get("apiGroups");
        if rule.get("verbs").is_empty() {
            errors.push(rule.get("verbs").required("verbs must contain at least one value"));
        }
        if !urls.is_empty() {
            if is_namespaced {
                errors.push(urls.invalid("namespaced rules cannot apply to non-resource URLs"));
            }
            if groups.len() + resources.len() + rule.get("resourceNames").len() > 0 {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(urls.invalid(detail));
            }
            continue;
        }
        if groups.is_empty() {
            errors.push(groups.required("resource rules must supply at least one api group"));
        }
        if resources.is_empty() {
            errors.push(resources.required("resource rules must supply at least one resource"));
        }
    }
}

/// Checks the role and the subjects of a binding.
pub(super) fn check_binding(object: &Object, role_kinds: &[&str], is_namespaced: bool) -> ErrorList {
    let mut errors = ErrorList::default();
    let role = Field::top_level(object, "roleRef");
    let group = role.get("apiGroup");
    let kind = role.get("kind");
    let name = role.get("name");
    if group.text() != GROUP {
        errors.push(group.unsupported(&[GROUP]));
    }
    if !role_kinds.contains(&kind.text()) {
        errors.push(text_unsupported(&kind, role_kinds));
    }
    if name.check_present(&mut errors) {
        name.check(names::path_segment, &mut errors);
    }
    for subject in Field::top_level(object, "subjects").elements() {
        check_subject(&subject, is_namespaced, &mut errors);
    }
    errors
}

fn check_subject(subject: &Field<'_, '_>, is_namespaced: bool, errors: &mut ErrorList) {
    let kind = subject.get("kind");
    let name = subject.get("name");
    let group = subject.get("apiGroup");
    let is_named = name.check_present(errors);
    match kind.text() {
        "ServiceAccount" => {
            if is_named {
                name.check(names::dns_subdomain, errors);
            }
            if !group.text().is_empty() {
                errors.push(group.unsupported(&[""]));
            }
            if !is_namespaced && subject.get("namespace").text().is_empty() {
                errors.push(subject.get("namespace").required(""));
            }
        }
        "User" | "Group" if group.text() != GROUP => errors.push(group.unsupported(&[GROUP])),
        "User" | "Group" => {}
        _ => errors.push(text_unsupported(&kind, &["ServiceAccount", "User", "Group"])),
    }
}

/// Returns the error of an unsupported value; an absent text is shown as an empty one.
fn text_unsupported(field: &Field<'_, '_>, accepted: &[&str]) -> registry_core::api::FieldError {
    registry_core::api::FieldError::not_supported(field.path(), field.text(), accepted)
}

/// Checks that a binding's role is unchanged.
pub(super) fn check_role_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let new = Field::top_level(new, "roleRef");
    let old = Field::top_level(old, "roleRef");
    if new.value() != old.value() {
        errors.push(new.invalid_as("<rbac.RoleRef>", "cannot change roleRef"));
    }
}
