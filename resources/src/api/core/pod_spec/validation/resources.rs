//! Resource requests and limits, of containers and of pods.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::schema::Quantity;
use resource_views::core::v1::{PodSpec, ResourceRequirements};
use resource_views::{Map, Quantity as Amount};

use super::Options;
use super::resource_claims::ClaimNames;
use crate::api::core::pod_spec::resource_names::{
    HUGE_PAGES, check_any_name, check_container_name, is_counted, is_of_pods, may_overcommit,
};
use crate::api::core::pod_spec::totals::{self, Amounts};

/// The names of resources that a holder of amounts can have.
#[derive(Clone, Copy)]
enum Holder {
    Container,
    Pod,
}

/// Checks the requests and limits of a container, and the claims that it uses.
pub(super) fn check_container(
    resources: &ResourceRequirements<'_, '_>,
    claims: &ClaimNames<'_>,
    options: &Options,
    errors: &mut ErrorList,
) {
    if resources.has_no_fields() {
        return;
    }
    check(resources, &resources.limits(), Holder::Container, options, errors);
    claims.check_used(&resources.claims(), errors);
}

/// Checks the overhead of a pod, as if it were the limits of a container.
pub(crate) fn check_overhead(overhead: &Map<Amount<'_, '_>>, options: &Options, errors: &mut ErrorList) {
    // Errors are reported as if the overhead had limits.
    for (name, amount) in overhead.entries() {
        let path = overhead.path().child("limits").key(name);
        let mut own = ErrorList::default();
        check_amount(name, &amount, Holder::Container, options, &mut own);
        errors.append(own.0.into_iter().map(|error| FieldError { field: path.clone(), ..error }).collect());
    }
    let has_pages = overhead.entries().any(|(name, _)| name.starts_with(HUGE_PAGES));
    if has_pages && !["cpu", "memory"].iter().any(|name| overhead.entry(name).exists()) {
        errors.push(overhead.forbidden("HugePages require cpu or memory"));
    }
}

/// Checks requests and limits, alone and against each other.
fn check(
    resources: &ResourceRequirements<'_, '_>,
    limits: &Map<Amount<'_, '_>>,
    holder: Holder,
    options: &Options,
    errors: &mut ErrorList,
) {
    let requests = resources.requests();
    for (name, limit) in limits.entries() {
        check_amount(name, &limit, holder, options, errors);
    }
    for (name, request) in requests.entries() {
        check_amount(name, &request, holder, options, errors);
        let limit = limits.entry(name);
        if limit.exists() {
            check_against_limit(name, &request, &limit, &requests.path(), errors);
        } else if !may_overcommit(name) {
            errors.push(limits.required("Limit must be set for non overcommitable resources"));
        }
    }
    let has = |wanted: &dyn Fn(&str) -> bool| {
        limits.entries().chain(requests.entries()).any(|(name, _)| wanted(name))
    };
    if has(&|name| name.starts_with(HUGE_PAGES)) && !has(&|name| matches!(name, "cpu" | "memory")) {
        errors.push(resources.forbidden("HugePages require cpu or memory"));
    }
}

/// Checks a request against the limit; errors are about all requests.
fn check_against_limit(
    name: &str,
    request: &Amount<'_, '_>,
    limit: &Amount<'_, '_>,
    requests: &FieldPath,
    errors: &mut ErrorList,
) {
    let (Some(amount), Some(most)) = (request.quantity(), limit.quantity()) else { return };
    let order = amount.compare(&most);
    let rule = if order.is_ne() && !may_overcommit(name) {
        "equal to"
    } else if order.is_gt() {
        "less than or equal to"
    } else {
        return;
    };
    let detail = format!("must be {rule} {name} limit of {most}");
    errors.push(FieldError::invalid(requests.clone(), amount.to_string(), detail));
}

fn check_amount(
    name: &str,
    amount: &Amount<'_, '_>,
    holder: Holder,
    options: &Options,
    errors: &mut ErrorList,
) {
    check_name(name, amount, holder, errors);
    check_quantity(name, amount, errors);
    if options.tolerates_split_pages || !name.starts_with(HUGE_PAGES) {
        return;
    }
    if let Some(quantity) = amount.quantity().filter(|quantity| !is_divisible(name, quantity)) {
        let detail = format!("{quantity} is not positive integer multiple of {name}");
        errors.push(FieldError::invalid(amount.path(), quantity.to_string(), detail));
    }
}

// === names ===

