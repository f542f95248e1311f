//! Selectors of nodes, of volumes and of devices.
//!
//! Kubernetes concept: `ValidateNodeSelector` of `k8s.io/kubernetes/pkg/apis/core/validation`.

use registry_core::api::validation::{ErrorList, names};

use crate::support::field::Field;

const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// Checks a node selector: it must have a term, and the terms must be well-formed.
pub(crate) fn check(selector: &Field<'_, '_>, errors: &mut ErrorList) {
    let terms = selector.get("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for term in terms.elements() {
        for requirement in term.get("matchExpressions").elements() {
            check_labels(&requirement, errors);
        }
        for requirement in term.get("matchFields").elements() {
            check_fields(&requirement, errors);
        }
    }
}

fn check_labels(requirement: &Field<'_, '_>, errors: &mut ErrorList) {
    let operator = requirement.get("operator");
    let values = requirement.get("values");
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(values.forbidden(detail));
            }
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(values.required(detail));
            }
        }
        _ => errors.push(operator.invalid_text(NOT_AN_OPERATOR)),
    }
    requirement.get("key").check(names::qualified_name, errors);
    for value in values.elements() {
        value.check(names::label_value, errors);
    }
}

fn check_fields(requirement: &Field<'_, '_>, errors: &mut ErrorList) {
    let operator = requirement.get("operator");
    let values = requirement.get("values");
    match operator.text() {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push(values.required(detail));
            }
        }
        _ => errors.push(operator.invalid_text(NOT_AN_OPERATOR)),
    }
    let key = requirement.get("key");
    if key.text() != "metadata.name" {
        errors.push(key.invalid_text("not a valid field selector key"));
        return;
    }
    for value in values.elements() {
        value.check(names::dns_subdomain, errors);
    }
}
