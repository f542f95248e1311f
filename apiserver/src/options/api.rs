//! The APIs that are served, and the features.

use clap::Args;

use super::{FeatureSwitch, RuntimeSwitch};

/// The APIs that are served.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "APIs")]
pub struct ApiOptions {
    /// Enable or disable APIs: `group/version[/resource]=BOOL`, `v1=BOOL` for the core group, or one of
    /// api/all, api/ga, api/beta, api/alpha; separated by commas. Beta and alpha versions are off by default
    #[arg(long, value_name = "API=BOOL,…", value_delimiter = ',')]
    pub runtime_config: Vec<RuntimeSwitch>,

    /// Enable or disable features: CBORServingAndStorage=BOOL (alpha; off) supports CBOR,
    /// ManifestBasedAdmissionControlConfig=BOOL (alpha; off) webhooks and policies in files, ShardedListAndWatch=BOOL (alpha;
    /// off) shards of lists, CoordinatedLeaderElection=BOOL (beta; off) elects leaders among LeaseCandidates,
    /// StorageVersionAPI=BOOL (alpha; off) says in StorageVersions how objects are stored. Kinds that are served if
    /// `--runtime-config` enables them too: ClusterTrustBundle=BOOL (beta; off), GenericWorkload=BOOL (alpha; off),
    /// PodCertificateRequest=BOOL (beta; off), StorageVersionMigrator=BOOL (beta; off). AllAlpha=BOOL and AllBeta=BOOL
    /// switch the other gates of their stage that can be switched. The other gates of Kubernetes have the defaults of the
    /// emulated release; docs/reference/compatibility.md lists those that can be switched
    #[arg(long, value_name = "FEATURE=BOOL,…", value_delimiter = ',')]
    pub feature_gates: Vec<FeatureSwitch>,
}
