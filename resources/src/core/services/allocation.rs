//! Allocation of addresses and node ports to Services: each belongs to at most one service.
//!
//! The allocations are read from the stored services, updated with every write of this server, and read again by every
//! repair.
//!
//! Kubernetes concept: `pkg/registry/core/service/storage/alloc.go`.

use std::net::IpAddr;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object, Reason, StatusError};
use registry_core::codec::stored;
use registry_core::registry::{FinishHook, InstalledApi, Store, StoreHooks};
use registry_core::resource::Resource;
use registry_core::storage::StoredObject;
use serde_json::{Value, json};

use super::Services;
use super::addresses::{AddressObjects, Holder};
use super::claim::Claim;
use super::range::ServiceRange;
use super::service_type::{has_cluster_ip, is_external_name};
use super::taken::{Taken, Uses};
use super::{families, node_ports};
use crate::core::address;
use crate::networking::ipaddresses::IPAddresses;
use crate::support::defaulting::is_empty_at;
use crate::support::semantic;
use crate::support::system_writer::SystemWriter;

/// Maximum number of addresses that are tried for one service if other servers claim them first.
const ADDRESS_ATTEMPTS: usize = 16;

/// Attaches an allocator for this range to the installed services, and returns it; `None` if services are not served,
/// or their store has other hooks.
pub(crate) fn attach(installed: &InstalledApi, range: ServiceRange) -> Option<Arc<Allocator>> {
    let store = installed.store(Services::TYPE)?;
    let taken: Arc<Mutex<Taken>> = Arc::default();
    // If IPAddresses are not served, no objects are created.
    let objects = SystemWriter::of::<IPAddresses>(installed).map(|system_writer| {
        Arc::new(AddressObjects::new(system_writer, Arc::downgrade(&store), taken.clone()))
    });
    let allocator = Arc::new(Allocator {
        store: Arc::downgrade(&store),
        range,
        objects,
        taken,
        refreshing: tokio::sync::Mutex::default(),
    });
    let hooks: Arc<dyn StoreHooks> = Arc::new(Allocation(allocator.clone()));
    store.attach_hooks(&hooks);
    Some(allocator)
}

/// Allocates addresses and node ports to services.
pub(crate) struct Allocator {
    pub(super) store: Weak<Store>,
    pub(super) range: ServiceRange,
    /// The IPAddress objects, by which servers on the same store coordinate.
    pub(super) objects: Option<Arc<AddressObjects>>,
    taken: Arc<Mutex<Taken>>,
    /// Held while the services are listed.
    pub(super) refreshing: tokio::sync::Mutex<()>,
}

/// The hooks of the services' store.
struct Allocation(Arc<Allocator>);

// === impl Allocator ===

