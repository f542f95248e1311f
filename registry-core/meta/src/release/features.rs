//! Features that an operator can enable or disable, and that kinds and fields can belong to.
//!
//! Kubernetes concept:
//! [feature gates](https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).

/// Declares the features, with kube-apiserver's default in the release that this server implements.
macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $default:literal,)*) => {
        /// A feature with a gate. The feature has the name of the gate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Feature {
            $($(#[$doc])* $name,)*
        }

        impl Feature {
            /// All features, by name.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name of the gate.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Returns kube-apiserver's default in the release that this server implements.
            pub const fn is_enabled_by_default(self) -> bool {
                match self {
                    $(Self::$name => $default,)*
                }
            }
        }
    };
}

features! {
    /// Deletion of objects whose stored values cannot be read.
    AllowUnsafeMalformedObjectDeletion = false,
    /// CBOR in requests and responses, and in the storage of custom resources.
    CBORServingAndStorage = false,
    /// Tokens of service accounts for CSI drivers in the secrets of a request.
    CSIServiceAccountTokenSecrets = true,
    /// Pods lose their nominated node when they are bound, and get none afterwards.
    ClearingNominatedNodeNameAfterBinding = true,
    /// ClusterTrustBundles.
    ClusterTrustBundle = false,
    /// ClusterTrustBundles in volumes.
    ClusterTrustBundleProjection = false,
    /// `/flagz`.
    ComponentFlagz = true,
    /// `/statusz`.
    ComponentStatusz = true,
    /// Restart policies and rules of single containers.
    ContainerRestartRules = true,
    /// Leaders that the server elects among LeaseCandidates.
    CoordinatedLeaderElection = false,
    /// Taints of devices.
    DRADeviceTaints = true,
    /// Devices that are requested like other resources.
    DRAExtendedResource = true,
    /// Permissions for parts of the status of ResourceClaims.
    DRAResourceClaimGranularStatusAuthorization = true,
    /// The controller that answers ResourcePoolStatusRequests.
    DRAResourcePoolStatus = false,
    /// The number of terminating pods in the status of Deployments and ReplicaSets.
    DeploymentReplicaSetTerminatingReplicas = true,
    /// Claims of devices.
    DynamicResourceAllocation = true,
    /// Environment variables from files of a volume.
    EnvFiles = true,
    /// Workloads and PodGroups, and the groups of pods.
    GenericWorkload = false,
    /// Tolerances of single HorizontalPodAutoscalers.
    HPAConfigurableTolerance = true,
    /// Host names that differ from a pod's name and domain.
    HostnameOverride = true,
    /// Volumes that are images of containers.
    ImageVolume = true,
    /// Key management services of version 1.
    KMSv1 = false,
    /// Access of kubelets to the ServiceAccounts of their pods.
    KubeletServiceAccountTokenForCredentialProviders = true,
    /// Configurations of webhooks, and policies, in files that admission plug-ins read.
    ManifestBasedAdmissionControlConfig = false,
    /// Service addresses from ServiceCIDRs. Without it they are those of `--service-cluster-ip-range`.
    MultiCIDRServiceAllocator = true,
    /// Numbers of volumes of a node that change while it runs.
    MutableCSINodeAllocatableCount = true,
    /// The admission plug-in of MutatingAdmissionPolicies.
    MutatingAdmissionPolicy = true,
    /// Features that nodes declare, and the admission plug-in that compares them.
    NodeDeclaredFeatures = true,
    /// The values of enumerated fields in the documents of OpenAPI.
    OpenAPIEnums = true,
    /// PodCertificateRequests, and certificates of pods in volumes.
    PodCertificateRequest = false,
    /// Resources of a whole pod.
    PodLevelResources = true,
    /// The generation of a pod that a kubelet has seen.
    PodObservedGenerationTracking = true,
    /// The admission plug-in that gives pods the zone and the region of their node.
    PodTopologyLabelsAdmission = true,
    /// Traffic to the same zone or node, as a preference of Services.
    PreferSameTrafficDistribution = true,
    /// Names of Services that begin with a digit.
    RelaxedServiceNameValidation = true,
    /// The health of devices in the status of containers.
    ResourceHealthStatus = true,
    /// Limits of the audiences of tokens that a node requests.
    ServiceAccountNodeAudienceRestriction = true,
    /// Lists and watches of shards.
    ShardedListAndWatch = false,
    /// StorageVersions, in which servers say how they store objects.
    StorageVersionAPI = false,
    /// StorageVersionMigrations.
    StorageVersionMigrator = false,
    /// Requests of tokens name the UID of the ServiceAccount.
    TokenRequestServiceAccountUIDValidation = true,
    /// HTTP/2 connections end after a request of a client that is not authenticated.
    UnauthenticatedHTTP2DOSMitigation = true,
    /// Requests for resources that only other servers of the cluster serve.
    UnknownVersionInteroperabilityProxy = true,
    /// Attributes of volumes that change while they are used.
    VolumeAttributesClass = true,
}

/// The features that a server has enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u64);

// === impl Features ===

impl Features {
    /// Returns whether a feature is enabled.
    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & bit(feature) != 0
    }
}

/// Returns the bit of a feature.
const fn bit(feature: Feature) -> u64 {
    1 << feature as u64
}

/// The defaults of the release that this server implements.
impl Default for Features {
    fn default() -> Self {
        Feature::ALL.iter().copied().filter(|feature| feature.is_enabled_by_default()).collect()
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        Self(features.into_iter().fold(0, |bits, feature| bits | bit(feature)))
    }
}

const _: () = assert!(Feature::ALL.len() <= 64, "a feature is a bit of `Features`");
