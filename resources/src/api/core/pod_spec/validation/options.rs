//! The violations that validation tolerates: an object may keep values that it had before a rule was made.

use registry_core::RequestContext;
use registry_core::context::ClusterPolicy;
use resource_views::List;
use resource_views::core::v1::{Container, ContainerResizePolicy, PodSpec, Toleration};
use resource_views::meta::v1::ObjectMeta;

use super::{affinity, annotations, resources, scheduling, security_context, visit_containers, volumes};

/// The circumstances of a validation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(super) policy: ClusterPolicy,
    /// Whether the object is a pod, not a template of pods.
    pub(super) is_pod: bool,
    pub(super) tolerates_deletion_cost: bool,
    pub(super) tolerates_selector_values: bool,
    pub(super) tolerates_node_affinity_values: bool,
    pub(super) tolerates_split_pages: bool,
    pub(super) tolerates_spread_selectors: bool,
    pub(super) tolerates_match_label_keys: bool,
    pub(super) tolerates_non_local_token_paths: bool,
    pub(super) tolerates_host_sysctls: bool,
    pub(super) tolerates_relabelling: bool,
    pub(super) tolerates_comparisons: bool,
    pub(super) tolerates_restarted_init: bool,
    pub(super) tolerates_devices_with_own_users: bool,
    pub(super) tolerates_host_network_with_own_users: bool,
}

// === impl Options ===

impl Options {
    /// Returns the options for a new object.
    pub(crate) fn new(context: &RequestContext, is_pod: bool) -> Self {
        Self { policy: context.policy, is_pod, ..Self::default() }
    }

    /// Returns the options for a change of an object with this metadata and spec.
    pub(crate) fn tolerating(self, metadata: &ObjectMeta<'_, '_>, spec: &PodSpec<'_, '_>) -> Self {
        let affinity = spec.affinity();
        let constraints = spec.topology_spread_constraints();
        let context = spec.security_context();
        let has_own_users = spec.host_users().truth() == Some(false);
        Self {
            tolerates_deletion_cost: !annotations::has_valid_cost(metadata),
            tolerates_selector_values: affinity::has_invalid_selector(&affinity),
            tolerates_node_affinity_values: affinity::has_invalid_node_value(&affinity),
            tolerates_split_pages: resources::splits_pages(spec),
            tolerates_spread_selectors: scheduling::has_invalid_selector(&constraints),
            tolerates_match_label_keys: scheduling::has_invalid_keys(&constraints),
            tolerates_non_local_token_paths: volumes::has_non_local_token_path(&spec.volumes()),
            tolerates_host_sysctls: security_context::has_host_sysctl(spec),
            tolerates_relabelling: context.se_linux_change_policy().exists(),
            tolerates_comparisons: has_comparison(&spec.tolerations()),
            tolerates_restarted_init: restarts_init(&spec.init_containers()),
            tolerates_devices_with_own_users: has_own_users && has_devices(spec),
            tolerates_host_network_with_own_users: has_own_users && spec.host_network().is_true(),
            ..self
        }
    }
}

fn has_comparison(tolerations: &List<Toleration<'_, '_>>) -> bool {
    tolerations.elements().any(|toleration| matches!(toleration.operator().text(), "Lt" | "Gt"))
}

fn restarts_init(containers: &List<Container<'_, '_>>) -> bool {
    let restarts =
        |policy: ContainerResizePolicy<'_, '_>| policy.restart_policy().text() == "RestartContainer";
    containers
        .elements()
        .filter(|container| container.restart_policy().text() != "Always")
        .any(|container| container.resize_policy().elements().any(restarts))
}

fn has_devices(spec: &PodSpec<'_, '_>) -> bool {
    let mut found = false;
    visit_containers(spec, |container| found |= !container.volume_devices().is_empty());
    found
}
