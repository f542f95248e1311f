//! Values that a flag cannot have.

/// Error of a value that a flag cannot have, or of a flag that the program does not have. Not retryable.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// `--oidc-required-claim`
    #[error("\"{0}\" has no =: write claim=value")]
    NoPair(String),
    /// `--oidc-required-claim`
    #[error("\"{0}\" names no claim")]
    NoClaim(String),
    /// The service account of `token`
    #[error("it is not a valid service account: use NAMESPACE/NAME or NAMESPACE:NAME")]
    NoAccount,
    /// `--server` of `kubeconfig`
    #[error("it is not a valid URL: use one such as https://127.0.0.1:6443")]
    NoServerUrl,
    /// A flag of extension servers
    #[error("--{0} is a flag of extension servers, and this program is not one: leave it out")]
    NoExtension(String),
    /// `--allow-metric-labels`
    #[error("{0} must be formatted as key=value")]
    NoKeyValue(String),
    /// `--allow-metric-labels`
    #[error("bare or missing \" in quoted-field")]
    NoClosingQuote,
    /// `--allow-metric-labels`
    #[error(
        "--allow-metric-labels must have a list of kv pair with format `metricName,labelName=labelValue, labelValue,...`"
    )]
    NoMetricLabel,
    /// `--cors-allowed-origins`
    #[error("empty value in --cors-allowed-origins")]
    EmptyOrigin,
    /// `--cors-allowed-origins`
    #[error("regular expression does not pin to start/end of host in the origin header")]
    UnpinnedOrigin,
    /// `--cors-allowed-origins`
    #[error(transparent)]
    Origin(#[from] regex::Error),
    /// `--strict-transport-security-directives`
    #[error("allowed values: max-age=expireTime, includeSubDomains, preload")]
    Directive,
    /// `--watch-cache-sizes`
    #[error("\"{0}\" has no #: write resource[.group]#size, as in pods#1000")]
    NoSize(String),
    /// `--watch-cache-sizes`
    #[error("\"{0}\" is not a valid number of events: use a whole number, as in pods#1000")]
    NoCount(String),
    /// `--watch-cache-sizes`
    #[error("\"{0}\" names no resource")]
    NoResource(String),
    /// `--etcd-servers-overrides`
    #[error(
        "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated"
    )]
    NoOverride,
    /// `--feature-gates`
    #[error("missing bool value for {0}: write Feature=true")]
    NoTruth(String),
    /// `--feature-gates`
    #[error("unrecognized feature gate: {name}; those that can be switched are {switchable}")]
    UnknownGate {
        /// The name.
        name: String,
        /// The names of the gates that can be switched.
        switchable: String,
    },
    /// `--feature-gates`
    #[error("\"{0}\" is neither true nor false")]
    NeitherTrueNorFalse(String),
    /// `--storage-backend`
    #[error("etcd2 was retired long ago: migrate to etcd3")]
    Etcd2,
    /// `--storage-backend`
    #[error("\"{0}\" is not a valid storage backend: use embedded, etcd3 or memory")]
    Backend(String),
    /// `--storage-media-type`
    #[error(
        "--storage-media-type {0:?} invalid, allowed values: application/json, application/vnd.kubernetes.protobuf"
    )]
    StorageMediaType(String),
    /// `--storage-media-type`
    #[error("objects are not stored as YAML: use application/json, which every server reads")]
    StoredYaml,
    /// `--from` and `--to` of `storage`
    #[error("\"{0}\" is not a valid store: use embedded:DIRECTORY or etcd=URL,…")]
    StoreLocation(String),
    /// `--runtime-config`
    #[error(
        "\"{0}\" is not a valid API: use group/version[/resource], v1, api/all, api/ga, api/beta or api/alpha"
    )]
    NoApi(String),
    /// `--runtime-config`
    #[error(
        "invalid key {key}: group/version/resource and resource is always lowercase plural, not \"{resource}\""
    )]
    Uppercase {
        /// The key.
        key: String,
        /// Its resource.
        resource: String,
    },
    /// `--runtime-config`
    #[error("invalid value {key}={value}: neither true nor false")]
    NoSwitch {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// `--tls-min-version`
    #[error("{0} is broken and not built in: the lowest version is VersionTLS12")]
    BrokenTls(String),
    /// `--tls-min-version`
    #[error("unknown tls version {0:?}: use VersionTLS12 or VersionTLS13")]
    TlsVersion(String),
    /// `--tls-cipher-suites`
    #[error("the cipher suite {name:?} is not built in, because it is weak or unknown: use {}", .built_in.join(", "))]
    Suite {
        /// The value.
        name: String,
        /// The suites that can be used.
        built_in: Vec<&'static str>,
    },
    /// `--tls-curve-preferences`
    #[error("the group {0:?} is not built in: use 29 (X25519), 23 (P-256) or 24 (P-384)")]
    Group(String),
    /// `--tls-sni-cert-key`
    #[error("expected comma separated certificate and key file paths")]
    NoKeyPair,
}
