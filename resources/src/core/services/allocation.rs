//! Addresses and node ports of Services: each is given to one service at a time.
//!
//! What is taken is read from the stored services once, and kept up with every write of this server.
//!
//! Kubernetes concept: `pkg/registry/core/service/storage/alloc.go`.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, ListOptions, Object, StatusError};
use registry_core::codec::stored;
use registry_core::registry::{FinishHook, InstalledApi, Store, StoreHooks};
use registry_core::resource::Resource;
use registry_core::rest::Lister;
use registry_core::storage::StoredObject;
use serde_json::{Value, json};

use super::Services;
use super::addresses::{Addresses, Holder};
use super::facts::{has_cluster_ip, has_node_ports, kind};
use super::range::ServiceRange;
use crate::edit::is_empty_at;

const FIRST_NODE_PORT: i64 = 30_000;
const LAST_NODE_PORT: i64 = 32_767;
/// Node ports below this one are given only to who asks for them.
const FIRST_FREE_NODE_PORT: i64 = 30_086;

/// How many addresses are tried for one service when other servers take them first.
const ADDRESS_ATTEMPTS: usize = 16;

/// Gives installed services their addresses, of this range, and ports.
pub(crate) fn attach(installed: &InstalledApi, range: ServiceRange) {
    if let Some(store) = installed.store(Services::TYPE) {
        let taken: Arc<Mutex<Taken>> = Arc::default();
        let addresses = Addresses::new(installed);
        let hooks = Allocation { store: Arc::downgrade(&store), taken, range, addresses };
        // Whoever attached hooks of their own gives addresses by themselves.
        drop(store.attach_hooks(Arc::new(hooks)));
    }
}

/// The hooks of the services' store.
struct Allocation {
    store: Weak<Store>,
    taken: Arc<Mutex<Taken>>,
    range: ServiceRange,
    /// The addresses as objects: what other servers on the same store go by.
    addresses: Addresses,
}

/// What is in use.
#[derive(Default)]
struct Taken {
    known: bool,
    /// Counts removals, so that a list from before one is not believed.
    removals: u64,
    addresses: HashSet<IpAddr>,
    node_ports: HashSet<(String, i64)>,
}

/// What one service uses.
#[derive(Clone, Debug, Default, PartialEq)]
struct Uses {
    addresses: HashSet<IpAddr>,
    node_ports: HashSet<(String, i64)>,
}

/// What one write set aside, and what it gives back.
struct Settlement {
    taken: Arc<Mutex<Taken>>,
    got: Uses,
    gave: Uses,
    addresses: Addresses,
}

// === impl Uses ===

