//! Bootstrap objects of every server: system namespaces, the default roles, priority levels and classes, API services,
//! and the Service of the server itself.
//!
//! Each [`PostStartHook`] creates missing objects, restores those that the server manages, and leaves those alone that an
//! operator has taken over. All hooks read the present state from the caches, so that a restart writes nothing. Hooks with a
//! period run again after it and restore deleted objects.
//!
//! | module | contents |
//! |---|---|
//! | `simple` | namespaces and priority classes, which are only created |
//! | `roles` | RBAC: missing rules and subjects are added |
//! | `gated` | RBAC: what exists only with a feature |
//! | `withheld` | RBAC: what is missing without a feature of the newest release |
//! | `flow_control` | priority levels and flow schemas |
//! | `dangling` | whether the level of a flow schema exists |
//! | `api_services` | one per served version |
//! | `default_range` | the address ranges of services |
//! | `own_service` | the `kubernetes` Service |
//! | `own_endpoints` | its endpoints: the servers that run |
//! | `identity` | the Lease of the server, and the collection of expired ones |
//! | `storage_versions` | how the server stores each resource, and the resources that wait for that |
//! | `client_authorities` | the ConfigMap by which extension servers verify the clients of this one |
//! | `token_tracking` | the time since which the use of tokens in Secrets is tracked |
//!
//! Kubernetes concept: post-start hooks; `bootstrappolicy`, `controlplane.Controller`, APF's bootstrap.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use registry_core::features::Feature;
use registry_core::registry::InstalledApi;

use crate::api::core::services::ServiceRanges;
use crate::post_start::PostStartHook;

mod api_services;
mod client_authorities;
mod dangling;
mod default_range;
mod flow_control;
mod gated;
mod identity;
mod own_endpoints;
mod own_service;
mod roles;
mod simple;
mod storage_versions;
#[cfg(test)]
mod tests;
mod token_tracking;
mod withheld;

pub use client_authorities::{FrontProxyNames, PublishedAuthentication};
pub use dangling::DanglingStatus;
pub use identity::{IDENTITY_LABEL, IDENTITY_NAMESPACE, server_identity};
pub use own_endpoints::{EndpointsOwner, ServerLeases};
use storage_versions::StorageVersionReports;
pub use storage_versions::{PendingVersion, PendingVersions};

/// The Service that leads to the servers.
const SERVICE_NAME: &str = "kubernetes";
const SERVICE_NAMESPACE: &str = "default";

/// Properties of the server that the objects contain.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// The address ranges of services; the first address of the primary one is the server's own.
    pub service_ranges: ServiceRanges,
    /// The address at which pods reach the server; `None` when this machine only has loopback addresses.
    pub advertise_address: Option<IpAddr>,
    /// The way in which the servers of the cluster agree on the endpoints of the Service `kubernetes`.
    pub endpoints_owner: EndpointsOwner,
    /// The name of the machine; `None` if it is not known.
    pub host_name: Option<String>,
    /// The address at which the other servers of the cluster reach this one; `None` if it is not published.
    pub peer_address: Option<SocketAddr>,
    /// The port that the server listens on.
    pub secure_port: u16,
    /// The settings by which the server authenticates clients.
    pub authentication: PublishedAuthentication,
    /// The features that are enabled.
    pub features: Vec<Feature>,
    /// The resources about which the server has to say how it stores them; `None` if it does not.
    pub pending_versions: Option<Arc<PendingVersions>>,
}

/// Interval between two runs of the hooks that are controllers in Kubernetes.
const CONTROLLER_PERIOD: Duration = Duration::from_mins(1);
/// Interval between two checks of the server's own Service and of its range.
const OWN_SERVICE_PERIOD: Duration = Duration::from_secs(10);

/// Returns the rules of the default ClusterRole of this name on a server with these features; none if there is no such role.
pub fn default_rules(cluster_role: &str, features: &[Feature]) -> Vec<serde_json::Value> {
    let role = gated::cluster_role(cluster_role, features);
    let rules = role.and_then(|mut role| role.remove(&["rules"]));
    rules.and_then(|rules| rules.as_array().cloned()).unwrap_or_default()
}

/// Returns the hooks for the installed resources. Objects of kinds that are not served are not created.
pub fn post_start_hooks(installed: &InstalledApi, server: &ServerFacts) -> Vec<Box<dyn PostStartHook>> {
    let mut hooks: Vec<Box<dyn PostStartHook>> = Vec::new();
    hooks.extend(simple::namespaces(installed).map(boxed));
    hooks.extend(roles::Roles::new(installed, &server.features).map(boxed));
    hooks.extend(simple::priority_classes(installed).map(boxed));
    hooks.extend(flow_control::FlowControl::new(installed).map(boxed));
    if server.features.contains(&Feature::MultiCIDRServiceAllocator) {
        hooks.extend(default_range::DefaultRange::new(installed, server).map(boxed));
    }
    hooks.extend(own_service::OwnService::new(installed, server).map(boxed));
    if let Some(lease) = identity::IdentityLease::new(installed, server) {
        hooks.extend(StorageVersionReports::new(installed, server, lease.written()).map(boxed));
        hooks.push(boxed(lease));
    }
    hooks.extend(identity::IdentityLeaseCollection::new(installed).map(boxed));
    hooks.extend(client_authorities::ClientAuthorities::new(installed, server).map(boxed));
    hooks.extend(token_tracking::TokenTracking::new(installed).map(boxed));
    hooks.extend(api_services::ApiServices::new(installed).map(boxed));
    hooks
}

fn boxed(hook: impl PostStartHook) -> Box<dyn PostStartHook> {
    Box::new(hook)
}
