//! Names of the resources that containers and pods request, and that quotas and ranges limit.
//!
//! Kubernetes concept: `IsNativeResource`, `IsExtendedResourceName` and `ValidateResourceName` in `pkg/apis/core`.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, FieldPath, names};

/// Precedes the size of the pages in the name of huge pages.
pub(crate) const HUGE_PAGES: &str = "hugepages-";
/// Kubernetes' resources that containers request, beside huge pages.
const OF_CONTAINERS: &[&str] = &["cpu", "memory", "ephemeral-storage"];
/// Precedes the name of a resource in a quota of requests.
const QUOTA_PREFIX: &str = "requests.";

/// Kubernetes' resources with whole amounts only. They stand in quotas.
const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// Kubernetes' resources with amounts of any precision, some of them only in quotas.
const MEASURED: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
];

/// Checks the name of a resource: one of Kubernetes', or one with a domain.
pub(crate) fn check_any_name(name: &str, path: &FieldPath, errors: &mut ErrorList) {
    let complaints = names::qualified_name(name);
    if complaints.is_empty() && !name.contains('/') && !is_standard(name) {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path.clone(), name, detail));
    }
    for complaint in complaints {
        errors.push(FieldError::invalid(path.clone(), name, complaint));
    }
}

/// Checks the name of a resource that containers can request.
pub(crate) fn check_container_name(name: &str, path: &FieldPath, errors: &mut ErrorList) {
    check_any_name(name, path, errors);
    let complaint = if name.contains('/') {
        let is_wrong = !is_native(name) && !is_extended(name);
        is_wrong.then_some("doesn't follow extended resource name standard")
    } else {
        let is_wrong = !OF_CONTAINERS.contains(&name) && !name.starts_with(HUGE_PAGES);
        is_wrong.then_some("must be a standard resource for containers")
    };
    if let Some(complaint) = complaint {
        errors.push(FieldError::invalid(path.clone(), name, complaint));
    }
}

fn is_standard(name: &str) -> bool {
    let is_pages = name.strip_prefix(QUOTA_PREFIX).unwrap_or(name).starts_with(HUGE_PAGES);
    is_pages || COUNTED.contains(&name) || MEASURED.contains(&name)
}

/// Whether a name is one of Kubernetes'.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a name is that of an extended resource, which is not Kubernetes' and can be named in a quota.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with(QUOTA_PREFIX)
        && names::qualified_name(&format!("{QUOTA_PREFIX}{name}")).is_empty()
}

/// Whether the limit of a resource may exceed its request.
pub(crate) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !name.starts_with(HUGE_PAGES)
}

/// Whether a pod as a whole can request the resource.
pub(crate) fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES)
}

/// Whether amounts of the resource are whole.
pub(super) fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}
