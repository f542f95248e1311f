//! Parameters of storage classes and attributes classes for their drivers.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use crate::support::field::Field;

const MAX_PARAMETERS: usize = 512;
const MAX_BYTES: usize = 256 * 1024;

/// Checks number and size; `needed` requires at least one.
pub(super) fn check(parameters: &Field<'_, '_>, needed: bool, errors: &mut ErrorList) {
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
