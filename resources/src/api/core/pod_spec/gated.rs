//! The fields of pods that exist only while a feature is enabled.
//!
//! Kubernetes concept: `dropDisabledFields` in `k8s.io/kubernetes/pkg/api/pod`.

use registry_core::features::Feature;
use registry_core::resource::GatedField;

/// The fields of a pod's specification.
const SPEC: [(Feature, &str); 14] = [
    (Feature::ContainerRestartRules, "containers.*.restartPolicy"),
    (Feature::ContainerRestartRules, "containers.*.restartPolicyRules"),
    (Feature::ContainerRestartRules, "initContainers.*.restartPolicyRules"),
    (Feature::ContainerRestartRules, "ephemeralContainers.*.restartPolicy"),
    (Feature::ContainerRestartRules, "ephemeralContainers.*.restartPolicyRules"),
    (Feature::DynamicResourceAllocation, "containers.*.resources.claims"),
    (Feature::DynamicResourceAllocation, "initContainers.*.resources.claims"),
    (Feature::DynamicResourceAllocation, "resourceClaims"),
    (Feature::EnvFiles, "containers.*.env.*.valueFrom.fileKeyRef"),
    (Feature::EnvFiles, "initContainers.*.env.*.valueFrom.fileKeyRef"),
    (Feature::EnvFiles, "ephemeralContainers.*.env.*.valueFrom.fileKeyRef"),
    (Feature::HostnameOverride, "hostnameOverride"),
    (Feature::ImageVolume, "volumes.*.image"),
    (Feature::PodLevelResources, "resources"),
];

/// The fields of a pod's status.
const STATUS: [(Feature, &str); 7] = [
    (Feature::DRAExtendedResource, "status.extendedResourceClaimStatus"),
    (Feature::DynamicResourceAllocation, "status.resourceClaimStatuses"),
    (Feature::PodObservedGenerationTracking, "status.observedGeneration"),
    (Feature::PodObservedGenerationTracking, "status.conditions.*.observedGeneration"),
    (Feature::ResourceHealthStatus, "status.containerStatuses.*.allocatedResourcesStatus"),
    (Feature::ResourceHealthStatus, "status.initContainerStatuses.*.allocatedResourcesStatus"),
    (Feature::ResourceHealthStatus, "status.ephemeralContainerStatuses.*.allocatedResourcesStatus"),
];

/// Returns the fields of the specification of a pod, which is at this path.
pub(crate) fn spec(parent: &'static str) -> Vec<GatedField> {
    SPEC.into_iter().map(|(feature, path)| GatedField::below(parent, feature, path)).collect()
}

/// Returns the fields of a pod.
pub(crate) fn pod() -> Vec<GatedField> {
    let status = STATUS.into_iter().map(|(feature, path)| GatedField::new(feature, path));
    spec("spec").into_iter().chain(status).collect()
}
