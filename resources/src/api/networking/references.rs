//! References to objects of any kind, in ingresses and ingress classes.

use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::TypedLocalObjectReference;

/// Checks a reference by group, kind and name.
pub(super) fn check_typed(reference: &TypedLocalObjectReference<'_, '_>, errors: &mut ErrorList) {
    let group = reference.api_group();
    if group.exists() {
        group.check(names::dns_subdomain, errors);
    }
    reference.kind().check_named(names::path_segment, errors);
    reference.name().check_named(names::path_segment, errors);
}
