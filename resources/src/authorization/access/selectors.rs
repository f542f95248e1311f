//! Selectors of the objects that a review asks about.

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};

use crate::support::field::Field;

/// Checks the field selector and the label selector. Operators that are not known here are tolerated: those who ask may be
/// newer.
pub(super) fn check(question: &Object, errors: &mut ErrorList) {
    let spec = Field::of(question, "spec");
    let attributes = spec.get("resourceAttributes");
    let fields = attributes.get("fieldSelector");
    let labels = attributes.get("labelSelector");
    check_form(&fields, errors);
    for requirement in fields.get("requirements").elements() {
        let key = requirement.get("key");
        if key.text().is_empty() {
            errors.push(key.required("must be specified"));
        }
        check_values(&requirement, errors);
    }
    check_form(&labels, errors);
    for requirement in labels.get("requirements").elements() {
        check_values(&requirement, errors);
        for value in requirement.get("values").elements() {
            value.check(names::label_value, errors);
        }
        requirement.get("key").check(names::qualified_name, errors);
    }
}

fn check_form(selector: &Field<'_, '_>, errors: &mut ErrorList) {
    if !selector.exists() {
        return;
    }
    let raw = selector.get("rawSelector");
    let requirements = selector.get("requirements");
    match (raw.text().is_empty(), requirements.is_empty()) {
        (false, false) => errors.push(raw.invalid("may not specified at the same time as requirements")),
        (true, true) => {
            let path = selector.path();
            let detail = format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(requirements.path(), detail));
        }
        _ => {}
    }
}

fn check_values(requirement: &Field<'_, '_>, errors: &mut ErrorList) {
    let values = requirement.get("values");
    match requirement.get("operator").text() {
        "In" | "NotIn" if values.is_empty() => {
            errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(values.forbidden(detail));
        }
        _ => {}
    }
}
