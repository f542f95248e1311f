//! Tasks that run after the start, in parallel with serving: once or periodically.
//!
//! Kubernetes concept: post-start hooks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use registry_core::api::GroupResource;
use registry_core::backoff::{Backoff, jittered_period};
use registry_core::notice::Notice;
use registry_core::registry::{InformerTask, InstalledApi, Synced};
use resources::bootstrap::{EndpointsOwner, PublishedAuthentication, ServerFacts, post_start_hooks};
use resources::post_start::PostStartHook;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::health::{Check, Completion};
use crate::options::{EndpointReconciler, Options, PeerAddress, ServingOptions};
use crate::storage::Engine;

use super::flow_schemas::FlowSchemaInformer;
use super::server_leases::StoredServerLeases;

/// The times before retries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));

/// Time to withdraw what must not outlive the server, so that a store that is gone does not hold up its end.
const WITHDRAWAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The hook that registers the served group versions. Kubernetes has another check that it is completed.
const AUTOREGISTRATION: &str = "kube-apiserver-autoregistration";

/// The post-start hooks of a server, with their dependencies.
pub(super) struct PostStartHooks {
    hooks: Vec<(Box<dyn PostStartHook>, Arc<Completion>)>,
    /// Keeps the priority levels and flow schemas in force as long as the server runs.
    schemas: Option<FlowSchemaInformer>,
    tasks: ServerTasks,
}

/// The tasks that run as long as the server.
#[derive(Default)]
pub(super) struct ServerTasks {
    /// The informers, of which each must have its first list before the server is ready.
    pub(super) informers: Vec<InformerTask>,
    /// Everything else.
    pub(super) background: Vec<BoxFuture<'static, ()>>,
}

/// Ends the tasks of a server that has stopped: those that withdraw something have time for it.
pub(super) async fn end(mut tasks: JoinSet<()>) {
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(WITHDRAWAL_TIMEOUT, ended).await.is_err() {
        tasks.shutdown().await;
    }
}

impl PostStartHooks {
    /// Returns the hooks of what is installed, after those in `attached`, and what runs with them.
    pub(super) fn new(
        installed: &InstalledApi,
        server: &ServerFacts,
        attached: Vec<Box<dyn PostStartHook>>,
        schemas: Option<FlowSchemaInformer>,
        tasks: ServerTasks,
    ) -> Self {
        let hooks = attached.into_iter().chain(post_start_hooks(installed, server));
        Self { hooks: hooks.map(|hook| (hook, Arc::default())).collect(), schemas, tasks }
    }

    /// Adds tasks that run as long as the server.
    pub(super) fn run_beside(&mut self, tasks: Vec<BoxFuture<'static, ()>>) {
        self.tasks.background.extend(tasks);
    }

    /// Returns the hooks by name, as health checks.
    pub(super) fn completions(&self) -> Vec<(String, Arc<dyn Check>)> {
        let mut checks = Vec::new();
        for (hook, done) in &self.hooks {
            let done: Arc<dyn Check> = done.clone();
            checks.push((format!("poststarthook/{}", hook.name()), done.clone()));
            if hook.name() == AUTOREGISTRATION {
                checks.push(("autoregister-completion".to_owned(), done));
            }
        }
        checks
    }

    /// Returns whether each informer has its first list.
    pub(super) fn synced(&self) -> Vec<(GroupResource, Synced)> {
        self.tasks.informers.iter().map(|informer| (informer.resource(), informer.synced())).collect()
    }

    /// Runs the hooks in the background, each until it succeeds or the server stops; those with a period are
    /// repeated after it. All run concurrently, so that their writes share commits.
    /// When the shutdown begins, the hooks end, and withdraw what must not outlive the server.
    pub(super) fn spawn(self, shutdown: &CancellationToken, stopping: &CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (hook, done) in self.hooks {
            let shutdown = shutdown.clone();
            tasks.spawn(async move {
                shutdown.run_until_cancelled(keep_running(&*hook, || done.complete())).await;
                shutdown.cancelled().await;
                match tokio::time::timeout(WITHDRAWAL_TIMEOUT, hook.withdraw()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(failure)) => tracing::warn!(hook = hook.name(), "not withdrawn: {failure}"),
                    Err(_) => tracing::warn!(hook = hook.name(), "not withdrawn in time"),
                }
            });
        }
        let schemas = self.schemas.map(|schemas| schemas.follow().boxed());
        let informers = self.tasks.informers.into_iter().map(|informer| informer.run().boxed());
        for work in informers.chain(schemas).chain(self.tasks.background) {
            let stopping = stopping.clone();
            tasks.spawn(async move {
                stopping.run_until_cancelled(work).await;
            });
        }
        tasks
    }
}

/// Runs a hook until it succeeds, and repeats it after each of its periods, if it has one. Calls `done` when the server need not wait
/// for it any longer.
async fn keep_running(hook: &dyn PostStartHook, done: impl Fn()) {
    loop {
        run(hook, &done).await;
        done();
        let Some(period) = hook.period() else { return };
        tokio::time::sleep(jittered_period(period)).await;
    }
}

