//! What has to be done once after the start, beside serving.
//!
//! Kubernetes concept: post-start hooks.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use registry_core::registry::InstalledApi;
use resources::bootstrap::{PostStartHook, ServerFacts, post_start_hooks};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fairness::{FlowSchemas, SchemaFeed};
use crate::health::{Check, Completion};
use crate::options::Options;

/// How long to wait before trying again: at first, and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The hooks of a server, with what they work on.
pub(super) struct PostStartHooks {
    hooks: Vec<(Box<dyn PostStartHook>, Arc<Completion>)>,
    /// Follows the flow schemas for as long as the server runs.
    schemas: Option<SchemaFeed>,
}

impl PostStartHooks {
    /// The hooks for what is installed.
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts, schemas: &Arc<FlowSchemas>) -> Self {
        let hooks = post_start_hooks(installed, server);
        Self {
            hooks: hooks.into_iter().map(|hook| (hook, Arc::default())).collect(),
            schemas: SchemaFeed::new(installed, schemas.clone()),
        }
    }

    /// The hooks by name, as health checks.
    pub(super) fn completions(&self) -> Vec<(&'static str, Arc<dyn Check>)> {
        self.hooks.iter().map(|(hook, done)| (hook.name(), done.clone() as Arc<dyn Check>)).collect()
    }

    /// Runs the hooks in the background, each again until it succeeds or the server stops. All at once: their
    /// writes share commits.
    pub(super) fn spawn(self, stopping: &CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (hook, done) in self.hooks {
            let stopping = stopping.clone();
            tasks.spawn(async move {
                if stopping.run_until_cancelled(run(&*hook)).await.is_some() {
                    done.complete();
                }
            });
        }
        if let Some(feed) = self.schemas {
            let stopping = stopping.clone();
            tasks.spawn(async move {
                stopping.run_until_cancelled(feed.follow()).await;
            });
        }
        tasks
    }
}

/// Runs a hook until it succeeds.
async fn run(hook: &dyn PostStartHook) {
    let mut pause = BACKOFF.0;
    while let Err(failure) = hook.run().await {
        tracing::warn!(hook = hook.name(), "not finished yet: {failure}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
}

/// What the server's own objects say of it.
pub(super) fn server_facts(options: &Options, bound: SocketAddr, client_ca_pem: String) -> ServerFacts {
    let serving = &options.serving;
    let usable = |address: &IpAddr| !address.is_loopback() && !address.is_unspecified();
    let given = serving.advertise_address.or(Some(bound.ip()).filter(usable));
    ServerFacts {
        service_range: serving.service_cluster_ip_range,
        advertise_address: given.or_else(own_address).filter(usable),
        secure_port: bound.port(),
        client_ca_pem,
    }
}

/// The address by which this machine would reach others. Nothing is sent: choosing the route is enough.
fn own_address() -> Option<IpAddr> {
    // Any address that is not this machine's (one kept for documentation).
    const ELSEWHERE: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(ELSEWHERE).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
