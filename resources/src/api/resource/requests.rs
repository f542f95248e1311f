//! Device requests of claims and claim templates, and the configurations of devices.

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use registry_core::context::Budget;
use resource_views::alike::AnyDeviceRequest;
use resource_views::resource::v1::{
    DeviceClaim, DeviceClaimMut, DeviceClassConfiguration, DeviceConstraint, DeviceRequest,
    DeviceSubRequestMut,
};
use resource_views::{List, Raw, Text, View};
use serde_json::Value;

use super::{names as device_names, selectors, taints};

/// Maximum number of requests of a claim, and of names in a list of them.
const MAX_REQUESTS: usize = 32;
/// Maximum number of constraints of a claim.
const MAX_CONSTRAINTS: usize = 32;
/// Maximum number of configurations of a claim or of a class.
pub(super) const MAX_CONFIGURATIONS: usize = 32;
/// Maximum number of alternatives of a request.
const MAX_ALTERNATIVES: usize = 8;
/// Maximum size of the parameters of a configuration, in bytes.
const MAX_PARAMETERS_BYTES: usize = 10 << 10;

const NO_SUCH_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/// Sets the defaults of each request in `devices`.
pub(super) fn apply_defaults(mut devices: DeviceClaimMut<'_>) {
    for mut request in devices.requests().elements() {
        request.exactly().edit(|request| default_request(DeviceSubRequestMut(request.0)));
        request.first_available().elements().for_each(default_request);
    }
}

/// Sets the defaults of a request, or of an alternative: both have the same fields with defaults.
fn default_request(mut request: DeviceSubRequestMut<'_>) {
    request.allocation_mode().or("ExactCount");
    if request.allocation_mode().is("ExactCount") {
        request.count().or_if_zero(1);
    }
}

// === names of requests ===

/// The names of the requests of a claim, with those of their alternatives.
pub(super) struct RequestNames<'v>(HashMap<&'v str, HashSet<&'v str>>);

impl<'v> RequestNames<'v> {
    /// Collects the names of the requests in `devices`.
    pub(super) fn from_devices(devices: &DeviceClaim<'v, '_>) -> Self {
        let mut requests = HashMap::new();
        for request in devices.requests().elements() {
            let alternatives = request.first_available();
            let alternatives = alternatives.elements().map(|alternative| alternative.name().text()).collect();
            requests.insert(request.name().text(), alternatives);
        }
        Self(requests)
    }

    fn has(&self, request: &str, alternative: Option<&str>) -> bool {
        let Some(alternatives) = self.0.get(request) else { return false };
        alternative.is_none_or(|alternative| alternatives.contains(alternative))
    }

    /// Checks a reference to a request or to one of its alternatives.
    pub(super) fn check_reference(&self, name: &Text<'_, '_>, errors: &mut ErrorList) {
        let mut segments = name.text().split('/');
        let (request, alternative) = (segments.next().unwrap_or_default(), segments.next());
        if segments.next().is_some() {
            errors.push(name.invalid_text(NO_SUCH_REQUEST));
            return;
        }
        for segment in std::iter::once(request).chain(alternative) {
            for complaint in names::dns_label(segment) {
                errors.push(FieldError::invalid(name.path(), segment, complaint));
            }
        }
        if !self.has(request, alternative) {
            errors.push(name.invalid_text(NO_SUCH_REQUEST));
        }
    }

    /// Checks a list of references.
    pub(super) fn check_references(&self, list: &List<Text<'_, '_>>, errors: &mut ErrorList) {
        if !list.check_count(MAX_REQUESTS, errors) {
            return;
        }
        for name in list.elements() {
            self.check_reference(&name, errors);
        }
        list.check_unique_texts(errors);
    }
}

// === claims ===

