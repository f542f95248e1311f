//! The controllers that run in the server: those without which namespaces never end, owned objects stay behind, and pods
//! have no account.
//!
//! ```text
//! what is served ─ kinds ─ objects: the metadata of all objects ─┬─ garbage_collector: graph ─ queue ─┐
//!                                                                ├─ namespace ─ queue ─────────────────┼─ client ─ handler
//!                                                                └─ defaults ─ queue ──────────────────┘
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `namespace` | removes the content of namespaces that are being deleted |
//! | `garbage_collector` | deletes objects whose owners are gone |
//! | `resource_quota` | counts what quotas limit |
//! | `ttl_after_finished` | deletes jobs that have finished when their time has come |
//! | `defaults` | keeps an account and the server's authority in every namespace |
//! | `elections` | elects leaders among candidates; apart from the others, behind its gate |
//! | `objects` | follows the metadata of all objects of all kinds, for these |
//! | `kinds`, `metadata` | the kinds that are served; the metadata of an object |
//! | `client` | requests in the process, as the account of a controller |
//! | `queue` | keys that are worked on, and repeated after failures |
//! | `lease` | whether kube-controller-manager is running |
//!
//! While kube-controller-manager holds its Lease, nothing of this runs. Between changes all of it waits: there are no
//! periods.
//!
//! Kubernetes concept: kube-controller-manager.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use registry_core::Resource as _;
use registry_core::api::clock::Clock;
use registry_core::registry::{InformerTask, InstalledApi};
use resources::admission::QuotaUsage;
use resources::api::coordination::leases::Leases;
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::api_client::leadership::Leadership;
use crate::audit::Auditor;
use crate::filters::Dispatch;
use crate::handlers::ServedApi;
use crate::options::Controller;

mod client;
mod defaults;
mod elections;
mod garbage_collector;
mod kinds;
mod lease;
mod metadata;
mod namespace;
mod objects;
mod queue;
mod resource_quota;
mod ttl_after_finished;

use client::Client;
use defaults::{DefaultObject, ObservedDefault};
pub(crate) use elections::Elections;
use garbage_collector::{GarbageCollector, ObservedGraph};
use lease::ManagerLease;
use namespace::{NamespaceController, ObservedNamespaces};
use objects::{AllObjects, Observer};
use resource_quota::{ObservedQuotas, QuotaController};
use ttl_after_finished::{ObservedJobs, TtlAfterFinished};

/// The Lease by which servers over the same etcd agree on which of them runs the controllers.
const LEASE: (&str, &str) = ("kube-system", "apiserver-controllers");
/// Time for other servers over the same etcd to notice the deletion of a namespace.
const SHARED_STORE_GRACE: Duration = Duration::from_secs(5);

/// The controllers of a server.
pub(crate) struct Controllers<D> {
    setup: ControllerSetup<D>,
    /// `None` if Leases are not served.
    manager: Option<ManagerLease>,
    quota_usage: Arc<QuotaUsage>,
}

/// The parts that the controllers are made of.
pub(crate) struct ControllerSetup<D> {
    /// Handles their requests.
    pub(crate) handler: Arc<D>,
    /// Records their requests, if requests are audited.
    pub(crate) auditor: Option<Arc<Auditor>>,
    /// The API that is served.
    pub(crate) served: Arc<ServedApi>,
    /// The controllers that run.
    pub(crate) running: Vec<Controller>,
    /// The authority (PEM) that clients verify the server with.
    pub(crate) ca_pem: String,
    /// Whether other servers have the same objects.
    pub(crate) shares_store: bool,
    /// The time by which finished jobs are deleted.
    pub(crate) clock: Clock,
}

/// The controllers while they run.
struct Session {
    observers: Vec<Arc<dyn Observer>>,
    /// Starts a controller, when the objects are followed.
    starts: Vec<Start>,
}

type Start = Box<dyn FnOnce(Arc<AllObjects>) -> BoxFuture<'static, ()> + Send>;

// === impl Controllers ===

impl<D: Dispatch> Controllers<D> {
    /// Creates the controllers, and the informer that they need.
    pub(crate) fn new(setup: ControllerSetup<D>, installed: &InstalledApi) -> (Self, Option<InformerTask>) {
        let quota_usage = Arc::new(QuotaUsage::new(installed));
        let (manager, informer) = installed.store(Leases::TYPE).map(ManagerLease::new).unzip();
        (Self { setup, manager, quota_usage }, informer)
    }

