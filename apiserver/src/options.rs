//! The command line: a subset of kube-apiserver's flags, under the same names, validated as a whole.
//!
//! Every flag of kube-apiserver is known: it has its effect, or is accepted or refused with the reason (`upstream`). A wrong
//! value is refused before anything is created, with the name of its flag. The default of a flag is at its field, in the module of
//! its group.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `command`, `command_line` | commands to run instead of serving; completion scripts and the manual page |
//! | `served` | the resources that are served |
//! | `api`, `runtime_config`, `peers`, `feature_gates`, `emulation` | the APIs and the features |
//! | `controllers`, `locations`, `memory`, `storage`, `store_location` | the store, other places, and the controllers |
//! | `authentication`, `service_accounts`, `authorization`, `delegation` | users and their rights |
//! | `admission`, `aggregator`, `encryption`, `kubelet`, `leadership` | a group of flags each |
//! | `http`, `limits`, `serving`, `shutdown`, `tls` | connections and requests |
//! | `logging_format`, `metrics`, `tracing_file` | observation |
//! | `options_error` | flags that contradict each other |
//! | `audit` | the audit policy, and the backends of events |
//! | `mistakes`, `arguments`, `files`, `given`, `help`, `program` | the command line as a whole |
//! | `upstream` | the flags of kube-apiserver that are not implemented |
//! | `duration`, `lists`, `value_error` | values of flags |

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{Resettable, StyledStr};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser};
use registry_core::features::Feature;

mod admission;
mod aggregator;
mod api;
mod arguments;
mod audit;
mod authentication;
mod authorization;
mod command;
#[cfg(feature = "command-line")]
mod command_line;
#[cfg(not(feature = "command-line"))]
#[path = "options/command_line/not_built.rs"]
mod command_line;
mod controllers;
mod delegation;
mod duration;
mod emulation;
mod encryption;
mod feature_gates;
mod files;
mod given;
mod help;
mod http;
mod kubelet;
mod leadership;
mod limits;
mod lists;
mod locations;
mod logging_format;
mod memory;
mod metrics;
mod mistakes;
mod options_error;
mod peers;
mod program;
mod runtime_config;
mod served;
mod service_accounts;
mod serving;
mod shutdown;
mod storage;
mod store_location;
#[cfg(test)]
mod tests;
mod tls;
mod tracing_file;
mod upstream;
mod value_error;

pub use admission::{AdmissionOptions, PluginName, is_on_by_default, ordered_names};
pub use aggregator::AggregatorOptions;
pub use api::ApiOptions;
pub use audit::{
    AuditFault, AuditFaults, AuditLogOptions, AuditOptions, AuditWebhookOptions, LogFormat, Mode, UnknownName,
};
pub(crate) use audit::{BatchConfig, Retention, Throttle, TruncateConfig};
pub use authentication::{AuthenticationOptions, FrontProxyOptions, OidcOptions, TokenWebhookOptions};
pub use authorization::{AuthorizationMode, AuthorizationOptions};
pub use command::{
    Command, FollowArguments, ImportArguments, KubeconfigCommand, ManifestsCommand, ServiceAccountName,
    StorageCommand, TestCommand, TokenCommand,
};
pub use controllers::{Controller, ControllerOptions};
pub use delegation::DelegationOptions;
pub use duration::{DurationError, parse_duration};
pub use emulation::{ComponentRelease, ComponentReleaseError, EmulationOptions};
pub use encryption::EncryptionOptions;
pub use feature_gates::{FeatureGates, FeatureSwitch, Gate, GateState};
pub use given::GivenFlags;
pub use http::{HstsDirective, HttpOptions, OriginPattern};
pub use kubelet::KubeletOptions;
pub use leadership::LeadershipOptions;
pub(crate) use limits::DEFAULT_MIN_REQUEST_TIMEOUT_SECONDS;
pub use limits::LimitOptions;
pub use lists::{CacheSize, EtcdOverride};
pub(crate) use locations::ADMIN_KUBECONFIG;
pub use locations::LocationOptions;
pub use logging_format::LoggingFormat;
pub use metrics::{AllowedLabels, ManifestError, MetricsOptions};
pub use options_error::{OptionsError, UnwritableFile};
pub use peers::{PeerAddress, PeerOptions};
pub use program::Program;
pub use resources::api::core::services::{NodePortRange, ServiceAllocation, ServiceRange, ServiceRanges};
pub use runtime_config::{RuntimeConfig, RuntimeConfigError, RuntimeSwitch};
pub use served::ServedResources;
pub use service_accounts::ServiceAccountOptions;
#[cfg(feature = "external-signer")]
pub(crate) use service_accounts::socket_path;
pub(crate) use serving::DEFAULT_MAX_STREAMS;
pub use serving::{EndpointReconciler, ServingOptions};
pub use shutdown::ShutdownOptions;
pub use storage::{EtcdConnection, StorageBackend, StorageChoice, StorageMediaType, StorageOptions};
pub use store_location::StoreLocation;
pub use tls::{NamedCertificate, TlsGroup, TlsOptions, TlsSuite, TlsVersion};
pub(crate) use tracing_file::TracingConfiguration;
pub use tracing_file::TracingError;
pub(crate) use tracing_file::TracingFault;
pub use upstream::UpstreamFlags;
pub use value_error::ValueError;

