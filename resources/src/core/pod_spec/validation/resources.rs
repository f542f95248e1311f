//! Resource requests and limits of containers.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use registry_core::schema::Quantity;

use crate::support::field::Field;

const STANDARD: &[&str] = &["cpu", "memory", "ephemeral-storage", "storage"];
const OF_CONTAINERS: &[&str] = &["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES: &str = "hugepages-";

/// Checks requests and limits, alone and against each other.
pub(super) fn validate(resources: &Field<'_, '_>, errors: &mut ErrorList) {
    let limits = resources.get("limits");
    let requests = resources.get("requests");
    for (name, limit) in limits.entries() {
        check_resource(name, &limit, errors);
    }
    for (name, request) in requests.entries() {
        check_resource(name, &request, errors);
        let limit = limits.get(name);
        if limit.exists() && exceeds(request.text(), limit.text()) {
            let detail = format!("must be less than or equal to {name} limit of {}", limit.text());
            errors.push(FieldError::invalid(requests.path(), request.text(), detail));
        } else if !limit.exists() && !may_overcommit(name) {
            errors.push(limits.required("Limit must be set for non overcommitable resources"));
        }
    }
    let named = |wanted: &dyn Fn(&str) -> bool| {
        limits.entries().chain(requests.entries()).any(|(name, _)| wanted(name))
    };
    if named(&|name| name.starts_with(HUGE_PAGES)) && !named(&|name| name == "cpu" || name == "memory") {
        errors.push(resources.forbidden("HugePages require cpu or memory"));
    }
}

/// Whether the limit of a resource may exceed its request.
fn may_overcommit(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    native && !name.starts_with(HUGE_PAGES)
}

fn check_resource(name: &str, quantity: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut complain = |detail: String| errors.push(FieldError::invalid(quantity.path(), name, detail));
    for complaint in names::qualified_name(name) {
        complain(complaint);
    }
    if !name.contains('/') && !name.starts_with(HUGE_PAGES) {
        if !STANDARD.contains(&name) {
            complain("must be a standard resource type or fully qualified".to_owned());
        }
        if !OF_CONTAINERS.contains(&name) {
            complain("must be a standard resource for containers".to_owned());
        }
    }
    if exceeds("0", quantity.text()) {
        errors.push(quantity.invalid("must be greater than or equal to 0"));
    }
}

/// Whether one amount exceeds another. Invalid amounts are reported elsewhere.
fn exceeds(one: &str, other: &str) -> bool {
    match (Quantity::parse(one), Quantity::parse(other)) {
        (Ok(one), Ok(other)) => one.compare(&other).is_gt(),
        _ => false,
    }
}
