//! Allocation of addresses and node ports to Services: each belongs to at most one service.
//!
//! An address belongs to the service that its IPAddress object names. What this server keeps in memory, it reads from the
//! stored services, updates with every write, and reads again when another server may have changed it and by every repair.
//!
//! Kubernetes concept: `pkg/registry/core/service/storage/alloc.go`.

mod address_choice;
mod address_objects;
mod allocations;
mod claim;
mod families;
mod informer;
mod node_ports;
mod owner;
mod port_claims;
pub(crate) mod repair;
mod service_cidrs;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::codec::stored;
use registry_core::features::{Feature, Features};
use registry_core::registry::{FinishHook, InstalledApi, Store, StoreHooks};
use registry_core::resource::Resource;
use registry_core::storage::StoredObject;
use resource_views::core::v1::Service;
use serde_json::json;

use super::ranges::{NodePort, NodePortRange, ServiceRanges};
use super::service_type::{has_cluster_ip, is_external_name};
use super::{Services, cluster_ips};
use crate::api::networking::ipaddresses::IPAddresses;
use crate::api::networking::servicecidrs::ServiceCIDRs;
use crate::support::defaulting::is_empty_at;
use crate::support::semantic;
use crate::support::system_writer::SystemWriter;

use address_choice::{AddressChoice, Contended, InUse, Refusal};
use address_objects::AddressObjects;
use allocations::{AllocationSet, Allocations};
use claim::Claim;
use owner::Owner;
use port_claims::PortClaims;
pub use port_claims::SharedStore;
use service_cidrs::CidrRanges;

/// Maximum number of attempts for one service if other servers claim its addresses first, or have released them.
const ATTEMPTS: usize = 24;
/// Number of attempts after which the allocations are read again, because those in memory seem to be old.
const ATTEMPTS_WITH_MEMORY: usize = 4;

/// The ranges that addresses and node ports are allocated from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceAllocation {
    /// The ranges of addresses (`--service-cluster-ip-range`).
    pub addresses: ServiceRanges,
    /// The range of node ports (`--service-node-port-range`).
    pub node_ports: NodePortRange,
}

/// Attaches an allocator for these ranges to the installed services, and returns it; `None` if services are not served.
/// `shared` is the store, if several servers use it.
pub(crate) fn attach(
    installed: &InstalledApi,
    ranges: ServiceAllocation,
    shared: Option<SharedStore>,
    features: Features,
) -> Option<Arc<Allocator>> {
    let store = installed.store(Services::TYPE)?;
    let allocations: Arc<Mutex<Allocations>> = Arc::default();
    // If IPAddresses are not served, no objects are created.
    let objects = SystemWriter::for_resource::<IPAddresses>(installed).map(|system_writer| {
        Arc::new(AddressObjects::new(system_writer, Arc::downgrade(&store), allocations.clone()))
    });
    let allocator = Arc::new(Allocator {
        store: Arc::downgrade(&store),
        ranges,
        service_cidrs: SystemWriter::for_resource::<ServiceCIDRs>(installed)
            .filter(|_| features.contains(Feature::MultiCIDRServiceAllocator)),
        objects,
        port_claims: shared.map(|shared| Arc::new(PortClaims::new(shared, Arc::downgrade(&store)))),
        allocations,
        unused_objects: Mutex::default(),
        refreshing: tokio::sync::Mutex::default(),
    });
    let hooks: Arc<dyn StoreHooks> = Arc::new(Allocation(allocator.clone()));
    store.attach_hooks(&hooks);
    Some(allocator)
}

/// Allocates addresses and node ports to services.
pub(crate) struct Allocator {
    store: Weak<Store>,
    ranges: ServiceAllocation,
    /// The ServiceCIDR objects, which have the ranges of addresses; `None` if they are not served, or have no effect.
    service_cidrs: Option<SystemWriter>,
    /// The IPAddress objects, by which servers on the same store coordinate.
    objects: Option<Arc<AddressObjects>>,
    /// The claims of node ports that other servers see; `None` if there are no others.
    port_claims: Option<Arc<PortClaims>>,
    allocations: Arc<Mutex<Allocations>>,
    /// The address objects that no service had at the last repair, by their uid, and since when this server knows it.
    unused_objects: Mutex<HashMap<String, Instant>>,
    /// Held while the services are listed.
    refreshing: tokio::sync::Mutex<()>,
}

/// The hooks of the services' store.
struct Allocation(Arc<Allocator>);

// === impl Allocator ===

