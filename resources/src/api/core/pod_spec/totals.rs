//! The total requests or limits of a pod's containers.
//!
//! Kubernetes concept: `PodRequests` and `PodLimits` of `k8s.io/component-helpers/resource`.

use std::collections::{BTreeMap, HashMap};

use registry_core::api::Object;
use registry_core::schema::Quantity;
use resource_views::core::v1::{Container, ContainerStatus, Pod, PodSpec, ResourceRequirements};
use resource_views::{List, Map, Quantity as Amount, Typed as _};
use serde_json::Value;

use super::resource_names::is_of_pods;
use crate::support::conditions;

/// Amounts by resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Reads a map of resources and quantities. Invalid quantities, which validation refuses, are left out.
pub(crate) fn read(amounts: Option<&Value>) -> Amounts {
    let entries = amounts.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), Amount::from_value(value).quantity()?))).collect()
}

/// Adds amounts to others.
pub(crate) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        match to.get_mut(name) {
            Some(sum) => *sum = plus(sum, amount),
            None => {
                to.insert(name.clone(), amount.clone());
            }
        }
    }
}

/// Whether amounts are equal, however they are written.
pub(crate) fn are_equal(amounts: &Amounts, others: &Amounts) -> bool {
    let is_equal = |(name, amount): (&String, &Quantity)| {
        others.get(name).is_some_and(|other| other.compare(amount).is_eq())
    };
    amounts.len() == others.len() && amounts.iter().all(is_equal)
}

/// Returns the sum of two quantities, in the notation of the first unless that is zero.
pub(crate) fn plus(first: &Quantity, second: &Quantity) -> Quantity {
    if first.is_zero() { second.clone() } else { first.plus(second) }
}

/// Raises each amount to at least that in `floor`.
fn raise(to: &mut Amounts, floor: &Amounts) {
    for (name, amount) in floor {
        if to.get(name).is_none_or(|own| amount.compare(own).is_gt()) {
            to.insert(name.clone(), amount.clone());
        }
    }
}

/// Returns the amounts of a kind, `requests` or `limits`.
pub(super) fn kind_amounts<'v, 'p>(
    resources: &'p ResourceRequirements<'v, 'p>,
    kind: &str,
) -> Map<Amount<'v, 'p>> {
    if kind == "limits" { resources.limits() } else { resources.requests() }
}

fn read_kind(resources: &ResourceRequirements<'_, '_>, kind: &str) -> Amounts {
    read(kind_amounts(resources, kind).value())
}

/// Returns the total of a pod (`requests` or `limits`): the total of its containers, or the amounts that the pod itself
/// specifies. The overhead is added.
pub(crate) fn pod_total(pod: &Object, kind: &str) -> Amounts {
    let spec = Pod(pod).spec();
    let total = containers_total(&spec, kind);
    with_overhead(&spec, kind, with_own(&spec, kind, total, is_of_pods))
}

/// Returns the total of a pod as [`pod_total`] does, with what its containers still have while a resize is under way. Init
/// containers that are not sidecars count with what they ask for only.
pub(crate) fn resizing_pod_total(pod: &Object, kind: &str) -> Amounts {
    let spec = Pod(pod).spec();
    let status = Pod(pod).status();
    let is_infeasible = conditions::find(pod, "PodResizePending")
        .is_some_and(|condition| condition.reason().text() == "Infeasible");
    let init = status.init_container_statuses();
    let init: HashMap<&str, ContainerStatus<'_, '_>> = by_name(&init);
    let main = status.container_statuses();
    let main = by_name(&main);
    let total = sum(&spec, |container, is_init| {
        let wanted = read_kind(&container.resources(), kind);
        let states = match is_init {
            false => &main,
            true if is_sidecar(container) => &init,
            true => return wanted,
        };
        match states.get(container.name().text()).filter(|state| state.resources().exists()) {
            Some(state) => with_state(&wanted, state, kind, is_infeasible),
            None => wanted,
        }
    });
    with_overhead(&spec, kind, with_own(&spec, kind, total, is_of_pods))
}