fn check_name(name: &str, amount: &Amount<'_, '_>, holder: Holder, errors: &mut ErrorList) {
    match holder {
        Holder::Container => check_container_name(name, &amount.path(), errors),
        Holder::Pod => {
            let before = errors.0.len();
            check_any_name(name, &amount.path(), errors);
            if errors.0.len() == before && !is_of_pods(name) {
                let accepted = ["cpu", HUGE_PAGES, "memory"];
                errors.push(FieldError::not_supported(amount.path(), name, &accepted));
            }
        }
    }
}

/// Checks an amount of a resource: not negative, and whole if there are only whole ones.
pub(crate) fn check_quantity(name: &str, amount: &Amount<'_, '_>, errors: &mut ErrorList) {
    let Some(quantity) = amount.quantity() else { return };
    let mut complain = |detail| errors.push(FieldError::invalid(amount.path(), quantity.to_string(), detail));
    if quantity.is_negative() {
        complain("must be greater than or equal to 0");
    }
    if is_counted(name) && has_fraction(&quantity) {
        complain("must be an integer");
    }
}

// === amounts ===

/// Whether there are thousandths, after rounding up to them.
pub(in crate::api::core::pod_spec) fn has_fraction(quantity: &Quantity) -> bool {
    quantity.milli_value().map_or(!quantity.is_whole(), |thousandths| thousandths % 1_000 != 0)
}

/// Whether an amount of huge pages is a multiple of the size of a page.
fn is_divisible(name: &str, amount: &Quantity) -> bool {
    let Some(size) = name.strip_prefix(HUGE_PAGES) else { return true };
    let Some(size) = Quantity::parse(size).ok().filter(|size| !has_fraction(size)) else { return false };
    match (amount.value(), size.value()) {
        (Some(amount), Some(size)) => size > 0 && amount % size == 0,
        _ => false,
    }
}

/// Whether any amount of huge pages is not a multiple of the size of a page.
pub(super) fn splits_pages(spec: &PodSpec<'_, '_>) -> bool {
    let splits = |amounts: &Map<Amount<'_, '_>>| {
        amounts
            .entries()
            .filter(|(name, _)| name.starts_with(HUGE_PAGES))
            .any(|(name, amount)| amount.quantity().is_some_and(|amount| !is_divisible(name, &amount)))
    };
    let mut found = splits(&spec.overhead());
    super::visit_containers(spec, |container| {
        let resources = container.resources();
        found = found || splits(&resources.limits()) || splits(&resources.requests());
    });
    found
}

// === pods ===

/// Checks the requests and limits of a pod as a whole, alone and against the requests and limits of its containers.
pub(super) fn check_pod(spec: &PodSpec<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let resources = spec.resources();
    if !resources.exists() {
        return;
    }
    if spec.os().name().text() == "windows" {
        errors.push(resources.forbidden("may not be set for a windows pod"));
        return;
    }
    let claims = resources.claims();
    claims.check_absent("claims may not be set for Resources at pod-level", errors);
    check(&resources, &resources.limits(), Holder::Pod, options, errors);
    ClaimNames::from_claims(&spec.resource_claims()).check_used(&claims, errors);
    check_totals(spec, &resources, errors);
}

fn check_totals(spec: &PodSpec<'_, '_>, resources: &ResourceRequirements<'_, '_>, errors: &mut ErrorList) {
    let exceeded =
        |kind: &str, total: &Amounts, is_compared: &dyn Fn(&str) -> bool, errors: &mut ErrorList| {
            let own = totals::kind_amounts(resources, kind);
            for (name, amount) in total.iter().filter(|(name, _)| is_compared(name)) {
                let field = own.entry(name);
                if let Some(most) = field.quantity().filter(|most| amount.compare(most).is_gt()) {
                    let detail =
                        format!("must be greater than or equal to aggregate container {kind} of {amount}");
                    errors.push(FieldError::invalid(own.path().key(name), most.to_string(), detail));
                }
            }
        };
    exceeded("requests", &totals::containers_total(spec, "requests"), &|_| true, errors);
    let is_pages = |name: &str| name.starts_with(HUGE_PAGES);
    exceeded("limits", &totals::containers_total(spec, "limits"), &is_pages, errors);
    let limits = resources.limits();
    for (place, container) in spec.containers().elements().enumerate() {
        for (name, limit) in container.resources().limits().entries() {
            let (Some(limit), Some(most)) = (limit.quantity(), limits.entry(name).quantity()) else {
                continue;
            };
            if limit.compare(&most).is_gt() {
                let path = resources.path().child("containers").index(place).key(name).child("limits");
                let detail = format!("must be less than or equal to pod limits of {most}");
                errors.push(FieldError::invalid(path, limit.to_string(), detail));
            }
        }
    }
}
