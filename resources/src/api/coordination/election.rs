//! Coordinated elections of leaders.
//!
//! Kubernetes concept:
//! [coordinated leader election](https://kubernetes.io/docs/concepts/cluster-administration/coordinated-leader-election/).

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::Text;

/// The only strategy that Kubernetes defines.
pub(super) const OLDEST_EMULATION_VERSION: &str = "OldestEmulationVersion";

/// Checks the strategy of an election: one that Kubernetes defines, or one with a domain.
pub(super) fn check_strategy(strategy: &Text<'_, '_>, errors: &mut ErrorList) {
    // The error's path is below the field itself.
    let place = strategy.path().child("strategy");
    if strategy.text().contains('/') {
        for complaint in names::qualified_name(strategy.text()) {
            errors.push(FieldError::invalid(place.clone(), strategy.text(), complaint));
        }
    } else if strategy.text() != OLDEST_EMULATION_VERSION {
        errors.push(FieldError::not_supported(place, strategy.text(), &[OLDEST_EMULATION_VERSION]));
    }
}
