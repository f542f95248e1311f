//! The server: from options and storage maps to a listening process, and its graceful shutdown.
//!
//! Nothing is written before the flags, and the files that they name, have been checked, the port is bound and the data
//! directory is locked. Nothing is served before the stores are open, and everything that reads from them is attached. The
//! end is in order: see [`Server::serve`].
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `builder` | the phases of the start: opening, stores, assembly |
//! | `admission` | the admission plug-ins of a server |
//! | `assembly` | the second phase: what reads from the stores, and the handlers |
//! | `authored` | the additions of a server's author |
//! | `definitions` | the check of the schemas of authors' structs |
//! | `dependencies` | the components that resources depend on |
//! | `manifests` | the directories with webhooks and policies |
//! | `opening` | everything that is opened before the stores |
//! | `address` | the address that the server listens on |
//! | `extension` | the main server of an extension server |
//! | `post_start` | tasks that run after the start |
//! | `peer_leases`, `server_leases` | the records of the servers that share an etcd |
//! | `flow_schemas` | follows the stored flow schemas and priority levels |
//! | `listener` | accepts connections, and drains them at shutdown |
//! | `shutdown` | the order of events when a server stops |
//! | `connection` | one connection: TLS, then HTTP/1.1 or HTTP/2, within bounds |
//! | `streams`, `coalesced`, `progress` | the streams of a connection, its small writes, and whether the client reads |
//! | `renewal`, `tls` | the renewal of certificates; the TLS configuration |
//! | `kubeconfig` | the administrator's kubeconfig |
//! | `long_requests`, `long_work` | long requests, and the threads that they run on |
//! | `heartbeat` | measures how long tasks wait for a thread |
//! | `descriptors` | file descriptors: the process's limit, and its division |
//! | [`error`] | errors that keep a server from starting or serving |
//! | `authentication_config` | the ConfigMap in which a main server says how it authenticates |
//! | [`data_directory`] | the data directory, used by one server at a time |

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use futures::future::BoxFuture;
use http::Request;
use registry_core::RequestContext;
use request_info::RequestInfo;
use responses::Response;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::aggregator::Aggregator;
use crate::filters::{Dispatch, ExpectedWork, Filters};
use crate::handlers::Api;
use crate::health::Endpoint;
use crate::options::{Options, StorageBackend};
use crate::storage::{Engine, Storages};

pub(crate) mod address;
mod admission;
mod assembly;
mod authentication_config;
mod authored;
mod builder;
mod coalesced;
mod connection;
pub mod data_directory;
mod definitions;
mod dependencies;
pub(crate) mod descriptors;
pub mod error;
mod extension;
mod flow_schemas;
mod heartbeat;
mod kubeconfig;
mod listener;
mod long_requests;
mod long_work;
mod manifests;
mod opening;
mod peer_leases;
mod post_start;
mod progress;
mod renewal;
mod server_leases;
mod shutdown;
mod streams;
mod tls;

use authored::AuthoredWork;
pub use authored::ServerContext;
pub use builder::ServerBuilder;
use connection::ConnectionLimits;
use data_directory::DataDirectory;
use descriptors::Descriptors;
use listener::Connections;
use long_requests::LongRequests;
use long_work::LongWork;
use post_start::PostStartHooks;
use renewal::{CertificateRenewal, ServingTls};

/// A server whose storage is open and whose port is bound, and that does not serve yet.
pub struct Server {
    options: Options,
    data_directory: DataDirectory,
    listener: TcpListener,
    address: SocketAddr,
    ca_pem: String,
    tls: Arc<ServingTls>,
    renewal: Arc<CertificateRenewal>,
    engine: Engine,
    filters: Arc<Filters<Handler>>,
    hooks: PostStartHooks,
    authored: AuthoredWork,
    lifecycle: Lifecycle,
    descriptors: Descriptors,
    long_work: Arc<LongWork>,
    storages: Arc<Storages>,
}

/// Reports whether a server is ready, from within its process.
#[derive(Clone)]
pub struct Readiness(Arc<Filters<Handler>>);

/// The service behind the filters: the aggregator, and the API of this server. Large bodies are handled on another runtime,
/// below the filters, so that authentication, bounds and the deadline stay on the connection's.
type Handler = Aggregator<LongRequests<Api>>;

