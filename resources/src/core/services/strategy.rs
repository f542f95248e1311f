//! Rules of Services.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::{self, NameRule};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use super::service_type::{has_cluster_ip, has_node_ports, is_external_name, kind};
use crate::core::address;
use crate::support::defaulting::{each, fill, fill_at, with};
use crate::support::field::Field;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const AFFINITY_SECONDS: i64 = 10_800;

/// Defaults by type, removal of fields when the type changes, validation.
pub(super) struct ServiceStrategy;

impl ObjectStrategy for ServiceStrategy {
    fn name_rule(&self) -> NameRule {
        NameRule::DnsLabel
    }

    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "sessionAffinity"], "None");
        fill_at(object, &["spec", "type"], "ClusterIP");
        match object.get_str(&["spec", "sessionAffinity"]) {
            Some("ClientIP") => {
                let timeout = ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"];
                fill_at(object, &timeout, AFFINITY_SECONDS);
            }
            _ => {
                object.remove(&["spec", "sessionAffinityConfig"]);
            }
        }
        with(&mut object.0, "spec", |spec| {
            each(spec, &["ports"], |port| {
                fill(port, "protocol", "TCP");
                let unset = matches!(port.get("targetPort"), None | Some(Value::Null))
                    || port.get("targetPort").is_some_and(|target| *target == 0 || *target == "");
                if let (true, Some(number)) = (unset, port.get("port").cloned()) {
                    port.insert("targetPort".to_owned(), number);
                }
            });
        });
        if has_node_ports(object) {
            fill_at(object, &["spec", "externalTrafficPolicy"], "Cluster");
        }
        if !is_external_name(object) {
            fill_at(object, &["spec", "internalTrafficPolicy"], "Cluster");
        }
        if kind(object) == "LoadBalancer" {
            fill_at(object, &["spec", "allocateLoadBalancerNodePorts"], true);
        }
        let ingresses = object.0.get_mut("status").and_then(|status| status.get_mut("loadBalancer"));
        if let Some(balancer) = ingresses.and_then(Value::as_object_mut) {
            each(balancer, &["ingress"], |ingress| {
                if ingress.contains_key("ip") {
                    fill(ingress, "ipMode", "VIP");
                }
            });
        }
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        drop_what_the_type_had(new, old);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        check_ports(object, &spec, &mut errors);
        check_type(object, &spec, &mut errors);
        check_cluster_ips(object, &spec, &mut errors);
        check_policies(object, &spec, &mut errors);
        for address in spec.get("externalIPs").elements() {
            address::check_address(&address, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let path = ["spec", "clusterIPs"];
        if has_cluster_ip(old)
            && has_cluster_ip(new)
            && let Some(before) = old.get(&path)
            && new.get(&path) != Some(before)
        {
            let spec = Field::of(new, "spec");
            let ips = spec.get("clusterIPs");
            let value = ips.value().cloned().unwrap_or_default();
            errors.push(FieldError::invalid(ips.path().index(0), value, "may not change once set"));
        }
        errors.append(self.validate(context, new));
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let old = object.get_str(&["spec", "trafficDistribution"]) == Some("PreferClose");
        let warning = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        old.then(|| warning.to_owned()).into_iter().collect()
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

/// Removes fields that the new type does not have, unless the client changed them.
fn drop_what_the_type_had(new: &mut Object, old: &Object) {
    let mut fields: Vec<&str> = Vec::new();
    if !is_external_name(old) && is_external_name(new) {
        fields.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    if has_node_ports(old) && !has_node_ports(new) {
        fields.extend(["externalTrafficPolicy", "healthCheckNodePort"]);
        drop_node_ports(new, old);
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        fields.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    for field in fields {
        // The default of the old type was not set by the client.
        if new.get(&["spec", field]) == old.get(&["spec", field]) {
            new.remove(&["spec", field]);
        }
    }
}

fn drop_node_ports(new: &mut Object, old: &Object) {
    let numbers = |object: &Object| -> HashSet<i64> {
        let ports = object.get(&["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
        ports.filter_map(|port| port.get("nodePort")?.as_i64()).collect()
    };
    if numbers(new).is_subset(&numbers(old)) {
        with(&mut new.0, "spec", |spec| {
            each(spec, &["ports"], |port| {
                port.remove("nodePort");
            });
        });
    }
}

fn check_ports(object: &Object, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let ports = spec.get("ports");
    let headless = spec.get("clusterIP").text() == "None";
    if ports.is_empty() && !headless && !is_external_name(object) {
        errors.push(ports.required(""));
    }
    let mut port_names = HashSet::new();
    let mut numbers = HashSet::new();
    let mut node_ports = HashSet::new();
    for port in ports.elements() {
        let name = port.get("name");
        let protocol = port.get("protocol");
        let number = port.get("port");
        if name.text().is_empty() {
            if ports.len() > 1 {
                errors.push(name.required(""));
            }
        } else {
            name.check(names::dns_label, errors);
            if !port_names.insert(name.text()) {
                errors.push(name.duplicate());
            }
        }
        number.check_between(1, 65_535, errors);
        protocol.check_one_of(&PROTOCOLS, errors);
        let target = port.get("targetPort");
        if target.integer().is_some() {
            target.check_between(1, 65_535, errors);
        }
        let application = port.get("appProtocol");
        if application.exists() {
            application.check(names::qualified_name, errors);
        }
        if !numbers.insert((protocol.text(), number.integer())) {
            // The message only shows the fields that make ports duplicates.
            let text = format!(
                "{{\"Name\":\"\",\"Protocol\":{:?},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                protocol.text(),
                number.integer().unwrap_or_default()
            );
            errors.push(port.duplicate().shown_as(text));
        }
        let node_port = port.get("nodePort");
        let Some(wanted) = node_port.integer().filter(|wanted| *wanted != 0) else { continue };
        if !has_node_ports(object) {
            let kind = kind(object);
            errors.push(node_port.forbidden(format!("may not be used when `type` is '{kind}'")));
        } else if !node_ports.insert((protocol.text(), wanted)) {
            errors.push(node_port.duplicate());
        }
    }
}

fn check_type(object: &Object, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    spec.get("type").check_one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], errors);
    let ips = spec.get("clusterIPs");
    let headless = spec.get("clusterIP").text() == "None";
    if has_node_ports(object) && headless {
        let detail = format!("may not be set to 'None' for {} services", kind(object));
        errors.push(FieldError::invalid(ips.path().index(0), "None", detail));
    }
    if is_external_name(object) {
        for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let field = spec.get(field);
            if !field.is_empty() || !field.text().is_empty() {
                errors.push(field.forbidden("may not be set for ExternalName services"));
            }
        }
        let name = spec.get("externalName");
        if name.text().is_empty() {
            errors.push(name.required(""));
        } else {
            let bare = name.text().trim_end_matches('.');
            for complaint in names::dns_subdomain(bare) {
                errors.push(name.invalid(complaint));
            }
        }
    }
    if kind(object) != "LoadBalancer" {
        for field in ["loadBalancerClass", "allocateLoadBalancerNodePorts"] {
            let field = spec.get(field);
            if field.exists() {
                errors.push(field.forbidden("may only be used when `type` is 'LoadBalancer'"));
            }
        }
    }
    for range in spec.get("loadBalancerSourceRanges").elements() {
        let before = errors.0.len();
        address::check_network(&range, errors);
        // The message has the field's Go name.
        for error in errors.0.iter_mut().skip(before) {
            let index = error.field.to_string();
            let index = index.rsplit_once('[').and_then(|(_, rest)| rest.trim_end_matches(']').parse().ok());
            error.field = spec.path().child("LoadBalancerSourceRanges").index(index.unwrap_or_default());
        }
    }
}

fn check_cluster_ips(object: &Object, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let ip = spec.get("clusterIP");
    let ips = spec.get("clusterIPs");
    if !has_cluster_ip(object) {
        return;
    }
    let first = ips.elements().next().map(|first| first.text()).unwrap_or_default();
    if ip.text() != first {
        errors.push(ips.invalid("first value must match `clusterIP`"));
    }
    for one in ips.elements().filter(|one| one.text() != "None") {
        address::check_address(&one, errors);
    }
}

fn check_policies(object: &Object, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    spec.get("sessionAffinity").check_one_of(&["ClientIP", "None"], errors);
    let timeout = spec.get("sessionAffinityConfig");
    let timeout = timeout.get("clientIP");
    timeout.get("timeoutSeconds").check_between(1, 86_400, errors);
    spec.get("internalTrafficPolicy").check_one_of(&["Cluster", "Local"], errors);
    let external = spec.get("externalTrafficPolicy");
    if has_node_ports(object) {
        external.check_one_of(&["Cluster", "Local"], errors);
    } else if external.exists() {
        errors.push(external.invalid("may only be set for externally-accessible services"));
    }
    let families = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    spec.get("ipFamilyPolicy").check_one_of(&families, errors);
    let distribution = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    spec.get("trafficDistribution").check_one_of(&distribution, errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
