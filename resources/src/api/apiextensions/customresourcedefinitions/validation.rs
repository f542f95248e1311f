//! Validates definitions. (`apiextensions/validation`.)
//!
//! Errors have the order and the texts of kube-apiserver, up to a limit of their size; the work is bounded by the budget of the
//! request. A change may keep a violation that the stored definition had before its rule was made.
//!
//! | module | contents |
//! |---|---|
//! | `ratcheting` | the violations that a change may keep |
//! | `spec` | the spec as a whole |
//! | `conversion` | the conversion between versions |
//! | `versions` | versions, and what they have in common |
//! | `field_paths` | the paths of selectable fields |
//! | `root` | one schema as a whole |
//! | `defaulting` | the defaults in a schema |
//! | `structural` | schemas that describe every field once |
//! | `completeness` | fields below `allOf` and the like, which must be described outside too |
//! | `patterns` | regular expressions, within a limit of work |
//! | `openapi` | what Kubernetes supports of OpenAPI |
//! | `lists` | how lists and maps are merged |
//! | `names` | the names of a definition |
//! | `options` | the rules that apply to a definition |

use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use resource_views::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::approval;
use super::findings::{Findings, Place};
use super::view::Spec;

mod completeness;
mod conversion;
mod defaulting;
mod field_paths;
mod lists;
mod names;
mod openapi;
mod options;
mod patterns;
mod ratcheting;
mod root;
mod spec;
mod structural;
mod versions;

use options::Options;

pub use structural::is_structural;
pub(super) use structural::why_not_structural;

/// Checks the schema of a compiled-in kind as that of a definition is checked.
pub fn check_schema(schema: &Value, has_status: bool) -> ErrorList {
    let budget = Budget::unlimited();
    let mut findings = Findings::new(&budget);
    let rules = root::SchemaRules {
        options: &Options::for_creation(),
        is_structural: true,
        has_status,
        is_unchanged: false,
    };
    root::check_schema(Some(schema), &rules, &Place::new("schema"), &mut findings);
    findings.into_list()
}

/// Validates a new definition.
pub(super) fn validate(new: &Object, budget: &Budget) -> ErrorList {
    let mut findings = Findings::new(budget);
    names::check_object_name(new, &mut findings);
    check(new, None, &Options::for_creation(), &mut findings);
    findings.into_list()
}

/// Validates a changed definition. What was stored before the rules were tightened may remain.
pub(super) fn validate_update(new: &Object, old: &Object, budget: &Budget) -> ErrorList {
    let mut findings = Findings::new(budget);
    check(new, Some(old), &Options::for_update(new, old), &mut findings);
    findings.into_list()
}

/// Validates a changed status.
pub(super) fn validate_status_update(new: &Object, budget: &Budget) -> ErrorList {
    let mut findings = Findings::new(budget);
    check_status(new, &mut findings);
    findings.into_list()
}

/// Whether the certificates of a webhook's client are absent or readable.
pub(super) fn is_valid_bundle(bundle: &str) -> bool {
    conversion::why_bad_bundle(bundle).is_none()
}

fn check(new: &Object, old: Option<&Object>, options: &Options<'_>, findings: &mut Findings<'_>) {
    let view = Spec::from_object(new);
    let place = Place::new("spec");
    spec::check(&view, options, &place, findings);
    if let Some(old) = old {
        spec::check_unchanged(&view, &Spec::from_object(old), options, &place, findings);
    }
    check_status(new, findings);
    check_stored_versions(new, &view, findings);
    approval::check(new, old, findings);
    check_preserve_unknown_fields(&view, old, &place, findings);
}

fn check_status(new: &Object, findings: &mut Findings<'_>) {
    let status = CustomResourceDefinition(new).status();
    names::check(&status.accepted_names(), &Place::new("status").child("acceptedNames"), findings);
}

/// Checks that all versions in which objects are stored are still there.
fn check_stored_versions(new: &Object, view: &Spec<'_>, findings: &mut Findings<'_>) {
    let place = Place::new("status").child("storedVersions");
    let status = CustomResourceDefinition(new).status();
    let stored = status.stored_versions();
    if stored.is_empty() {
        findings.invalid_value(&place, stored.value(), "must have at least one stored version");
        return;
    }
    let mut missing: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for (index, name) in stored.texts().enumerate() {
        missing.insert(name, index);
    }
    for version in &view.versions {
        let was_stored = missing.remove(version.name).is_some();
        if version.storage && !was_stored {
            let detail = format!("must have the storage version {}", version.name);
            findings.invalid_value(&place, stored.value(), &detail);
        }
    }
    for (name, index) in missing {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in \
             spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
             {name} from status.storedVersions"
        );
        findings.invalid(&place.index(index), name, detail);
    }
}

fn check_preserve_unknown_fields(
    view: &Spec<'_>,
    old: Option<&Object>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let did = old.is_some_and(|old| Spec::from_object(old).preserves_unknown_fields());
    if view.preserves_unknown_fields() && !did {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        findings.invalid_value(
            &place.child("preserveUnknownFields"),
            view.written.preserve_unknown_fields().value(),
            detail,
        );
    }
}
