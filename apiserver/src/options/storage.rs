//! The storage that the flags choose.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::{CacheSize, EtcdOverride, OptionsError, ValueError, parse_duration};

/// Storage of objects.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Storage")]
pub struct StorageOptions {
    /// `embedded` (in this process, durable), `etcd3`, or `memory` (in this process, not durable, for tests)
    /// [default: etcd3 with --etcd-servers, else embedded]
    #[arg(long, value_name = "BACKEND")]
    pub storage_backend: Option<StorageBackend>,

    /// Encoding of stored objects: `application/json`, or `application/vnd.kubernetes.protobuf` as in kube-apiserver, which
    /// takes less room in etcd. Custom resources are stored as JSON, or as CBOR with the feature CBORServingAndStorage;
    /// their definitions, APIServices, and kinds without protobuf as JSON. Objects in any encoding are read
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    pub storage_media_type: StorageMediaType,

    /// Endpoints of etcd, separated by commas: `https://HOST:PORT`, `http://HOST:PORT` or `unix:///PATH`
    #[arg(long, value_name = "URL,…", value_delimiter = ',')]
    pub etcd_servers: Vec<String>,

    /// Resources that are in an etcd of their own, separated by commas: `group/resource#servers`, with semicolons between
    /// the servers. The group is empty for the core group; the resource `*` is all of the group. Custom resources,
    /// their definitions and APIServices stay in the etcd of `--etcd-servers`
    #[arg(long, value_name = "RESOURCE#URL;…,…", value_delimiter = ',')]
    pub etcd_servers_overrides: Vec<EtcdOverride>,

    /// Prefix of all keys
    #[arg(long, value_name = "PREFIX", default_value = "/registry")]
    pub etcd_prefix: String,

    /// Certificate authority (PEM) of etcd's certificates
    #[arg(long, value_name = "FILE")]
    pub etcd_cafile: Option<PathBuf>,

    /// Client certificate (PEM) for etcd
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile")]
    pub etcd_certfile: Option<PathBuf>,

    /// Private key of --etcd-certfile
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    pub etcd_keyfile: Option<PathBuf>,

    /// Interval between compactions of the store's history; 0 disables them
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub etcd_compaction_interval: Duration,

    /// Whether a garbage collector runs beside the server; if not, deletions do not wait for it
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub enable_garbage_collector: bool,

    /// Time after which events are deleted
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub event_ttl: Duration,

    /// Serve reads and watches from a cache in memory
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub watch_cache: bool,

    /// Number of events that each resource's cache keeps: `resource[.group]#size`, separated by commas; size
    /// 0 turns the resource's cache off
    #[arg(long, value_name = "RESOURCE#SIZE,…", value_delimiter = ',')]
    pub watch_cache_sizes: Vec<CacheSize>,

    /// Maximum memory of all watch caches in MiB, a quarter of it for their history. Beyond it the oldest
    /// history is dropped first, and watchers that still need it list again; then the largest resources are
    /// no longer cached, and their reads go to the store. 8 MiB of history are kept in any case. Cached
    /// encodings of objects take up to an eighth of it in addition
    /// [default: half of the memory of the machine or the container]
    #[arg(long, value_name = "MIB")]
    pub watch_cache_memory: Option<usize>,
}

/// A storage backend by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageBackend {
    /// In this process, durable, one replica.
    Embedded,
    /// An etcd cluster.
    Etcd3,
    /// In this process, not durable: for tests.
    Memory,
}

/// The encoding of stored objects by its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageMediaType {
    /// `application/json`
    Json,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// The chosen storage, and all that is needed to open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageChoice {
    /// In this process, in a directory.
    Embedded {
        /// The store's own directory.
        directory: PathBuf,
    },
    /// In this process, not durable.
    Memory,
    /// In an etcd cluster.
    Etcd3(EtcdConnection),
}

/// Connection parameters of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdConnection {
    /// Endpoints, as URLs.
    pub servers: Vec<String>,
    /// Certificate authority (PEM) of its certificates.
    pub ca_file: Option<PathBuf>,
    /// The client certificate and its key (PEM).
    pub client_files: Option<(PathBuf, PathBuf)>,
    /// The resources that are in other clusters, which have the same authority and client certificate.
    pub overrides: Vec<EtcdOverride>,
}

// === impl StorageChoice ===

impl StorageChoice {
    /// Returns the name of the backend.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded { .. } => "embedded",
            Self::Memory => "memory",
            Self::Etcd3(_) => "etcd3",
        }
    }
}

impl FromStr for StorageBackend {
    type Err = ValueError;

