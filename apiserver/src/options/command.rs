//! Commands to run instead of serving.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::command_line::Shell;
use super::{Options, StorageBackend, StoreLocation, ValueError, parse_duration};

const TOKEN_EXAMPLES: &str = "\
The token of a service account is signed with the key in the data directory, or with
--service-account-signing-key-file. It is valid as long as the account exists, which is recognized
by its uid: the server in the data directory is asked for it, or --uid gives it and no server has
to run.

The token of a user is random. It is added to the file, which the server reads when it starts with
--token-auth-file.

Examples:
  # A token of the account `robot` in the namespace `default`, for an hour
  apiserver token default/robot

  # For another server, with its key and issuer
  apiserver --service-account-signing-key-file=sa.key \\
            --service-account-issuer=https://issuer.example.com \\
            token --service-account=default:robot --uid=... --audience=vault --expires=10m

  # A token for jane, who is in two groups
  apiserver token --user=jane --group=devs --group=ops --file=tokens.csv
  apiserver --token-auth-file=tokens.csv";

const TEST_EXAMPLES: &str = "\
The server keeps its objects in memory, listens on a free port of 127.0.0.1, and writes its keys to
a temporary directory. The command starts when the server is ready, with KUBECONFIG set to the
kubeconfig of an administrator. When the command ends, the server stops, leaves nothing behind, and
exits with the code of the command.

The controllers for namespaces, owned objects and service accounts run: see --controllers. Only
errors are logged, unless --v or RUST_LOG says otherwise.

Put flags of the server before `--`.

Examples:
  # The tests of a Python project
  apiserver test -- pytest tests

  # Without the controllers, and with another port
  apiserver --controllers= --secure-port=7443 test -- go test ./...

  # A shell beside a server
  apiserver test -- bash

  # The tests of a Go project with controller-runtime's envtest, which starts the server itself
  apiserver test --assets=assets
  KUBEBUILDER_ASSETS=$PWD/assets go test ./...";

const STORAGE_EXAMPLES: &str = "\
A store is embedded:DIRECTORY, where DIRECTORY is that of --data-dir, or etcd=URL,… with the
endpoints of an etcd. Stop the servers of a store before these commands read it, except for a
backup and for a move with --follow. Flags of the server are accepted too: --etcd-cafile,
--etcd-certfile and --etcd-keyfile for the TLS of etcd, --encryption-provider-config for a check.

Examples:
  # From the embedded store into an etcd
  apiserver storage migrate --from=embedded:apiserver-data --to=etcd=http://127.0.0.1:2379

  # From an etcd while its servers run; stop them, then end the move with the signal
  apiserver storage migrate --follow --from=etcd=http://127.0.0.1:2379 --to=embedded:elsewhere &
  kill -USR1 $!

  # From the embedded store of a running server, on its machine and as its user
  apiserver storage migrate --follow \\
            --from=embedded:apiserver-data --to=etcd=http://127.0.0.1:2379 &
  kill -USR1 $!

  # Through a file
  apiserver storage export --from=etcd=http://127.0.0.1:2379 store.jsonl
  apiserver storage import --to=embedded:elsewhere store.jsonl

  # Read and decode everything
  apiserver --encryption-provider-config=encryption.yaml \\
            storage check --from=embedded:apiserver-data";

const BACKUP_EXAMPLES: &str = "\
Examples:
  # Everything on Sunday, and then what has changed since the day before
  apiserver storage backup sunday.backup
  apiserver storage backup --since=sunday.backup monday.backup
  apiserver storage backup --since=monday.backup tuesday.backup

  # The state of Tuesday
  apiserver storage restore sunday.backup monday.backup tuesday.backup --data-dir=elsewhere";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  # In this shell
  source <(apiserver completion bash)

  # For all shells of a user
  apiserver completion bash > ~/.local/share/bash-completion/completions/apiserver
  apiserver completion zsh > ~/.zfunc/_apiserver
  apiserver completion fish > ~/.config/fish/completions/apiserver.fish";

