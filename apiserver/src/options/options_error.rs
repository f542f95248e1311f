//! Flags that contradict each other.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use registry_core::release::Release;
use resources::admission::ConfigurationError;

use crate::version::{BINARY_RELEASE, OLDEST_RELEASE};

use super::AuditFaults;

/// The reason that a file cannot be written. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum UnwritableFile {
    /// The path ends with `..`, or is empty.
    #[error("it names no file")]
    NoName,
    /// Nobody else would find it again if it were replaced.
    #[error("it is a directory, a symbolic link or another special file")]
    Special,
    /// Its directory does not exist.
    #[error("there is no directory {0}")]
    NoDirectory(PathBuf),
}

/// Error of flags that contradict each other, or of a file that a flag names. Not retryable. The texts are kube-apiserver's,
/// where it refuses the same.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The command line cannot be read.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// A duration is zero.
    #[error("{0} must be longer than 0")]
    NoDuration(&'static str),
    /// A leader would lead without its Lease, or lose it between two attempts to renew it.
    #[error(
        "--coordinated-leadership-renew-deadline ({deadline:?}) must be shorter than \
         --coordinated-leadership-lease-duration ({lease:?}, at least 1s), and longer than 1.2 times \
         --coordinated-leadership-retry-period ({period:?}), which must be longer than 0"
    )]
    LeadershipTimes {
        /// The duration of the Lease.
        lease: Duration,
        /// The deadline of its renewal.
        deadline: Duration,
        /// The time between two attempts.
        period: Duration,
    },
    /// No request could be served.
    #[error(
        "invalid configuration: MaxRequestsInFlight={reads} and MaxMutatingRequestsInFlight={writes}; they must \
         add up to something positive"
    )]
    NoRequests {
        /// `--max-requests-inflight`
        reads: usize,
        /// `--max-mutating-requests-inflight`
        writes: usize,
    },
    /// `--encryption-provider-config-automatic-reload`
    #[error("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")]
    AutomaticReload,
    /// `--service-account-issuer`
    #[error("service-account-issuer should not be an empty string")]
    EmptyIssuer,
    /// `--service-account-max-token-expiration`
    #[error("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")]
    TokenExpiration,
    /// `--service-account-signing-endpoint`
    #[error(
        "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with \
         `--service-account-signing-endpoint` (They are mutually exclusive)"
    )]
    SigningKeyAndEndpoint,
    /// `--storage-backend`
    #[error("--storage-backend and --etcd-servers contradict each other: drop one")]
    StorageAndServers,
    /// `--storage-backend`
    #[error("--storage-backend=etcd3 needs --etcd-servers")]
    NoServers,
    /// `--etcd-cafile`, `--etcd-certfile`
    #[error("--etcd-cafile and --etcd-certfile are of no use without --etcd-servers")]
    CertificatesWithoutServers,
    /// `--etcd-servers-overrides`
    #[error("--etcd-servers-overrides is of no use without --etcd-servers")]
    OverridesWithoutServers,
    /// `--oidc-issuer-url`, `--oidc-client-id`
    #[error("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")]
    OidcIncomplete,
    /// `--authentication-config`
    #[error("authentication-config file and oidc-* flags are mutually exclusive")]
    OidcAndConfiguration,
    /// `--oidc-username-claim`
    #[error("oidc-username-claim must not be empty when any oidc-* flags are set")]
    OidcUsername,
    /// `--requestheader-uid-headers`
    #[error(
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API \
         aggregation will not work"
    )]
    NoUidHeader,
    /// `--authorization-mode`
    #[error("--authorization-mode has a mode specified more than once")]
    RepeatedMode,
    /// `--authorization-webhook-version`
    #[error("--authorization-webhook-version must be v1 or v1beta1")]
    WebhookVersion,
    /// `--goaway-chance`
    #[error("--goaway-chance can not be less than 0 or greater than 0.02")]
    GoawayChance,
    /// `--external-hostname`
    #[error("--external-hostname is not a valid host name: use one such as api.example.com")]
    ExternalHostname,
    /// `--write-kubeconfig`, `--ready-file`
    #[error("--write-kubeconfig and --ready-file name the same file")]
    SameFile,
    /// `--controllers`
    #[error("--controllers: \"{unknown}\" is not in the list of known controllers: {}", .known.join(", "))]
    Controller {
        /// The name.
        unknown: String,
        /// The controllers.
        known: Vec<&'static str>,
    },
    /// `--advertise-address` is not an address of the range of Services.
    #[error("service IP family \"{primary}\" must match public address family \"{address}\"")]
    AddressFamily {
        /// The range.
        primary: String,
        /// The address.
        address: IpAddr,
    },
    /// A version flag is given twice.
    #[error("duplicate version flag, kube={first} and kube={second}: give --{flag} once")]
    RepeatedVersion {
        /// The flag.
        flag: &'static str,
        /// Its first value.
        first: Release,
        /// Its second value.
        second: Release,
    },
    /// `--emulated-version`
    #[error(
        "emulation version {0} is not between [{OLDEST_RELEASE}, {BINARY_RELEASE}.0]: give one of these as \
         --emulated-version, or leave it out"
    )]
    Emulation(Release),
    /// `--min-compatibility-version`
    #[error(
        "minCompatibilityVersion version {min_compatibility} is not between [{OLDEST_RELEASE}, {emulation}]: give one of \
         these as --min-compatibility-version, or leave it out"
    )]
    Compatibility {
        /// The value.
        min_compatibility: Release,
        /// The emulated release.
        emulation: Release,
    },
    /// A flag of emulation without an emulated release.
    #[error(
        "ServerRunOptions.{name} cannot be set to true if the emulation version is the same as the binary \
         version: leave --{flag} out, or give --emulated-version"
    )]
    NoEmulation {
        /// Kubernetes' name of the option.
        name: &'static str,
        /// The flag.
        flag: &'static str,
    },
    /// `--feature-gates` before the feature existed.
    #[error(
        "cannot set feature gate {name} to {enabled}, feature is PreAlpha at emulated version {emulation}, min \
         compatibility version {min_compatibility}: leave it out, or give a newer --emulated-version"
    )]
    FeatureTooNew {
        /// The feature.
        name: &'static str,
        /// The value.
        enabled: bool,
        /// The emulated release.
        emulation: Release,
        /// The oldest compatible release.
        min_compatibility: Release,
    },
    /// `--feature-gates` of a feature that cannot be switched any more.
    #[error("cannot set feature gate {name} to {enabled}, feature is locked to {default}: leave it out")]
    FeatureLocked {
        /// The feature.
        name: &'static str,
        /// The value.
        enabled: bool,
        /// The value that the feature has.
        default: bool,
    },
    /// `--feature-gates` of a feature that this server has always, or never.
    #[error("{name}={enabled} is not supported: {reason}; those that can be switched are {switchable}")]
    FeatureFixed {
        /// The feature.
        name: &'static str,
        /// The value.
        enabled: bool,
        /// The reason.
        reason: &'static str,
        /// The features that can be switched.
        switchable: String,
    },
    /// `--service-account-issuer` is given twice.
    #[error("service-account-issuer {0:?} is already specified")]
    RepeatedIssuer(String),
    /// `--service-account-jwks-uri`
    #[error("service-account-jwks-uri requires https scheme, parsed as: {0}")]
    KeysUrl(String),
    /// `--service-account-signing-endpoint`
    #[error(
        "invalid value {0:?} passed for `--service-account-signing-endpoint`, when prefixed with @ must be a \
         valid abstract socket name"
    )]
    SigningEndpoint(String),
    /// A flag of a server that authenticates and authorizes itself.
    #[error(
        "--{0} has no effect behind a main server, which authenticates and authorizes; leave it out, or use \
         --standalone"
    )]
    Delegated(&'static str),
    /// A flag of `--peer-…` is given, and the feature is disabled.
    #[error("{0} requires UnknownVersionInteroperabilityProxy feature to be turned on")]
    PeerGate(&'static str),
    /// `--peer-ca-file` is given, and no identity towards the other servers.
    #[error(
        "--peer-ca-file requires --proxy-client-cert-file and --proxy-client-key-file, which the other servers trust"
    )]
    PeerIdentity,
    /// `--etcd-servers` or `--etcd-servers-overrides`
    #[error("{flag}: \"{server}\" {reason}")]
    EtcdServer {
        /// The flag.
        flag: &'static str,
        /// The endpoint.
        server: String,
        /// The reason.
        reason: &'static str,
    },
    /// A list of `--requestheader-…` has an empty value.
    #[error("empty value in {0:?}")]
    EmptyHeader(&'static str),
    /// `--authorization-mode` has a mode without its file.
    #[error("--authorization-mode={mode} needs {flag}")]
    ModeNeeds {
        /// The mode.
        mode: &'static str,
        /// The flag of the file.
        flag: &'static str,
    },
    /// `--authorization-mode` has not the mode of a file.
    #[error("{flag} has no effect without --authorization-mode={mode}")]
    WithoutMode {
        /// The mode.
        mode: &'static str,
        /// The flag of the file.
        flag: &'static str,
    },
    /// `--runtime-config` disables what priority and fairness needs.
    #[error("--runtime-config={0}=false conflicts with --enable-priority-and-fairness=true")]
    Fairness(String),
    /// The flags of audit.
    #[error(transparent)]
    Audit(#[from] AuditFaults),
    /// A file cannot be written.
    #[error("{flag}: cannot write {path}: {problem}")]
    Unwritable {
        /// The flag.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        problem: UnwritableFile,
    },
    /// `--enable-admission-plugins` has a plug-in that the server does not have.
    #[error("--enable-admission-plugins: {name} is not built into this server, which has {built_in}")]
    PluginNotBuiltIn {
        /// The plug-in.
        name: String,
        /// The plug-ins of the server.
        built_in: String,
    },
    /// There is no plug-in of this name.
    #[error(
        "{flag}: {name:?} is not an admission plug-in of Kubernetes: use names such as ServiceAccount or LimitRanger"
    )]
    UnknownPlugin {
        /// The flag.
        flag: &'static str,
        /// The plug-in.
        name: String,
    },
    /// A plug-in is enabled and disabled.
    #[error("{0} is both in --enable-admission-plugins and in --disable-admission-plugins")]
    PluginTwice(String),
    /// A plug-in is enabled that does nothing without a configuration.
    #[error("--enable-admission-plugins: {0} needs a configuration in --admission-control-config-file")]
    PluginUnconfigured(&'static str),
    /// `--admission-control-config-file`
    #[error("--admission-control-config-file: {0}")]
    AdmissionConfiguration(#[source] ConfigurationError),
}
