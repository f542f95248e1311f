//! Usage of objects, by the resource names of quotas.
//!
//! Kubernetes concept: the evaluators in `pkg/quota/v1/evaluator/core`.

use std::collections::BTreeMap;

use registry_core::api::{GroupResource, Object};
use registry_core::schema::Quantity;
use resource_views::core::v1::{PersistentVolumeClaim, Service};

use super::devices::{self, Devices};
use super::pods;
use crate::admission::storage::default_class::class_of;
use crate::api::core::pod_spec::totals::Amounts;

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

/// The names of claims' usage; the latter two also by storage class.
const OF_CLAIMS: [&str; 3] = ["count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"];
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

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
        let moves = || old.is_some_and(|old| pods::has_deadline(old) != pods::has_deadline(new));
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
        return pods::counts(name);
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
    let mut usage = Amounts::from([(counted(resource), Quantity::whole(1))]);
    if is_by_plural(resource) {
        usage.insert(resource.resource.to_owned(), Quantity::whole(1));
    }
    if resource == PODS {
        usage.extend(pods::usage(object));
    } else if resource == SERVICES {
        usage.extend(service_usage(object));
    } else if resource == CLAIMS {
        usage.extend(claim_usage(object));
    } else if resource == devices::CLAIMS {
        usage.extend(devices.claim_usage(object));
    }
    usage
}

/// `count/deployments.apps`.
fn counted(resource: GroupResource) -> String {
    format!("count/{resource}")
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
        ("services".to_owned(), Quantity::whole(1)),
        ("services.nodeports".to_owned(), Quantity::whole(u64::try_from(node_ports).unwrap_or(u64::MAX))),
        ("services.loadbalancers".to_owned(), Quantity::whole(balancers)),
    ])
}

/// Returns the usage of a claim, which also counts under the name of its class.
fn claim_usage(claim: &Object) -> Amounts {
    let mut usage = Amounts::from([("persistentvolumeclaims".to_owned(), Quantity::whole(1))]);
    let class = Some(class_of(claim)).filter(|class| !class.is_empty());
    let of_class = |name: &str| class.map(|class| format!("{class}{STORAGE_CLASS}{name}"));
    if let Some(name) = of_class("persistentvolumeclaims") {
        usage.insert(name, Quantity::whole(1));
    }
    if let Some(storage) = storage_of(claim) {
        if let Some(name) = of_class("requests.storage") {
            usage.insert(name, storage.clone());
        }
        usage.insert("requests.storage".to_owned(), storage);
    }
    usage
}

/// Returns the storage that a claim requests, or what is allocated for it if that is more, in whole bytes: quotas with parts
/// of bytes are invalid.
fn storage_of(claim: &Object) -> Option<Quantity> {
    let claim = PersistentVolumeClaim(claim);
    let requested = claim.spec().resources().requests().entry("storage").quantity()?.to_whole();
    let allocated = claim.status().allocated_resources().entry("storage").quantity();
    Some(match allocated {
        Some(allocated) if allocated.compare(&requested).is_gt() => allocated.to_whole(),
        _ => requested,
    })
}