impl Allocator {
    pub(super) fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }

    /// Removes, in the background, the objects of addresses that a service gave up.
    pub(super) fn release(&self, uses: &Uses, holder: &Holder) {
        if let Some(objects) = &self.objects {
            objects.release(uses.addresses.iter().copied(), holder);
        }
    }

    /// Allocates what a service needs; requested addresses and ports are claimed for it. `old` is the service before an
    /// update.
    fn allocate(
        self: &Arc<Self>,
        service: &mut Object,
        holder: &Holder,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Claim, StatusError> {
        let mut claim = Claim::new(self.clone(), holder.clone());
        let errors = families::set(service, old, self.range);
        if !errors.is_empty() {
            return Err(invalid(service, &errors));
        }
        let mut taken = self.taken();
        if has_cluster_ip(service) && old.is_none_or(is_external_name) {
            self.take_address(service, dry_run, &mut taken, &mut claim.uses)?;
        }
        let mut claims = node_ports::Claims { taken: &mut taken, uses: &mut claim.uses, dry_run };
        let outcome = node_ports::allocate(service, old, &mut claims);
        drop(taken);
        outcome.map(|()| claim)
    }

    /// Allocates, and creates the address objects: if another server created one, this server did not know of that
    /// allocation.
    async fn allocate_objects(
        self: &Arc<Self>,
        service: &mut Object,
        holder: &Holder,
        old: Option<&Object>,
    ) -> Result<Claim, StatusError> {
        let asked = service.clone();
        for _ in 0..ADDRESS_ATTEMPTS {
            let claim = self.allocate(service, holder, old, false)?;
            let made = claim.make_objects().await;
            let (claim, foreign) = made.map_err(|failure| match failure.reason {
                // The service has no name, so that the address object has no valid parent.
                Reason::Invalid => not_allocated(&asked, "", &failure.message),
                _ => failure,
            })?;
            let Some(address) = foreign else { return Ok(claim) };
            let was_chosen = asked.get(&["spec", "clusterIP"]) != service.get(&["spec", "clusterIP"]);
            self.taken().add_foreign(address);
            if !was_chosen {
                return Err(not_allocated(
                    service,
                    &format!(" {address}"),
                    "provided IP is already allocated",
                ));
            }
            service.clone_from(&asked);
        }
        Err(StatusError::internal("failed to allocate IP: other servers take each one first"))
    }

    fn free_address(&self, taken: &Taken) -> Option<IpAddr> {
        let is_being_removed = |address| match &self.objects {
            Some(objects) => objects.is_being_removed(address),
            None => false,
        };
        taken.free_address(self.range, is_being_removed)
    }

    fn take_address(
        &self,
        service: &mut Object,
        dry_run: bool,
        taken: &mut Taken,
        claimed: &mut Uses,
    ) -> Result<(), StatusError> {
        let wanted = service.get(&["spec", "clusterIPs"]).and_then(|ips| ips.get(0)).and_then(Value::as_str);
        let Some(wanted) = wanted else {
            let Some(address) = self.free_address(taken).filter(|address| taken.claim_address(*address))
            else {
                return Err(not_allocated(service, "", "range is full"));
            };
            claimed.addresses.insert(address);
            service.set(&["spec", "clusterIP"], address.to_string().into());
            service.set(&["spec", "clusterIPs"], json!([address.to_string()]));
            return Ok(());
        };
        // A headless service has none.
        let Some(address) = address::parse_loosely(wanted) else { return Ok(()) };
        let what = format!(" {wanted}");
        if !self.range.gives(address) {
            let detail = if dry_run {
                format!(
                    "the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {}",
                    self.range
                )
            } else {
                "the provided network does not match the current range".to_owned()
            };
            return Err(not_allocated(service, &what, &detail));
        }
        // A dry run does not look whether the address is in use.
        if dry_run {
            return Ok(());
        }
        if !taken.claim_address(address) {
            return Err(not_allocated(service, &what, "provided IP is already allocated"));
        }
        claimed.addresses.insert(address);
        Ok(())
    }
}

fn invalid(service: &Object, errors: &ErrorList) -> StatusError {
    StatusError::invalid(Services::TYPE.kind, service.name(), errors)
}

fn not_allocated(service: &Object, what: &str, why: &str) -> StatusError {
    let wanted = service.get(&["spec", "clusterIPs"]).cloned().unwrap_or_else(|| json!([""]));
    let path = FieldPath::new("spec").child("clusterIPs");
    let error = FieldError::invalid(path, wanted, format!("failed to allocate IP{what}: {why}"));
    invalid(service, &error.into())
}

/// Copies the older field to the newer, plural one.
fn mirror_address(service: &mut Object) {
    let ip = service.get_str(&["spec", "clusterIP"]).unwrap_or_default().to_owned();
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
    let text = |object: &Object| object.get_str(&ONE).unwrap_or_default().to_owned();
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
        let holder = Holder { namespace: context.namespace.clone(), name: object.name().to_owned() };
        if dry_run {
            drop(self.0.allocate(object, &holder, None, true)?);
            return Ok(None);
        }
        let claim = self.0.allocate_objects(object, &holder, None).await?;
        Ok(Some(Box::new(claim)))
    }

    async fn begin_update(
        &self,
        _context: &RequestContext,
        new: &mut Object,
        old: &Object,
        dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.0.learn().await?;
        keep_allocated(new, old);
        let holder = Holder::of(old);
        if dry_run {
            drop(self.0.allocate(new, &holder, Some(old), true)?);
            return Ok(None);
        }
        let claim = self.0.allocate_objects(new, &holder, Some(old)).await?;
        let given_up = Uses::of(old).without(&Uses::after_change(new));
        Ok(Some(Box::new(claim.giving_up(given_up))))
    }

    fn after_delete(&self, object: &StoredObject) {
        let Ok(service) = stored::decode(object.json()) else { return };
        let uses = Uses::of(&service);
        self.0.release(&uses, &Holder::of(&service));
        self.0.taken().removed(&uses);
    }
}