    fn from_str(name: &str) -> Result<Self, ValueError> {
        match name {
            "embedded" => Ok(Self::Embedded),
            "etcd3" => Ok(Self::Etcd3),
            "memory" => Ok(Self::Memory),
            "etcd2" => Err(ValueError::Etcd2),
            other => Err(ValueError::Backend(other.to_owned())),
        }
    }
}

impl FromStr for StorageMediaType {
    type Err = ValueError;

    fn from_str(name: &str) -> Result<Self, ValueError> {
        match name {
            "application/json" => Ok(Self::Json),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            "application/yaml" => Err(ValueError::StoredYaml),
            other => Err(ValueError::StorageMediaType(other.to_owned())),
        }
    }
}

impl StorageOptions {
    /// Returns the backend that the flags choose.
    pub fn backend(&self) -> StorageBackend {
        let of_servers =
            if self.etcd_servers.is_empty() { StorageBackend::Embedded } else { StorageBackend::Etcd3 };
        self.storage_backend.unwrap_or(of_servers)
    }

    /// Returns the prefix of all keys, without the slash that ends it: as `path.Join("/", prefix)` of Go has it, empty
    /// for the root.
    pub fn key_prefix(&self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        for part in self.etcd_prefix.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        parts.iter().flat_map(|part| ["/", part]).collect()
    }

    /// Returns the storage that the flags choose together.
    pub(super) fn choose(&self, directory: PathBuf) -> Result<StorageChoice, OptionsError> {
        let has_servers = !self.etcd_servers.is_empty();
        match (self.storage_backend, has_servers) {
            (Some(StorageBackend::Embedded | StorageBackend::Memory), true) => {
                return Err(OptionsError::StorageAndServers);
            }
            (Some(StorageBackend::Etcd3), false) => {
                return Err(OptionsError::NoServers);
            }
            _ => {}
        }
        if has_servers {
            return self.etcd_connection().map(StorageChoice::Etcd3);
        }
        if self.etcd_cafile.is_some() || self.etcd_certfile.is_some() {
            return Err(OptionsError::CertificatesWithoutServers);
        }
        if !self.etcd_servers_overrides.is_empty() {
            return Err(OptionsError::OverridesWithoutServers);
        }
        if self.storage_backend == Some(StorageBackend::Memory) {
            return Ok(StorageChoice::Memory);
        }
        Ok(StorageChoice::Embedded { directory })
    }

    /// Returns the connection to an etcd with these endpoints, by the other flags of etcd.
    #[cfg(all(feature = "embedded", feature = "etcd3"))]
    pub(crate) fn connection_to(&self, servers: &[String]) -> Result<EtcdConnection, OptionsError> {
        let servers = servers.to_vec();
        Self { etcd_servers: servers, etcd_servers_overrides: Vec::new(), ..self.clone() }.etcd_connection()
    }

    fn etcd_connection(&self) -> Result<EtcdConnection, OptionsError> {
        self.check_servers("--etcd-servers", &self.etcd_servers)?;
        for given in &self.etcd_servers_overrides {
            self.check_servers("--etcd-servers-overrides", &given.servers)?;
        }
        Ok(EtcdConnection {
            servers: self.etcd_servers.clone(),
            ca_file: self.etcd_cafile.clone(),
            client_files: self.etcd_certfile.clone().zip(self.etcd_keyfile.clone()),
            overrides: self.etcd_servers_overrides.clone(),
        })
    }

    /// Checks the endpoints of one cluster.
    fn check_servers(&self, flag: &'static str, servers: &[String]) -> Result<(), OptionsError> {
        let refuse = |server: &str, reason: &'static str| {
            Err(OptionsError::EtcdServer { flag, server: server.to_owned(), reason })
        };
        let is_socket = |server: &String| server.starts_with("unix:");
        let uses_tls = self.etcd_cafile.is_some() || self.etcd_certfile.is_some();
        for server in servers {
            if is_socket(server) && !servers.iter().all(is_socket) {
                return refuse(server, "is a Unix socket, which cannot be combined with other endpoints");
            }
            if !server.starts_with("https://") && !server.starts_with("http://") && !is_socket(server) {
                return refuse(server, "is not a valid URL: use one such as https://127.0.0.1:2379");
            }
            if server.strip_prefix("unix:").is_some_and(|path| path.trim_start_matches('/').is_empty()) {
                return refuse(server, "names no socket");
            }
            if uses_tls && is_socket(server) {
                return refuse(server, "is a Unix socket, yet --etcd-cafile or --etcd-certfile is given");
            }
            if uses_tls && server.starts_with("http://") {
                return refuse(server, "is plain http, yet --etcd-cafile or --etcd-certfile is given");
            }
        }
        Ok(())
    }
}
