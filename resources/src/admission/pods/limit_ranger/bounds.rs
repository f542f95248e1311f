//! Comparison of requests and limits with one entry of a limit range.

use registry_core::schema::Quantity;
use resource_views::core::v1::LimitRangeItem;

use crate::api::core::pod_spec::totals::{self, Amounts};

/// Adds a complaint for each request and limit of a container, or of a pod, that is out of bounds.
pub(super) fn check(
    limit: &LimitRangeItem<'_, '_>,
    requests: &Amounts,
    limits: &Amounts,
    complaints: &mut Vec<String>,
) {
    let kind = limit.r#type().text();
    for (name, bound) in totals::read(limit.min().value()) {
        complaints.extend(below(
            &format!("minimum {name} usage per {kind} is {bound}"),
            &name,
            &bound,
            requests,
            limits,
        ));
    }
    for (name, bound) in totals::read(limit.max().value()) {
        complaints.extend(above(
            &format!("maximum {name} usage per {kind} is {bound}"),
            &name,
            &bound,
            requests,
            limits,
        ));
    }
    for (name, bound) in totals::read(limit.max_limit_request_ratio().value()) {
        let rule = format!("{name} max limit to request ratio per {kind} is {bound}");
        complaints.extend(too_far_apart(&rule, &name, &bound, requests, limits));
    }
}

/// Adds a complaint for each request of a claim that is out of bounds.
pub(super) fn check_requests(
    limit: &LimitRangeItem<'_, '_>,
    requests: &Amounts,
    complaints: &mut Vec<String>,
) {
    let kind = limit.r#type().text();
    for (word, bounds) in [("minimum", limit.min()), ("maximum", limit.max())] {
        for (name, bound) in totals::read(bounds.value()) {
            let rule = format!("{word} {name} usage per {kind} is {bound}");
            match requests.get(&name) {
                None => complaints.push(format!("{rule}.  No request is specified")),
                Some(amount) => {
                    let order = amount.compare(&bound);
                    if word == "minimum" && order.is_lt() || word == "maximum" && order.is_gt() {
                        complaints.push(format!("{rule}, but request is {amount}"));
                    }
                }
            }
        }
    }
}

fn below(rule: &str, name: &str, bound: &Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    match (requests.get(name), limits.get(name)) {
        (None, _) => Some(format!("{rule}.  No request is specified")),
        (Some(request), _) if request.compare(bound).is_lt() => {
            Some(format!("{rule}, but request is {request}"))
        }
        (_, Some(limit)) if limit.compare(bound).is_lt() => Some(format!("{rule}, but limit is {limit}")),
        _ => None,
    }
}

fn above(rule: &str, name: &str, bound: &Quantity, requests: &Amounts, limits: &Amounts) -> Option<String> {
    match (limits.get(name), requests.get(name)) {
        (None, _) => Some(format!("{rule}.  No limit is specified")),
        (Some(limit), _) if limit.compare(bound).is_gt() => Some(format!("{rule}, but limit is {limit}")),
        (_, Some(request)) if request.compare(bound).is_gt() => {
            Some(format!("{rule}, but request is {request}"))
        }
        _ => None,
    }
}

fn too_far_apart(
    rule: &str,
    name: &str,
    bound: &Quantity,
    requests: &Amounts,
    limits: &Amounts,
) -> Option<String> {
    let Some(request) = requests.get(name).filter(|amount| !amount.is_zero()) else {
        return Some(format!("{rule}, but no request is specified or request is 0"));
    };
    let Some(limit) = limits.get(name).filter(|amount| !amount.is_zero()) else {
        return Some(format!("{rule}, but no limit is specified or limit is 0"));
    };
    let ratio = limit.ratio_to(request);
    (ratio > bound.ratio_to(&Quantity::whole(1))).then(|| format!("{rule}, but provided ratio is {ratio:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use resource_views::{Typed as _, View};
    use serde_json::{Value, json};

    #[test]
    fn each_bound_is_told_with_what_breaks_it() {
        let complaints = |limit: Value, requests: Value, limits: Value| {
            let mut found = Vec::new();
            let limit = LimitRangeItem::typed(View::root(&limit));
            check(&limit, &totals::read(Some(&requests)), &totals::read(Some(&limits)), &mut found);
            found
        };
        let limit = |bounds: Value| {
            let mut limit = bounds;
            limit["type"] = "Container".into();
            limit
        };
        let cpu = |amount: &str| json!({"cpu": amount});
        let none: [&str; 0] = [];
        assert_eq!(complaints(limit(json!({"min": cpu("1"), "max": cpu("2")})), cpu("1"), cpu("2")), none);
        assert_eq!(
            complaints(limit(json!({"min": cpu("1")})), cpu("100m"), json!({})),
            ["minimum cpu usage per Container is 1, but request is 100m"]
        );
        assert_eq!(
            complaints(limit(json!({"max": cpu("1")})), cpu("1"), json!({})),
            ["maximum cpu usage per Container is 1.  No limit is specified"]
        );
        assert_eq!(
            complaints(limit(json!({"maxLimitRequestRatio": cpu("2")})), cpu("1"), cpu("3")),
            ["cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"]
        );
    }
}
