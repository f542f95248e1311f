//! The circumstances of a validation.

use registry_core::RequestContext;
use registry_core::context::ClusterPolicy;

/// The circumstances of a validation: the policy of the cluster, and the violations that are tolerated. A new object may
/// violate no rule.
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
}
