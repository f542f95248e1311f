//! Addresses and node ports of Services: each is given to one service at a time.
//!
//! What is taken is read from the stored services once, and kept up with every write of this server.
//!
//! Kubernetes concept: `pkg/registry/core/service/storage/alloc.go`.

use std::collections::HashSet;
use std::net::Ipv4Addr;
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
use super::facts::{has_cluster_ip, has_node_ports, kind};
use crate::edit::is_empty_at;

/// The network that services get addresses of: `10.0.0.0/24`.
const NETWORK: [u8; 3] = [10, 0, 0];
/// Addresses below this one are given only to who asks for them.
const FIRST_FREE_HOST: u8 = 17;
const LAST_HOST: u8 = 254;
const FIRST_NODE_PORT: i64 = 30_000;
const LAST_NODE_PORT: i64 = 32_767;
/// Node ports below this one are given only to who asks for them.
const FIRST_FREE_NODE_PORT: i64 = 30_086;

/// Gives installed services their addresses and ports.
pub(crate) fn attach(installed: &InstalledApi) {
    if let Some(store) = installed.store(Services::TYPE) {
        let hooks = Arc::new(Allocation { store: Arc::downgrade(&store), taken: Arc::default() });
        // Whoever attached hooks of their own gives addresses by themselves.
        drop(store.attach_hooks(hooks));
    }
}

/// The hooks of the services' store.
struct Allocation {
    store: Weak<Store>,
    taken: Arc<Mutex<Taken>>,
}

/// What is in use.
#[derive(Default)]
struct Taken {
    known: bool,
    /// Counts removals, so that a list from before one is not believed.
    removals: u64,
    addresses: HashSet<Ipv4Addr>,
    node_ports: HashSet<(String, i64)>,
}

/// What one service uses.
#[derive(Clone, Debug, Default, PartialEq)]
struct Uses {
    addresses: HashSet<Ipv4Addr>,
    node_ports: HashSet<(String, i64)>,
}

/// What one write set aside, and what it gives back.
struct Settlement {
    taken: Arc<Mutex<Taken>>,
    got: Uses,
    gave: Uses,
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
    fn free_address(&self) -> Option<Ipv4Addr> {
        let [a, b, c] = NETWORK;
        let span = LAST_HOST - FIRST_FREE_HOST + 1;
        let start = random() % u32::from(span);
        (0..u32::from(span))
            .filter_map(|step| u8::try_from((start + step) % u32::from(span)).ok())
            .map(|offset| Ipv4Addr::new(a, b, c, FIRST_FREE_HOST + offset))
            .find(|address| !self.addresses.contains(address))
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
            set_families(service, &mut errors);
            take_address(service, before, &mut taken, &mut got, &mut errors);
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

    fn settlement(&self, got: Uses, gave: Uses) -> Box<dyn FinishHook> {
        Box::new(Settlement { taken: self.taken.clone(), got, gave })
    }
}

/// One stack of addresses; only a headless service without a selector may have both.
fn set_families(service: &mut Object, errors: &mut ErrorList) {
    let headless = service.get_str(&["spec", "clusterIP"]) == Some("None");
    let free = headless && is_empty_at(service, &["spec", "selector"]);
    let (policy, families) =
        if free { ("RequireDualStack", json!(["IPv4", "IPv6"])) } else { ("SingleStack", json!(["IPv4"])) };
    if service.get_str(&["spec", "ipFamilyPolicy"]) == Some("RequireDualStack") && !free {
        let path = FieldPath::new("spec").child("ipFamilyPolicy");
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(path, "RequireDualStack", detail));
    }
    crate::edit::fill_at(service, &["spec", "ipFamilyPolicy"], policy);
    if is_empty_at(service, &["spec", "ipFamilies"]) {
        service.set(&["spec", "ipFamilies"], families);
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
    before: &Uses,
    taken: &mut Taken,
    got: &mut Uses,
    errors: &mut ErrorList,
) {
    mirror_address(service);
    let path = FieldPath::new("spec").child("clusterIPs");
    let wanted = service.get(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
    let Some(first) = wanted.get(0).and_then(Value::as_str) else {
        let Some(address) = taken.free_address() else {
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
    let Ok(address) = first.parse::<Ipv4Addr>() else { return };
    if before.addresses.contains(&address) {
        return;
    }
    if !address.octets().starts_with(&NETWORK) || matches!(address.octets(), [.., 0 | 255]) {
        let detail =
            format!("failed to allocate IP {first}: the provided network does not match the current range");
        errors.push(FieldError::invalid(path, wanted, detail));
    } else if taken.addresses.insert(address) {
        got.addresses.insert(address);
    } else {
        let detail = format!("failed to allocate IP {first}: provided IP is already allocated");
        errors.push(FieldError::invalid(path, wanted, detail));
    }
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
        _context: &RequestContext,
        object: &mut Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.learn().await?;
        mirror_address(object);
        let got = self.allocate(object, &Uses::default())?;
        Ok(Some(self.settlement(got, Uses::default())))
    }

    async fn begin_update(
        &self,
        _context: &RequestContext,
        new: &mut Object,
        old: &Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.learn().await?;
        keep_allocated(new, old);
        let before = Uses::of(old);
        let got = self.allocate(new, &before)?;
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
        let mut taken = self.lock();
        taken.removals += 1;
        taken.give_back(&Uses::of(&service));
    }
}

impl FinishHook for Settlement {
    fn finish(self: Box<Self>, committed: bool) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.give_back(if committed { &self.gave } else { &self.got });
    }
}