impl Allocator {
    fn allocations(&self) -> MutexGuard<'_, Allocations> {
        self.allocations.lock()
    }

    /// Removes, in the background, the objects of addresses and the claims of ports that a service gave up.
    fn release(&self, uses: &AllocationSet, owner: &Owner) {
        if let Some(objects) = &self.objects {
            objects.release(uses.addresses.iter().copied(), owner);
        }
        if let Some(claims) = &self.port_claims {
            claims.release(uses.node_ports.iter().copied(), owner);
        }
    }

    /// Returns the ranges that addresses are allocated from now.
    async fn cidr_ranges(&self) -> Result<CidrRanges, StatusError> {
        let objects = match &self.service_cidrs {
            Some(service_cidrs) => service_cidrs.list_newest(|object| object).await?,
            None => Vec::new(),
        };
        Ok(CidrRanges::new(&objects, &self.ranges.addresses))
    }

    /// Allocates what a service needs; requested addresses and ports are claimed for it. `old` is the service before an
    /// update.
    async fn allocate(
        self: &Arc<Self>,
        service: &mut Object,
        owner: &Owner,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Claim, Refusal> {
        let errors = families::set(service, old, &self.ranges.addresses);
        if !errors.is_empty() {
            return Err(StatusError::invalid(Services::TYPE.kind, service.name(), &errors).into());
        }
        let mut claim = Claim::new(self.clone(), owner.clone());
        let places = places_to_fill(service, old);
        let ranges = if places.is_empty() { None } else { Some(self.cidr_ranges().await?) };
        let mut allocations = self.allocations();
        if let Some(ranges) = ranges {
            let objects = self.objects.as_deref();
            let uses = &mut claim.uses;
            let mut choice =
                AddressChoice { ranges: &ranges, objects, allocations: &mut allocations, uses, dry_run };
            choice.fill(service, places)?;
        }
        let range = self.ranges.node_ports;
        let mut claims = node_ports::Claims {
            allocations: &mut allocations,
            uses: &mut claim.uses,
            range,
            dry_run,
            contended: None,
        };
        let outcome = node_ports::allocate(service, old, &mut claims);
        let in_use = claims.contended.map(|port| InUse::One(Contended::Port(port)));
        drop(allocations);
        match outcome {
            Ok(()) => Ok(claim),
            Err(failure) => Err(Refusal { failure, in_use }),
        }
    }

    /// Allocates, and creates the address objects: if another server created one, this server did not know of that
    /// allocation. Before a service is refused because something is in use, it is checked that it still is.
    async fn allocate_objects(
        self: &Arc<Self>,
        service: &mut Object,
        owner: &Owner,
        old: Option<&Object>,
    ) -> Result<Claim, StatusError> {
        let asked = service.clone();
        for attempt in 1..=ATTEMPTS {
            if attempt == ATTEMPTS_WITH_MEMORY {
                self.relearn().await?;
            }
            let claim = match self.allocate(service, owner, old, false).await {
                Ok(claim) => claim,
                Err(refusal) => {
                    if !self.was_released(refusal.in_use).await? {
                        return Err(refusal.failure);
                    }
                    service.clone_from(&asked);
                    continue;
                }
            };
            let (claim, contended) = claim.make_objects(&asked).await?;
            match contended {
                None => return Ok(claim),
                Some(Contended::Address(address)) => {
                    self.allocations().add_foreign(address);
                    if has_address(&asked, address) {
                        return Err(Refusal::already_allocated(service, address).failure);
                    }
                }
                // The next attempt chooses another one, or refuses the service that asks for this one.
                Some(Contended::Port(port)) => self.allocations().add_foreign_port(port),
            }
            service.clone_from(&asked);
        }
        Err(StatusError::internal("failed to allocate IP: other servers take each one first"))
    }

    /// Whether something that is in use according to this server's memory is not any more. Corrects the memory.
    async fn was_released(&self, in_use: Option<InUse>) -> Result<bool, StatusError> {
        match in_use {
            None => Ok(false),
            Some(InUse::One(Contended::Address(address))) => self.is_address_free(address).await,
            Some(InUse::One(Contended::Port(port))) => self.is_port_free(port).await,
            Some(InUse::All) => self.relearn().await,
        }
    }

    async fn is_address_free(&self, address: IpAddr) -> Result<bool, StatusError> {
        let Some(objects) = self.objects.as_ref().filter(|_| self.allocations().is_stored(address)) else {
            return Ok(false);
        };
        let is_free = objects.system_writer.get_newest("", &address.to_string()).await?.is_none();
        if is_free {
            self.allocations().address_removed(address);
        }
        Ok(is_free)
    }

    async fn is_port_free(&self, port: NodePort) -> Result<bool, StatusError> {
        let owner = self.allocations().port_owner(port);
        let Some(owner) = owner else { return self.is_foreign_port_free(port).await };
        let Some(store) = self.store.upgrade() else { return Ok(false) };
        let service = SystemWriter::new(store).get_newest(&owner.namespace, &owner.name).await?;
        let is_free =
            !service.is_some_and(|service| AllocationSet::from_service(&service).node_ports.contains(&port));
        if is_free {
            self.allocations()
                .removed(&AllocationSet { node_ports: [port].into(), ..AllocationSet::default() }, &owner);
        }
        Ok(is_free)
    }

    /// Whether a port that another server had claimed is not claimed any more.
    async fn is_foreign_port_free(&self, port: NodePort) -> Result<bool, StatusError> {
        let Some(claims) = self.port_claims.as_ref().filter(|_| self.allocations().is_foreign_port(port))
        else {
            return Ok(false);
        };
        let is_free = claims.is_free(port).await?;
        if is_free {
            self.allocations().forget_foreign_port(port);
        }
        Ok(is_free)
    }

    /// Creates, in the background, the objects of addresses that a service has had for long, if they are missing: it was
    /// stored before there were such objects.
    fn adopt(self: &Arc<Self>, addresses: Vec<IpAddr>, owner: Owner) {
        let Some(objects) = self.objects.clone() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let allocator = self.clone();
        runtime.spawn(async move {
            let adopted = async {
                let ranges = allocator.cidr_ranges().await?;
                for address in addresses.into_iter().filter(|address| ranges.contains(*address)) {
                    objects.ensure_if_used(address, &owner).await?;
                }
                Ok::<(), StatusError>(())
            };
            if let Err(failure) = adopted.await {
                tracing::warn!("cannot create the IPAddress object of a service, the repair will: {failure}");
            }
        });
    }
}

