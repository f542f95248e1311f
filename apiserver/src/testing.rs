//! Servers for tests: on a free port, with a directory of their own, removed when dropped.
//!
//! A process may run any number of them. They provide what clients need: a kubeconfig with an administrator's
//! certificate, tokens, the certificate authority, and [`Kubectl`].
//!
//! ```no_run
//! # async fn example() {
//! use apiserver::testing::TestServer;
//!
//! let server = TestServer::builder().memory().start().await.expect("it starts");
//! let kubectl = server.kubectl();
//! kubectl.run_with_input("apply -f -", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#).await;
//! assert_eq!(kubectl.run("get configmaps -o name").await, "configmap/a\n");
//! server.stop().await;
//! # }
//! ```

mod cluster;
mod directory;
mod error;
mod kubectl;
mod requests;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clients::tls::{Trust, client_config};
use clients::{self, Client};
use futures::future::BoxFuture;
use registry_core::api::clock::Clock;
use registry_core::registry::StorageMap;
#[cfg(feature = "embedded")]
use registry_core::storage::{Revision, embedded::Snapshot, mvcc::MvccError};
use rustls::ClientConfig;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::faults::Faults;
use crate::options::{KubeconfigCommand, Options, OptionsError};
use crate::run::kubeconfig;
use crate::server::Readiness;
use crate::server::error::ServerError;
use crate::shares::TurnBounds;
#[cfg(feature = "embedded")]
use crate::storage::Storages;
use crate::webhooks::CALLS;
use crate::{Server, ServerBuilder};

pub use cluster::TestCluster;
pub use directory::TestDirectory;
pub use error::CallError;
pub use kubectl::{KUBECTL_VARIABLE, Kubectl, KubectlWatch};

/// Maximum time for a server to become ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// For how long the certificates of users are valid.
const USER_LIFETIME: Duration = Duration::from_hours(24);

/// The token of the user `admin`, a member of `system:masters`.
pub const ADMIN_TOKEN: &str = "admin-token";
/// The token of the user `alice`, who is in no group.
pub const ALICE_TOKEN: &str = "alice-token";

/// A running server. Dropping it stops it; [`stop`](Self::stop) also waits until it has ended.
pub struct TestServer {
    address: SocketAddr,
    url: String,
    ca_pem: String,
    kubeconfig_path: PathBuf,
    /// The client of an administrator, from the first request on.
    client: OnceLock<Client>,
    shutdown: CancellationToken,
    serving: Option<JoinHandle<()>>,
    #[cfg(feature = "embedded")]
    storages: Arc<Storages>,
    directory: Arc<TestDirectory>,
}

/// Configures a test's server.
#[must_use = "a builder does nothing until it is started"]
pub struct TestServerBuilder {
    flags: Vec<String>,
    tokens: String,
    server: ServerBuilder,
    directory: Option<Arc<TestDirectory>>,
}

// === impl TestServer ===

impl TestServer {
    /// Starts a server with the default configuration.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub async fn start() -> Self {
        match Self::builder().start().await {
            Ok(server) => server,
            Err(error) => panic!("cannot start a test server: {error}"),
        }
    }

    /// Returns a builder of a server.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder {
            flags: Vec::new(),
            tokens: format!("{ADMIN_TOKEN},admin,admin,system:masters\n{ALICE_TOKEN},alice,alice,\n"),
            server: Server::builder(),
            directory: None,
        }
    }

    /// Returns `https://127.0.0.1:` and the port.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the certificate authority (PEM) that clients verify the server with.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns a bearer token of an administrator.
    pub fn admin_token(&self) -> &'static str {
        ADMIN_TOKEN
    }

    /// Returns the path of a kubeconfig with a client certificate of an administrator.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig_path
    }

    /// Returns a kubeconfig of a user in these groups, with a client certificate that is valid for a day.
    ///
    /// # Errors
    /// Fails if no certificate can be issued for this name, for example because it is empty.
    pub fn kubeconfig_of(&self, user: &str, groups: &[String]) -> Result<String, axum::BoxError> {
        let data_dir = format!("--data-dir={}", self.directory.path().display());
        let options = Options::from_arguments(["apiserver", &data_dir])?;
        let (user, group) = (user.to_owned(), groups.to_vec());
        let command = KubeconfigCommand { user, group, expires: USER_LIFETIME, server: None };
        Ok(kubeconfig::kubeconfig(&options, &command)?)
    }

    /// Returns a kubectl with the rights of an administrator.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubeconfig_path, &self.directory.path().join("home"))
    }

    /// Returns the data directory; a further server can be started on it.
    pub fn directory(&self) -> &Arc<TestDirectory> {
        &self.directory
    }

    /// Returns the TLS configuration of an HTTP client that trusts this server, and presents no certificate.
    ///
    /// # Panics
    /// Panics if the server's certificate authority is invalid.
    pub fn client_tls(&self, protocols: &[&str]) -> ClientConfig {
        let protocols: Vec<&[u8]> = protocols.iter().map(|name| name.as_bytes()).collect();
        let config = Trust::from_bundle(self.ca_pem.as_bytes())
            .and_then(|trust| client_config(trust, None, &protocols).map_err(clients::SettingsError::Tls));
        match config {
            Ok(config) => Arc::unwrap_or_clone(config),
            Err(error) => panic!("no TLS for clients: {error}"),
        }
    }

    /// Returns the state of all objects, to which [`restore`](Self::restore) returns.
    ///
    /// # Errors
    /// Fails if the server has stopped, or keeps its objects in etcd.
    #[cfg(feature = "embedded")]
    pub async fn snapshot(&self) -> Result<Snapshot, MvccError> {
        self.storages.snapshot().await
    }

    /// Returns to a snapshot of this server. Watches see what changes, with resource versions that are newer than all
    /// before; objects that have not changed keep theirs. Reads that begin afterwards are not older.
    ///
    /// # Errors
    /// Fails if the server has stopped, or keeps its objects in etcd.
    #[cfg(feature = "embedded")]
    pub async fn restore(&self, snapshot: &Snapshot) -> Result<Revision, MvccError> {
        self.storages.restore(snapshot).await
    }

    /// Begins the graceful shutdown, without waiting for it.
    pub fn begin_shutdown(&self) {
        self.shutdown.cancel();
    }

    /// Shuts the server down gracefully, and waits for its end.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        if let Some(serving) = self.serving.take() {
            let _ = serving.await;
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // The shutdown continues as long as the runtime exists, and ends with it otherwise.
        self.shutdown.cancel();
    }
}

