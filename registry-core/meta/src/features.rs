//! Features that an operator can enable or disable, and that kinds can belong to (`feature_gate = …`).
//!
//! Kubernetes concept:
//! [feature gates](https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).

/// A feature with a gate. The feature has the name of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// CBOR in requests and responses. Storage remains JSON.
    CBORServingAndStorage,
    /// ClusterTrustBundles.
    ClusterTrustBundle,
    /// Workloads and PodGroups.
    GenericWorkload,
    /// PodCertificateRequests.
    PodCertificateRequest,
    /// StorageVersionMigrations.
    StorageVersionMigrator,
}

/// The maturity of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// May change or disappear without notice.
    Alpha,
    /// May change in details.
    Beta,
}

// === impl Feature ===

impl Feature {
    /// All features, by name.
    pub const ALL: [Self; 5] = [
        Self::CBORServingAndStorage,
        Self::ClusterTrustBundle,
        Self::GenericWorkload,
        Self::PodCertificateRequest,
        Self::StorageVersionMigrator,
    ];

    /// Returns the name of the gate.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CBORServingAndStorage => "CBORServingAndStorage",
            Self::ClusterTrustBundle => "ClusterTrustBundle",
            Self::GenericWorkload => "GenericWorkload",
            Self::PodCertificateRequest => "PodCertificateRequest",
            Self::StorageVersionMigrator => "StorageVersionMigrator",
        }
    }

    /// Returns the maturity in the version of Kubernetes that this server implements.
    pub const fn stage(self) -> Stage {
        match self {
            Self::CBORServingAndStorage | Self::GenericWorkload => Stage::Alpha,
            Self::ClusterTrustBundle | Self::PodCertificateRequest | Self::StorageVersionMigrator => {
                Stage::Beta
            }
        }
    }

    /// Returns kube-apiserver's default.
    pub const fn is_enabled_by_default(self) -> bool {
        match self {
            Self::CBORServingAndStorage
            | Self::ClusterTrustBundle
            | Self::GenericWorkload
            | Self::PodCertificateRequest
            | Self::StorageVersionMigrator => false,
        }
    }
}