/// A command to run instead of serving.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Checks, saves and moves a store
    #[command(subcommand, after_long_help = STORAGE_EXAMPLES)]
    Storage(StorageCommand),

    /// Prints a kubeconfig with a new client certificate, signed by the authority in the data directory
    Kubeconfig(KubeconfigCommand),

    /// Prints a token of a service account, or adds a user's token to a token file, for tests
    #[command(after_long_help = TOKEN_EXAMPLES)]
    Token(TokenCommand),

    /// Runs a command, such as a test suite, with a server in memory that stops when the command ends
    #[command(after_long_help = TEST_EXAMPLES)]
    Test(TestCommand),

    /// Prints what an extension server needs in a cluster: an APIService for each group version, a Service, a Deployment, a
    /// ServiceAccount, a Secret with serving certificates, and RBAC
    Manifests(ManifestsCommand),

    /// Prints a script that completes commands and flags in a shell
    #[command(after_long_help = COMPLETION_EXAMPLES)]
    Completion {
        /// The shell
        shell: Shell,
    },

    /// Prints the manual page of the program, or of one of its commands (roff), for packages
    #[command(hide = true)]
    ManPage {
        /// The command, such as `storage backup` [default: the program]
        command: Vec<String>,
    },

    /// Prints the reference of all flags, for the documentation
    #[command(hide = true)]
    FlagsReference,
}

/// Maintenance of a store.
#[derive(Clone, Debug, Subcommand)]
pub enum StorageCommand {
    /// Reads the whole store, decodes every value, and reports what is damaged. Repairs nothing
    Check {
        /// The store: embedded:DIRECTORY or etcd=URL,… [default: the embedded store in the data directory]
        #[arg(long, value_name = "STORE")]
        from: Option<StoreLocation>,

        /// Prefix of the keys whose values are decoded [default: --etcd-prefix]
        #[arg(long, value_name = "PREFIX")]
        prefix: Option<String>,
    },
    /// Writes a consistent copy of the embedded store in the data directory to a file, together with the keys and
    /// certificates of the server (in `pki`, or --cert-dir). The server can keep running. Keep the file as secret
    /// as the data directory
    ///
    /// With --since, an increment is written: what has changed since an earlier backup. Objects of an etcd are saved with
    /// `etcdctl snapshot save`
    #[command(after_long_help = BACKUP_EXAMPLES)]
    Backup {
        /// File to write; replaced if it exists
        file: PathBuf,

        /// Write only what has changed since an earlier backup of this store, full or an increment itself. It is read, and
        /// the whole store is; a restore needs it and all that it follows
        #[arg(long, value_name = "PREVIOUS")]
        since: Option<PathBuf>,

        /// Leave out the keys and certificates: a server restored from it makes new ones, and refuses present kubeconfigs
        /// and tokens
        #[arg(long)]
        without_keys: bool,
    },
    /// Creates an embedded store from a backup, and restores the keys and certificates; the data directory must not
    /// contain a store. Keys that are there already stay. Watches that began before the restore end with 410 Expired,
    /// after which clients list again
    #[command(after_long_help = BACKUP_EXAMPLES)]
    Restore {
        /// Number added to the revision of the backup: more than the writes after it, which clients may have seen, and
        /// greater than before if the same backup is restored once more. The history begins there. 0 keeps revision and
        /// history: clients go on without listing again, and miss changes if there were any writes after the backup
        #[arg(long, value_name = "COUNT", default_value_t = 1_000_000_000)]
        bump_revision: u64,

        /// Full backup to read
        file: PathBuf,

        /// Increments that follow it (`backup --since`), in their order, up to the state to restore. That has no history
        increments: Vec<PathBuf>,
    },
    /// Writes the objects of a store to a file of JSON lines, as they are stored: encrypted values stay encrypted. Keep
    /// it as secret as the store
    #[command(after_long_help = STORAGE_EXAMPLES)]
    Export {
        /// The store: embedded:DIRECTORY or etcd=URL,…
        #[arg(long, value_name = "STORE")]
        from: StoreLocation,

        /// Prefix of the keys [default: --etcd-prefix]
        #[arg(long, value_name = "PREFIX")]
        prefix: Option<String>,

        /// File to write; replaced if it exists
        file: PathBuf,
    },
    /// Writes the objects of an exported file to an empty store, and reads them back
    #[command(after_long_help = STORAGE_EXAMPLES)]
    Import {
        /// The store: embedded:DIRECTORY or etcd=URL,…
        #[arg(long, value_name = "STORE")]
        to: StoreLocation,

        /// The way in which objects are written.
        #[command(flatten)]
        arguments: ImportArguments,

        /// File to read
        file: PathBuf,
    },
    /// Copies the objects of a store to another, empty one, and reads them back
    #[command(after_long_help = STORAGE_EXAMPLES)]
    Migrate {
        /// The store to read: embedded:DIRECTORY or etcd=URL,…
        #[arg(long, value_name = "STORE")]
        from: StoreLocation,

        /// The store to write: embedded:DIRECTORY or etcd=URL,…
        #[arg(long, value_name = "STORE")]
        to: StoreLocation,

        /// Prefix of the keys [default: --etcd-prefix]
        #[arg(long, value_name = "PREFIX")]
        prefix: Option<String>,

        /// The way in which objects are written.
        #[command(flatten)]
        arguments: ImportArguments,

        /// Whether servers go on meanwhile.
        #[command(flatten)]
        following: FollowArguments,
    },
}

