//! What every server has from its first moment: system namespaces, the default roles, priority levels and classes,
//! API services, and the Service of the server itself.
//!
//! Each [`PostStartHook`] makes what is missing, mends what this server is to keep, and leaves alone what an
//! operator has made their own. All read the present state from the caches, so that a restart writes nothing. Those
//! that have a period run again after it: what was deleted meanwhile is made anew.
//!
//! | module | what lives there |
//! |---|---|
//! | `wanted` | the generated objects |
//! | `simple` | namespaces and priority classes: only made |
//! | `roles` | RBAC: what is missing of rules and subjects is added |
//! | `flow_control` | priority levels and flow schemas |
//! | `dangling` | whether the level of a flow schema exists |
//! | `api_services` | one per served version |
//! | `own_service` | the `kubernetes` Service, its endpoints, and the range it is from |
//! | `client_authorities` | by which extension servers know the clients of this one |
//! | `token_tracking` | since when the use of tokens in Secrets is noted |
//!
//! Kubernetes concept: post-start hooks; `bootstrappolicy`, `controlplane.Controller`, APF's bootstrap.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::StatusError;
use registry_core::registry::InstalledApi;

use crate::core::services::ServiceRange;

mod api_services;
mod client_authorities;
mod dangling;
mod flow_control;
mod own_service;
mod roles;
mod simple;
#[cfg(test)]
mod tests;
mod token_tracking;
mod wanted;

pub use dangling::DanglingStatus;

/// Something that has to be done once after the start.
#[async_trait]
pub trait PostStartHook: Send + Sync + 'static {
    /// Its name, as Kubernetes' health checks have it after `poststarthook/`.
    fn name(&self) -> &'static str;

    /// Time between the end of one run and the begin of the next; `None`: once it has succeeded it is not run again.
    fn period(&self) -> Option<Duration> {
        None
    }

    /// Does it. May be called again after a failure; what is done already stays done.
    ///
    /// # Errors
    /// The store failed, or somebody else changed the same objects. Retryable.
    async fn run(&self) -> Result<(), StatusError>;
}

/// What the objects say of the server that makes them.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// Where services have their addresses from; the first one is the server's own.
    pub service_range: ServiceRange,
    /// Where pods reach the server; `None` when this machine has no address but loopback ones.
    pub advertise_address: Option<IpAddr>,
    /// The port it serves on.
    pub secure_port: u16,
    /// The certificate authorities (PEM) whose client certificates it believes.
    pub client_ca_pem: String,
}

/// Time between two looks at objects that Kubernetes keeps by controllers of its own.
const CONTROLLER_PERIOD: Duration = Duration::from_mins(1);
/// Time between two looks at the service of the server itself, and at the range it is from.
const OWN_SERVICE_PERIOD: Duration = Duration::from_secs(10);

/// The hooks for what is installed. Objects of kinds that are not served are not made.
pub fn post_start_hooks(installed: &InstalledApi, server: &ServerFacts) -> Vec<Box<dyn PostStartHook>> {
    let mut hooks: Vec<Box<dyn PostStartHook>> = Vec::new();
    hooks.extend(simple::namespaces(installed).map(boxed));
    hooks.extend(roles::Roles::new(installed).map(boxed));
    hooks.extend(simple::priority_classes(installed).map(boxed));
    hooks.extend(flow_control::FlowControl::new(installed).map(boxed));
    hooks.extend(own_service::DefaultRange::new(installed, server).map(boxed));
    hooks.extend(own_service::OwnService::new(installed, server).map(boxed));
    hooks.extend(client_authorities::ClientAuthorities::new(installed, server).map(boxed));
    hooks.extend(token_tracking::TokenTracking::new(installed).map(boxed));
    hooks.extend(api_services::ApiServices::new(installed).map(boxed));
    hooks
}

fn boxed(hook: impl PostStartHook) -> Box<dyn PostStartHook> {
    Box::new(hook)
}