/// A Kubernetes API server in one process.
///
/// Without any flag it serves on https://127.0.0.1:6443, keeps its objects in an embedded, durable store
/// below ./apiserver-data, and writes a kubeconfig for its administrator there.
#[derive(Clone, Debug, Parser)]
#[command(name = "apiserver", version, args_override_self = true)]
pub struct Options {
    /// The values of all flags. First, because those below take theirs away.
    #[command(flatten)]
    pub given: GivenFlags,

    /// The places of everything that the server writes.
    #[command(flatten)]
    pub locations: LocationOptions,

    /// Verbosity of the log on stderr: 0 is for operators, 3 adds a line for each request, 4 details of the
    /// server, 6 all of the server's messages, 8 those of libraries (HTTP frames). RUST_LOG overrides it
    #[arg(
        short = 'v',
        long = "v",
        global = true,
        value_name = "LEVEL",
        default_value_t = 0,
        help_heading = "General"
    )]
    pub verbosity: u8,

    /// Format of the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LoggingFormat::Text, help_heading = "General")]
    pub logging_format: LoggingFormat,

    /// Addresses and certificates to serve with.
    #[command(flatten)]
    pub serving: ServingOptions,

    /// HTTP towards clients.
    #[command(flatten)]
    pub http: HttpOptions,

    /// TLS towards clients.
    #[command(flatten)]
    pub tls: TlsOptions,

    /// Storage of objects.
    #[command(flatten)]
    pub storage: StorageOptions,

    /// Encryption of values at rest.
    #[command(flatten)]
    pub encryption: EncryptionOptions,

    /// Authentication of clients.
    #[command(flatten)]
    pub authentication: AuthenticationOptions,

    /// Authorization of requests.
    #[command(flatten)]
    pub authorization: AuthorizationOptions,

    /// Admission of writes.
    #[command(flatten)]
    pub admission: AdmissionOptions,

    /// Audit of requests.
    #[command(flatten)]
    pub audit: AuditOptions,

    /// Tokens of service accounts.
    #[command(flatten)]
    pub service_accounts: ServiceAccountOptions,

    /// Connections to kubelets.
    #[command(flatten)]
    pub kubelet: KubeletOptions,

    /// Requests that are forwarded to extension servers.
    #[command(flatten)]
    pub aggregator: AggregatorOptions,

    /// The other servers of the cluster.
    #[command(flatten)]
    pub peers: PeerOptions,

    /// Controllers in the server.
    #[command(flatten)]
    pub controllers: ControllerOptions,

    /// The elections of leaders.
    #[command(flatten)]
    pub leadership: LeadershipOptions,

    /// The main server of an extension server.
    #[command(flatten)]
    pub delegation: DelegationOptions,

    /// The APIs that are served.
    #[command(flatten)]
    pub api: ApiOptions,

    /// The release of Kubernetes that the server emulates.
    #[command(flatten)]
    pub emulation: EmulationOptions,

    /// Limits on concurrency and time.
    #[command(flatten)]
    pub limits: LimitOptions,

    /// Which metrics are shown.
    #[command(flatten)]
    pub metrics: MetricsOptions,

    /// The orderly end of the server.
    #[command(flatten)]
    pub shutdown: ShutdownOptions,

    /// Flags of kube-apiserver that need nothing of this server. Last, because it leaves out those above, and lets those
    /// of a truth value be given alone.
    #[command(flatten)]
    pub upstream: UpstreamFlags,

    /// File with the collector that spans of requests are exported to (OTLP over gRPC), and the rate of requests that are
    /// traced: a `TracingConfiguration` of `apiserver.config.k8s.io/v1`
    #[arg(long, value_name = "FILE", help_heading = "General")]
    pub tracing_config_file: Option<PathBuf>,

    /// File with the proxies through which nodes, pods, services, webhooks and etcd are reached: an
    /// `EgressSelectorConfiguration` of `apiserver.k8s.io/v1beta1`, with the protocols `Direct`, `HTTPConnect`, and `GRPC` of
    /// konnectivity
    #[arg(long, value_name = "FILE", help_heading = "General")]
    pub egress_selector_config_file: Option<PathBuf>,

    /// A command to run instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self::parse_from(["apiserver"])
    }
}