impl Uses {
    fn of(service: &Object) -> Self {
        let ips = service.get(&["spec", "clusterIPs"]).and_then(Value::as_array).into_iter().flatten();
        let ports = service.get(&["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
        Self {
            addresses: ips.filter_map(|ip| ip.as_str()?.parse().ok()).collect(),
            node_ports: ports.filter_map(node_port).collect(),
        }
    }

    fn without(&self, other: &Self) -> Self {
        Self {
            addresses: self.addresses.difference(&other.addresses).copied().collect(),
            node_ports: self.node_ports.difference(&other.node_ports).cloned().collect(),
        }
    }
}

fn node_port(port: &Value) -> Option<(String, i64)> {
    let number = port.get("nodePort")?.as_i64().filter(|number| *number != 0)?;
    let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
    Some((protocol.to_owned(), number))
}

// === impl Taken ===

impl Taken {
    fn give_back(&mut self, uses: &Uses) {
        self.addresses.retain(|address| !uses.addresses.contains(address));
        self.node_ports.retain(|port| !uses.node_ports.contains(port));
    }

    /// An address nobody has.
    fn free_address(&self, range: ServiceRange) -> Option<IpAddr> {
        range.candidates(random()).find(|address| !self.addresses.contains(address))
    }

    /// A node port nobody has for any protocol.
    fn free_node_port(&self) -> Option<i64> {
        let span = LAST_NODE_PORT - FIRST_FREE_NODE_PORT + 1;
        let start = i64::from(random()) % span;
        (0..span)
            .map(|step| FIRST_FREE_NODE_PORT + (start + step) % span)
            .find(|number| !self.node_ports.iter().any(|(_, taken)| taken == number))
    }
}

fn random() -> u32 {
    // The letters of a generated name are random; no further source of randomness is needed here.
    let name = registry_core::registry::store::generate_name("");
    name.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

// === impl Allocation ===

impl Allocation {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is taken, the first time.
    async fn learn(&self) -> Result<(), StatusError> {
        loop {
            let removals = {
                let taken = self.lock();
                if taken.known {
                    return Ok(());
                }
                taken.removals
            };
            let Some(store) = self.store.upgrade() else { return Ok(()) };
            let page = store.list(&RequestContext::system(""), &ListOptions::default()).await?;
            let services: Result<Vec<Object>, _> = page.items.iter().map(|entry| store.read(entry)).collect();
            let services = services?;
            self.addresses.repair(|holder| services.iter().any(|service| holder.is(service))).await?;
            let mut taken = self.lock();
            if taken.removals == removals && !taken.known {
                for uses in services.iter().map(Uses::of) {
                    taken.addresses.extend(uses.addresses);
                    taken.node_ports.extend(uses.node_ports);
                }
                taken.known = true;
            }
        }
    }

    /// Gives a service what it needs and has not; what it wants by name is set aside for it.
    fn allocate(&self, service: &mut Object, before: &Uses) -> Result<Uses, StatusError> {
        let mut taken = self.lock();
        let mut got = Uses::default();
        let mut errors = ErrorList::default();
        if has_cluster_ip(service) {
            set_families(service, self.range, &mut errors);
            take_address(service, self.range, before, &mut taken, &mut got, &mut errors);
        }
        if has_node_ports(service) {
            take_node_ports(service, before, &mut taken, &mut got, &mut errors);
        }
        if errors.is_empty() {
            return Ok(got);
        }
        taken.give_back(&got);
        Err(StatusError::invalid(Services::TYPE.kind, service.name(), &errors))
    }

    /// The same, and the addresses are claimed before all servers on the store: of one that somebody else has
    /// claimed, this server did not know.
    async fn allocate_and_claim(
        &self,
        service: &mut Object,
        namespace: &str,
        before: &Uses,
    ) -> Result<Uses, StatusError> {
        let asked = service.clone();
        let mut occupied = Uses::default();
        for _ in 0..ADDRESS_ATTEMPTS {
            let got = self.allocate(service, before)?;
            let holder = Holder { namespace, name: service.name() };
            let Some(address) = self.addresses.claim(&got.addresses, &holder).await? else {
                return Ok(got);
            };
            let was_chosen = asked.get(&["spec", "clusterIP"]) != service.get(&["spec", "clusterIP"]);
            // Known as taken from now on; the rest of what was set aside is not.
            occupied.addresses.insert(address);
            self.lock().give_back(&got.without(&occupied));
            if !was_chosen {
                let mut errors = ErrorList::default();
                already_allocated(&address.to_string(), service.get(&["spec", "clusterIPs"]), &mut errors);
                return Err(StatusError::invalid(Services::TYPE.kind, service.name(), &errors));
            }
            service.clone_from(&asked);
        }
        Err(StatusError::internal("failed to allocate IP: other servers take each one first"))
    }

    fn settlement(&self, got: Uses, gave: Uses) -> Box<dyn FinishHook> {
        Box::new(Settlement { taken: self.taken.clone(), got, gave, addresses: self.addresses.clone() })
    }
}

/// One stack of addresses; only a headless service without a selector may have both.
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
    crate::edit::fill_at(service, &["spec", "ipFamilyPolicy"], policy);
    if is_empty_at(service, &["spec", "ipFamilies"]) {
        service.set(&["spec", "ipFamilies"], json!(families));
    }
}

/// Fills the newer, plural field from the older one.
fn mirror_address(service: &mut Object) {
    let ip = service.get_str(&["spec", "clusterIP"]).unwrap_or_default().to_owned();
    if is_empty_at(service, &["spec", "clusterIPs"]) && !ip.is_empty() {
        service.set(&["spec", "clusterIPs"], json!([ip]));
    }
}

fn take_address(
    service: &mut Object,
    range: ServiceRange,
    before: &Uses,
    taken: &mut Taken,
    got: &mut Uses,
    errors: &mut ErrorList,
) {
    mirror_address(service);
    let path = FieldPath::new("spec").child("clusterIPs");
    let wanted = service.get(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
    let Some(first) = wanted.get(0).and_then(Value::as_str) else {
        let Some(address) = taken.free_address(range) else {
            errors.push(FieldError::invalid(path, Value::Null, "failed to allocate IP: range is full"));
            return;
        };
        taken.addresses.insert(address);
        got.addresses.insert(address);
        service.set(&["spec", "clusterIP"], address.to_string().into());
        service.set(&["spec", "clusterIPs"], json!([address.to_string()]));
        return;
    };
    // What is no address is for validation to tell.
    let Ok(address) = first.parse::<IpAddr>() else { return };
    if before.addresses.contains(&address) {
        return;
    }
    if !range.gives(address) {
        let detail =
            format!("failed to allocate IP {first}: the provided network does not match the current range");
        errors.push(FieldError::invalid(path, wanted, detail));
    } else if taken.addresses.insert(address) {
        got.addresses.insert(address);
    } else {
        already_allocated(first, Some(&wanted), errors);
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
    got: &mut Uses,
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
            taken.node_ports.insert((protocol.clone(), number));
            got.node_ports.insert((protocol, number));
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
        } else if taken.node_ports.insert(key.clone()) {
            got.node_ports.insert(key);
        } else {
            errors.push(FieldError::invalid(path, number, "provided port is already allocated"));
        }
    }
}

/// What a client left out of a change stays as it was given.
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
            // Only the old field was changed: the new one follows.
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
        self.learn().await?;
        mirror_address(object);
        let before = Uses::default();
        if dry_run {
            let got = self.allocate(object, &before)?;
            self.lock().give_back(&got);
            return Ok(None);
        }
        let got = self.allocate_and_claim(object, &context.namespace, &before).await?;
        Ok(Some(self.settlement(got, Uses::default())))
    }

    async fn begin_update(
        &self,
        context: &RequestContext,
        new: &mut Object,
        old: &Object,
        dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.learn().await?;
        keep_allocated(new, old);
        let before = Uses::of(old);
        if dry_run {
            let got = self.allocate(new, &before)?;
            self.lock().give_back(&got);
            return Ok(None);
        }
        let got = self.allocate_and_claim(new, &context.namespace, &before).await?;
        // What the new type has no use for goes with the strategy's preparation.
        let mut after = Uses::of(new);
        if !has_cluster_ip(new) {
            after.addresses.clear();
        }
        if !has_node_ports(new) {
            after.node_ports.clear();
        }
        Ok(Some(self.settlement(got, before.without(&after))))
    }

    fn after_delete(&self, object: &StoredObject) {
        let Ok(service) = stored::decode(&object.json) else { return };
        let uses = Uses::of(&service);
        self.addresses.release(&uses.addresses);
        let mut taken = self.lock();
        taken.removals += 1;
        taken.give_back(&uses);
    }
}

impl FinishHook for Settlement {
    fn finish(self: Box<Self>, committed: bool) {
        let free = if committed { &self.gave } else { &self.got };
        self.addresses.release(&free.addresses);
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).give_back(free);
    }
}