/// Runs a hook until it succeeds. Calls `done` after a failure that the server does not wait for.
async fn run(hook: &dyn PostStartHook, done: impl Fn()) {
    let mut backoff = BACKOFF;
    let mut failed = Notice::default();
    while let Err(failure) = hook.run().await {
        if !hook.holds_readiness() {
            done();
        }
        failed.log(|times| {
            tracing::warn!(hook = hook.name(), times, "a hook of the start failed, trying again: {failure}");
        });
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

/// Returns what the server's own objects record about it.
pub(super) fn server_facts(
    options: &Options,
    bound: SocketAddr,
    authentication: PublishedAuthentication,
    engine: &Engine,
    host_name: Option<String>,
) -> ServerFacts {
    let serving = &options.serving;
    let endpoints_owner = match serving.endpoint_reconciler_type {
        EndpointReconciler::MasterCount => EndpointsOwner::Count(serving.apiserver_count.get().into()),
        EndpointReconciler::Lease | EndpointReconciler::None if engine.has_one_server() => {
            EndpointsOwner::Alone
        }
        EndpointReconciler::Lease | EndpointReconciler::None => {
            let prefix = options.storage.key_prefix();
            EndpointsOwner::Leases(Arc::new(StoredServerLeases::new(engine.mvcc(), &prefix)))
        }
    };
    ServerFacts {
        service_ranges: serving.service_cluster_ip_range,
        advertise_address: advertised_address(serving, bound),
        endpoints_owner,
        host_name,
        peer_address: peer_address(options, bound),
        secure_port: bound.port(),
        authentication,
        features: options.feature_gates().enabled(),
        pending_versions: None,
    }
}

/// Returns the address to be published; `None` if there is none, or no endpoints are written.
fn advertised_address(serving: &ServingOptions, bound: SocketAddr) -> Option<IpAddr> {
    if serving.endpoint_reconciler_type == EndpointReconciler::None {
        return None;
    }
    let primary = serving.service_cluster_ip_range.primary();
    let has_family = |address: &IpAddr| address.is_ipv4() == primary.base.is_ipv4();
    let usable = |address: &IpAddr| !address.is_loopback() && !address.is_unspecified();
    // Clients of the Service could not use an address of another family.
    let bound = Some(bound.ip()).filter(usable).filter(has_family);
    let found = serving.advertise_address.or(bound).or_else(|| own_address(primary.base.is_ipv4()));
    found.filter(usable)
}

/// Returns the address at which the other servers of the cluster reach this one; `None` if it is not published.
pub(super) fn peer_address(options: &Options, bound: SocketAddr) -> Option<SocketAddr> {
    options.peers.given()?;
    let given = options.peers.peer_advertise_ip.map(|PeerAddress(ip)| ip);
    let ip = given.or_else(|| advertised_address(&options.serving, bound))?;
    let port = options.peers.peer_advertise_port.map_or(bound.port(), NonZeroU16::get);
    Some(SocketAddr::new(ip, port))
}

/// Returns the name of this machine.
pub(super) fn host_name() -> Option<String> {
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) => Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
        Err(error) => {
            tracing::warn!("the name of this machine is not known, so that the server has no Lease: {error}");
            None
        }
    }
}

/// Returns the address of a family from which this machine reaches others. Nothing is sent: selecting the route is
/// enough.
fn own_address(is_ipv4: bool) -> Option<IpAddr> {
    // Addresses that are not this machine's (reserved for documentation).
    const ELSEWHERE_IPV4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const ELSEWHERE_IPV6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    let (any, elsewhere): (IpAddr, IpAddr) = if is_ipv4 {
        (Ipv4Addr::UNSPECIFIED.into(), ELSEWHERE_IPV4)
    } else {
        (Ipv6Addr::UNSPECIFIED.into(), ELSEWHERE_IPV6)
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((elsewhere, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {

    use async_trait::async_trait;
    use parking_lot::Mutex;
    use registry_core::api::StatusError;
    use tokio::time::Instant;

    use super::*;

    /// Fails twice, then succeeds; records when it ran.
    #[derive(Default)]
    struct Hook(Mutex<Vec<Instant>>);

    #[async_trait]
    impl PostStartHook for Hook {
        fn name(&self) -> &'static str {
            "test"
        }

        fn period(&self) -> Option<Duration> {
            Some(Duration::from_mins(3))
        }

        async fn run(&self) -> Result<(), StatusError> {
            let mut runs = self.0.lock();
            runs.push(Instant::now());
            if runs.len() < 3 { Err(StatusError::internal("not yet")) } else { Ok(()) }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hook_is_retried_until_it_succeeds_and_runs_again_after_its_period() {
        let hook = Hook::default();
        let done = Mutex::new(None);
        let noting = || {
            let mut done = done.lock();
            *done = done.or(Some(Instant::now()));
        };
        let running = keep_running(&hook, noting);
        assert!(tokio::time::timeout(Duration::from_mins(10), running).await.is_err(), "it never ends");
        let runs = hook.0.lock();
        assert_eq!(done.lock().unwrap(), runs[0], "Kubernetes starts a controller without waiting for it");
        assert_eq!(runs.len(), 6, "two failures, a success, and three periods in ten minutes");
        let pauses = runs.windows(2).skip(2).map(|pair| pair[1] - pair[0]);
        assert!(pauses.into_iter().all(|pause| (180..200).contains(&pause.as_secs())));
    }
}