/// Checks the requests of a claim, the constraints on them, and their configurations.
pub(super) fn check(devices: &DeviceClaim<'_, '_>, budget: &Budget, errors: &mut ErrorList) {
    let requests = devices.requests();
    let constraints = devices.constraints();
    let configurations = devices.config();
    let names = RequestNames::from_devices(devices);
    if requests.check_count(MAX_REQUESTS, errors) {
        for request in requests.elements() {
            check_request(&request, budget, errors);
        }
        requests.check_unique(
            |request| request.name().text(),
            |request| duplicate(request, &request.name()),
            errors,
        );
    }
    if constraints.check_count(MAX_CONSTRAINTS, errors) {
        for constraint in constraints.elements() {
            check_constraint(&constraint, &names, errors);
        }
    }
    if configurations.check_count(MAX_CONFIGURATIONS, errors) {
        for configuration in configurations.elements() {
            names.check_references(&configuration.requests(), errors);
            check_configuration(&configuration.into(), false, errors);
        }
    }
}

/// Returns the error of a request with a name that another one has.
fn duplicate(request: &View<'_, '_>, name: &Text<'_, '_>) -> FieldError {
    FieldError::duplicate(request.path(), name.text())
}

fn check_request(request: &DeviceRequest<'_, '_>, budget: &Budget, errors: &mut ErrorList) {
    request.name().check(names::dns_label, errors);
    let exactly = request.exactly();
    let alternatives = request.first_available();
    match (exactly.exists(), !alternatives.is_empty()) {
        (true, true) => errors.push(FieldError::invalid(
            request.path(),
            Value::Null,
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
        )),
        (false, false) => {
            errors.push(request.required("exactly one of `exactly` or `firstAvailable` is required"));
        }
        (true, false) => check_one(&exactly.into(), budget, errors),
        (false, true) => {
            if alternatives.check_count(MAX_ALTERNATIVES, errors) {
                for alternative in alternatives.elements() {
                    alternative.name().check(names::dns_label, errors);
                    check_one(&alternative.into(), budget, errors);
                }
                alternatives.check_unique(
                    |request| request.name().text(),
                    |request| duplicate(request, &request.name()),
                    errors,
                );
            }
        }
    }
}

fn check_one(request: &AnyDeviceRequest<'_, '_>, budget: &Budget, errors: &mut ErrorList) {
    request.device_class_name().check_named(names::dns_subdomain, errors);
    selectors::check(&request.selectors(), budget, errors);
    let mode = request.allocation_mode();
    let count = request.count();
    match mode.text() {
        "ExactCount" => count.check_positive(errors),
        "All" if count.number() != 0 => {
            errors.push(count.invalid("must not be specified when allocationMode is 'All'"));
        }
        "All" => {}
        _ => errors.push(mode.unsupported(&["All", "ExactCount"])),
    }
    taints::check_tolerations(&request.tolerations(), errors);
}

fn check_constraint(constraint: &DeviceConstraint<'_, '_>, names: &RequestNames<'_>, errors: &mut ErrorList) {
    names.check_references(&constraint.requests(), errors);
    let same = constraint.match_attribute();
    let distinct = constraint.distinct_attribute();
    if same.exists() {
        device_names::check_fully_qualified(&same, errors);
    } else if distinct.exists() {
        device_names::check_fully_qualified(&distinct, errors);
    } else {
        errors.push(constraint.required(
            "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set",
        ));
    }
}

/// Checks a configuration that drivers receive for the devices they prepare. One that is stored may be larger than a new
/// one.
pub(super) fn check_configuration(
    configuration: &DeviceClassConfiguration<'_, '_>,
    is_stored: bool,
    errors: &mut ErrorList,
) {
    let opaque = configuration.opaque();
    if !opaque.exists() {
        errors.push(opaque.required(""));
        return;
    }
    device_names::check_driver(&opaque.driver(), errors);
    let most_bytes = if is_stored { usize::MAX } else { MAX_PARAMETERS_BYTES };
    check_raw_object(&opaque.parameters(), most_bytes, errors);
}

/// Checks a JSON object of any form, within a size.
pub(super) fn check_raw_object(value: &Raw<'_, '_>, most_bytes: usize, errors: &mut ErrorList) {
    match value.value() {
        None => errors.push(value.required("")),
        Some(json) if most_bytes < usize::MAX && json.to_string().len() > most_bytes => {
            errors.push(FieldError::too_long(value.path(), most_bytes));
        }
        Some(Value::Object(_)) => {}
        Some(_) => {
            let detail = "must be a valid JSON object";
            errors.push(FieldError::invalid(value.path(), "<value omitted>", detail));
        }
    }
}
