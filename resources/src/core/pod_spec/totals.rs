//! The total requests or limits of a pod's containers.
//!
//! Kubernetes concept: `PodRequests` and `PodLimits` of `k8s.io/component-helpers/resource`.

use std::collections::BTreeMap;

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
pub(crate) fn plus(one: &Quantity, other: &Quantity) -> Quantity {
    match (one.nanos(), other.nanos()) {
        (Some(0), _) => other.clone(),
        (Some(nanos), Some(more)) => one.with_nanos(nanos.saturating_add(more)),
        _ => one.clone(),
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

/// Returns the total of a pod (`requests` or `limits`): that of its containers, or that of the pod as a whole where it is
/// set; the overhead is added.
pub(crate) fn of_pod(pod: &Object, kind: &str) -> Amounts {
    let spec = pod.get(&["spec"]).unwrap_or(&Value::Null);
    let mut total = of_containers(spec, kind);
    for (name, amount) in read(spec.pointer(&format!("/resources/{kind}"))) {
        if is_of_pods(&name) {
            total.insert(name, amount);
        }
    }
    if !total.is_empty() || kind == "requests" {
        add(&mut total, &read(spec.get("overhead")));
    }
    total
}

/// Returns the total of the containers in a pod spec: containers and sidecars run concurrently, other init containers run
/// sequentially before them.
pub(crate) fn of_containers(spec: &Value, kind: &str) -> Amounts {
    let containers =
        |list: &str| spec.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let amounts = |container: &Value| read(container.pointer(&format!("/resources/{kind}")));
    let mut total = Amounts::new();
    for container in containers("containers") {
        add(&mut total, &amounts(container));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in containers("initContainers") {
        let own = amounts(container);
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
}
