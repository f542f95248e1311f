//! Rules of LimitRanges.

use std::collections::BTreeSet;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;
use serde_json::Value;

use crate::api::core::pod_spec::validation;
use crate::support::defaulting::{Fields, each, with};
use crate::support::field::Field;

/// Nanounits per unit.
const NANOS: i128 = 1_000_000_000;
const TYPES: [&str; 3] = ["Container", "Pod", "PersistentVolumeClaim"];

/// Defaults that depend on each other, and their order.
pub(super) struct LimitRangeStrategy;

impl ObjectStrategy for LimitRangeStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        with(&mut object.0, "spec", |spec| each(spec, &["limits"], derive_defaults));
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
        let spec = Field::top_level(object, "spec");
        let limits = spec.get("limits");
        let mut seen = BTreeSet::new();
        for limit in limits.elements() {
            let kind = limit.get("type");
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
fn derive_defaults(limit: &mut Fields) {
    if limit.get("type").and_then(Value::as_str) != Some("Container") {
        return;
    }
    for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
        let Some(Value::Object(source)) = limit.get(from).cloned() else { continue };
        let target = limit.entry(to).or_insert_with(|| Value::Object(Fields::new()));
        let Value::Object(target) = target else { continue };
        for (resource, amount) in source {
            target.entry(resource).or_insert(amount);
        }
    }
    limit.retain(|name, value| {
        !matches!(name.as_str(), "default" | "defaultRequest")
            || value.as_object().is_none_or(|map| !map.is_empty())
    });
}

fn check_limit(limit: &Field<'_, '_>, kind: &str, errors: &mut ErrorList) {
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if !limit.get(field).is_empty() {
                errors.push(limit.get(field).forbidden("may not be specified when `type` is 'Pod'"));
            }
        }
    }
    if kind == "PersistentVolumeClaim" {
        let states = ["min", "max"].iter().any(|bound| {
            let bound = limit.get(bound);
            bound.get("storage").exists()
        });
        if !states {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            errors.push(limit.get("limits").required(detail));
        }
    }
    check_names(limit, kind, errors);
    check_order(limit, errors);
    check_ratios(limit, errors);
    check_overcommitment(limit, errors);
}

/// Checks the names of the limited resources.
fn check_names(limit: &Field<'_, '_>, kind: &str, errors: &mut ErrorList) {
    for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        if kind == "Pod" && list.starts_with("default") {
            continue;
        }
        for (name, amount) in limit.get(list).entries() {
            if matches!(kind, "Pod" | "Container") {
                validation::check_container_name(name, &amount.path(), errors);
            } else {
                validation::check_any_name(name, &amount.path(), errors);
            }
        }
    }
}

/// Checks that the default and the default request of a resource that cannot be overcommitted are equal.
fn check_overcommitment(limit: &Field<'_, '_>, errors: &mut ErrorList) {
    let defaults = limit.get("default");
    for (name, request) in
        limit.get("defaultRequest").entries().filter(|(name, _)| !validation::may_overcommit(name))
    {
        let default = defaults.get(name);
        let (Ok(default_amount), Ok(request_amount)) =
            (Quantity::parse(default.text()), Quantity::parse(request.text()))
        else {
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

/// Pairs of amounts whose order is checked, the field of the error, whether the lower or the higher amount is shown,
/// and their names.
const ORDER: [(&str, &str, &str, bool, &str, &str); 6] = [
    ("min", "max", "min", true, "min", "max"),
    ("min", "defaultRequest", "defaultRequest", false, "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", true, "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", true, "default request", "default limit"),
    ("min", "default", "default", true, "min", "default"),
    ("default", "max", "default", false, "default", "max"),
];

fn check_order(limit: &Field<'_, '_>, errors: &mut ErrorList) {
    for (low, high, place, shows_low, low_word, high_word) in ORDER {
        let lows = limit.get(low);
        let highs = limit.get(high);
        let place = limit.get(place);
        for (resource, least) in lows.entries() {
            let most = highs.get(resource);
            let (Ok(least_amount), Ok(most_amount)) =
                (Quantity::parse(least.text()), Quantity::parse(most.text()))
            else {
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
fn check_ratios(limit: &Field<'_, '_>, errors: &mut ErrorList) {
    let least = limit.get("min");
    let most = limit.get("max");
    let nanos = |field: &Field<'_, '_>| Quantity::parse(field.text()).ok()?.nanos();
    for (resource, ratio) in limit.get("maxLimitRequestRatio").entries() {
        let Some(number) = nanos(&ratio) else { continue };
        if number < NANOS {
            errors.push(ratio.invalid(format!("ratio {} is less than 1", ratio.text())));
        }
        let (Some(low), Some(high)) = (nanos(&least.get(resource)), nanos(&most.get(resource))) else {
            continue;
        };
        #[expect(clippy::cast_precision_loss, reason = "a ratio is told with six digits")]
        let (wanted, apart) = (number as f64 / NANOS as f64, high as f64 / low as f64);
        if wanted > apart {
            errors
                .push(ratio.invalid(format!("ratio {} is greater than max/min = {apart:.6}", ratio.text())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
