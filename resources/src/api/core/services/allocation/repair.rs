//! Repair of the allocations in memory and of the IPAddress objects, according to the stored services: at the start,
//! and periodically.
//!
//! Kubernetes concept: `pkg/registry/core/service/{ipallocator,portallocator}/controller`.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use registry_core::api::{Object, StatusError};
use resource_views::core::v1::Service;

use super::Allocator;
use super::address_objects::{AddressObjects, has_labels, is_managed, object_of};
use super::allocations::AllocationSet;
use super::owner::Owner;
use crate::post_start::PostStartHook;
use crate::support::system_writer::SystemWriter;

/// Interval between two repairs.
const PERIOD: Duration = Duration::from_mins(3);
/// Minimum age of the allocations in memory before they are read again for a request.
const SHORTEST_AGE: Duration = Duration::from_secs(1);
/// Time for which a server has to know an address object without its service before it removes it: the service may be about to be
/// created. What the object says about its age is not asked, because the clock of another server may be wrong.
const GRACE: Duration = Duration::from_mins(1);
/// The same for an address object that its service does not use: it may belong to an attempt to recreate the service.
const RECREATION_GRACE: Duration = Duration::from_secs(5);

/// The repair of the allocations of services.
pub(crate) struct AllocationRepair(pub(crate) Arc<Allocator>);

/// The parts of a service that the repair uses.
struct Known {
    owner: Owner,
    uses: AllocationSet,
    is_external_name: bool,
}

/// The parts of an IPAddress object that the repair uses.
struct KnownAddress {
    address: IpAddr,
    name: String,
    uid: String,
    /// The service it refers to; `None` if it refers to something else.
    owner: Option<Owner>,
    /// Whether an allocator made it.
    is_managed: bool,
    has_labels: bool,
}

/// The objects that are listed for a repair.
struct Listed {
    services: Vec<Known>,
    addresses: Vec<KnownAddress>,
}

/// The listed services by namespace and name.
type ByOwner<'a> = HashMap<&'a Owner, &'a Known>;

/// Stops the recording of changes if the list fails.
struct Refresh<'a>(&'a Allocator);

// === impl Allocator ===

impl Allocator {
    /// Reads the allocations for the first time.
    pub(super) async fn learn(&self) -> Result<(), StatusError> {
        if self.allocations().is_known() {
            return Ok(());
        }
        let _one_at_a_time = self.refreshing.lock().await;
        if self.allocations().is_known() {
            return Ok(());
        }
        self.refresh().await.map(drop)
    }

    /// Reads the allocations again, because other servers may have changed them; `false` if that was done just now.
    pub(super) async fn relearn(&self) -> Result<bool, StatusError> {
        let _one_at_a_time = self.refreshing.lock().await;
        if self.allocations().age().is_some_and(|age| age < SHORTEST_AGE) {
            return Ok(false);
        }
        self.refresh().await.map(|_| true)
    }

    /// Reads the allocations, and repairs the objects.
    async fn repair(&self) -> Result<(), StatusError> {
        let _one_at_a_time = self.refreshing.lock().await;
        let listed = self.refresh().await?;
        let Some(objects) = &self.objects else { return Ok(()) };
        let ranges = self.cidr_ranges().await?;
        let by_address: HashMap<IpAddr, &KnownAddress> =
            listed.addresses.iter().map(|known| (known.address, known)).collect();
        let by_owner: ByOwner<'_> = listed.services.iter().map(|service| (&service.owner, service)).collect();
        for service in &listed.services {
            for address in service.uses.addresses.iter().filter(|address| ranges.contains(**address)) {
                let present = by_address.get(address).copied();
                repair_service(objects, *address, service, present, &by_owner).await?;
            }
        }
        for known in self.leaked(&listed.addresses, &by_owner) {
            tracing::warn!(address = %known.address, "removing an IPAddress that no service has");
            objects.system_writer.remove_exactly(&known.name, &known.uid).await?;
        }
        Ok(())
    }

    /// Returns the objects that this server has known for long enough as objects of no service, and notes the others.
    fn leaked<'a>(&self, addresses: &'a [KnownAddress], services: &ByOwner<'_>) -> Vec<&'a KnownAddress> {
        let mut unused = HashMap::new();
        let mut leaked = Vec::new();
        let before = std::mem::take(&mut *self.unused_objects.lock());
        for known in addresses.iter().filter(|known| !self.is_in_progress(known.address)) {
            let service = known.owner.as_ref().and_then(|owner| services.get(owner).copied());
            let Some(grace) = known.unused_grace(service) else { continue };
            let since = before.get(&known.uid).copied().unwrap_or_else(Instant::now);
            if since.elapsed() >= grace {
                leaked.push(known);
            }
            unused.insert(known.uid.clone(), since);
        }
        *self.unused_objects.lock() = unused;
        leaked
    }

