//! The numbers of cases per kind that agreed when they were last raised.

/// Kind, cases that agree in their causes, cases that agree exactly.
const FLOORS: &[(&str, usize, usize)] = &[
    ("CSIDriver", 35, 35),
    ("CSINode", 22, 22),
    ("CSIStorageCapacity", 12, 12),
    ("CertificateSigningRequest", 65, 65),
    ("ClusterRole", 6, 6),
    ("ClusterRoleBinding", 4, 4),
    ("ConfigMap", 31, 31),
    ("ControllerRevision", 20, 17),
    ("CronJob", 36, 36),
    ("DaemonSet", 48, 48),
    ("Deployment", 40, 40),
    ("DeviceClass", 29, 28),
    ("EndpointSlice", 30, 30),
    ("Endpoints", 15, 15),
    ("Event", 28, 28),
    ("FlowSchema", 11, 11),
    ("HorizontalPodAutoscaler", 71, 71),
    ("IPAddress", 7, 7),
    ("Ingress", 51, 51),
    ("IngressClass", 16, 16),
    ("Job", 195, 192),
    ("Lease", 2, 2),
    ("LimitRange", 17, 17),
    ("LocalSubjectAccessReview", 13, 13),
    ("MutatingWebhookConfiguration", 31, 31),
    ("Namespace", 36, 36),
    ("NetworkPolicy", 40, 40),
    ("Node", 44, 44),
    ("PersistentVolume", 87, 87),
    ("PersistentVolumeClaim", 75, 75),
    ("Pod", 582, 582),
    ("PodDisruptionBudget", 30, 30),
    ("PodTemplate", 12, 12),
    ("PriorityClass", 20, 20),
    ("PriorityLevelConfiguration", 19, 19),
    ("ReplicaSet", 48, 48),
    ("ReplicationController", 50, 50),
    ("ResourceClaim", 128, 127),
    ("ResourceClaimTemplate", 32, 32),
    ("ResourceQuota", 12, 12),
    ("ResourceSlice", 99, 99),
    ("Role", 8, 8),
    ("RoleBinding", 8, 8),
    ("RuntimeClass", 10, 10),
    ("Secret", 32, 32),
    ("SelfSubjectAccessReview", 2, 2),
    ("Service", 140, 140),
    ("ServiceAccount", 4, 4),
    ("ServiceCIDR", 15, 15),
    ("StatefulSet", 63, 63),
    ("StorageClass", 35, 35),
    ("SubjectAccessReview", 11, 10),
    ("ValidatingWebhookConfiguration", 33, 33),
    ("VolumeAttachment", 26, 26),
    ("VolumeAttributesClass", 18, 18),
];

/// Returns the floors of a kind.
pub fn of(kind: &str) -> (usize, usize) {
    FLOORS
        .iter()
        .find(|(name, ..)| *name == kind)
        .map(|(_, causes, exact)| (*causes, *exact))
        .unwrap_or_default()
}