/// Returns the places of the families for which a service needs another address.
fn places_to_fill(service: &Object, old: Option<&Object>) -> Range<usize> {
    const NONE: Range<usize> = 0..0;
    let is_headless = |service: &Object| cluster_ips::is_headless(&Service(service).spec());
    let count = |service: &Object| Service(service).spec().ip_families().len();
    if !has_cluster_ip(service) || is_headless(service) {
        return NONE;
    }
    match old {
        None => 0..count(service),
        Some(old) if families::prefers_both_still(service, old) => NONE,
        Some(old) if is_external_name(old) => 0..count(service),
        Some(old) if is_headless(old) => NONE,
        Some(old) if count(old) == 1 && count(service) == 2 => 1..2,
        Some(_) => NONE,
    }
}

/// Whether a service asks for an address.
fn has_address(service: &Object, address: IpAddr) -> bool {
    AllocationSet::from_service(service).addresses.contains(&address)
}

/// Copies the older field to the newer, plural one.
fn mirror_address(service: &mut Object) {
    let ip = Service(service).spec().cluster_ip().text().to_owned();
    if is_empty_at(service, &["spec", "clusterIPs"]) && !ip.is_empty() {
        service.set(&["spec", "clusterIPs"], json!([ip]));
    }
}

/// Keeps the allocated values that an update leaves out, and makes the older and the newer field for addresses agree.
fn keep_allocated(new: &mut Object, old: &Object) {
    const ONE: [&str; 2] = ["spec", "clusterIP"];
    const ALL: [&str; 2] = ["spec", "clusterIPs"];
    if !is_external_name(old) && !is_external_name(new) {
        for path in [ONE, ALL] {
            if is_empty_at(new, &path) && !is_empty_at(old, &path) {
                new.copy_field(old, &path);
            }
        }
    }
    node_ports::keep(new, old);
    let text = |object: &Object| Service(object).spec().cluster_ip().text().to_owned();
    let (before, now) = (text(old), text(new));
    let are_same = |new: &Object| semantic::equal(new.get(&ALL), old.get(&ALL));
    if before == now {
        if is_empty_at(new, &ALL) && !is_empty_at(old, &ALL) {
            new.copy_field(old, &ALL);
        }
    } else if are_same(new) {
        // Only the older field changed: the newer one follows.
        if now.is_empty() {
            new.remove(&ALL);
        } else {
            new.set(&ALL, json!([now]));
        }
    }
}

#[async_trait]
impl StoreHooks for Allocation {
    async fn begin_create(
        &self,
        context: &RequestContext,
        object: &mut Object,
        dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.0.learn().await?;
        mirror_address(object);
        let owner = Owner { namespace: context.namespace.clone(), name: object.name().to_owned() };
        if dry_run {
            self.0.allocate(object, &owner, None, true).await.map_err(|refusal| refusal.failure)?;
            return Ok(None);
        }
        let claim = self.0.allocate_objects(object, &owner, None).await?;
        Ok(Some(Box::new(claim)))
    }

    async fn begin_update(
        &self,
        _context: &RequestContext,
        new: &mut Object,
        old: &Object,
        _is_status: bool,
        dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.0.learn().await?;
        keep_allocated(new, old);
        let owner = Owner::from_service(old);
        if dry_run {
            self.0.allocate(new, &owner, Some(old), true).await.map_err(|refusal| refusal.failure)?;
            return Ok(None);
        }
        let claim = self.0.allocate_objects(new, &owner, Some(old)).await?;
        let kept = AllocationSet::after_change(new);
        let given_up = AllocationSet::from_service(old).without(&kept);
        Ok(Some(Box::new(claim.giving_up(given_up).keeping(&kept))))
    }

    async fn after_delete(&self, object: &StoredObject) {
        let Ok(service) = stored::decode(object.json()) else { return };
        let uses = AllocationSet::from_service(&service);
        let owner = Owner::from_service(&service);
        self.0.release(&uses, &owner);
        self.0.allocations().removed(&uses, &owner);
    }
}