/// The steps of the shutdown.
#[derive(Clone, Debug)]
struct Lifecycle {
    /// Cancelled when the server is asked to stop; `/readyz` fails from then on.
    shutdown: CancellationToken,
    /// Cancelled after the shutdown delay: watches end, other requests are completed.
    draining: CancellationToken,
    /// Cancelled at the same time, or when the requests in flight are completed if the server answers new ones until then:
    /// no new connections are accepted, and the open ones end.
    stopping: CancellationToken,
    /// The watches that run.
    watches: TaskTracker,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// Returns the steps that follow this signal.
    fn new(shutdown: CancellationToken) -> Self {
        let (draining, stopping) = (CancellationToken::new(), CancellationToken::new());
        Self { shutdown, draining, stopping, watches: TaskTracker::new() }
    }
}

// === impl Server ===

impl Server {
    /// Returns a builder of a server.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// Returns the server's address, with the actual port if a free one was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the server's URL, for clients on this machine.
    pub fn url(&self) -> String {
        kubeconfig::url(self.address)
    }

    /// Returns the path of the administrator's kubeconfig.
    pub fn kubeconfig_path(&self) -> PathBuf {
        let path = self.options.kubeconfig_path();
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Returns the certificate authority (PEM) that clients verify the server with.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns the data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.options.data_directory()
    }

    /// Returns the data directory if it is removed when the server ends.
    pub fn temporary_directory(&self) -> Option<&Path> {
        self.data_directory.temporary_path()
    }

    /// Returns the token that shuts the server down when it is cancelled: see [`serve`](Self::serve).
    pub fn shutdown_token(&self) -> CancellationToken {
        self.lifecycle.shutdown.clone()
    }

    /// Returns the readiness of the server, which can be queried while it serves.
    pub fn readiness(&self) -> Readiness {
        Readiness(self.filters.clone())
    }

    /// Returns the storages of all resources.
    #[cfg(feature = "embedded")]
    pub(crate) fn storages(&self) -> &Arc<Storages> {
        &self.storages
    }

    /// Serves until the shutdown token is cancelled, then shuts down gracefully: `/readyz` fails at once;
    /// after the shutdown delay no connection is accepted any more and watches end, one after the other if there is a grace
    /// period for them; requests in flight are completed, for at most one request timeout. With
    /// `--shutdown-send-retry-after`, connections are accepted and requests are refused until then.
    pub async fn serve(self) {
        let mut hooks = self.hooks.spawn(&self.lifecycle.shutdown, &self.lifecycle.stopping);
        let max_streams = self.options.serving.http2_max_streams_per_connection;
        let keeps_objects = self.options.storage.backend() != StorageBackend::Memory;
        let limits = ConnectionLimits::new(max_streams, self.options.http.goaway_chance, keeps_objects);
        hooks.spawn(self.renewal.run(self.lifecycle.stopping.clone()));
        let delays = self.filters.metrics().scheduling_delays().clone();
        let _heartbeat = AbortOnDropHandle::new(tokio::spawn(heartbeat::measure(delays)));
        let auditor = self.filters.auditor().cloned();
        let draining = self.filters.draining().cloned();
        let max_connections = self.descriptors.connections;
        let connections = Connections::new(self.filters, self.tls, limits, max_connections, self.long_work);
        let authored = self.authored.start();
        let stopping = self.lifecycle.stopping.clone();
        let shutdown = shutdown::Shutdown::new(&self.options, self.lifecycle, draining);
        tokio::join!(shutdown.run(), connections.accept(self.listener, stopping));
        connections.drain(shutdown.patience()).await;
        authored.end().await;
        post_start::end(hooks).await;
        if let Some(auditor) = auditor {
            auditor.stop().await;
        }
        // Last, so that all responses are stored, and the directory is free for the next server.
        self.storages.stop_watches();
        self.engine.close().await;
        drop(self.data_directory);
    }
}

// === impl Readiness ===

impl Readiness {
    /// Returns the failing checks of `/readyz`; empty when the server is ready.
    pub async fn failures(&self) -> Vec<String> {
        self.0.health().failures(Endpoint::Readyz).await
    }
}

impl Dispatch for Api {
    fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
        _work: ExpectedWork,
    ) -> BoxFuture<'static, Response> {
        Box::pin(self.clone().respond(info, context, request))
    }
}
