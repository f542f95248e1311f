//! Rules of NetworkPolicies.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use serde_json::json;

use crate::edit;
use crate::field::Field;
use crate::label_selector;

/// Which directions it rules, and who may talk over what.
pub(super) struct NetworkPolicyStrategy;

impl ObjectStrategy for NetworkPolicyStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        edit::with(&mut object.0, "spec", |spec| {
            if edit::is_empty(spec.get("policyTypes")) {
                let has_egress = !edit::is_empty(spec.get("egress"));
                let directions = if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
                spec.insert("policyTypes".to_owned(), directions);
            }
            edit::each(spec, &["ingress", "egress"], |rule| {
                edit::each(rule, &["ports"], |port| edit::fill(port, "protocol", "TCP"));
            });
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        label_selector::check(&spec.get("podSelector"), &mut errors);
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for rule in spec.get(direction).elements() {
                for port in rule.get("ports").elements() {
                    check_port(&port, &mut errors);
                }
                for peer in rule.get(peers).elements() {
                    check_peer(&peer, &mut errors);
                }
            }
        }
        errors
    }
}

fn check_port(port: &Field<'_, '_>, errors: &mut ErrorList) {
    port.get("protocol").check_one_of(&["SCTP", "TCP", "UDP"], errors);
    let (first, last) = (port.get("port"), port.get("endPort"));
    first.check_between(1, 65535, errors);
    if !last.exists() {
        return;
    }
    match first.integer() {
        Some(first) if last.integer().is_some_and(|last| last < first) => {
            errors.push(last.invalid("must be greater than or equal to `port`"));
        }
        Some(_) => last.check_between(1, 65535, errors),
        None if first.exists() => {
            errors.push(last.invalid("may not be specified when `port` is non-numeric"));
        }
        None => errors.push(last.invalid("may not be specified when `port` is not specified")),
    }
}

fn check_peer(peer: &Field<'_, '_>, errors: &mut ErrorList) {
    let (pods, namespaces, block) =
        (peer.get("podSelector"), peer.get("namespaceSelector"), peer.get("ipBlock"));
    label_selector::check(&pods, errors);
    label_selector::check(&namespaces, errors);
    let selects = pods.exists() || namespaces.exists();
    if block.exists() && selects {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    } else if !block.exists() && !selects {
        errors.push(peer.required("must specify a peer"));
    } else if block.exists() {
        block.get("cidr").check_present(errors);
    }
}
