//! Rules that roles and bindings share.

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use resource_views::rbac::v1::{PolicyRule, RoleBinding, RoleBindingMut, Subject};
use resource_views::{List, Text};

use crate::support::field::ShownAsGo as _;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Sets the default API groups of the role and of the subjects. Bindings of both kinds have the same fields.
pub(super) fn default_binding(object: &mut Object) {
    RoleBindingMut(object).role_ref().edit(|mut role| role.api_group().or(GROUP));
    for mut subject in RoleBindingMut(object).subjects().elements() {
        if matches!(subject.kind().text(), "User" | "Group") {
            subject.api_group().or(GROUP);
        }
    }
}

/// Checks the rules of a role.
pub(super) fn check_rules(rules: &List<PolicyRule<'_, '_>>, is_namespaced: bool, errors: &mut ErrorList) {
    for rule in rules.elements() {
        let urls = rule.non_resource_urls();
        let resources = rule.resources();
        let groups = rule.api_groups();
        if rule.verbs().is_empty() {
            errors.push(rule.verbs().required("verbs must contain at least one value"));
        }
        if !urls.is_empty() {
            if is_namespaced {
                errors.push(urls.invalid("namespaced rules cannot apply to non-resource URLs"));
            }
            if groups.len() + resources.len() + rule.resource_names().len() > 0 {
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
    let role = RoleBinding(object).role_ref();
    let group = role.api_group();
    let kind = role.kind();
    let name = role.name();
    if group.text() != GROUP {
        errors.push(group.unsupported(&[GROUP]));
    }
    if !role_kinds.contains(&kind.text()) {
        errors.push(text_unsupported(&kind, role_kinds));
    }
    if name.check_present(&mut errors) {
        name.check(names::path_segment, &mut errors);
    }
    for subject in RoleBinding(object).subjects().elements() {
        check_subject(&subject, is_namespaced, &mut errors);
    }
    errors
}

fn check_subject(subject: &Subject<'_, '_>, is_namespaced: bool, errors: &mut ErrorList) {
    let kind = subject.kind();
    let name = subject.name();
    let group = subject.api_group();
    let is_named = name.check_present(errors);
    match kind.text() {
        "ServiceAccount" => {
            if is_named {
                name.check(names::dns_subdomain, errors);
            }
            if !group.text().is_empty() {
                errors.push(group.unsupported(&[""]));
            }
            if !is_namespaced && subject.namespace().text().is_empty() {
                errors.push(subject.namespace().required(""));
            }
        }
        "User" | "Group" if group.text() != GROUP => errors.push(group.unsupported(&[GROUP])),
        "User" | "Group" => {}
        _ => errors.push(text_unsupported(&kind, &["ServiceAccount", "User", "Group"])),
    }
}

/// Returns the error of an unsupported value; an absent text is shown as an empty one.
fn text_unsupported(field: &Text<'_, '_>, accepted: &[&str]) -> FieldError {
    FieldError::not_supported(field.path(), field.text(), accepted)
}

/// Checks that a binding's role is unchanged.
pub(super) fn check_role_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let new = RoleBinding(new).role_ref();
    let old = RoleBinding(old).role_ref();
    if new.value() != old.value() {
        errors.push(new.invalid_as("<rbac.RoleRef>", "cannot change roleRef"));
    }
}
