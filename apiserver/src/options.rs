//! The command line: kube-apiserver's names where it has them, few and checked as a whole.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::Program;

mod admission;
mod duration;
mod feature_gates;
mod files;
mod kubelet;
mod lists;
mod memory;
mod runtime_config;
mod service_accounts;
mod storage;
#[cfg(test)]
mod tests;
mod unknown;

pub use admission::{AdmissionOptions, PluginName};
pub use duration::parse_duration;
pub use feature_gates::{Feature, FeatureGates, FeatureSwitch};
pub use kubelet::KubeletOptions;
pub use lists::CacheSize;
pub use resources::core::services::ServiceRange;
pub use runtime_config::{RuntimeConfig, RuntimeSwitch};
pub use service_accounts::ServiceAccountOptions;
pub use storage::{EtcdConnection, StorageBackend, StorageChoice};

const EXAMPLES: &str = "\
Examples:
  # A server of your own: everything below ./apiserver-data, a kubeconfig written for you
  apiserver
  export KUBECONFIG=$PWD/apiserver-data/admin.kubeconfig
  kubectl get namespaces

  # Over etcd: the same binary, several replicas
  apiserver --etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379 \\
            --etcd-cafile=ca.crt --etcd-certfile=client.crt --etcd-keyfile=client.key

  # On a free port, for tests, with a token for `alice`
  echo 'secret,alice,alice-uid,\"devs,ops\"' > tokens.csv
  apiserver --secure-port=0 --token-auth-file=tokens.csv --data-dir=$(mktemp -d)

  # Save the store of a stopped server, and bring it back elsewhere
  apiserver storage backup monday.backup
  apiserver storage restore monday.backup --data-dir=elsewhere

Durations are written as Go writes them: 300ms, 30s, 5m, 1h30m.";

/// A Kubernetes API server in one process.
///
/// Without any flag it serves on https://127.0.0.1:6443, keeps its objects in an embedded, durable store below
/// ./apiserver-data, and writes a kubeconfig for its administrator there.
#[derive(Clone, Debug, Parser)]
#[command(name = "apiserver", version, after_long_help = EXAMPLES, args_override_self = true)]
pub struct Options {
    /// Where the server keeps everything it writes: objects, keys, certificates and the admin.kubeconfig
    #[arg(
        long,
        global = true,
        value_name = "DIRECTORY",
        default_value = "./apiserver-data",
        help_heading = "General"
    )]
    pub data_dir: PathBuf,

    /// How much to log to stderr: 0 is what an operator needs, 3 adds a line for each request, 4 the server's details, 6
    /// all of its own, 8 the libraries' (HTTP frames). RUST_LOG overrides it
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0, help_heading = "General")]
    pub verbosity: u8,

    /// The form of the log's lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LoggingFormat::Text, help_heading = "General")]
    pub logging_format: LoggingFormat,

    /// Where and how to listen.
    #[command(flatten)]
    pub serving: ServingOptions,

    /// Where objects are kept.
    #[command(flatten)]
    pub storage: StorageOptions,

    /// Who may come in.
    #[command(flatten)]
    pub authentication: AuthenticationOptions,

    /// What may change or refuse a write.
    #[command(flatten)]
    pub admission: AdmissionOptions,

    /// Tokens of service accounts.
    #[command(flatten)]
    pub service_accounts: ServiceAccountOptions,

    /// How kubelets are reached.
    #[command(flatten)]
    pub kubelet: KubeletOptions,

    /// Which APIs are served.
    #[command(flatten)]
    pub api: ApiOptions,

    /// How much at once, and for how long.
    #[command(flatten)]
    pub limits: LimitOptions,

    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The form of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LoggingFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// What to do instead of serving.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Looks after the embedded store in the data directory, while no server uses it
    #[command(subcommand)]
    Storage(StorageCommand),
}

/// What an operator does to an embedded store.
#[derive(Clone, Debug, Subcommand)]
pub enum StorageCommand {
    /// Reads the whole store, and tells what is there and what is damaged
    Check,
    /// Writes a consistent copy of the store to a file
    Backup {
        /// The file to write
        file: PathBuf,
    },
    /// Makes a new store from a backup; the data directory must hold none
    Restore {
        /// The backup to read
        file: PathBuf,
    },
}

/// Where and how to listen.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Serving")]
pub struct ServingOptions {
    /// The address to listen on; 0.0.0.0 and :: are all interfaces
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub bind_address: IpAddr,

    /// The address by which the rest of the cluster reaches the server [default: --bind-address, or this machine's
    /// own address when that is loopback or all]
    #[arg(long, value_name = "IP")]
    pub advertise_address: Option<IpAddr>,

    /// The port to serve HTTPS on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    pub secure_port: u16,

    /// Where generated keys and certificates are kept [default: pki in the data directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub cert_dir: Option<PathBuf>,

    /// A certificate (PEM, with its chain) to serve with instead of a generated one
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,

    /// The private key of --tls-cert-file
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,

    /// How many requests an HTTP/2 connection may have open at once, watches included; 0 is the default
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    pub http2_max_streams_per_connection: u32,

    /// The range of service addresses; its first one is the server's own inside the cluster
    #[arg(long, value_name = "CIDR", default_value = "10.0.0.0/24")]
    pub service_cluster_ip_range: ServiceRange,
}

/// Where objects are kept.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Storage")]
pub struct StorageOptions {
    /// `embedded` (in this process, durable), `etcd3`, or `memory` (gone with the process, for tests)
    /// [default: etcd3 with --etcd-servers, else embedded]
    #[arg(long, value_name = "BACKEND")]
    pub storage_backend: Option<StorageBackend>,

