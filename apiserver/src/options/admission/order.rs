//! The order of admission plug-ins, and which of them run by default.

/// Every plug-in of kube-apiserver v1.36, in the order in which they run, and whether it is on by default.
///
/// Kubernetes concept: `AllOrderedPlugins` and `DefaultOffAdmissionPlugins` in `pkg/kubeapiserver/options`.
const PLUGINS: &[(&str, bool)] = &[
    ("AlwaysAdmit", false),
    ("NamespaceAutoProvision", false),
    ("NamespaceLifecycle", true),
    ("NamespaceExists", false),
    ("LimitPodHardAntiAffinityTopology", false),
    ("LimitRanger", true),
    ("ServiceAccount", true),
    ("NodeRestriction", false),
    ("TaintNodesByCondition", true),
    ("AlwaysPullImages", false),
    ("ImagePolicyWebhook", false),
    ("PodSecurity", true),
    ("PodNodeSelector", false),
    ("Priority", true),
    ("DefaultTolerationSeconds", true),
    ("PodTolerationRestriction", false),
    ("EventRateLimit", false),
    ("ExtendedResourceToleration", false),
    ("DefaultStorageClass", true),
    ("StorageObjectInUseProtection", true),
    ("PodGroupProtection", true),
    ("OwnerReferencesPermissionEnforcement", false),
    ("PersistentVolumeClaimResize", true),
    ("RuntimeClass", true),
    ("CertificateApproval", true),
    ("CertificateSigning", true),
    ("ClusterTrustBundleAttest", true),
    ("CertificateSubjectRestriction", true),
    ("DefaultIngressClass", true),
    ("DenyServiceExternalIPs", false),
    ("PodTopologyLabels", true),
    ("PodGroupWorkloadExists", true),
    ("NodeDeclaredFeatureValidator", true),
    ("JobValidation", true),
    ("PodResizeValidator", true),
    ("MutatingAdmissionPolicy", true),
    ("MutatingAdmissionWebhook", true),
    ("ValidatingAdmissionPolicy", true),
    ("ValidatingAdmissionWebhook", true),
    ("ResourceQuota", true),
    ("AlwaysDeny", false),
];

/// Returns the names of all plug-ins of Kubernetes, in the order in which they run.
pub fn ordered_names() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|(name, _)| *name)
}

/// Returns whether a plug-in runs unless it is disabled; one that is not part of Kubernetes does.
pub fn is_on_by_default(name: &str) -> bool {
    PLUGINS.iter().find(|(known, _)| *known == name).is_none_or(|(_, is_on)| *is_on)
}
