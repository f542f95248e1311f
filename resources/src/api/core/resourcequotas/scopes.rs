//! Scopes of ResourceQuotas, which restrict the objects that a quota counts.

use std::collections::BTreeMap;

use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{ResourceQuotaSpec, ScopedResourceSelectorRequirement};
use resource_views::{List, Map, Quantity, View};

const OF_PODS: [&str; 6] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
];
const OF_CLAIMS: &str = "VolumeAttributesClass";
/// Scopes that exclude each other.
const CONTRARY: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
/// The resources that quotas with a pod scope may limit.
const POD_RESOURCES: [&str; 7] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "pods", "requests.cpu", "requests.memory"];
/// The resources other than those of pods that quotas may limit.
const OTHER_RESOURCES: [&str; 8] = [
    "configmaps",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "persistentvolumeclaims",
];

/// Maximum number of errors about a quota's scopes, after which no further scope is checked. Each error contains the
/// whole list.
const MAX_ERRORS: usize = 16;

/// Checks the scopes of a quota, listed and selected.
pub(super) fn check(spec: &ResourceQuotaSpec<'_, '_>, errors: &mut ErrorList) {
    let hard = spec.hard();
    let scopes = spec.scopes();
    let mut unfit = Unfit { hard: &hard, known: BTreeMap::new() };
    let most_errors = errors.0.len() + MAX_ERRORS;
    let mut names = Vec::new();
    for scope in scopes.elements() {
        if errors.0.len() >= most_errors {
            return;
        }
        if !is_known(scope.text()) {
            errors.push(scopes.invalid("unsupported scope"));
        } else if unfit.has(scope.text()) {
            errors.push(scopes.invalid("unsupported scope applied to resource"));
        }
        names.push(scope.text());
    }
    check_contrary(&scopes, &names, errors);
    let selector = spec.scope_selector();
    let requirements = selector.match_expressions();
    let mut selected = Vec::new();
    for requirement in requirements.elements() {
        if errors.0.len() >= most_errors {
            return;
        }
        check_requirement(&requirements, &requirement, errors);
        let scope = requirement.scope_name().text();
        if is_known(scope) && unfit.has(scope) {
            errors.push(requirements.invalid("unsupported scope applied to resource"));
        }
        selected.push(scope);
    }
    check_contrary(&requirements, &selected, errors);
}

/// Checks a requirement. Errors have the path of the list, without the index.
fn check_requirement(
    list: &List<ScopedResourceSelectorRequirement<'_, '_>>,
    requirement: &ScopedResourceSelectorRequirement<'_, '_>,
    errors: &mut ErrorList,
) {
    let name = requirement.scope_name();
    let operator = requirement.operator();
    let values = requirement.values();
    let mut complain = |field: &View<'_, '_>, child: &str, detail: &str| {
        let mut error = field.invalid(detail);
        error.field = list.path().child(child);
        errors.push(error);
    };
    if !is_known(name.text()) {
        complain(&name, "scopeName", "unsupported scope");
    }
    let has_no_values = !matches!(name.text(), "PriorityClass" | OF_CLAIMS) && is_known(name.text());
    if has_no_values && operator.text() != "Exists" {
        let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                      ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                      ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        complain(&operator, "operator", detail);
    }
    match operator.text() {
        "In" | "NotIn" if values.is_empty() => {
            let mut error = values
                .required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
            error.field = list.path().child("values");
            errors.push(error);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            complain(&values, "values", detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => complain(&operator, "operator", "not a valid selector operator"),
    }
}

fn check_contrary(list: &View<'_, '_>, names: &[&str], errors: &mut ErrorList) {
    for pair in CONTRARY {
        if pair.iter().all(|scope| names.contains(scope)) {
            errors.push(list.invalid("conflicting scopes"));
        }
    }
}

fn is_known(scope: &str) -> bool {
    scope == OF_CLAIMS || OF_PODS.contains(&scope)
}

/// The known scopes that do not fit the limited resources; each is checked once.
struct Unfit<'h, 'v, 'p> {
    hard: &'h Map<Quantity<'v, 'p>>,
    known: BTreeMap<&'v str, bool>,
}

impl<'v> Unfit<'_, 'v, '_> {
    fn has(&mut self, scope: &'v str) -> bool {
        *self.known.entry(scope).or_insert_with(|| !fits(scope, self.hard))
    }
}

/// Whether all limited resources fit a scope.
fn fits(scope: &str, hard: &Map<Quantity<'_, '_>>) -> bool {
    hard.entries().all(|(resource, _)| match scope {
        OF_CLAIMS => !POD_RESOURCES.contains(&resource),
        "BestEffort" => {
            resource == "pods" || !(POD_RESOURCES.contains(&resource) || OTHER_RESOURCES.contains(&resource))
        }
        _ => !OTHER_RESOURCES.contains(&resource),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_core::api::Object;
    use resource_views::core::v1::ResourceQuota;
    use serde_json::{Value, json};

    #[test]
    fn scopes_fit_each_other_and_what_is_bounded() {
        let causes = |spec: Value| {
            let quota = Object::from_value(json!({"spec": spec})).unwrap();
            let mut errors = ErrorList::default();
            check(&ResourceQuota(&quota).spec(), &mut errors);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(causes(json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})), none);
        assert_eq!(causes(json!({"scopes": ["X"]})), ["spec.scopes"]);
        assert_eq!(causes(json!({"scopes": ["BestEffort", "NotBestEffort"]})), ["spec.scopes"]);
        assert_eq!(causes(json!({"hard": {"services": "1"}, "scopes": ["Terminating"]})), ["spec.scopes"]);
        let selected =
            |requirement: Value| causes(json!({"scopeSelector": {"matchExpressions": [requirement]}}));
        let path = |field: &str| vec![format!("spec.scopeSelector.matchExpressions.{field}")];
        assert_eq!(selected(json!({"scopeName": "PriorityClass", "operator": "In", "values": ["a"]})), none);
        assert_eq!(selected(json!({"scopeName": "PriorityClass", "operator": "In"})), path("values"));
        assert_eq!(
            selected(json!({"scopeName": "Terminating", "operator": "DoesNotExist"})),
            path("operator")
        );
        assert_eq!(selected(json!({"scopeName": "X", "operator": "Exists"})), path("scopeName"));
    }
}
