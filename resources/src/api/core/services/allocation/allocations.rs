//! Cluster IPs and node ports in use, in memory.
//!
//! Kubernetes concept: the bitmaps of `pkg/registry/core/service/allocator`.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use registry_core::api::Object;
use resource_views::Typed as _;
use resource_views::core::v1::{Service, ServicePort};
use serde_json::Value;
use tokio::time::Instant;

use super::owner::Owner;
use crate::api::core::services::ranges::{NodePort, NodePortRange, ServiceRange};
use crate::api::core::services::service_type::{has_cluster_ip, has_node_ports, needs_health_check};

/// The addresses and node ports of one service, or of many.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AllocationSet {
    pub(super) addresses: HashSet<IpAddr>,
    pub(super) node_ports: HashSet<NodePort>,
}

/// Allocations in use.
#[derive(Default)]
pub(super) struct Allocations {
    /// The time at which the stored services were read; `None` before the first time.
    read_at: Option<Instant>,
    /// The allocations of stored services.
    stored: AllocationSet,
    /// The services that have the stored node ports. Two servers can give one port to two services in the same moment, and the
    /// port is in use until the last of them is gone.
    port_owners: HashMap<NodePort, HashSet<Owner>>,
    /// The claims of pending writes.
    claimed: AllocationSet,
    /// Addresses whose IPAddress objects do not belong to a known service.
    foreign: HashSet<IpAddr>,
    /// Node ports that another server had claimed for a service that is not known.
    foreign_ports: HashSet<NodePort>,
    /// Changes of `stored` since the start of a list of the services; `None` when there is none.
    journal: Option<Vec<Change>>,
}

/// A committed change of what stored services use.
enum Change {
    Added(AllocationSet, Owner),
    Removed(AllocationSet, Owner),
    AddressRemoved(IpAddr),
}

// === impl AllocationSet ===

impl AllocationSet {
    /// Returns what a service uses.
    pub(super) fn from_service(service: &Object) -> Self {
        let ips =
            Service(service).spec().cluster_ips().value().and_then(Value::as_array).into_iter().flatten();
        let ports = Service(service).spec().ports().value().and_then(Value::as_array).into_iter().flatten();
        Self {
            addresses: ips.filter_map(|ip| ip.as_str()?.parse().ok()).collect(),
            node_ports: ports.filter_map(node_port).chain(health_check_port(service)).collect(),
        }
    }

    /// Returns what a service uses after a change of its type, which drops what the new type does not have.
    pub(super) fn after_change(service: &Object) -> Self {
        let mut uses = Self::from_service(service);
        if !has_cluster_ip(service) {
            uses.addresses.clear();
        }
        if !has_node_ports(service) {
            uses.node_ports.clear();
        } else if !needs_health_check(service)
            && let Some(port) = health_check_port(service)
        {
            uses.node_ports.remove(&port);
        }
        uses
    }

    /// Returns the elements that are not in `other`.
    pub(super) fn without(&self, other: &Self) -> Self {
        Self {
            addresses: self.addresses.difference(&other.addresses).copied().collect(),
            node_ports: self.node_ports.difference(&other.node_ports).copied().collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.node_ports.is_empty()
    }

    fn add(&mut self, other: &Self) {
        self.addresses.extend(&other.addresses);
        self.node_ports.extend(&other.node_ports);
    }

    fn remove(&mut self, other: &Self) {
        for address in &other.addresses {
            self.addresses.remove(address);
        }
        for port in &other.node_ports {
            self.node_ports.remove(port);
        }
    }
}

/// Returns the node port of a service's port.
pub(super) fn node_port(port: &Value) -> Option<NodePort> {
    ServicePort::from_value(port).node_port().integer().filter(|number| *number != 0)
}

/// Returns the port for health checks of a service.
pub(super) fn health_check_port(service: &Object) -> Option<NodePort> {
    Service(service).spec().health_check_node_port().integer().filter(|number| *number != 0)
}

// === impl Allocations ===

impl Allocations {
    /// Whether the stored services have been read.
    pub(super) fn is_known(&self) -> bool {
        self.read_at.is_some()
    }