    /// etcd's endpoints, separated by commas
    #[arg(long, value_name = "URL,…", value_delimiter = ',')]
    pub etcd_servers: Vec<String>,

    /// What all keys begin with
    #[arg(long, value_name = "PREFIX", default_value = "/registry")]
    pub etcd_prefix: String,

    /// The certificate authority (PEM) of etcd's certificates
    #[arg(long, value_name = "FILE")]
    pub etcd_cafile: Option<PathBuf>,

    /// The client certificate (PEM) to show to etcd
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile")]
    pub etcd_certfile: Option<PathBuf>,

    /// The private key of --etcd-certfile
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    pub etcd_keyfile: Option<PathBuf>,

    /// How often the store's history is compacted; 0 never does
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub etcd_compaction_interval: Duration,

    /// Whether a garbage collector runs beside the server; without one, deletions do not wait for it
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true",
          require_equals = true, action = ArgAction::Set)]
    pub enable_garbage_collector: bool,

    /// How long events are kept
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub event_ttl: Duration,

    /// Answer reads and watches from a cache in memory
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true",
          require_equals = true, action = ArgAction::Set)]
    pub watch_cache: bool,

    /// How many events each resource's cache keeps: `resource[.group]#size`, separated by commas; size 0 turns
    /// the resource's cache off
    #[arg(long, value_name = "RESOURCE#SIZE,…", value_delimiter = ',')]
    pub watch_cache_sizes: Vec<CacheSize>,

    /// How many MiB all watch caches may take together, a quarter of it for their history. Over it the oldest history
    /// goes first, and watchers that still needed it list again; then the largest resources are no longer cached, and
    /// their reads go to the store. 8 MiB of history are kept in any case.
    /// What objects were encoded as takes an eighth of it more, at most [default: half of the memory that the machine,
    /// or the container, has]
    #[arg(long, value_name = "MIB")]
    pub watch_cache_memory: Option<usize>,
}

/// Who may come in.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Authentication")]
pub struct AuthenticationOptions {
    /// Certificate authorities (PEM) whose client certificates are believed, beside the generated one: the
    /// common name is the user, the organizations are the groups
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,

    /// A file of bearer tokens, one a line: token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,

    /// Let requests without credentials in as system:anonymous, who may ask for health and version only
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true",
          require_equals = true, action = ArgAction::Set)]
    pub anonymous_auth: bool,
}

/// Which APIs are served.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "APIs")]
pub struct ApiOptions {
    /// Switch APIs on or off: `group/version[/resource]=BOOL`, `v1=BOOL` for the core group, or one of api/all,
    /// api/ga, api/beta, api/alpha; separated by commas
    #[arg(long, value_name = "API=BOOL,…", value_delimiter = ',')]
    pub runtime_config: Vec<RuntimeSwitch>,

    /// Switch features on or off: CBORServingAndStorage=BOOL (alpha; off) reads and writes CBOR
    #[arg(long, value_name = "FEATURE=BOOL,…", value_delimiter = ',')]
    pub feature_gates: Vec<FeatureSwitch>,
}

/// How much at once, and for how long.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// How long a request other than a watch may take
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    pub request_timeout: Duration,

    /// How many reads are worked on at once; more wait, too many are told to come back (429). 0 is no limit
    #[arg(long, value_name = "COUNT", default_value_t = 400)]
    pub max_requests_inflight: usize,

    /// How many writes are worked on at once; 0 is no limit
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    pub max_mutating_requests_inflight: usize,

    /// How long to go on serving after a signal to stop, with /readyz failing, so that load balancers notice
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub shutdown_delay_duration: Duration,
}

/// Flags that contradict each other. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionsError(pub String);

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self::parse_from(["apiserver"])
    }
}

impl Options {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// It cannot be read, or asks for help or the version; the error says what to print and how to end.
    pub fn read(
        program: Program,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let mut command = Self::command().name(program.name).version(program.version);
        let matches = command.try_get_matches_from_mut(&arguments);
        let read = matches.and_then(|matches| {
            files::check(&mut command, &matches)?;
            Self::from_arg_matches(&matches)
        });
        read.map_err(|error| unknown::explained(error, &arguments, command))
    }

    /// Where generated keys and certificates are kept.
    pub fn certificate_directory(&self) -> PathBuf {
        self.serving.cert_dir.clone().unwrap_or_else(|| self.data_dir.join("pki"))
    }

    /// Where the administrator's kubeconfig is written.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.data_dir.join("admin.kubeconfig")
    }

    /// Where the embedded store is.
    pub fn storage_directory(&self) -> PathBuf {
        self.data_dir.join("storage")
    }

    /// What `--runtime-config` says.
    pub fn runtime_config(&self) -> RuntimeConfig {
        RuntimeConfig::new(&self.api.runtime_config)
    }

    /// What `--feature-gates` says.
    pub fn feature_gates(&self) -> FeatureGates {
        FeatureGates::new(&self.api.feature_gates)
    }

    /// Checks what no single flag's parser can see, and says where objects are kept.
    ///
    /// # Errors
    /// Flags contradict each other; the text names them.
    pub fn validate(&self) -> Result<StorageChoice, OptionsError> {
        if self.limits.request_timeout.is_zero() {
            return Err(OptionsError("--request-timeout must be longer than 0".to_owned()));
        }
        if self.storage.event_ttl.is_zero() {
            return Err(OptionsError("--event-ttl must be longer than 0".to_owned()));
        }
        self.storage.choose(self.storage_directory())
    }
}
