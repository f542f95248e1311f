//! Every version that Kubernetes decodes is known, and its own objects in such versions are read.

use std::path::PathBuf;

use registry_core::resource::Versions;
use serde_json::Value;

use super::{as_json, read};
use crate::STORAGE_MAP;

/// The kinds that Kubernetes 1.36 decodes in each version that it does not serve by default.
const DECODED: &[(&str, &[&str])] = &[
    (
        "admissionregistration.k8s.io/v1alpha1",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ],
    ),
    (
        "admissionregistration.k8s.io/v1beta1",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1beta1", &["APIService"]),
    ("apps/v1beta1", &["ControllerRevision", "Deployment", "StatefulSet"]),
    ("apps/v1beta2", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling/v1", &["HorizontalPodAutoscaler"]),
    ("batch/v1beta1", &["CronJob"]),
    ("certificates.k8s.io/v1alpha1", &["ClusterTrustBundle"]),
    (
        "certificates.k8s.io/v1beta1",
        &["CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"],
    ),
    ("coordination.k8s.io/v1alpha2", &["LeaseCandidate"]),
    ("coordination.k8s.io/v1beta1", &["Lease", "LeaseCandidate"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    ("extensions/v1beta1", &["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"]),
    ("flowcontrol.apiserver.k8s.io/v1beta1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("flowcontrol.apiserver.k8s.io/v1beta2", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("flowcontrol.apiserver.k8s.io/v1beta3", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io/v1beta1", &["IPAddress", "Ingress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io/v1alpha1", &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
    ("policy/v1beta1", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io/v1alpha1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("rbac.authorization.k8s.io/v1beta1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("resource.k8s.io/v1alpha3", &["DeviceTaintRule", "ResourcePoolStatusRequest"]),
    ("resource.k8s.io/v1beta1", &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"]),
    (
        "resource.k8s.io/v1beta2",
        &["DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    ("scheduling.k8s.io/v1alpha2", &["PodGroup", "Workload"]),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    ("storage.k8s.io/v1alpha1", &["CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"]),
    (
        "storage.k8s.io/v1beta1",
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
];

#[test]
fn every_version_that_kubernetes_decodes_is_read() {
    let declared = || {
        let entries = STORAGE_MAP.versions.iter().flat_map(|version| version.entries);
        entries.map(|entry| entry.resource)
    };
    for (api_version, kinds) in DECODED {
        for kind in *kinds {
            let is_known = declared().any(|resource| {
                let served = resource.group_version().api_version() == *api_version;
                let retired = resource.retired.iter().any(|retired| retired.api_version == *api_version);
                resource.kind.kind == *kind && (served || retired)
            });
            assert!(is_known, "{api_version} {kind}");
        }
    }
    for resource in declared() {
        for retired in resource.retired {
            let kinds = DECODED.iter().filter(|(api_version, _)| *api_version == retired.api_version);
            let is_decoded = kinds.flat_map(|(_, kinds)| *kinds).any(|kind| *kind == resource.kind.kind);
            assert!(is_decoded, "{} {}", retired.api_version, resource.kind.kind);
        }
    }
}

/// Reads Kubernetes' own objects, in which every field has a value. The directory `ORLOP_UPSTREAM` has them.
#[test]
fn objects_of_upstream_are_read_alike_from_both_encodings() {
    let Some(upstream) = std::env::var_os("ORLOP_UPSTREAM").map(PathBuf::from) else { return };
    let mut checked = 0;
    for entry in STORAGE_MAP.versions.iter().flat_map(|version| version.entries) {
        if entry.subresource.is_some() || entry.resource.retired.is_empty() {
            continue;
        }
        let resource = entry.resource.instantiate();
        let versions = match &resource.hub {
            Some(conversion) => Versions::new(conversion.hub.clone(), [resource.clone()]),
            None => Versions::only(resource.clone()),
        };
        for retired in entry.resource.retired {
            let name = format!("{}.{}", retired.api_version.replace('/', "."), resource.kind.kind);
            let Ok(json) = std::fs::read(upstream.join(format!("testdata/{name}.json"))) else { continue };
            let message = std::fs::read(upstream.join(format!("testdata/{name}.pb"))).unwrap();
            let mut object: Value = serde_json::from_slice(&json).unwrap();
            object["apiVersion"] = retired.api_version.into();
            object["kind"] = resource.kind.kind.into();
            let found = read(&versions, &as_json(&object)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read(&versions, &message).unwrap(), found, "{name}");
            checked += 1;
        }
    }
    assert!(checked >= 15, "only {checked} objects were checked");
}