    /// Returns the time since the stored services were read; `None` before the first time.
    pub(super) fn age(&self) -> Option<Duration> {
        self.read_at.map(|read_at| read_at.elapsed())
    }

    /// Claims an address for a write; `false` if it is in use. Creating the object shows whether a foreign address
    /// still is one.
    pub(super) fn claim_address(&mut self, address: IpAddr) -> bool {
        !self.stored.addresses.contains(&address) && self.claimed.addresses.insert(address)
    }

    /// Claims a node port for a write; `false` if it is in use.
    pub(super) fn claim_node_port(&mut self, port: NodePort) -> bool {
        let is_in_use = self.stored.node_ports.contains(&port) || self.foreign_ports.contains(&port);
        !is_in_use && self.claimed.node_ports.insert(port)
    }

    /// Releases the claims of a write.
    pub(super) fn give_back(&mut self, claimed: &AllocationSet) {
        self.claimed.remove(claimed);
    }

    /// Records a committed write: its claims are stored, and what it gave up is no longer in use.
    pub(super) fn commit(&mut self, claimed: &AllocationSet, given_up: &AllocationSet, owner: &Owner) {
        self.claimed.remove(claimed);
        self.removed(given_up, owner);
        self.added(claimed, owner);
    }

    /// Records what a stored service uses.
    pub(super) fn added(&mut self, uses: &AllocationSet, owner: &Owner) {
        self.store(uses, owner);
        if let Some(journal) = &mut self.journal {
            journal.push(Change::Added(uses.clone(), owner.clone()));
        }
    }

    fn store(&mut self, uses: &AllocationSet, owner: &Owner) {
        self.stored.add(uses);
        for port in &uses.node_ports {
            self.foreign_ports.remove(port);
            self.port_owners.entry(*port).or_default().insert(owner.clone());
        }
    }

    /// Records what a stored service does not use any more.
    pub(super) fn removed(&mut self, uses: &AllocationSet, owner: &Owner) {
        self.forget(uses, owner);
        if let Some(journal) = &mut self.journal {
            journal.push(Change::Removed(uses.clone(), owner.clone()));
        }
    }

    /// Records that no stored service has an address any more.
    pub(super) fn address_removed(&mut self, address: IpAddr) {
        self.stored.addresses.remove(&address);
        if let Some(journal) = &mut self.journal {
            journal.push(Change::AddressRemoved(address));
        }
    }

    fn forget(&mut self, uses: &AllocationSet, owner: &Owner) {
        let mut released = uses.clone();
        released.node_ports.retain(|port| {
            let Some(owners) = self.port_owners.get_mut(port) else { return true };
            owners.remove(owner);
            let is_last = owners.is_empty();
            if is_last {
                self.port_owners.remove(port);
            }
            is_last
        });
        self.stored.remove(&released);
    }

    /// Records what a stored service uses that another server may have written. This server has not seen the objects of its
    /// addresses.
    pub(super) fn seen(&mut self, uses: &AllocationSet, owner: &Owner) {
        let node_ports = AllocationSet { node_ports: uses.node_ports.clone(), ..AllocationSet::default() };
        self.added(&node_ports, owner);
        let is_own = |address: &IpAddr| self.is_stored(*address) || self.is_claimed(*address);
        let others: Vec<IpAddr> = uses.addresses.iter().copied().filter(|address| !is_own(address)).collect();
        self.foreign.extend(others);
    }

    /// Records that a service is gone, which may have happened before another one took over what it used.
    pub(super) fn gone(&mut self, uses: &AllocationSet, owner: &Owner) {
        let mut released = uses.clone();
        let has_port =
            |port: &NodePort| self.port_owners.get(port).is_some_and(|owners| owners.contains(owner));
        released.node_ports.retain(has_port);
        self.foreign.retain(|address| !released.addresses.contains(address));
        self.removed(&released, owner);
    }

    /// Records that an IPAddress object of that name does not belong to a known service.
    pub(super) fn add_foreign(&mut self, address: IpAddr) {
        self.foreign.insert(address);
    }

    /// Records that another server has claimed a node port.
    pub(super) fn add_foreign_port(&mut self, port: NodePort) {
        if !self.stored.node_ports.contains(&port) {
            self.foreign_ports.insert(port);
        }
    }

