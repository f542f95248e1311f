//! The total requests or limits of a pod's containers.
//!
//! Kubernetes concept: `PodRequests` and `PodLimits` of `k8s.io/component-helpers/resource`.

use std::collections::{BTreeMap, HashMap};

use registry_core::api::Object;
use registry_core::schema::Quantity;
use serde_json::Value;

use super::validation::is_of_pods;

/// Amounts by resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Reads a map of resources and quantities. Invalid quantities, which validation refuses, are left out.
pub(crate) fn read(amounts: Option<&Value>) -> Amounts {
    let entries = amounts.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), parse(value)?))).collect()
}

/// Parses a quantity, which may be written as a number.
pub(crate) fn parse(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
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

/// Returns the sum of two quantities, in the format of the first unless that is zero. The sum saturates; if a quantity is
/// too large to count, the first is returned.
pub(crate) fn plus(first: &Quantity, second: &Quantity) -> Quantity {
    match (first.nanos(), second.nanos()) {
        (Some(0), _) => second.clone(),
        (Some(nanos), Some(more)) => first.with_nanos(nanos.saturating_add(more)),
        _ => first.clone(),
    }
}

/// Raises each amount to at least that in `floor`.
fn raise(to: &mut Amounts, floor: &Amounts) {
    for (name, amount) in floor {
        if to.get(name).is_none_or(|own| amount.compare(own).is_gt()) {
            to.insert(name.clone(), amount.clone());
        }
    }
}

/// Returns the total of a pod (`requests` or `limits`): the total of its containers, or the amounts that the pod itself
/// specifies. The overhead is added.
pub(crate) fn of_pod(pod: &Object, kind: &str) -> Amounts {
    let total = of_containers(spec_of(pod), kind);
    with_overhead(pod, kind, with_own(pod, kind, total, is_of_pods))
}

/// Returns the total of a pod as [`of_pod`] does, with what its containers still have while a resize is under way.
pub(crate) fn of_resizing_pod(pod: &Object, kind: &str) -> Amounts {
    let statuses = Statuses::of(pod);
    let total = sum(spec_of(pod), |container, list| statuses.amounts(container, list, kind));
    with_overhead(pod, kind, with_own(pod, kind, total, is_of_pods))
}

/// Returns the total of a pod without the overhead.
pub(crate) fn without_overhead(pod: &Object, kind: &str) -> Amounts {
    let total = of_containers(spec_of(pod), kind);
    with_own(pod, kind, total, |name| matches!(name, "cpu" | "memory"))
}

fn spec_of(pod: &Object) -> &Value {
    pod.get(&["spec"]).unwrap_or(&Value::Null)
}

/// Whether a pod itself specifies amounts.
pub(crate) fn has_own(pod: &Object) -> bool {
    ["requests", "limits"]
        .iter()
        .any(|kind| read(pod.get(&["spec", "resources", kind])).keys().any(|name| is_of_pods(name)))
}

/// Replaces amounts by those that the pod itself specifies.
fn with_own(pod: &Object, kind: &str, mut total: Amounts, counts: impl Fn(&str) -> bool) -> Amounts {
    let own = read(pod.get(&["spec", "resources", kind]));
    total.extend(own.into_iter().filter(|(name, _)| counts(name)));
    total
}

/// Adds the overhead; to limits only where there are any.
fn with_overhead(pod: &Object, kind: &str, mut total: Amounts) -> Amounts {
    let mut overhead = read(pod.get(&["spec", "overhead"]));
    if kind == "limits" {
        overhead.retain(|name, _| total.contains_key(name));
    }
    add(&mut total, &overhead);
    total
}

/// The states of a pod's containers, by their names.
struct Statuses<'p> {
    by_name: HashMap<(&'static str, &'p str), &'p Value>,
    /// Whether the node cannot give what the pod asks for: only what the containers have counts.
    is_infeasible: bool,
}

impl<'p> Statuses<'p> {
    fn of(pod: &'p Object) -> Self {
        let mut by_name = HashMap::new();
        for (list, field) in
            [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")]
        {
            for status in pod.get(&["status", field]).and_then(Value::as_array).into_iter().flatten() {
                by_name.insert((list, name_of(status)), status);
            }
        }
        let conditions = pod.get(&["status", "conditions"]).and_then(Value::as_array);
        let is_infeasible = conditions.into_iter().flatten().any(|condition| {
            let text = |field: &str| condition.get(field).and_then(Value::as_str);
            text("type") == Some("PodResizePending") && text("reason") == Some("Infeasible")
        });
        Self { by_name, is_infeasible }
    }

    /// Returns the largest of what a container asks for, what it has, and what is allocated for it.
    fn amounts(&self, container: &Value, list: &'static str, kind: &str) -> Amounts {
        let wanted = read(container.pointer(&format!("/resources/{kind}")));
        let status = self.by_name.get(&(list, name_of(container)));
        let Some(status) = status.filter(|status| status.get("resources").is_some_and(|own| !own.is_null()))
        else {
            return wanted;
        };
        let mut amounts = read(status.pointer(&format!("/resources/{kind}")));
        if kind == "requests" {
            raise(&mut amounts, &read(status.get("allocatedResources")));
        }
        if !self.is_infeasible {
            raise(&mut amounts, &wanted);
        }
        amounts
    }
}

fn name_of(container: &Value) -> &str {
    container.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the total of the containers in a pod spec: containers and sidecars run concurrently, other init containers run
/// sequentially before them.
pub(crate) fn of_containers(spec: &Value, kind: &str) -> Amounts {
    sum(spec, |container, _| read(container.pointer(&format!("/resources/{kind}"))))
}

/// Returns the total of the containers in a pod spec, each of which has what `amounts` returns.
fn sum(spec: &Value, amounts: impl Fn(&Value, &'static str) -> Amounts) -> Amounts {
    let containers =
        |list: &str| spec.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut total = Amounts::new();
    for container in containers("containers") {
        add(&mut total, &amounts(container, "containers"));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in containers("initContainers") {
        let own = amounts(container, "initContainers");
        if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
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
            of_pod(&Object::from_value(pod).unwrap(), "requests")["cpu"].to_string()
        };
        assert_eq!(total(vec![]), "1500m");
        assert_eq!(total(vec![container("1")]), "1500m");
        assert_eq!(total(vec![container("2")]), "2");
        assert_eq!(total(vec![sidecar.clone()]), "2500m");
        assert_eq!(total(vec![sidecar, container("3")]), "4");
    }

    #[test]
    fn a_pod_may_specify_its_total() {
        let pod = Object::from_value(json!({"spec": {
            "resources": {"requests": {"cpu": "3", "other": "1"}},
            "overhead": {"cpu": "1", "memory": "1Gi"},
            "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}],
        }}))
        .unwrap();
        assert_eq!(of_pod(&pod, "requests")["cpu"].to_string(), "4");
        assert_eq!(without_overhead(&pod, "requests")["cpu"].to_string(), "3");
        // The overhead of resources without a limit does not limit them.
        let limits = of_pod(&pod, "limits");
        assert_eq!(limits["cpu"].to_string(), "3");
        assert!(!limits.contains_key("memory") && has_own(&pod));
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
        let total = |pod: &Object| of_resizing_pod(pod, "requests")["cpu"].to_string();
        assert_eq!(total(&pod("1", "2", json!([]))), "2");
        assert_eq!(total(&pod("3", "2", json!([]))), "3");
        let infeasible = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        assert_eq!(total(&pod("3", "2", infeasible)), "2");
    }
}
