//! Usage of objects, by the resource names of quotas.
//!
//! Kubernetes concept: the evaluators in `pkg/quota/v1/evaluator/core`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use registry_core::api::{GroupResource, Object};
use registry_core::schema::Quantity;
use resource_views::core::v1::{PersistentVolumeClaim, Pod, Service};

use super::devices::{self, Devices};
use crate::admission::storage::default_class::class_of;
use crate::api::core::pod_spec::totals::{self, Amounts};

pub(super) const PODS: GroupResource = GroupResource { group: "", resource: "pods" };
const SERVICES: GroupResource = GroupResource { group: "", resource: "services" };
pub(super) const CLAIMS: GroupResource = GroupResource { group: "", resource: "persistentvolumeclaims" };

/// Resources that are never counted: they are not stored, or too short-lived.
const IGNORED: [GroupResource; 10] = [
    GroupResource { group: "", resource: "bindings" },
    GroupResource { group: "", resource: "componentstatuses" },
    GroupResource { group: "authentication.k8s.io", resource: "tokenreviews" },
    GroupResource { group: "authentication.k8s.io", resource: "selfsubjectreviews" },
    GroupResource { group: "authorization.k8s.io", resource: "subjectaccessreviews" },
    GroupResource { group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
    GroupResource { group: "authorization.k8s.io", resource: "localsubjectaccessreviews" },
    GroupResource { group: "authorization.k8s.io", resource: "selfsubjectrulesreviews" },
    GroupResource { group: "", resource: "events" },
    GroupResource { group: "events.k8s.io", resource: "events" },
];

/// Resources that are also counted under their plural, the name that precedes `count/…`.
const BY_PLURAL: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];

/// The names of pods' usage, beside huge pages and extended resources.
const OF_PODS: [&str; 11] = [
    "count/pods",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// The names of claims' usage; the latter two also by storage class.
const OF_CLAIMS: [&str; 3] = ["count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"];
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

/// If a quota limits one of these, every container must specify it.
const HAS_TO_BE_SAID: [&str; 6] =
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
        let moves = || old.is_some_and(|old| has_deadline(old) != has_deadline(new));
        return subresource == RESIZE || subresource.is_empty() && moves();
    }
    if resource == CLAIMS {
        return matches!(subresource, "" | "status");
    }
    subresource.is_empty() && (resource == SERVICES || resource == devices::CLAIMS)
}

/// Whether objects of a resource are never counted.
pub(super) fn is_ignored(resource: GroupResource) -> bool {
    IGNORED.contains(&resource)
}

/// Whether a name in a quota is about objects of this resource.
pub(super) fn counts(resource: GroupResource, name: &str, devices: &Devices) -> bool {
    if resource == PODS {
        let is_huge_pages =
            ["hugepages-", "requests.hugepages-"].iter().any(|prefix| name.starts_with(prefix));
        return OF_PODS.contains(&name) || is_huge_pages || is_extended(name);
    }
    if resource == CLAIMS {
        let of_class = name.split_once(STORAGE_CLASS).map(|(_, name)| name);
        let is_by_class = of_class.is_some_and(|name| OF_CLAIMS.contains(&name));
        return OF_CLAIMS.contains(&name) || is_by_class;
    }
    if resource == devices::CLAIMS {
        return name == counted(resource) || devices.counts(name);
    }
    if resource == SERVICES {
        let of_services = ["count/services", "services", "services.loadbalancers", "services.nodeports"];
        return of_services.contains(&name);
    }
    name == counted(resource) || is_by_plural(resource) && name == resource.resource
}

/// Whether a name in a quota is about an extended resource: `requests.example.com/gpu`.
pub(super) fn is_extended(name: &str) -> bool {
    let Some(resource) = name.strip_prefix("requests.") else { return false };
    let is_native = !resource.contains('/') || resource.contains("kubernetes.io/");
    !is_native || resource.starts_with(devices::CLASS_PREFIX)
}

fn is_by_plural(resource: GroupResource) -> bool {
    resource.group.is_empty() && BY_PLURAL.contains(&resource.resource)
}

/// Returns the usage that an update adds; what it gives back is counted by the quota controller.
pub(super) fn added(usage: &Amounts, before: &Amounts) -> Amounts {
    let mut added = Amounts::new();
    for (name, amount) in usage {
        let more = before.get(name).map_or_else(|| amount.clone(), |before| amount.minus(before));
        if more.is_positive() {
            added.insert(name.clone(), more);
        }
    }
    added
}

/// Returns the usage of an object.
pub(super) fn object_usage(resource: GroupResource, object: &Object, devices: &Devices) -> Amounts {
    let mut usage = Amounts::from([(counted(resource), number(1))]);
    if is_by_plural(resource) {
        usage.insert(resource.resource.to_owned(), number(1));
    }
    if resource == PODS {
        usage.extend(pod_usage(object));
    } else if resource == SERVICES {
        usage.extend(service_usage(object));
    } else if resource == CLAIMS {
        usage.extend(claim_usage(object));
    } else if resource == devices::CLAIMS {
        usage.extend(devices.claim_usage(object));
    }
    usage
}