    /// Runs the controllers until it is dropped.
    pub(crate) async fn run(self) {
        if !self.setup.shares_store {
            return self.run_alone().await;
        }
        let client = ApiClient::new(self.client("leader-election-controller").server().clone());
        let (namespace, name) = LEASE;
        let work = async |ends: CancellationToken| {
            ends.run_until_cancelled(self.run_alone()).await;
        };
        Leadership::new(&client, namespace, name).run(CancellationToken::new(), work).await;
    }

    /// Runs the controllers whenever kube-controller-manager does not run.
    async fn run_alone(&self) {
        let Some(manager) = &self.manager else { return self.run_session().await };
        loop {
            manager.free().await;
            tracing::debug!("the controllers of this server run");
            tokio::select! {
                () = self.run_session() => return,
                () = manager.held() => {}
            }
            tracing::info!("kube-controller-manager runs: the controllers of this server do not");
        }
    }

    /// Creates the controllers anew, and runs them until it is dropped.
    async fn run_session(&self) {
        let mut session = Session { observers: Vec::new(), starts: Vec::new() };
        for controller in &self.setup.running {
            self.add(*controller, &mut session);
        }
        let Session { observers, starts } = session;
        let client = self.client(garbage_collector::ACCOUNT);
        let objects = Arc::new(AllObjects::new(self.setup.served.clone(), client, observers));
        let working = join_all(starts.into_iter().map(|start| start(objects.clone())));
        tokio::join!(objects.run(), working);
    }

    fn add(&self, controller: Controller, session: &mut Session) {
        match controller {
            Controller::Namespace => {
                let grace = if self.setup.shares_store { SHARED_STORE_GRACE } else { Duration::ZERO };
                let (client, observed) = (self.client(namespace::ACCOUNT), ObservedNamespaces::new(grace));
                session.add(observed.clone(), async move |objects| {
                    NamespaceController::new(client, observed, objects).run().await;
                });
            }
            Controller::GarbageCollector => {
                let (client, graph) = (self.client(garbage_collector::ACCOUNT), ObservedGraph::new());
                session.add(graph.clone(), async move |objects| {
                    GarbageCollector::new(client, graph, objects).run().await;
                });
            }
            Controller::ServiceAccount => {
                let (client, observed) =
                    (self.client(defaults::SERVICE_ACCOUNT), ObservedDefault::service_accounts());
                session
                    .add(observed.clone(), async move |_| DefaultObject::new(client, observed).run().await);
            }
            Controller::RootCaCertificatePublisher => {
                let observed = ObservedDefault::root_certificates(&self.setup.ca_pem);
                let client = self.client(defaults::ROOT_CA);
                session
                    .add(observed.clone(), async move |_| DefaultObject::new(client, observed).run().await);
            }
            Controller::TtlAfterFinished => {
                let (client, observed) = (self.client(ttl_after_finished::ACCOUNT), ObservedJobs::new());
                let clock = self.setup.clock.clone();
                session.add(observed.clone(), async move |_| {
                    TtlAfterFinished::new(client, observed, clock).run().await;
                });
            }
            // It runs apart from the others, over stores alone.
            Controller::ClusterRoleAggregation => {}
            Controller::ResourceQuota => {
                let (client, observed) = (self.client(resource_quota::ACCOUNT), ObservedQuotas::new());
                let usage = self.quota_usage.clone();
                session.add(observed.clone(), async move |objects| {
                    QuotaController::new(client, observed, objects, usage).run().await;
                });
            }
        }
    }

    /// Returns the client of a controller.
    fn client(&self, account: &str) -> Client {
        Client::for_account(self.setup.handler.clone(), self.setup.auditor.clone(), account)
    }
}

// === impl Session ===

impl Session {
    /// Adds a controller that observes objects.
    fn add<F>(
        &mut self,
        observer: Arc<impl Observer>,
        start: impl FnOnce(Arc<AllObjects>) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.observers.push(observer);
        self.starts.push(Box::new(|objects| Box::pin(start(objects))));
    }
}