    /// Whether another server had claimed a node port, and its service is not known.
    pub(super) fn is_foreign_port(&self, port: NodePort) -> bool {
        self.foreign_ports.contains(&port)
    }

    /// Records that no other server claims a node port any more.
    pub(super) fn forget_foreign_port(&mut self, port: NodePort) {
        self.foreign_ports.remove(&port);
    }

    /// Starts recording changes, before the services are listed.
    pub(super) fn begin_refresh(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Stops recording without a list.
    pub(super) fn abandon_refresh(&mut self) {
        self.journal = None;
    }

    /// Replaces the allocations by the listed ones and the changes since the list was started.
    pub(super) fn finish_refresh<'s>(
        &mut self,
        listed: impl Iterator<Item = (&'s AllocationSet, &'s Owner)>,
        mut foreign: HashSet<IpAddr>,
    ) {
        self.stored = AllocationSet::default();
        self.port_owners.clear();
        self.foreign_ports.clear();
        for (uses, owner) in listed {
            self.store(uses, owner);
        }
        for change in self.journal.take().unwrap_or_default() {
            match change {
                Change::Added(uses, owner) => self.store(&uses, &owner),
                Change::Removed(uses, owner) => self.forget(&uses, &owner),
                Change::AddressRemoved(address) => {
                    self.stored.addresses.remove(&address);
                }
            }
        }
        foreign.retain(|address| !self.stored.addresses.contains(address));
        self.foreign = foreign;
        self.read_at = Some(Instant::now());
    }

    /// Whether a stored service is known to have the address.
    pub(super) fn is_stored(&self, address: IpAddr) -> bool {
        self.stored.addresses.contains(&address)
    }

    /// Returns a stored service that has a node port; `None` if a pending write has claimed it.
    pub(super) fn port_owner(&self, port: NodePort) -> Option<Owner> {
        let owners = self.port_owners.get(&port).filter(|_| self.stored.node_ports.contains(&port))?;
        owners.iter().next().cloned()
    }

    /// Whether a pending write has claimed this address.
    pub(super) fn is_claimed(&self, address: IpAddr) -> bool {
        self.claimed.addresses.contains(&address)
    }

    /// Returns a free address, preferably one for which `is_avoided` is false.
    pub(super) fn free_address(
        &self,
        range: ServiceRange,
        is_avoided: impl Fn(IpAddr) -> bool,
    ) -> Option<IpAddr> {
        let mut avoided = None;
        for address in range.candidates(random()).filter(|address| !self.has_address(*address)) {
            if !is_avoided(address) {
                return Some(address);
            }
            avoided = avoided.or(Some(address));
        }
        avoided
    }

    /// Returns a free node port.
    pub(super) fn free_node_port(&self, range: NodePortRange) -> Option<NodePort> {
        let is_taken = |number: &NodePort| {
            let known = [&self.stored.node_ports, &self.claimed.node_ports, &self.foreign_ports];
            known.iter().any(|ports| ports.contains(number))
        };
        range.candidates(random()).find(|number| !is_taken(number))
    }

    fn has_address(&self, address: IpAddr) -> bool {
        let known = [&self.stored.addresses, &self.claimed.addresses, &self.foreign];
        known.iter().any(|addresses| addresses.contains(&address))
    }
}

fn random() -> u64 {
    let (_, random) = uuid::Uuid::new_v4().as_u64_pair();
    random
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_two_services_is_in_use_until_both_are_gone() {
        let owner = |name: &str| Owner { namespace: "default".to_owned(), name: name.to_owned() };
        let port = AllocationSet { node_ports: [30_005].into(), ..AllocationSet::default() };
        let mut allocations = Allocations::default();
        allocations.added(&port, &owner("a"));
        allocations.seen(&port, &owner("b"));
        allocations.removed(&port, &owner("a"));
        assert!(!allocations.claim_node_port(30_005));
        assert_eq!(allocations.port_owner(30_005), Some(owner("b")));
        // The watch shows the removal as well.
        allocations.gone(&port, &owner("a"));
        assert!(!allocations.claim_node_port(30_005));
        allocations.gone(&port, &owner("b"));
        assert!(allocations.claim_node_port(30_005));
    }
}
