//! Usage of pods, by the resource names of quotas.
//!
//! Kubernetes concept: `NewPodEvaluator` in `pkg/quota/v1/evaluator/core`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use registry_core::api::Object;
use registry_core::schema::Quantity;
use resource_views::core::v1::Pod;

use crate::api::core::pod_spec::resource_names;
use crate::api::core::pod_spec::totals::{self, Amounts};

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

/// If a quota limits one of these, every container must specify it.
const MUST_BE_SPECIFIED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

/// Precedes the name of a class of devices in the name of the extended resource that every class has.
pub(super) const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a name in a quota is about pods.
pub(super) fn counts(name: &str) -> bool {
    let is_huge_pages = ["hugepages-", "requests.hugepages-"].iter().any(|prefix| name.starts_with(prefix));
    OF_PODS.contains(&name) || is_huge_pages || is_extended(name)
}

/// Whether a name in a quota is about an extended resource: `requests.example.com/gpu`.
pub(super) fn is_extended(name: &str) -> bool {
    let Some(resource) = name.strip_prefix("requests.") else { return false };
    !resource_names::is_native(resource) || resource.starts_with(CLASS_PREFIX)
}

/// Returns the usage of a pod beside its count: none if it is over.
pub(super) fn usage(pod: &Object) -> Amounts {
    if is_over(pod) {
        return Amounts::new();
    }
    let requests = totals::resizing_pod_total(pod, "requests");
    let limits = totals::resizing_pod_total(pod, "limits");
    let mut usage = computed(&requests, &limits);
    usage.insert("pods".to_owned(), Quantity::whole(1));
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

/// Returns the resources that containers of a pod do not specify although a quota limits them: `limits.cpu for: a,b;
/// memory for: a`. A pod that specifies its total may leave it to that.
pub(super) fn unspecified(pod: &Object, hard: &Amounts) -> Option<String> {
    if totals::has_own(pod) {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let spec = Pod(pod).spec();
    for list in [spec.containers(), spec.init_containers()] {
        for container in list.elements() {
            let resources = container.resources();
            let requests = totals::read(resources.requests().value());
            let specified = computed(&requests, &totals::read(resources.limits().value()));
            let name = container.name().text();
            let absent = MUST_BE_SPECIFIED
                .iter()
                .filter(|resource| hard.contains_key(**resource) && !specified.contains_key(**resource));
            for resource in absent {
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
