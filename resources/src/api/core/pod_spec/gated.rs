//! The fields of pods that exist only while a feature is enabled.
//!
//! Kubernetes concept: `dropDisabledFields` in `k8s.io/kubernetes/pkg/api/pod`.

use registry_core::features::Feature;
use registry_core::resource::GatedField;

/// The fields of a pod's specification.
const SPEC: [(Feature, &str); 17] = [
    (Feature::ClusterTrustBundleProjection, "volumes.*.projected.sources.*.clusterTrustBundle"),
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
    (Feature::GenericWorkload, "schedulingGroup"),
    (Feature::HostnameOverride, "hostnameOverride"),
    (Feature::ImageVolume, "volumes.*.image"),
    (Feature::PodCertificateRequest, "volumes.*.projected.sources.*.podCertificate"),
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

/// The fields of a pod's status that belong to `DRANodeAllocatableResources` and `ImageVolumeWithDigest`.
const UNSUPPORTED_STATUS: [&str; 4] = [
    "status.nodeAllocatableResourceClaimStatuses",
    "status.containerStatuses.*.volumeMounts.*.volumeStatus",
    "status.initContainerStatuses.*.volumeMounts.*.volumeStatus",
    "status.ephemeralContainerStatuses.*.volumeMounts.*.volumeStatus",
];

/// Returns the fields of the specification of a pod, which is at this path.
pub(crate) fn spec(parent: &'static str) -> Vec<GatedField> {
    let supported = SPEC.into_iter().map(|(feature, path)| GatedField::new(feature, path));
    supported.chain([stop_signals()]).map(|field| field.below(parent)).collect()
}

/// Returns the field that belongs to `ContainerStopSignals`.
fn stop_signals() -> GatedField {
    GatedField::unsupported("containers.*.lifecycle.stopSignal")
        .and_at("initContainers.*.lifecycle.stopSignal")
        .and_at("ephemeralContainers.*.lifecycle.stopSignal")
        .or_whole_parent()
}

/// Returns the fields of a pod.
pub(crate) fn pod() -> Vec<GatedField> {
    let status = STATUS.into_iter().map(|(feature, path)| GatedField::new(feature, path));
    let unsupported = UNSUPPORTED_STATUS.into_iter().map(GatedField::unsupported);
    spec("spec").into_iter().chain(status).chain(unsupported).collect()
}
