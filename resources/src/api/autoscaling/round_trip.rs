//! The annotations in which `autoscaling/v1` carries values without fields. Stored objects do not have them.

use registry_core::api::Object;

use crate::support::printers;

/// The metrics other than CPU utilization.
pub(super) const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
/// The last measurements.
pub(super) const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
/// The conditions of the status.
pub(super) const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// The scaling behavior.
pub(super) const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Removes them all, and the map of annotations if it is then empty.
pub(super) fn drop_annotations(object: &mut Object) {
    const ANNOTATIONS: &[&str] = &["metadata", "annotations"];
    let mut dropped = false;
    for name in [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR] {
        dropped |= object.remove(&["metadata", "annotations", name]).is_some();
    }
    if dropped && printers::length(object, ANNOTATIONS) == 0 {
        object.remove(ANNOTATIONS);
    }
}