/// The way in which objects are written to a store.
#[derive(Args, Clone, Debug)]
pub struct ImportArguments {
    /// Number added to the revision of the store: at least that of the writes after it was exported, which clients may
    /// have seen
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub bump_revision: u64,

    /// Remove what an interrupted import has written to an etcd, and begin again
    #[arg(long)]
    pub restart: bool,
}

/// A move while servers go on.
#[derive(Args, Clone, Debug)]
pub struct FollowArguments {
    /// Copy a store while its servers go on, and then follow their writes until SIGUSR1 ends the move: stop the servers
    /// first
    #[arg(long, conflicts_with = "bump_revision")]
    pub follow: bool,

    /// Keep what an interrupted move has written to an etcd, and write what differs
    #[arg(long, requires = "follow", conflicts_with = "restart")]
    pub resume: bool,
}

/// A kubeconfig for a user.
#[derive(Args, Clone, Debug)]
pub struct KubeconfigCommand {
    /// Name of the user
    #[arg(long, value_name = "NAME")]
    pub user: String,

    /// A group of the user; can be repeated
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,

    /// Time for which the certificate is valid
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    pub expires: Duration,

    /// URL of the server [default: that of the administrator's kubeconfig]
    #[arg(long, value_name = "URL", value_parser = server_url)]
    pub server: Option<String>,
}

/// Checks the URL of a server.
fn server_url(text: &str) -> Result<String, ValueError> {
    let uri: http::Uri = text.parse().map_err(|_| ValueError::NoServerUrl)?;
    let is_served = uri.scheme_str().is_some_and(|scheme| ["https", "http"].contains(&scheme));
    if is_served && uri.host().is_some_and(|host| !host.is_empty()) {
        Ok(text.to_owned())
    } else {
        Err(ValueError::NoServerUrl)
    }
}

/// A token for tests.
#[derive(Args, Clone, Debug)]
#[group(id = "whose", required = true, args = ["account", "service_account", "user"])]
pub struct TokenCommand {
    /// A service account, as NAMESPACE:NAME too
    #[arg(value_name = "NAMESPACE/NAME")]
    pub account: Option<ServiceAccountName>,

    /// The service account, as a flag
    #[arg(long, value_name = "NAMESPACE:NAME", conflicts_with = "account")]
    pub service_account: Option<ServiceAccountName>,

    /// The uid of the service account [default: the server in the data directory is asked for it]
    #[arg(long, value_name = "UID", conflicts_with = "user")]
    pub uid: Option<String>,

    /// An audience of the service account's token; can be repeated [default: --api-audiences, or the issuer]
    #[arg(long, value_name = "AUDIENCE", conflicts_with = "user")]
    pub audience: Vec<String>,