/// Returns the usage of a pod beside its count: none if it is over.
pub(super) fn pod_usage(pod: &Object) -> Amounts {
    if is_over(pod) {
        return Amounts::new();
    }
    let requests = totals::resizing_pod_total(pod, "requests");
    let limits = totals::resizing_pod_total(pod, "limits");
    let mut usage = computed(&requests, &limits);
    usage.insert("pods".to_owned(), number(1));
    usage
}

/// Whether a pod has terminated, or should have: its node may be gone.
fn is_over(pod: &Object) -> bool {
    if matches!(Pod(pod).status().phase().optional_text(), Some("Failed" | "Succeeded")) {
        return true;
    }
    let deletion = pod.deletion_timestamp().and_then(|text| text.parse::<Timestamp>().ok());
    let Some((deletion, grace)) = deletion.zip(pod.deletion_grace_period_seconds()) else { return false };
    Timestamp::now().as_second() > deletion.as_second().saturating_add(grace)
}

/// `count/deployments.apps`.
fn counted(resource: GroupResource) -> String {
    format!("count/{resource}")
}

pub(super) fn number(count: usize) -> Quantity {
    Quantity::whole(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Returns requests and limits under all the names that quotas may use for them.
fn computed(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::new();
    for (name, amount) in requests {
        let is_basic = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        let prefixed = format!("requests.{name}");
        if is_basic || name.starts_with("hugepages-") {
            usage.insert(name.clone(), amount.clone());
            usage.insert(prefixed, amount.clone());
        } else if is_extended(&prefixed) {
            usage.insert(prefixed, amount.clone());
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        usage.extend(limits.get(name).map(|amount| (format!("limits.{name}"), amount.clone())));
    }
    usage
}

fn service_usage(service: &Object) -> Amounts {
    let spec = Service(service).spec();
    let ports = spec.ports();
    let fixed = ports.elements().filter(|port| port.node_port().number() != 0);
    let allocates = spec.allocate_load_balancer_node_ports().truth() != Some(false);
    let (node_ports, balancers) = match spec.r#type().text() {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if allocates => (ports.len(), 1),
        "LoadBalancer" => (fixed.count(), 1),
        _ => (0, 0),
    };
    BTreeMap::from([
        ("services".to_owned(), number(1)),
        ("services.nodeports".to_owned(), number(node_ports)),
        ("services.loadbalancers".to_owned(), number(balancers)),
    ])
}

/// Returns the usage of a claim, which also counts under the name of its class.
fn claim_usage(claim: &Object) -> Amounts {
    let mut usage = Amounts::from([("persistentvolumeclaims".to_owned(), number(1))]);
    let class = Some(class_of(claim)).filter(|class| !class.is_empty());
    let of_class = |name: &str| class.map(|class| format!("{class}{STORAGE_CLASS}{name}"));
    if let Some(name) = of_class("persistentvolumeclaims") {
        usage.insert(name, number(1));
    }
    if let Some(storage) = storage_of(claim) {
        if let Some(name) = of_class("requests.storage") {
            usage.insert(name, storage.clone());
        }
        usage.insert("requests.storage".to_owned(), storage);
    }
    usage
}

/// Returns the storage that a claim requests, or what is allocated for it if that is more.
fn storage_of(claim: &Object) -> Option<Quantity> {
    let requested = PersistentVolumeClaim(claim).spec().resources().requests().entry("storage").quantity()?;
    let allocated = PersistentVolumeClaim(claim).status().allocated_resources().entry("storage").quantity();
    Some(match allocated {
        Some(allocated) if allocated.compare(&requested).is_gt() => allocated,
        _ => requested,
    })
}

/// Returns the resources that containers of a pod do not specify although a quota limits them: `limits.cpu for: a,b;
/// memory for: a`. A pod that specifies its total may leave it to that.
pub(super) fn unsaid(pod: &Object, hard: &Amounts) -> Option<String> {
    if totals::has_own(pod) {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let spec = Pod(pod).spec();
    for list in [spec.containers(), spec.init_containers()] {
        for container in list.elements() {
            let resources = container.resources();
            let requests = totals::read(resources.requests().value());
            let said = computed(&requests, &totals::read(resources.limits().value()));
            let name = container.name().text();
            let unsaid = HAS_TO_BE_SAID
                .iter()
                .filter(|resource| hard.contains_key(**resource) && !said.contains_key(**resource));
            for resource in unsaid {
                missing.entry(resource).or_default().insert(name);
            }
        }
    }
    let texts = missing.into_iter().map(|(resource, names)| {
        format!("{resource} for: {}", names.into_iter().collect::<Vec<_>>().join(","))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Whether a pod has a deadline: whether it is in the scope `Terminating`.
pub(super) fn has_deadline(pod: &Object) -> bool {
    Pod(pod).spec().active_deadline_seconds().integer().is_some_and(|seconds| seconds >= 0)
}
