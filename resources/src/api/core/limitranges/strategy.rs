//! Rules of LimitRanges.

use std::collections::BTreeSet;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;
use resource_views::core::v1::{LimitRange, LimitRangeItem, LimitRangeItemMut, LimitRangeMut};
use resource_views::slot::{Fields, Slot};
use resource_views::{Map, Quantity as Amount};

use crate::api::core::pod_spec::resource_names;
use crate::support::resource_list::round_up;

/// The types of a limit.
const TYPES: [&str; 3] = ["Container", "Pod", "PersistentVolumeClaim"];

/// Defaults that depend on each other, and their order.
pub(super) struct LimitRangeStrategy;

impl ObjectStrategy for LimitRangeStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        LimitRangeMut(object).spec().edit(|mut spec| {
            spec.limits().elements().for_each(derive_defaults);
            spec.limits().elements().for_each(round_amounts);
        });
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        // A limit range without a name gets a generated one.
        if object.name().is_empty() {
            let name = object.uid().to_owned();
            object.set(&["metadata", "name"], name.into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = LimitRange(object).spec();
        let limits = spec.limits();
        let mut seen = BTreeSet::new();
        for limit in limits.elements() {
            let kind = limit.r#type();
            if !kind.text().contains('/') && TYPES.iter().all(|known| *known != kind.text()) {
                let before = errors.0.len();
                kind.check(names::qualified_name, &mut errors);
                if errors.0.len() == before {
                    errors.push(kind.invalid("must be a standard limit type or fully qualified"));
                }
            }
            if !seen.insert(kind.text()) {
                errors.push(kind.duplicate());
            }
            check_limit(&limit, kind.text(), &mut errors);
        }
        errors
    }
}

/// Sets the defaults of containers: the default is the maximum; the default request is the default, or else the
/// minimum.
fn derive_defaults(mut limit: LimitRangeItemMut<'_>) {
    if !limit.r#type().is("Container") {
        return;
    }
    let most = limit.max().entries().cloned();
    add_missing(limit.default(), most);
    let default = limit.default().entries().cloned();
    add_missing(limit.default_request(), default);
    let least = limit.min().entries().cloned();
    add_missing(limit.default_request(), least);
    if limit.default().is_empty() {
        limit.default().remove();
    }
    if limit.default_request().is_empty() {
        limit.default_request().remove();
    }
}

fn round_amounts(mut limit: LimitRangeItemMut<'_>) {
    round_up(limit.max());
    round_up(limit.min());
    round_up(limit.default());
    round_up(limit.default_request());
    round_up(limit.max_limit_request_ratio());
}

/// Adds the amounts of resources that have none.
fn add_missing(amounts: Slot<'_, Map<Amount<'_, '_>>>, others: Option<Fields>) {
    let Some(others) = others else { return };
    let amounts = amounts.or_new_entries();
    for (resource, amount) in others {
        amounts.entry(resource).or_insert(amount);
    }
}

fn check_limit(limit: &LimitRangeItem<'_, '_>, kind: &str, errors: &mut ErrorList) {
    if kind == "Pod" {
        for field in [limit.default(), limit.default_request()] {
            if !field.is_empty() {
                errors.push(field.forbidden("may not be specified when `type` is 'Pod'"));
            }
        }
    }
    if kind == "PersistentVolumeClaim"
        && !limit.min().entry("storage").exists()
        && !limit.max().entry("storage").exists()
    {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(limit.path().child("limits"), detail));
    }
    check_names(limit, kind, errors);
    check_order(limit, errors);
    check_ratios(limit, errors);
    check_overcommitment(limit, errors);
}

/// Checks the names of the limited resources.
fn check_names(limit: &LimitRangeItem<'_, '_>, kind: &str, errors: &mut ErrorList) {
    let defaults = [limit.default(), limit.default_request()].into_iter().filter(|_| kind != "Pod");
    let lists = [limit.max(), limit.min()].into_iter().chain(defaults);
    for list in lists.chain([limit.max_limit_request_ratio()]) {
        for (name, amount) in list.entries() {
            if matches!(kind, "Pod" | "Container") {
                resource_names::check_container_name(name, &amount.path(), errors);
            } else {
                resource_names::check_any_name(name, &amount.path(), errors);
            }
        }
    }
}

