//! References to objects of any kind, in ingresses and ingress classes.

use registry_core::api::validation::{ErrorList, names};

use crate::support::field::Field;

/// Checks a reference by group, kind and name.
pub(super) fn check_typed(reference: &Field<'_, '_>, errors: &mut ErrorList) {
    let group = reference.get("apiGroup");
    if group.exists() {
        group.check(names::dns_subdomain, errors);
    }
    reference.get("kind").check_named(names::path_segment, errors);
    reference.get("name").check_named(names::path_segment, errors);
}
