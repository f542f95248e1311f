//! Allocation of node ports, among them the one for health checks.
//!
//! Kubernetes concept: `initNodePorts` and `updateNodePorts` of `pkg/registry/core/service/storage/alloc.go`.

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::FieldPath;
use registry_core::api::{FieldError, Object, StatusError};
use registry_core::resource::Resource;
use resource_views::Typed as _;
use resource_views::core::v1::{Service, ServicePort};
use serde_json::Value;

use super::allocations::{AllocationSet, Allocations, health_check_port, node_port};
use crate::api::core::services::Services;
use crate::api::core::services::ranges::{NodePort, NodePortRange};
use crate::api::core::services::service_type::{has_node_ports, kind, needs_health_check};

const HEALTH_CHECK: [&str; 2] = ["spec", "healthCheckNodePort"];

/// The claims of one write.
pub(super) struct Claims<'a> {
    /// The ports in use.
    pub(super) allocations: &'a mut Allocations,
    /// The claims of the write.
    pub(super) uses: &'a mut AllocationSet,
    /// The range of the ports.
    pub(super) range: NodePortRange,
    /// Whether nothing will be stored: then ports outside of the range are accepted too.
    pub(super) dry_run: bool,
    /// The first port that was refused because it is in use.
    pub(super) contended: Option<NodePort>,
}

/// The reason for which a service does not get a port, with Kubernetes' text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum PortRefusal {
    #[error("provided port is not in the valid range. The range of valid ports is {0}")]
    OutOfRange(NodePortRange),
    #[error("provided port is already allocated")]
    Allocated,
}

impl Claims<'_> {
    fn claim(&mut self, number: NodePort) -> Result<(), PortRefusal> {
        if !self.range.contains(number) && !self.dry_run {
            return Err(PortRefusal::OutOfRange(self.range));
        }
        if !self.allocations.claim_node_port(number) {
            self.contended = self.contended.or(Some(number));
            return Err(PortRefusal::Allocated);
        }
        self.uses.node_ports.insert(number);
        Ok(())
    }

    fn claim_free(&mut self) -> Result<NodePort, StatusError> {
        let number = self.allocations.free_node_port(self.range);
        let number =
            number.ok_or_else(|| StatusError::internal("failed to allocate a nodePort: range is full"))?;
        self.claim(number).map_err(|refusal| StatusError::internal(refusal.to_string()))?;
        Ok(number)
    }
}

/// Allocates the node ports that a service needs.
pub(super) fn allocate(
    service: &mut Object,
    old: Option<&Object>,
    claims: &mut Claims<'_>,
) -> Result<(), StatusError> {
    if has_node_ports(service) {
        match old {
            None => allocate_new(service, claims)?,
            Some(old) => allocate_changed(service, old, claims)?,
        }
    }
    if needs_health_check(service) && !old.is_some_and(needs_health_check) {
        if let Some(number) = health_check_port(service) {
            claims.claim(number).map_err(|failure| {
                StatusError::internal(format!(
                    "failed to allocate requested HealthCheck NodePort {number}: {failure}"
                ))
            })?;
        } else {
            let number = claims.claim_free()?;
            service.set(&HEALTH_CHECK, number.into());
        }
    }
    Ok(())
}

fn refusal(service: &Object, index: usize, number: NodePort, detail: PortRefusal) -> StatusError {
    let path = FieldPath::new("spec").child("ports").index(index).child("nodePort");
    let error = FieldError::invalid(path, number, detail.to_string());
    StatusError::invalid(Services::TYPE.kind, service.name(), &error.into())
}

fn wants_ports(service: &Object) -> bool {
    kind(service) != "LoadBalancer"
        || Service(service).spec().allocate_load_balancer_node_ports().truth() != Some(false)
}

fn ports(service: &Object) -> Vec<Value> {
    Service(service).spec().ports().values().to_vec()
}

fn number_of(port: &Value) -> i64 {
    ServicePort::from_value(port).port().number()
}

fn set_node_port(port: &mut Value, number: NodePort) {
    if let Some(port) = port.as_object_mut() {
        port.insert("nodePort".to_owned(), number.into());
    }
}

/// Ports of a new service with the same number share a node port, whichever of them asks for it.
fn allocate_new(service: &mut Object, claims: &mut Claims<'_>) -> Result<(), StatusError> {
    let wants = wants_ports(service);
    let mut ports = ports(service);
    let mut requested: HashMap<i64, NodePort> = HashMap::new();
    for port in &ports {
        if let Some(number) = node_port(port) {
            requested.entry(number_of(port)).or_insert(number);
        }
    }
    let mut shared: HashMap<i64, NodePort> = HashMap::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let given = node_port(port);
        if given.is_none() && !wants {
            continue;
        }
        let own = number_of(port);
        match (shared.get(&own).copied(), given) {
            (Some(number), None) => set_node_port(port, number),
            (Some(number), Some(given)) if number == given => {}
            (Some(_), Some(given)) => {
                claims.claim(given).map_err(|detail| refusal(service, index, given, detail))?;
            }
            (None, _) => {
                let number = match requested.get(&own).copied() {
                    Some(number) => {
                        claims.claim(number).map_err(|detail| refusal(service, index, number, detail))?;
                        number
                    }
                    None => claims.claim_free()?,
                };
                set_node_port(port, number);
                shared.insert(own, number);
            }
        }
    }
    set_ports(service, ports);
    Ok(())
}

fn allocate_changed(service: &mut Object, old: &Object, claims: &mut Claims<'_>) -> Result<(), StatusError> {
    let wants = wants_ports(service);
    let mut known: HashSet<NodePort> = self::ports(old).iter().filter_map(node_port).collect();
    let mut ports = ports(service);
    for (index, port) in ports.iter_mut().enumerate() {
        match node_port(port) {
            None if !wants => {}
            None => {
                let number = claims.claim_free()?;
                set_node_port(port, number);
            }
            Some(number) => {
                if known.insert(number) {
                    claims.claim(number).map_err(|detail| refusal(service, index, number, detail))?;
                }
            }
        }
    }
    set_ports(service, ports);
    Ok(())
}

fn set_ports(service: &mut Object, ports: Vec<Value>) {
    if !ports.is_empty() {
        service.set(&["spec", "ports"], ports.into());
    }
}

/// Keeps the node ports that an update leaves out: a port takes the node port of the old port with the same name, unless
/// another port has that node port now. A load balancer that allocates none keeps none.
pub(super) fn keep(new: &mut Object, old: &Object) {
    let keeps = |service: &Object| has_node_ports(service) && wants_ports(service);
    if keeps(old) && keeps(new) {
        let before = ports(old);
        let mut after = ports(new);
        let given: HashSet<NodePort> = after.iter().filter_map(node_port).collect();
        let mut by_name: HashMap<&str, Option<NodePort>> = HashMap::new();
        for port in &before {
            by_name.insert(name_of(port), node_port(port));
        }
        for port in after.iter_mut().filter(|port| node_port(port).is_none()) {
            let kept = by_name.get(name_of(port)).copied().flatten();
            if let Some(number) = kept.filter(|number| !given.contains(number)) {
                set_node_port(port, number);
            }
        }
        set_ports(new, after);
    }
    if needs_health_check(old) && needs_health_check(new) && health_check_port(new).is_none() {
        new.copy_field(old, &HEALTH_CHECK);
    }
}

fn name_of(port: &Value) -> &str {
    ServicePort::from_value(port).name().text()
}