    /// Time for which the service account's token is valid
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub expires: Duration,

    /// Name of a user
    #[arg(long, value_name = "NAME", requires = "file")]
    pub user: Option<String>,

    /// A group of the user; can be repeated
    #[arg(long, value_name = "GROUP", requires = "user")]
    pub group: Vec<String>,

    /// The file that the user's token is added to
    #[arg(long, value_name = "FILE", requires = "user")]
    pub file: Option<PathBuf>,
}

/// A command that needs a server, or the programs that test environments start.
#[derive(Args, Clone, Debug)]
pub struct TestCommand {
    /// Writes the directory that KUBEBUILDER_ASSETS names: kube-apiserver and etcd, which are this program, and kubectl,
    /// a link to the one in PATH, if there is one
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "command")]
    pub assets: Option<PathBuf>,

    /// Writes the same programs as an archive, and adds it to an index of archives, envtest-releases.yaml: for
    /// `setup-envtest use --index`, for DownloadBinaryAssetsIndexURL of envtest, and for `setup-envtest sideload`
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "command")]
    pub index: Option<PathBuf>,

    /// URL at which the files of --index are going to be found
    #[arg(long, value_name = "URL", requires = "index", default_value = "http://127.0.0.1:8000")]
    pub index_url: String,

    /// The program and its arguments
    #[arg(last = true, required_unless_present_any = ["assets", "index"], value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The name of a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccountName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Options {
    /// Returns the options of a server that runs as long as a command: in memory and on a free port, unless flags say
    /// otherwise.
    pub(crate) fn for_command(mut self) -> Self {
        let given = self.changed_flags();
        let is_given = |flags: &[&str]| flags.iter().any(|flag| given.contains_key(*flag));
        if !is_given(&["secure-port"]) {
            self.serving.secure_port = 0;
        }
        if !is_given(&["storage-backend", "etcd-servers", "data-dir"]) {
            self.storage.storage_backend = Some(StorageBackend::Memory);
        }
        self.shutdown.exit_with_parent.get_or_insert(true);
        self
    }

    /// Returns the options of a server beside a program that takes the place of etcd and keeps nothing, as test environments
    /// start both: in memory, and only as long as the test runs.
    pub(crate) fn beside_no_store(mut self) -> Self {
        self.storage.etcd_servers.clear();
        self.storage.storage_backend = Some(StorageBackend::Memory);
        self.shutdown.exit_with_parent.get_or_insert(true);
        self
    }
}

// === impl ImportArguments ===

#[cfg(feature = "embedded")]
impl ImportArguments {
    /// Returns the options of the transfer.
    pub(crate) fn options(&self) -> registry_core::storage::transfer::ImportOptions {
        registry_core::storage::transfer::ImportOptions {
            bump_revision: self.bump_revision,
            restarts: self.restart,
        }
    }
}

// === impl ServiceAccountName ===

impl FromStr for ServiceAccountName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_name = |name: &str| {
            let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'.');
            name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(is_letter)
        };
        match text.split_once([':', '/']) {
            Some((namespace, name)) if is_name(namespace) && is_name(name) => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(ValueError::NoAccount),
        }
    }
}

/// The manifests of an extension server.
#[derive(Args, Clone, Debug)]
pub struct ManifestsCommand {
    /// Namespace of the server
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub namespace: String,

    /// Name of all objects [default: that of the program]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Image of the server, whose entry point is this program [default: the program's name and version]
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,

    /// Secret with the serving certificate (tls.crt, tls.key), made elsewhere: by cert-manager, for example. Without it a
    /// Secret with a new certificate is printed
    #[arg(long, value_name = "NAME", requires = "ca_file")]
    pub tls_secret: Option<String>,

    /// Certificate authority (PEM) of the certificate in --tls-secret
    #[arg(long, value_name = "FILE", requires = "tls_secret")]
    pub ca_file: Option<PathBuf>,

    /// Time for which the printed certificate is valid
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = parse_duration)]
    pub expires: Duration,
}
