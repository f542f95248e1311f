//! Changes of a Service: what goes with its former type, and what must stay.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{Service, ServiceMut};
use serde_json::json;

use super::cluster_ips;
use super::service_type::{
    has_node_ports, is_external_name, is_externally_accessible, kind, needs_health_check,
};
use crate::support::semantic;

/// Removes the policy for traffic inside of the cluster from a service that is an alias of an external name.
pub(super) fn drop_policy_of_aliases(service: &mut Object) {
    if is_external_name(service) {
        service.remove(&["spec", "internalTrafficPolicy"]);
    }
}

/// Removes fields that the new type does not have, unless the client changed them.
pub(super) fn drop_what_the_type_had(new: &mut Object, old: &Object) {
    let is_same =
        |new: &Object, field: &str| semantic::equal(new.get(&["spec", field]), old.get(&["spec", field]));
    let mut dropped: Vec<&str> = Vec::new();
    if !is_external_name(old) && is_external_name(new) {
        if is_same(new, "clusterIP") && is_same(new, "clusterIPs") {
            dropped.extend(["clusterIP", "clusterIPs"]);
        }
        dropped.extend(["ipFamilies", "ipFamilyPolicy"]);
    }
    if has_node_ports(old) && !has_node_ports(new) {
        drop_node_ports(new, old);
    }
    if needs_health_check(old) && !needs_health_check(new) {
        dropped.push("healthCheckNodePort");
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        dropped.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if is_externally_accessible(old) && !is_externally_accessible(new) {
        dropped.push("externalTrafficPolicy");
    }
    for field in dropped {
        // The default of the old type was not set by the client.
        if is_same(new, field) {
            new.remove(&["spec", field]);
        }
    }
    if kind(new) != "LoadBalancer" && Service(new).status().load_balancer().exists() {
        new.set(&["status", "loadBalancer"], json!({}));
    }
}

fn drop_node_ports(new: &mut Object, old: &Object) {
    let numbers = |object: &Object| -> HashSet<i64> {
        let spec = Service(object).spec();
        let ports = spec.ports();
        ports.elements().map(|port| port.node_port().number()).filter(|number| *number != 0).collect()
    };
    if numbers(new).is_subset(&numbers(old)) {
        let Some(mut spec) = ServiceMut(new).spec().present() else { return };
        spec.ports().elements().for_each(|mut port| drop(port.node_port().remove()));
    }
}

/// Checks a change of addresses, families, the class of the load balancer, and the port for health checks.
pub(super) fn check(new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    cluster_ips::check_change(new, old, &mut errors);
    let spec = Service(new).spec();
    let before = Service(old).spec();
    let class = spec.load_balancer_class();
    let both_balance = kind(new) == "LoadBalancer" && kind(old) == "LoadBalancer";
    if both_balance && class.value() != before.load_balancer_class().value() {
        errors.push(class.invalid("may not change once set"));
    }
    check_class(new, &mut errors);
    let port = spec.health_check_node_port();
    let both_check = needs_health_check(new) && needs_health_check(old);
    if both_check && port.number() != before.health_check_node_port().number() {
        errors.push(port.forbidden("field is immutable"));
    }
    errors
}

/// Checks the class of the load balancer.
pub(super) fn check_class(service: &Object, errors: &mut ErrorList) {
    let spec = Service(service).spec();
    let class = spec.load_balancer_class();
    if class.exists() && kind(service) == "LoadBalancer" {
        class.check(names::qualified_name, errors);
    } else if class.exists() {
        errors.push(class.forbidden("may only be used when `type` is 'LoadBalancer'"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::strategy::ServiceStrategy;
    use super::*;
    use registry_core::resource::ObjectStrategy as _;

    #[test]
    fn a_type_takes_its_fields_with_it() {
        let mut old = Object::from_value(
            json!({"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]}}),
        )
        .unwrap();
        ServiceStrategy.apply_defaults(&mut old);
        let mut new = old.clone();
        new.set(&["spec", "type"], "ClusterIP".into());
        drop_what_the_type_had(&mut new, &old);
        assert_eq!(new.get(&["spec", "externalTrafficPolicy"]), None);
        assert_eq!(
            new.get(&["spec", "ports"]),
            Some(&json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]))
        );
    }
}