impl Options {
    /// Parses a command line, which starts with the program's name.
    ///
    /// # Errors
    /// Fails if it is invalid, or asks for help or the version; the error contains the text to print and the
    /// exit code.
    pub fn read(
        program: Program,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let command = Self::server_command(program);
        Self::from_arg_matches(&Self::matches(command, program, arguments, DelegationOptions::refuse)?)
    }

    /// Returns the command line of a server that stands alone.
    fn server_command(program: Program) -> clap::Command {
        let command = DelegationOptions::hide(Self::command());
        let command = command.mut_subcommand("manifests", |manifests| manifests.hide(true));
        help::server_help(command, program.name)
    }

    /// Parses the flags of a command line, which starts with the program's name; files that they name are not opened.
    ///
    /// # Errors
    /// Fails if it is invalid, or asks for help or the version.
    pub fn from_arguments<A: Into<OsString>>(
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Self, clap::Error> {
        let command = Self::command();
        let arguments = arguments.into_iter().map(Into::into);
        Self::try_parse_from(arguments::rewritten(&command, &command, arguments))
    }

    /// Like [`read`](Self::read), for a program that can be an extension server, and that has the flags `F` too.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_extension<F: Args>(
        program: Program,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(Self, F), clap::Error> {
        // They would lack the flags `F`.
        let command = Self::command().mut_subcommand("completion", |completion| completion.hide(true));
        let command = command.next_help_heading(program.name);
        let kept = |text: Option<&StyledStr>| text.cloned().map_or(Resettable::Reset, Resettable::Value);
        let (about, long_about) = (kept(command.get_about()), kept(command.get_long_about()));
        // The library takes the comment on `F` for a description of the program.
        let command = F::augment_args(command).about(about).long_about(long_about);
        let command = help::extension_help(command, program.name);
        let matches = Self::matches(command, program, arguments, |_| Ok(()))?;
        Ok((Self::from_arg_matches(&matches)?, F::from_arg_matches(&matches)?))
    }

    fn matches(
        command: clap::Command,
        program: Program,
        arguments: impl IntoIterator<Item = OsString>,
        check: fn(&ArgMatches) -> Result<(), ValueError>,
    ) -> Result<ArgMatches, clap::Error> {
        let given: Vec<OsString> = arguments.into_iter().collect();
        let arguments = arguments::rewritten(&Self::command(), &command, given.iter().cloned());
        let mut command = program.described(command.name(program.name));
        let matches = command
            .try_get_matches_from_mut(&arguments)
            .map_err(|error| mistakes::explained(error, &mut command, &given))?;
        check(&matches).map_err(|error| command.error(ErrorKind::UnknownArgument, error))?;
        files::check(&mut command, &matches)?;
        Ok(matches)
    }

    /// Returns the value of `--runtime-config`.
    pub fn runtime_config(&self) -> RuntimeConfig {
        RuntimeConfig::new(&self.api.runtime_config)
    }

    /// Returns the value of `--feature-gates`.
    pub fn feature_gates(&self) -> FeatureGates {
        FeatureGates::new(&self.api.feature_gates, self.emulation.releases())
    }

    /// Whether this controller runs in the server.
    pub fn runs_controller(&self, controller: Controller) -> bool {
        self.controllers.runs(controller, self.storage.backend())
    }

    /// Returns the configuration of tracing, if there is one.
    ///
    /// # Errors
    /// Fails if its file cannot be used.
    pub(crate) fn tracing(&self) -> Result<Option<TracingConfiguration>, TracingError> {
        self.tracing_config_file.as_deref().map(TracingConfiguration::read).transpose()
    }

    /// Returns the reference of all flags (Markdown).
    pub fn flags_reference() -> String {
        let mut command = Self::command();
        command.build();
        upstream::reference(&command)
    }

    /// Checks the flags in combination, and returns the chosen storage.
    ///
    /// # Errors
    /// Fails if flags contradict each other; the text names them.
    pub fn validate(&self) -> Result<StorageChoice, OptionsError> {
        if self.limits.request_timeout.is_zero() {
            return Err(OptionsError::NoDuration("--request-timeout"));
        }
        if self.storage.event_ttl.is_zero() {
            return Err(OptionsError::NoDuration("--event-ttl"));
        }
        self.emulation.validate()?;
        self.feature_gates().check()?;
        if self.feature_gates().is_enabled(Feature::CoordinatedLeaderElection) {
            self.leadership.validate()?;
        }
        self.peers.validate(&self.feature_gates(), &self.aggregator)?;
        self.limits.validate()?;
        self.runtime_config().check_fairness(self.limits.enable_priority_and_fairness)?;
        self.locations.validate()?;
        self.http.validate()?;
        self.serving.validate()?;
        self.authentication.validate()?;
        self.service_accounts.validate()?;
        self.audit.validate()?;
        self.encryption.validate()?;
        self.authorization.validate()?;
        self.controllers.validate()?;
        self.storage.choose(self.storage_directory())
    }
}
