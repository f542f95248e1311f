//! Rules of StorageVersionMigrations.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use resource_views::Text;
use resource_views::storagemigration::v1beta1::StorageVersionMigration;

use crate::support::conditions;
use crate::support::field::ShownAsGo as _;

/// The resource is immutable; a migration ends once.
pub(super) struct StorageVersionMigrationStrategy;

impl ObjectStrategy for StorageVersionMigrationStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = StorageVersionMigration(object).spec();
        let wanted = spec.resource();
        let resource = wanted.resource();
        if resource.text().is_empty() {
            errors.push(resource.required("resource is required to be set"));
        } else {
            check_joined(&resource, names::dns_1035_label, &mut errors);
        }
        let group = wanted.group();
        if !group.text().is_empty() {
            check_joined(&group, names::dns_subdomain, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let before = StorageVersionMigration(old).spec();
        let spec = StorageVersionMigration(new).spec();
        spec.check_immutable_as("<storagemigration.StorageVersionMigrationSpec>", &before, &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        check_status(new, old)
    }
}

/// Adds one error for all complaints of a rule.
fn check_joined(field: &Text<'_, '_>, rule: fn(&str) -> Vec<String>, errors: &mut ErrorList) {
    let complaints = rule(field.text());
    if !complaints.is_empty() {
        errors.push(field.invalid(complaints.join(",")));
    }
}

fn check_status(new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let status = StorageVersionMigration(new).status();
    let before = StorageVersionMigration(old).status();
    let version = status.resource_version();
    let known = before.resource_version();
    if !version.text().is_empty() && !is_resource_version(version.text()) {
        let detail = format!("resource version is not well formed: {}", version.text());
        errors.push(version.invalid(detail));
    }
    let stated = status.conditions();
    conditions::check(&stated, &mut errors);
    if !known.text().is_empty() && known.text() != version.text() {
        errors.push(version.invalid_text("field is immutable"));
    }
    let refused = |detail: &str| stated.invalid_as("[<v1.Condition>", detail);
    if has(new, SUCCEEDED) && has(new, FAILED) {
        errors.push(refused("Both success and failed conditions cannot be true at the same time"));
    }
    if has(old, SUCCEEDED) && !has(new, SUCCEEDED) {
        errors.push(refused("Success condition cannot be set to false once it is true"));
    }
    if has(old, FAILED) && !has(new, FAILED) {
        errors.push(refused("Failed condition cannot be set to false once it is true"));
    }
    errors
}

const SUCCEEDED: &str = "Succeeded";
const FAILED: &str = "Failed";

/// Whether a condition is true.
fn has(migration: &Object, condition: &str) -> bool {
    conditions::is_true(migration, condition)
}

/// Whether a text is a number without leading zeros.
fn is_resource_version(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0')
}
