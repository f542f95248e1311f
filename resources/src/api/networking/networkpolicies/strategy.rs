//! Rules of NetworkPolicies.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyMut, NetworkPolicyPeer, NetworkPolicyPort,
};
use resource_views::{List, Text};
use serde_json::json;

use crate::support::address::{self, Network};
use crate::support::label_selector;

/// Defaults and validation of policy types, peers and ports.
pub(super) struct NetworkPolicyStrategy;

impl ObjectStrategy for NetworkPolicyStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let Some(mut spec) = NetworkPolicyMut(object).spec().present() else { return };
        if spec.policy_types().is_empty() {
            let has_egress = !spec.egress().is_empty();
            let directions = if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            spec.policy_types().set_value(directions);
        }
        for mut rule in spec.ingress().elements() {
            rule.ports().elements().for_each(|mut port| port.protocol().or_if_absent("TCP"));
        }
        for mut rule in spec.egress().elements() {
            rule.ports().elements().for_each(|mut port| port.protocol().or_if_absent("TCP"));
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = NetworkPolicy(object).spec();
        label_selector::check(&spec.pod_selector(), &mut errors);
        for rule in spec.ingress().elements() {
            check_rule(&rule.ports(), &rule.from(), &mut errors);
        }
        for rule in spec.egress().elements() {
            check_rule(&rule.ports(), &rule.to(), &mut errors);
        }
        check_types(&spec.policy_types(), &mut errors);
        errors
    }
}

fn check_rule(
    ports: &List<NetworkPolicyPort<'_, '_>>,
    peers: &List<NetworkPolicyPeer<'_, '_>>,
    errors: &mut ErrorList,
) {
    for port in ports.elements() {
        check_port(&port, errors);
    }
    for peer in peers.elements() {
        check_peer(&peer, errors);
    }
}

fn check_port(port: &NetworkPolicyPort<'_, '_>, errors: &mut ErrorList) {
    port.protocol().check_one_of(&["TCP", "UDP", "SCTP"], errors);
    let first = port.port();
    let last = port.end_port();
    first.as_integer().check_port(errors);
    if first.exists() && first.integer().is_none() {
        first.as_text().check(names::port_name, errors);
    }
    if !last.exists() {
        return;
    }
    match first.integer() {
        Some(first) => {
            if last.number() < first {
                // The message shows the port.
                let detail = "must be greater than or equal to `port`";
                errors.push(FieldError::invalid(last.path(), first, detail));
            }
            last.check_port(errors);
        }
        None if first.exists() => {
            errors.push(last.invalid("may not be specified when `port` is non-numeric"));
        }
        None => errors.push(last.invalid("may not be specified when `port` is not specified")),
    }
}

fn check_peer(peer: &NetworkPolicyPeer<'_, '_>, errors: &mut ErrorList) {
    let pods = peer.pod_selector();
    let namespaces = peer.namespace_selector();
    let block = peer.ip_block();
    label_selector::check(&pods, errors);
    label_selector::check(&namespaces, errors);
    if block.exists() {
        check_block(&block, errors);
    }
    let selects = pods.exists() || namespaces.exists();
    if block.exists() && selects {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    } else if !block.exists() && !selects {
        errors.push(peer.required("must specify a peer"));
    }
}

/// Checks a network, and the exceptions within it.
fn check_block(block: &IPBlock<'_, '_>, errors: &mut ErrorList) {
    let cidr = block.cidr();
    if !cidr.check_present(errors) {
        return;
    }
    address::check_network(&cidr, errors);
    let Some(network) = Network::parse(cidr.text()) else { return };
    for except in block.except().elements() {
        address::check_network(&except, errors);
        if Network::parse(except.text()).is_some_and(|inner| !network.strictly_contains(inner)) {
            errors.push(except.invalid("must be a strict subset of `cidr`"));
        }
    }
}

fn check_types(types: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    const DIRECTIONS: [&str; 2] = ["Ingress", "Egress"];
    if types.len() > DIRECTIONS.len() {
        errors.push(types.invalid("may not specify more than two policyTypes"));
        return;
    }
    for direction in types.elements() {
        direction.check_one_of(&DIRECTIONS, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn peers_and_ports_are_checked() {
        let causes = |rule: Value| {
            let policy = json!({"spec": {"podSelector": {}, "ingress": [rule]}});
            let errors = NetworkPolicyStrategy
                .validate(&RequestContext::default(), &Object::from_value(policy).unwrap());
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let block =
            |cidr: &str, except: Value| json!({"from": [{"ipBlock": {"cidr": cidr, "except": except}}]});
        let none: [&str; 0] = [];
        assert_eq!(causes(block("10.0.0.0/8", json!(["10.1.0.0/16"]))), none);
        assert_eq!(causes(block("10.0.0.1/8", json!([]))), ["spec.ingress[0].from[0].ipBlock.cidr"]);
        let except = "spec.ingress[0].from[0].ipBlock.except[0]";
        assert_eq!(causes(block("10.0.0.0/8", json!(["11.0.0.0/16"]))), [except]);
        assert_eq!(causes(block("10.0.0.0/8", json!(["x"]))), [except]);
        assert_eq!(causes(json!({"from": [{}]})), ["spec.ingress[0].from[0]"]);
        assert_eq!(causes(json!({"ports": [{"port": 1, "endPort": 2}, {"port": "http"}]})), none);
        let ports = json!({"ports": [{"port": 3, "endPort": 2}, {"port": "Http"}, {"endPort": 1}]});
        let expected = ["ports[0].endPort", "ports[1].port", "ports[2].endPort"];
        assert_eq!(causes(ports), expected.map(|field| format!("spec.ingress[0].{field}")));
    }
}