fn by_name<'v, 'p>(states: &'p List<ContainerStatus<'v, 'p>>) -> HashMap<&'v str, ContainerStatus<'v, 'p>> {
    states.elements().map(|state| (state.name().text(), state)).collect()
}

/// Returns the largest of what a container asks for, what it has, and what is allocated for it. If the node cannot give
/// what it asks for, only what it has counts.
fn with_state(wanted: &Amounts, state: &ContainerStatus<'_, '_>, kind: &str, is_infeasible: bool) -> Amounts {
    let mut amounts = read_kind(&state.resources(), kind);
    if kind == "requests" {
        raise(&mut amounts, &read(state.allocated_resources().value()));
    }
    if !is_infeasible {
        raise(&mut amounts, wanted);
    }
    amounts
}

/// Returns the total of a pod without the overhead.
pub(crate) fn without_overhead(pod: &Object, kind: &str) -> Amounts {
    let spec = Pod(pod).spec();
    let total = containers_total(&spec, kind);
    with_own(&spec, kind, total, |name| matches!(name, "cpu" | "memory"))
}

/// Whether a pod itself specifies amounts.
pub(crate) fn has_own(pod: &Object) -> bool {
    let spec = Pod(pod).spec();
    let resources = spec.resources();
    [resources.requests(), resources.limits()]
        .iter()
        .any(|amounts| read(amounts.value()).keys().any(|name| is_of_pods(name)))
}

/// Replaces amounts by those that the pod itself specifies.
fn with_own(
    spec: &PodSpec<'_, '_>,
    kind: &str,
    mut total: Amounts,
    counts: impl Fn(&str) -> bool,
) -> Amounts {
    let own = read_kind(&spec.resources(), kind);
    total.extend(own.into_iter().filter(|(name, _)| counts(name)));
    total
}

/// Adds the overhead; to limits only where they are not zero.
fn with_overhead(spec: &PodSpec<'_, '_>, kind: &str, mut total: Amounts) -> Amounts {
    let mut overhead = read(spec.overhead().value());
    if kind == "limits" {
        overhead.retain(|name, _| total.get(name).is_some_and(|limit| !limit.is_zero()));
    }
    add(&mut total, &overhead);
    total
}

/// Returns the total of the containers in a pod spec: containers and sidecars run concurrently, other init containers run
/// sequentially before them.
pub(crate) fn containers_total(spec: &PodSpec<'_, '_>, kind: &str) -> Amounts {
    sum(spec, |container, _| read_kind(&container.resources(), kind))
}

/// Whether an init container goes on running beside the containers.
fn is_sidecar(container: &Container<'_, '_>) -> bool {
    container.restart_policy().text() == "Always"
}

/// Returns the total of the containers in a pod spec, each of which has what `amounts` returns for it, and for whether it
/// is an init container.
fn sum(spec: &PodSpec<'_, '_>, amounts: impl Fn(&Container<'_, '_>, bool) -> Amounts) -> Amounts {
    let mut total = Amounts::new();
    for container in spec.containers().elements() {
        add(&mut total, &amounts(&container, false));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in spec.init_containers().elements() {
        let own = amounts(&container, true);
        if is_sidecar(&container) {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut beside = own;
            add(&mut beside, &sidecars);
            raise(&mut starting, &beside);
        }
    }
    raise(&mut total, &starting);
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn init_containers_run_before_the_others_and_sidecars_beside_them() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let sidecar = json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}});
        let total = |init: Vec<Value>| {
            let pod =
                json!({"spec": {"containers": [container("1"), container("500m")], "initContainers": init}});
            pod_total(&Object::from_value(pod).unwrap(), "requests")["cpu"].to_string()
        };
        assert_eq!(total(vec![]), "1500m");
        assert_eq!(total(vec![container("1")]), "1500m");
        assert_eq!(total(vec![container("2")]), "2");
        assert_eq!(total(vec![sidecar.clone()]), "2500m");
        assert_eq!(total(vec![sidecar, container("3")]), "4");
    }

    #[test]
    fn amounts_of_any_size_count() {
        let container = |memory: &str| json!({"resources": {"limits": {"memory": memory}}});
        let pod = json!({"spec": {"containers": [container("1Mi"), container("1e30")]}});
        let total = pod_total(&Object::from_value(pod).unwrap(), "limits");
        assert!(total["memory"].compare(&Quantity::parse("1e30").unwrap()).is_gt(), "{}", total["memory"]);
    }

    #[test]
    fn a_pod_may_specify_its_total() {
        let pod = Object::from_value(json!({"spec": {
            "resources": {"requests": {"cpu": "3", "other": "1"}},
            "overhead": {"cpu": "1", "memory": "1Gi"},
            "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}],
        }}))
        .unwrap();
        assert_eq!(pod_total(&pod, "requests")["cpu"].to_string(), "4");
        assert_eq!(without_overhead(&pod, "requests")["cpu"].to_string(), "3");
        // The overhead of resources without a limit does not limit them.
        let limits = pod_total(&pod, "limits");
        assert_eq!(limits["cpu"].to_string(), "3");
        assert!(!limits.contains_key("memory") && has_own(&pod));
    }

    #[test]
    fn the_overhead_does_not_raise_limits_of_zero() {
        let total = |limit: &str| {
            let pod = json!({"spec": {
                "overhead": {"cpu": "1"},
                "containers": [{"resources": {"limits": {"cpu": limit}}}],
            }});
            pod_total(&Object::from_value(pod).unwrap(), "limits")["cpu"].to_string()
        };
        assert_eq!(total("0"), "0");
        assert_eq!(total("2"), "3");
    }

    #[test]
    fn a_resize_under_way_counts_with_what_a_container_still_has() {
        let pod = |wanted: &str, has: &str, conditions: Value| {
            Object::from_value(json!({
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": wanted}}}]},
                "status": {
                    "conditions": conditions,
                    "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": has}}}],
                },
            }))
            .unwrap()
        };
        let total = |pod: &Object| resizing_pod_total(pod, "requests")["cpu"].to_string();
        assert_eq!(total(&pod("1", "2", json!([]))), "2");
        assert_eq!(total(&pod("3", "2", json!([]))), "3");
        let infeasible = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        assert_eq!(total(&pod("3", "2", infeasible)), "2");
    }

    #[test]
    fn init_containers_count_with_what_they_still_have_if_they_are_sidecars() {
        let total = |restart_policy: Value, kind: &str| {
            let mut container = json!({"name": "i", "resources": {kind: {"cpu": "1"}}});
            container["restartPolicy"] = restart_policy;
            let has =
                json!({"name": "i", "resources": {kind: {"cpu": "2"}}, "allocatedResources": {"cpu": "2"}});
            let pod = Object::from_value(json!({
                "spec": {"initContainers": [container], "containers": [{"name": "c"}]},
                "status": {"initContainerStatuses": [has]},
            }));
            resizing_pod_total(&pod.unwrap(), kind)["cpu"].to_string()
        };
        for kind in ["requests", "limits"] {
            assert_eq!(total(Value::Null, kind), "1", "{kind}");
            assert_eq!(total(json!("Always"), kind), "2", "{kind}");
        }
    }
}
