//! Priority levels that are stored as a `v1beta…`, where shares of 0 are unset.
//!
//! Kubernetes concept: the conversions and defaults of `pkg/apis/flowcontrol`.

use registry_core::api::Object;
use resource_views::flowcontrol::{v1, v1beta2};

/// The annotation that makes shares of 0 a value in `v1beta3`.
const KEEPS_ZERO: [&str; 3] =
    ["metadata", "annotations", "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"];
/// The default shares.
const SHARES: i64 = 30;

/// Changes a level of `v1beta3` into one of `v1`.
pub(super) fn renew(level: &mut Object) {
    let keeps_zero = level.remove(&KEEPS_ZERO).is_some();
    let Some(mut spec) = v1::PriorityLevelConfigurationMut(level).spec().present() else { return };
    spec.limited().edit(|mut limited| {
        let shares = limited.nominal_concurrency_shares();
        if keeps_zero {
            shares.or(0);
        } else {
            shares.or_if_zero(SHARES);
        }
    });
}

/// Changes a level of `v1beta1` or `v1beta2` into one of `v1`: the shares have another name there.
pub(super) fn rename_shares(level: &mut Object) {
    let Some(mut spec) = v1beta2::PriorityLevelConfigurationMut(level).spec().present() else {
        return;
    };
    spec.limited().edit(|mut limited| {
        let shares = limited.assured_concurrency_shares().remove();
        let mut limited = v1::LimitedPriorityLevelConfigurationMut(limited.0);
        if let Some(shares) = shares {
            limited.nominal_concurrency_shares().set_value(shares);
        }
        limited.nominal_concurrency_shares().or_if_zero(SHARES);
    });
}
