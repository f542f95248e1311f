//! Parameters of storage classes and attributes classes for their drivers.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::{Map, Text};

const MAX_PARAMETERS: usize = 512;
const MAX_BYTES: usize = 256 * 1024;

/// Checks the name of a provisioner or of a driver: a qualified name in any case.
pub(super) fn check_provisioner(provisioner: &Text<'_, '_>, errors: &mut ErrorList) {
    if provisioner.check_present(errors) {
        // The messages show the name in lower case.
        let name = provisioner.text().to_lowercase();
        for complaint in names::qualified_name(&name) {
            errors.push(FieldError::invalid(provisioner.path(), name.as_str(), complaint));
        }
    }
}

/// Checks number and size; `needed` requires at least one.
pub(super) fn check(parameters: &Map<Text<'_, '_>>, needed: bool, errors: &mut ErrorList) {
    if parameters.len() > MAX_PARAMETERS {
        errors.push(FieldError::too_long(parameters.path(), MAX_PARAMETERS));
        return;
    }
    let mut bytes = 0;
    for (key, value) in parameters.entries() {
        if key.is_empty() {
            errors.push(FieldError::invalid(parameters.path(), key, "field can not be empty."));
        }
        bytes += key.len() + value.text().len();
    }
    if bytes > MAX_BYTES {
        errors.push(FieldError::too_long(parameters.path(), MAX_BYTES));
    }
    if needed && parameters.is_empty() {
        errors.push(parameters.required("must contain at least one key/value pair"));
    }
}
