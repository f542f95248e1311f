//! The additions of a server's author: admission plug-ins, post-start hooks, work beside requests.

#[cfg(feature = "embedded")]
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::BoxError;
use futures::future::BoxFuture;
#[cfg(feature = "embedded")]
use registry_core::api::GroupResource;
use registry_core::api::StatusError;
#[cfg(feature = "embedded")]
use registry_core::storage::embedded::backend::Backend;
use resources::post_start::PostStartHook;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::admission::{AdmissionChain, MutatingAdmission, ValidatingAdmission};
use crate::api_client::{ApiClient, LocalServer};

use super::Handler;
use super::extension::MainCluster;

/// Time that work beside requests has to end when the server stops.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The file in which the kubelet writes the namespace of a pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The server, as the code of its author sees it.
#[derive(Clone)]
pub struct ServerContext {
    own: ApiClient,
    cluster: ApiClient,
    namespace: Arc<str>,
    stopping: CancellationToken,
}

/// The additions of an author.
#[derive(Default)]
pub(super) struct Authored {
    pub(super) mutating: Vec<MakeMutating>,
    pub(super) validating: Vec<MakeValidating>,
    pub(super) hooks: Vec<(&'static str, RunHook)>,
    pub(super) background: Vec<Work>,
    #[cfg(feature = "embedded")]
    pub(super) backends: HashMap<GroupResource, Arc<dyn Backend>>,
}

/// The additions of an author, with the server that they are for.
pub(super) struct AuthoredServer {
    authored: Authored,
    context: ServerContext,
    local: Arc<LocalServer<Handler>>,
}

type MakeMutating = Box<dyn FnOnce(&ServerContext) -> Arc<dyn MutatingAdmission> + Send>;
type MakeValidating = Box<dyn FnOnce(&ServerContext) -> Arc<dyn ValidatingAdmission> + Send>;
type RunHook = Box<dyn Fn(ServerContext) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;
type Work = Box<dyn FnOnce(ServerContext) -> BoxFuture<'static, ()> + Send>;

/// The work beside requests, which ends by itself when the server stops.
pub(super) struct AuthoredWork {
    context: ServerContext,
    work: Vec<Work>,
    local: Arc<LocalServer<Handler>>,
}

/// That work, while it runs.
pub(super) struct RunningWork {
    tasks: JoinSet<()>,
    local: Arc<LocalServer<Handler>>,
}

/// A hook of an author.
struct AuthoredHook {
    name: &'static str,
    run: RunHook,
    context: ServerContext,
}

// === impl ServerContext ===

impl ServerContext {
    /// Returns a client of the kinds of this server, in this process.
    pub fn own(&self) -> &ApiClient {
        &self.own
    }

    /// Returns a client of the kinds of the cluster: those of the main server of an extension server, which it asks with the
    /// credentials of `--kubeconfig` or of its pod; otherwise those of this server.
    pub fn cluster(&self) -> &ApiClient {
        &self.cluster
    }

    /// Returns the namespace of the pod that the server runs in; `default` elsewhere.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the token that is cancelled when the server stops.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}

fn own_namespace() -> String {
    let read = std::fs::read_to_string(NAMESPACE_FILE);
    let read = read.map(|namespace| namespace.trim().to_owned());
    read.ok().filter(|namespace| !namespace.is_empty()).unwrap_or_else(|| "default".to_owned())
}

// === impl Authored ===

impl Authored {
    /// Whether there are admission plug-ins.
    pub(super) fn has_plugins(&self) -> bool {
        !self.mutating.is_empty() || !self.validating.is_empty()
    }

    /// Gives all of it a server, which is its own cluster unless it has a main server.
    pub(super) fn within(self, main: Option<&MainCluster>, stopping: &CancellationToken) -> AuthoredServer {
        let local = LocalServer::new();
        let own = ApiClient::new(local.clone());
        let cluster = main.map_or_else(|| own.clone(), |main| ApiClient::new(main.server.clone()));
        let namespace = own_namespace().into();
        let context = ServerContext { own, cluster, namespace, stopping: stopping.clone() };
        AuthoredServer { authored: self, context, local }
    }
}

// === impl AuthoredServer ===

impl AuthoredServer {
    /// Adds the plug-ins to a chain.
    pub(super) fn admit(&mut self, chain: &mut AdmissionChain) {
        let Self { authored, context, .. } = self;
        chain.mutating.extend(authored.mutating.drain(..).map(|make| make(context)));
        chain.validating.extend(authored.validating.drain(..).map(|make| make(context)));
    }

    /// Returns the hooks. From now on the client in this process asks this handler.
    pub(super) fn hooks(&mut self, handler: Arc<Handler>) -> Vec<Box<dyn PostStartHook>> {
        self.local.serve_by(handler);
        let hook = |(name, run)| -> Box<dyn PostStartHook> {
            Box::new(AuthoredHook { name, run, context: self.context.clone() })
        };
        self.authored.hooks.drain(..).map(hook).collect()
    }

    /// Returns the work beside requests.
    pub(super) fn work(self) -> AuthoredWork {
        AuthoredWork { context: self.context, work: self.authored.background, local: self.local }
    }
}

// === impl AuthoredWork ===

impl AuthoredWork {
    /// Starts the work.
    pub(super) fn start(self) -> RunningWork {
        let Self { context, work, local } = self;
        RunningWork { tasks: work.into_iter().map(|work| work(context.clone())).collect(), local }
    }
}

// === impl RunningWork ===

impl RunningWork {
    /// Waits until the work has ended, for a limited time.
    pub(super) async fn end(mut self) {
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(END_TIMEOUT, ended).await.is_err() {
            tracing::warn!("work beside requests has not ended in time");
        }
        self.local.stop();
    }
}

// === impl AuthoredHook ===

#[async_trait]
impl PostStartHook for AuthoredHook {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn run(&self) -> Result<(), StatusError> {
        (self.run)(self.context.clone()).await.map_err(StatusError::internal)
    }
}
