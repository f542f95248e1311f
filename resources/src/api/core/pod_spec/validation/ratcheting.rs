//! The violations that a change may keep: an object may have values that it had before a rule was made.

use resource_views::core::v1::PodSpec;
use resource_views::meta::v1::ObjectMeta;

use super::{
    Options, affinity, annotations, resources, restarts, scheduling, security_context, visit_containers,
    volumes,
};

impl Options {
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
            tolerates_comparisons: scheduling::has_comparison(&spec.tolerations()),
            tolerates_restarted_init: restarts::has_restarted_init(&spec.init_containers()),
            tolerates_devices_with_own_users: has_own_users && has_devices(spec),
            tolerates_host_network_with_own_users: has_own_users && spec.host_network().is_true(),
            ..self
        }
    }
}

fn has_devices(spec: &PodSpec<'_, '_>) -> bool {
    let mut found = false;
    visit_containers(spec, |container| found |= !container.volume_devices().is_empty());
    found
}
