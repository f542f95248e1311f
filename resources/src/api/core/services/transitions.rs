//! Changes of a Service: what goes with its former type, and what must stay.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath, names};
use serde_json::{Value, json};

use super::cluster_ips;
use super::service_type::{
    has_node_ports, is_external_name, is_externally_accessible, kind, needs_health_check,
};
use crate::support::defaulting::{each, with};
use crate::support::field::Field;
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
    if kind(new) != "LoadBalancer" && new.get(&["status", "loadBalancer"]).is_some() {
        new.set(&["status", "loadBalancer"], json!({}));
    }
}

fn drop_node_ports(new: &mut Object, old: &Object) {
    let numbers = |object: &Object| -> HashSet<i64> {
        let ports = object.get(&["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
        ports.filter_map(|port| port.get("nodePort")?.as_i64()).filter(|number| *number != 0).collect()
    };
    if numbers(new).is_subset(&numbers(old)) {
        with(&mut new.0, "spec", |spec| {
            each(spec, &["ports"], |port| {
                port.remove("nodePort");
            });
        });
    }
}

/// Checks a change of addresses, families, the class of the load balancer, and the port for health checks.
pub(super) fn check(new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    cluster_ips::check_change(new, old, &mut errors);
    let spec = Field::top_level(new, "spec");
    let before = Field::top_level(old, "spec");
    let class = spec.get("loadBalancerClass");
    let both_balance = kind(new) == "LoadBalancer" && kind(old) == "LoadBalancer";
    if both_balance && class.value() != before.get("loadBalancerClass").value() {
        errors.push(class.invalid("may not change once set"));
    }
    check_class(new, &mut errors);
    let port = "healthCheckNodePort";
    let both_check = needs_health_check(new) && needs_health_check(old);
    if both_check && spec.get(port).number() != before.get(port).number() {
        errors.push(FieldError::forbidden(FieldPath::new("spec").child(port), "field is immutable"));
    }
    errors
}

/// Checks the class of the load balancer.
pub(super) fn check_class(service: &Object, errors: &mut ErrorList) {
    let spec = Field::top_level(service, "spec");
    let class = spec.get("loadBalancerClass");
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