// === impl TestServerBuilder ===

impl TestServerBuilder {
    /// Adds a command line flag, for example `--watch-cache=false`.
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Keeps objects in memory only.
    pub fn memory(self) -> Self {
        self.flag("--storage-backend=memory")
    }

    /// Runs no controllers: namespaces stay when they are deleted, owned objects when their owner is, and nothing is created
    /// but what the test creates.
    pub fn without_controllers(self) -> Self {
        self.flag("--controllers=")
    }

    /// Keeps objects in this etcd, below a prefix of the test's own.
    pub fn etcd(self, endpoint: &str, prefix: &str) -> Self {
        self.flag(format!("--etcd-servers={endpoint}")).flag(format!("--etcd-prefix={prefix}"))
    }

    /// Adds a map whose resources are served.
    pub fn storage_map(mut self, map: &'static StorageMap) -> Self {
        self.server = self.server.storage_map(map);
        self
    }

    /// Adds to the server what [`run_extension_customized`](crate::run_extension_customized) adds to a program's.
    pub fn customize(mut self, customize: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Self {
        self.server = customize(self.server);
        self
    }

    /// Excludes the built-in resources.
    pub fn without_builtin_resources(mut self) -> Self {
        self.server = self.server.without_builtin_resources();
        self
    }

    /// Makes it an extension server, behind the main server of a flag `--kubeconfig`. [`TestCluster`] starts both.
    pub fn extension(mut self) -> Self {
        self.server = self.server.extension();
        self
    }

    /// Sets the time of day that leases, tokens of service accounts and finished jobs end by.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.server = self.server.clock(clock);
        self
    }

    /// Sets how many calls of one webhook each user causes at once.
    pub fn webhook_calls(mut self, at_once: usize) -> Self {
        self.server = self.server.webhook_calls(TurnBounds { at_once, ..CALLS });
        self
    }

    /// Lets requests fail by rules.
    pub fn faults(mut self, faults: Arc<Faults>) -> Self {
        self.server = self.server.faults(faults);
        self
    }

    /// Replaces the default authorizer.
    pub fn authorizer(mut self, authorizer: Arc<dyn crate::authorization::Authorizer>) -> Self {
        self.server = self.server.authorizer(authorizer);
        self
    }

    /// Allows proxied requests to pods and services on this machine, where the test runs them.
    pub fn reach_local_workloads(mut self) -> Self {
        self.server = self.server.reach_local_workloads();
        self
    }

    /// Adds a user with this token; `groups` are separated by commas.
    pub fn token(mut self, token: &str, user: &str, groups: &str) -> Self {
        let _ = writeln!(self.tokens, "{token},{user},{user},\"{groups}\"");
        self
    }

    /// Uses the directory of an earlier server.
    pub fn directory(mut self, directory: &Arc<TestDirectory>) -> Self {
        self.directory = Some(directory.clone());
        self
    }

    /// Starts the server; it is ready when the future ends.
    ///
    /// The future is a trait object, because its type would contain all types of a server: tests hold several, and where one
    /// is spawned, the compiler would look at all of them again.
    ///
    /// # Errors
    /// Fails if the server cannot be started, or is not ready in time.
    pub fn start(self) -> BoxFuture<'static, Result<TestServer, ServerError>> {
        Box::pin(self.start_unboxed())
    }

    async fn start_unboxed(self) -> Result<TestServer, ServerError> {
        let directory = match self.directory {
            Some(directory) => directory,
            None => Arc::new(TestDirectory::create()?),
        };
        let tokens = directory.path().join("tokens.csv");
        std::fs::write(&tokens, &self.tokens)
            .map_err(|source| ServerError::Write { path: tokens.clone(), source })?;
        let mut flags = vec![
            "apiserver".to_owned(),
            "--secure-port=0".to_owned(),
            format!("--data-dir={}", directory.path().display()),
            format!("--token-auth-file={}", tokens.display()),
        ];
        flags.extend(self.flags);
        let mut options = Options::from_arguments(flags).map_err(OptionsError::from)?;
        options.locations.removes_data_dir = true;
        let server = self.server.options(options).build().await?;
        let readiness = server.readiness();
        let started = TestServer {
            address: server.address(),
            url: server.url(),
            ca_pem: server.ca_pem().to_owned(),
            kubeconfig_path: server.kubeconfig_path(),
            client: OnceLock::new(),
            shutdown: server.shutdown_token(),
            #[cfg(feature = "embedded")]
            storages: server.storages().clone(),
            serving: Some(tokio::spawn(server.serve())),
            directory,
        };
        wait_until_ready(&readiness).await?;
        Ok(started)
    }
}

async fn wait_until_ready(readiness: &Readiness) -> Result<(), ServerError> {
    let begun = Instant::now();
    loop {
        let failures = readiness.failures().await;
        if failures.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > READY_TIMEOUT {
            return Err(ServerError::NotReady(failures.join("; ")));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
