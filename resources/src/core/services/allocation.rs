//! Allocation of addresses and node ports to Services: each belongs to at most one service.
//!
//! The allocations are read from the stored services, updated with every write of this server, and read again by every
//! repair.
//!
//! Kubernetes concept: `pkg/registry/core/service/storage/alloc.go`.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object, StatusError};
use registry_core::codec::stored;
use registry_core::registry::{FinishHook, InstalledApi, Store, StoreHooks};
use registry_core::resource::Resource;
use registry_core::storage::StoredObject;
use serde_json::{Value, json};

use super::Services;
use super::addresses::{AddressObjects, Holder};
use super::claim::Claim;
use super::range::ServiceRange;
use super::service_type::{has_cluster_ip, has_node_ports, kind};
use super::taken::{FIRST_NODE_PORT, LAST_NODE_PORT, Taken, Uses, node_port};
use crate::networking::ipaddresses::IPAddresses;
use crate::support::defaulting::is_empty_at;
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
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes, in the background, the objects of addresses that a service gave up.
    pub(super) fn release(&self, uses: &Uses, holder: &Holder) {
        if let Some(objects) = &self.objects {
            objects.release(uses.addresses.iter().copied(), holder);
        }
    }

    /// Allocates what a service needs; requested addresses and ports are claimed for it.
    fn allocate(
        self: &Arc<Self>,
        service: &mut Object,
        holder: &Holder,
        before: &Uses,
    ) -> Result<Claim, StatusError> {
        let mut claim = Claim::new(self.clone(), holder.clone());
        let mut errors = ErrorList::default();
        let mut taken = self.taken();
        if has_cluster_ip(service) {
            set_families(service, self.range, &mut errors);
            self.take_address(service, before, &mut taken, &mut claim.uses, &mut errors);
        }
        if has_node_ports(service) {
            take_node_ports(service, before, &mut taken, &mut claim.uses, &mut errors);
        }
        drop(taken);
        if errors.is_empty() {
            return Ok(claim);
        }
        Err(StatusError::invalid(Services::TYPE.kind, service.name(), &errors))
    }

    /// Allocates, and creates the address objects: if another server created one, this server did not know of that
    /// allocation.
    async fn allocate_objects(
        self: &Arc<Self>,
        service: &mut Object,
        holder: &Holder,
        before: &Uses,
    ) -> Result<Claim, StatusError> {
        let asked = service.clone();
        for _ in 0..ADDRESS_ATTEMPTS {
            let claim = self.allocate(service, holder, before)?;
            let (claim, foreign) = claim.make_objects().await?;
            let Some(address) = foreign else { return Ok(claim) };
            let was_chosen = asked.get(&["spec", "clusterIP"]) != service.get(&["spec", "clusterIP"]);
            self.taken().add_foreign(address);
            if !was_chosen {
                let mut errors = ErrorList::default();
                already_allocated(&address.to_string(), service.get(&["spec", "clusterIPs"]), &mut errors);
                return Err(StatusError::invalid(Services::TYPE.kind, service.name(), &errors));
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
        before: &Uses,
        taken: &mut Taken,
        claimed: &mut Uses,
        errors: &mut ErrorList,
    ) {
        mirror_address(service);
        let path = FieldPath::new("spec").child("clusterIPs");
        let wanted = service.get(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
        let Some(first) = wanted.get(0).and_then(Value::as_str) else {
            let Some(address) = self.free_address(taken).filter(|address| taken.claim_address(*address))
            else {
                errors.push(FieldError::invalid(path, Value::Null, "failed to allocate IP: range is full"));
                return;
            };
            claimed.addresses.insert(address);
            service.set(&["spec", "clusterIP"], address.to_string().into());
            service.set(&["spec", "clusterIPs"], json!([address.to_string()]));
            return;
        };
        // Validation reports invalid addresses.
        let Ok(address) = first.parse::<IpAddr>() else { return };
        if before.addresses.contains(&address) {
            return;
        }
        if !self.range.gives(address) {
            let detail = format!(
                "failed to allocate IP {first}: the provided network does not match the current range"
            );
            errors.push(FieldError::invalid(path, wanted, detail));
        } else if taken.claim_address(address) {
            claimed.addresses.insert(address);
        } else {
            already_allocated(first, Some(&wanted), errors);
        }
    }
}

/// Sets the IP families: a single one; only a headless service without a selector may have both.
fn set_families(service: &mut Object, range: ServiceRange, errors: &mut ErrorList) {
    let headless = service.get_str(&["spec", "clusterIP"]) == Some("None");
    let free = headless && is_empty_at(service, &["spec", "selector"]);
    let (policy, families) = if free {
        ("RequireDualStack", range.families().to_vec())
    } else {
        ("SingleStack", vec![range.family()])
    };
    if service.get_str(&["spec", "ipFamilyPolicy"]) == Some("RequireDualStack") && !free {
        let path = FieldPath::new("spec").child("ipFamilyPolicy");
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(path, "RequireDualStack", detail));
    }
    crate::support::defaulting::fill_at(service, &["spec", "ipFamilyPolicy"], policy);
    if is_empty_at(service, &["spec", "ipFamilies"]) {
        service.set(&["spec", "ipFamilies"], json!(families));
    }
}

/// Copies the older field to the newer, plural one.
fn mirror_address(service: &mut Object) {
    let ip = service.get_str(&["spec", "clusterIP"]).unwrap_or_default().to_owned();
    if is_empty_at(service, &["spec", "clusterIPs"]) && !ip.is_empty() {
        service.set(&["spec", "clusterIPs"], json!([ip]));
    }
}

fn already_allocated(address: &str, wanted: Option<&Value>, errors: &mut ErrorList) {
    let path = FieldPath::new("spec").child("clusterIPs");
    let detail = format!("failed to allocate IP {address}: provided IP is already allocated");
    errors.push(FieldError::invalid(path, wanted.cloned().unwrap_or_default(), detail));
}

fn take_node_ports(
    service: &mut Object,
    before: &Uses,
    taken: &mut Taken,
    claimed: &mut Uses,
    errors: &mut ErrorList,
) {
    let wants = kind(service) == "NodePort"
        || service.get(&["spec", "allocateLoadBalancerNodePorts"]) != Some(&Value::Bool(false));
    let ports = service.0.get_mut("spec").and_then(|spec| spec.get_mut("ports"));
    let ports = ports.and_then(Value::as_array_mut).into_iter().flatten();
    for (index, port) in ports.enumerate() {
        let path = FieldPath::new("spec").child("ports").index(index).child("nodePort");
        let Some((protocol, number)) = node_port(port) else {
            if !wants {
                continue;
            }
            let Some(number) = taken.free_node_port() else {
                errors.push(FieldError::invalid(path, 0, "failed to allocate a nodePort: range is full"));
                continue;
            };
            let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP").to_owned();
            if let Some(port) = port.as_object_mut() {
                port.insert("nodePort".to_owned(), number.into());
            }
            let key = (protocol, number);
            if taken.claim_node_port(&key) {
                claimed.node_ports.insert(key);
            }
            continue;
        };
        let key = (protocol, number);
        if before.node_ports.contains(&key) {
            continue;
        }
        if !(FIRST_NODE_PORT..=LAST_NODE_PORT).contains(&number) {
            let detail = format!(
                "provided port is not in the valid range. The range of valid ports is {FIRST_NODE_PORT}-{LAST_NODE_PORT}"
            );
            errors.push(FieldError::invalid(path, number, detail));
        } else if taken.claim_node_port(&key) {
            claimed.node_ports.insert(key);
        } else {
            errors.push(FieldError::invalid(path, number, "provided port is already allocated"));
        }
    }
}

/// Keeps the allocated values that an update leaves out.
fn keep_allocated(new: &mut Object, old: &Object) {
    if has_cluster_ip(old) && has_cluster_ip(new) {
        let ip = ["spec", "clusterIP"];
        let cleared = is_empty_at(new, &ip) && is_empty_at(new, &["spec", "clusterIPs"]);
        if cleared {
            new.copy_field(old, &ip);
            new.copy_field(old, &["spec", "clusterIPs"]);
        } else if new.get(&ip) != old.get(&ip)
            && new.get(&["spec", "clusterIPs"]) == old.get(&["spec", "clusterIPs"])
        {
            // Only the older field changed: the newer one follows.
            new.remove(&["spec", "clusterIPs"]);
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if is_empty_at(new, &["spec", field]) {
                new.copy_field(old, &["spec", field]);
            }
        }
    }
    if has_node_ports(old) && has_node_ports(new) {
        keep_node_ports(new, old);
    }
}

fn keep_node_ports(new: &mut Object, old: &Object) {
    let same = |one: &Value, other: &Value| {
        ["port", "protocol"].iter().all(|field| one.get(field) == other.get(field))
    };
    let before = old.get(&["spec", "ports"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let ports = new.0.get_mut("spec").and_then(|spec| spec.get_mut("ports"));
    for port in ports.and_then(Value::as_array_mut).into_iter().flatten() {
        let given = before.iter().find(|old| same(old, port)).and_then(node_port);
        if let (None, Some((_, number)), Some(port)) = (node_port(port), given, port.as_object_mut()) {
            port.insert("nodePort".to_owned(), number.into());
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
        let before = Uses::default();
        let holder = Holder { namespace: context.namespace.clone(), name: object.name().to_owned() };
        if dry_run {
            drop(self.0.allocate(object, &holder, &before)?);
            return Ok(None);
        }
        let claim = self.0.allocate_objects(object, &holder, &before).await?;
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
        let before = Uses::of(old);
        let holder = Holder::of(old);
        if dry_run {
            drop(self.0.allocate(new, &holder, &before)?);
            return Ok(None);
        }
        let claim = self.0.allocate_objects(new, &holder, &before).await?;
        // The strategy drops what the new type does not use.
        let mut after = Uses::of(new);
        if !has_cluster_ip(new) {
            after.addresses.clear();
        }
        if !has_node_ports(new) {
            after.node_ports.clear();
        }
        Ok(Some(Box::new(claim.giving_up(before.without(&after)))))
    }

    fn after_delete(&self, object: &StoredObject) {
        let Ok(service) = stored::decode(object.json()) else { return };
        let uses = Uses::of(&service);
        self.0.release(&uses, &Holder::of(&service));
        self.0.taken().removed(&uses);
    }
}
