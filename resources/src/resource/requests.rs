//! Device requests of claims and claim templates.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use serde_json::Value;

use crate::support::defaulting::{self, Fields};
use crate::support::field::Field;

/// Sets the defaults of each request in `devices`.
pub(super) fn apply_defaults(devices: &mut Fields) {
    defaulting::each(devices, &["requests"], |request| {
        defaulting::with(request, "exactly", default_request);
        defaulting::each(request, &["firstAvailable"], default_request);
    });
}

fn default_request(request: &mut Fields) {
    defaulting::fill(request, "allocationMode", "ExactCount");
    if request.get("allocationMode").and_then(Value::as_str) == Some("ExactCount") {
        defaulting::fill_zero(request, "count", 1);
    }
}

/// Checks the requests and the constraints on them.
pub(super) fn check(devices: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for request in devices.get("requests").elements() {
        let name = request.get("name");
        let exactly = request.get("exactly");
        let first = request.get("firstAvailable");
        if name.check_present(errors) {
            name.check(names::dns_label, errors);
        }
        match (exactly.exists(), !first.is_empty()) {
            (true, true) => errors.push(FieldError::invalid(
                request.path(),
                Value::Null,
                "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
            )),
            (false, false) => {
                errors.push(request.required("exactly one of `exactly` or `firstAvailable` is required"));
            }
            (true, false) => check_request(&exactly, errors),
            (false, true) => first.elements().for_each(|one| check_request(&one, errors)),
        }
        if seen.contains(&name.text()) {
            errors.push(FieldError::duplicate(request.path(), name.text()));
        }
        seen.insert(name.text());
    }
    for configuration in devices.get("config").elements() {
        check_configuration(&configuration, errors);
    }
    for constraint in devices.get("constraints").elements() {
        for request in constraint.get("requests").elements() {
            let parent = request.text().split('/').next().unwrap_or_default();
            if !seen.contains(&parent) {
                errors.push(request.invalid(
                    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
                ));
            }
        }
    }
}

/// Checks device selectors. Expressions are not compiled.
pub(super) fn check_selectors(selectors: &Field<'_, '_>, errors: &mut ErrorList) {
    for selector in selectors.elements() {
        let cel = selector.get("cel");
        if cel.exists() {
            cel.get("expression").check_present(errors);
        } else {
            errors.push(cel.required(""));
        }
    }
}

/// Checks the configurations that drivers receive for the devices they prepare.
pub(super) fn check_configuration(configuration: &Field<'_, '_>, errors: &mut ErrorList) {
    let opaque = configuration.get("opaque");
    if !opaque.exists() {
        errors.push(configuration.required("exactly one of `opaque` is required, but no field is set"));
        return;
    }
    opaque.get("driver").check_named(names::dns_subdomain, errors);
    let parameters = opaque.get("parameters");
    match parameters.value() {
        None => errors.push(parameters.required("")),
        Some(Value::Object(_)) => {}
        Some(_) => errors.push(FieldError::invalid(
            parameters.path(),
            "<value omitted>",
            "must be a valid JSON object",
        )),
    }
}

fn check_request(request: &Field<'_, '_>, errors: &mut ErrorList) {
    let class = request.get("deviceClassName");
    if class.check_present(errors) {
        class.check(names::dns_subdomain, errors);
    }
    check_selectors(&request.get("selectors"), errors);
    let mode = request.get("allocationMode");
    let count = request.get("count");
    match mode.text() {
        "ExactCount" if count.integer().is_none_or(|count| count <= 0) => {
            errors.push(count.invalid("must be greater than zero"));
        }
        "ExactCount" => {}
        "All" if count.integer().is_some_and(|count| count != 0) => {
            errors.push(count.invalid("must not be specified when allocationMode is 'All'"));
        }
        "All" => {}
        _ => errors.push(mode.unsupported(&["All", "ExactCount"])),
    }
}