    /// Lists objects and services, and replaces the allocations by them. The lock is held.
    async fn refresh(&self) -> Result<Listed, StatusError> {
        let Some(store) = self.store.upgrade() else {
            return Ok(Listed { services: Vec::new(), addresses: Vec::new() });
        };
        self.allocations().begin_refresh();
        let refresh = Refresh(self);
        // The objects are listed first: the later list then has the service of each committed one.
        let addresses = match &self.objects {
            Some(objects) => {
                objects.system_writer.list_newest(|object| KnownAddress::from_object(&object)).await?
            }
            None => Vec::new(),
        };
        let addresses: Vec<KnownAddress> = addresses.into_iter().flatten().collect();
        let services = SystemWriter::new(store).list_newest(|service| Known::from_service(&service)).await?;
        let used: HashSet<IpAddr> =
            services.iter().flat_map(|service| &service.uses.addresses).copied().collect();
        let others = addresses.iter().map(|known| known.address);
        let foreign: HashSet<IpAddr> =
            others.filter(|address| !used.contains(address) && !self.is_in_progress(*address)).collect();
        let listed = services.iter().map(|service| (&service.uses, &service.owner));
        self.allocations().finish_refresh(listed, foreign);
        drop(refresh);
        Ok(Listed { services, addresses })
    }

    /// Whether this server is creating or removing the object of an address.
    fn is_in_progress(&self, address: IpAddr) -> bool {
        let is_being_removed = self.objects.as_ref().is_some_and(|objects| objects.is_being_removed(address));
        is_being_removed || self.allocations().is_claimed(address)
    }
}

/// Ensures that the address of a service has an object.
async fn repair_service(
    objects: &AddressObjects,
    address: IpAddr,
    service: &Known,
    present: Option<&KnownAddress>,
    services: &ByOwner<'_>,
) -> Result<(), StatusError> {
    let wanted = object_of(address, &service.owner);
    let Some(present) = present else {
        return objects.system_writer.create(wanted).await;
    };
    let is_own = present.owner.as_ref() == Some(&service.owner);
    if is_own && present.has_labels {
        return Ok(());
    }
    let other = present.owner.as_ref().filter(|_| !is_own).and_then(|owner| services.get(owner));
    if other.is_some_and(|other| other.uses.addresses.contains(&address)) {
        let Owner { namespace, name } = &service.owner;
        tracing::warn!(%address, namespace, name, "two services have this cluster IP: please recreate this one");
        return Ok(());
    }
    objects.system_writer.remove_exactly(&present.name, &present.uid).await?;
    objects.system_writer.create(wanted).await
}

// === impl KnownAddress ===

impl KnownAddress {
    fn from_object(object: &Object) -> Option<Self> {
        let address = object.name().parse().ok()?;
        Some(Self {
            address,
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            owner: Owner::from_address_object(object),
            is_managed: is_managed(object),
            has_labels: has_labels(object, address),
        })
    }

    /// Returns the time for which it stays, if an allocator created it and the service does not have the address.
    fn unused_grace(&self, service: Option<&Known>) -> Option<Duration> {
        let grace = match (&self.owner, service) {
            (None, _) => Duration::ZERO,
            (_, None) => GRACE,
            (_, Some(service)) if service.uses.addresses.contains(&self.address) => return None,
            (_, Some(service)) if service.is_external_name => GRACE,
            (_, Some(_)) => RECREATION_GRACE,
        };
        self.is_managed.then_some(grace)
    }
}

// === impl Known ===

impl Known {
    fn from_service(service: &Object) -> Self {
        Self {
            owner: Owner::from_service(service),
            uses: AllocationSet::from_service(service),
            is_external_name: Service(service).spec().r#type().optional_text() == Some("ExternalName"),
        }
    }
}

impl Drop for Refresh<'_> {
    fn drop(&mut self) {
        self.0.allocations().abandon_refresh();
    }
}

#[async_trait]
impl PostStartHook for AllocationRepair {
    fn name(&self) -> &'static str {
        "start-service-ip-repair-controllers"
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn holds_readiness(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StatusError> {
        self.0.repair().await
    }
}