/// Checks that the default and the default request of a resource that cannot be overcommitted are equal.
fn check_overcommitment(limit: &LimitRangeItem<'_, '_>, errors: &mut ErrorList) {
    let defaults = limit.default();
    for (name, request) in
        limit.default_request().entries().filter(|(name, _)| !resource_names::may_overcommit(name))
    {
        let default = defaults.entry(name);
        let (Some(default_amount), Some(request_amount)) = (default.quantity(), request.quantity()) else {
            continue;
        };
        if default_amount.compare(&request_amount).is_ne() {
            let (default_text, request_text) = (default.text(), request.text());
            let detail = format!(
                "default value {default_text} must equal to defaultRequest value {request_text} in {name}"
            );
            errors.push(request.invalid(detail));
        }
    }
}

/// Checks the order of amounts: the lower and the higher ones with their words, the field of errors, and whether errors
/// show the lower amount.
fn check_order(limit: &LimitRangeItem<'_, '_>, errors: &mut ErrorList) {
    let (min, max) = ((limit.min(), "min"), (limit.max(), "max"));
    let (default, request) = (limit.default(), limit.default_request());
    for ((lows, low_word), (highs, high_word), place, shows_low) in [
        (min, max, min.0, true),
        (min, (request, "default request"), request, false),
        ((request, "default request"), max, request, true),
        ((request, "default request"), (default, "default limit"), request, true),
        (min, (default, "default"), default, true),
        ((default, "default"), max, default, false),
    ] {
        for (resource, least) in lows.entries() {
            let most = highs.entry(resource);
            let (Some(least_amount), Some(most_amount)) = (least.quantity(), most.quantity()) else {
                continue;
            };
            if least_amount.compare(&most_amount).is_gt() {
                let detail = format!(
                    "{low_word} value {} is greater than {high_word} value {}",
                    least.text(),
                    most.text()
                );
                let shown = if shows_low { least } else { most };
                errors.push(FieldError::invalid(place.path().key(resource), shown.text(), detail));
            }
        }
    }
}

/// Checks that the ratio is at least 1, and not above the ratio of the bounds.
fn check_ratios(limit: &LimitRangeItem<'_, '_>, errors: &mut ErrorList) {
    let least = limit.min();
    let most = limit.max();
    let equal = Quantity::whole(1);
    for (resource, ratio) in limit.max_limit_request_ratio().entries() {
        let Some(wanted) = ratio.quantity().map(|wanted| wanted.ratio_to(&equal)) else { continue };
        if wanted < 1.0 {
            errors.push(ratio.invalid(format!("ratio {} is less than 1", ratio.text())));
        }
        let bounds = (least.entry(resource).quantity(), most.entry(resource).quantity());
        let (Some(low), Some(high)) = bounds else { continue };
        let apart = high.ratio_to(&low);
        if wanted > apart {
            errors
                .push(ratio.invalid(format!("ratio {} is greater than max/min = {apart:.6}", ratio.text())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_bounds_of_a_limit_are_in_order() {
        let causes = |limit: Value| {
            let mut limit = limit;
            limit["type"] = "Container".into();
            let range = Object::from_value(json!({"spec": {"limits": [limit]}})).unwrap();
            let errors = LimitRangeStrategy.validate(&RequestContext::default(), &range);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let cpu = |amount: &str| json!({"cpu": amount});
        let none: [&str; 0] = [];
        assert_eq!(causes(json!({"min": cpu("1"), "max": cpu("2"), "maxLimitRequestRatio": cpu("2")})), none);
        assert_eq!(causes(json!({"min": cpu("2"), "max": cpu("1")})), ["spec.limits[0].min[cpu]"]);
        assert_eq!(
            causes(json!({"min": cpu("2"), "defaultRequest": cpu("1")})),
            ["spec.limits[0].defaultRequest[cpu]"]
        );
        let ratio = ["spec.limits[0].maxLimitRequestRatio[cpu]"];
        assert_eq!(causes(json!({"maxLimitRequestRatio": cpu("500m")})), ratio);
        assert_eq!(
            causes(json!({"min": cpu("1"), "max": cpu("2"), "maxLimitRequestRatio": cpu("3")})),
            ratio
        );
    }
}
