//! Usage of objects, by the resource names of quotas.

use std::collections::BTreeMap;

use registry_core::api::{GroupResource, Object};
use registry_core::schema::Quantity;
use serde_json::Value;

use crate::core::pod_spec::totals::{self, Amounts};

pub(super) const PODS: GroupResource = GroupResource { group: "", resource: "pods" };
const SERVICES: GroupResource = GroupResource { group: "", resource: "services" };
const CLAIMS: GroupResource = GroupResource { group: "", resource: "persistentvolumeclaims" };
const EVENTS: [GroupResource; 2] = [
    GroupResource { group: "", resource: "events" },
    GroupResource { group: "events.k8s.io", resource: "events" },
];

/// Resources that are also counted under their plural, the name that precedes `count/…`.
const BY_PLURAL: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// If a quota limits one of these, every container must specify it.
pub(super) const HAS_TO_BE_SAID: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

/// The subresource by which a pod's requests and limits change.
pub(super) const RESIZE: &str = "resize";

/// Whether an update may change the usage of an object, or the quotas that count it.
pub(super) fn changes(
    resource: GroupResource,
    subresource: &str,
    new: &Object,
    old: Option<&Object>,
) -> bool {
    if resource == PODS {
        return subresource == RESIZE || old.is_some_and(|old| has_deadline(old) != has_deadline(new));
    }
    subresource.is_empty() && (resource == SERVICES || resource == CLAIMS)
}

/// Whether objects of a resource are never counted.
pub(super) fn is_ignored(resource: GroupResource) -> bool {
    EVENTS.contains(&resource)
}

/// Returns the usage that a write adds.
pub(super) fn delta(resource: GroupResource, new: &Object, old: Option<&Object>) -> Amounts {
    let mut delta = of(resource, new);
    for (name, before) in old.map(|old| of(resource, old)).unwrap_or_default() {
        let Some(nanos) = before.nanos() else { continue };
        let taken_back = before.with_nanos(-nanos);
        match delta.get_mut(&name) {
            Some(amount) if amount.nanos() == Some(nanos) => *amount = amount.with_nanos(0),
            Some(amount) => *amount = totals::plus(amount, &taken_back),
            None => {
                delta.insert(name, taken_back);
            }
        }
    }
    delta
}

/// Returns the usage of an object.
pub(super) fn of(resource: GroupResource, object: &Object) -> Amounts {
    let mut usage = Amounts::from([(counted(resource), number(1))]);
    // A terminated pod only counts as an object.
    if resource == PODS && matches!(object.get_str(&["status", "phase"]), Some("Failed" | "Succeeded")) {
        return usage;
    }
    if resource.group.is_empty() && BY_PLURAL.contains(&resource.resource) {
        usage.insert(resource.resource.to_owned(), number(1));
    }
    if resource == PODS {
        usage.insert("pods".to_owned(), number(1));
        usage.extend(computed(&totals::of_pod(object, "requests"), &totals::of_pod(object, "limits")));
    } else if resource == SERVICES {
        usage.extend(of_service(object));
    } else if resource == CLAIMS {
        usage.extend(of_claim(object));
    }
    usage
}

/// `count/deployments.apps`.
fn counted(resource: GroupResource) -> String {
    format!("count/{resource}")
}

fn number(count: usize) -> Quantity {
    Quantity::whole(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Returns requests and limits under all the names that quotas may use for them.
fn computed(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::new();
    for (name, amount) in requests {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-") {
            usage.insert(name.clone(), amount.clone());
        }
        usage.insert(format!("requests.{name}"), amount.clone());
    }
    for (name, amount) in limits {
        usage.insert(format!("limits.{name}"), amount.clone());
    }
    usage
}

fn of_service(service: &Object) -> Amounts {
    let kind = service.get_str(&["spec", "type"]).unwrap_or_default();
    let ports =
        service.get(&["spec", "ports"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let fixed =
        ports.iter().filter(|port| port.get("nodePort").and_then(Value::as_i64).unwrap_or_default() != 0);
    let allocates = service.get(&["spec", "allocateLoadBalancerNodePorts"]) != Some(&Value::Bool(false));
    let (node_ports, balancers) = match kind {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if allocates => (ports.len(), 1),
        "LoadBalancer" => (fixed.count(), 1),
        _ => (0, 0),
    };
    BTreeMap::from([
        ("services.nodeports".to_owned(), number(node_ports)),
        ("services.loadbalancers".to_owned(), number(balancers)),
    ])
}

/// Returns the usage of a claim, which also counts under the name of its class.
fn of_claim(claim: &Object) -> Amounts {
    let mut usage = Amounts::new();
    let class = claim.get_str(&["spec", "storageClassName"]).filter(|class| !class.is_empty());
    let of_class = |name: &str| class.map(|class| format!("{class}.storageclass.storage.k8s.io/{name}"));
    if let Some(name) = of_class("persistentvolumeclaims") {
        usage.insert(name, number(1));
    }
    let storage = claim.get(&["spec", "resources", "requests", "storage"]).and_then(totals::parse);
    if let Some(storage) = storage {
        if let Some(name) = of_class("requests.storage") {
            usage.insert(name, storage.clone());
        }
        usage.insert("requests.storage".to_owned(), storage);
    }
    usage
}

/// Returns the resources that containers of a pod do not specify although a quota limits them: `limits.cpu for: a,b;
/// memory for: a`.
pub(super) fn unsaid(pod: &Object, hard: &Amounts) -> Option<String> {
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for list in ["containers", "initContainers"] {
        for container in pod.get(&["spec", list]).and_then(Value::as_array).into_iter().flatten() {
            let amounts = |of: &str| totals::read(container.pointer(&format!("/resources/{of}")));
            let said = computed(&amounts("requests"), &amounts("limits"));
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let unsaid =
                HAS_TO_BE_SAID.iter().filter(|one| hard.contains_key(**one) && !said.contains_key(**one));
            for resource in unsaid {
                missing.entry(resource).or_default().push(name);
            }
        }
    }
    let texts = missing.into_iter().map(|(resource, mut names)| {
        names.sort_unstable();
        format!("{resource} for: {}", names.join(","))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Whether a pod has a deadline: whether it is in the scope `Terminating`.
pub(super) fn has_deadline(pod: &Object) -> bool {
    pod.get_i64(&["spec", "activeDeadlineSeconds"]).is_some_and(|seconds| seconds >= 0)
}
