//! Validation of Services.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, FieldPath, names};
use registry_core::api::{FieldError, Object};
use resource_views::Typed as _;
use resource_views::core::v1::{LoadBalancerIngress, Service, ServiceSpec};

use super::service_type::{is_external_name, is_externally_accessible, kind, needs_health_check};
use super::{cluster_ips, type_change};
use crate::support::address;
use crate::support::label_selector;
use crate::support::port_number;

const MAX_AFFINITY_SECONDS: i64 = 86_400;
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const HINTS: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const ONLY_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";

/// Checks a service; `old` is what it was before an update.
pub(super) fn check(service: &Object, old: Option<&Object>, distributions: &[&str]) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Service(service).spec();
    check_hints(service, &mut errors);
    check_type_fields(service, &spec, &mut errors);
    check_ports(&spec, &mut errors);
    label_selector::check_labels(&spec.selector(), &mut errors);
    check_affinity(&spec, &mut errors);
    cluster_ips::check(service, old, &mut errors);
    check_external_addresses(&spec, old, &mut errors);
    let kind = spec.r#type();
    kind.check_word(&TYPES, &mut errors);
    check_node_ports(service, &spec, &mut errors);
    check_source_ranges(service, &spec, old, &mut errors);
    let allocates = spec.allocate_load_balancer_node_ports();
    if kind.text() == "LoadBalancer" {
        if !allocates.exists() {
            errors.push(FieldError::required(FieldPath::new("allocateLoadBalancerNodePorts"), ""));
        }
    } else {
        allocates.check_absent(ONLY_BALANCERS, &mut errors);
    }
    type_change::check_class(service, &mut errors);
    check_policies(service, &spec, &mut errors);
    spec.traffic_distribution().check_one_of(distributions, &mut errors);
    errors
}

/// Checks the status, which only load balancers have.
pub(super) fn check_status(new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let status = Service(new).status();
    let balancer = status.load_balancer();
    let ingress = balancer.ingress();
    if kind(new) != "LoadBalancer" && !ingress.is_empty() {
        errors.push(ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'"));
        return errors;
    }
    let before = Service(old).status();
    let before = before.load_balancer();
    let before = before.ingress();
    let accepted: HashSet<&str> = before.elements().map(|entry| entry.ip().text()).collect();
    for entry in ingress.elements() {
        check_ingress(&entry, &accepted, &mut errors);
    }
    errors
}

/// Checks an address or a name at which a load balancer is reached.
fn check_ingress(ingress: &LoadBalancerIngress<'_, '_>, accepted: &HashSet<&str>, errors: &mut ErrorList) {
    let ip = ingress.ip();
    let mode = ingress.ip_mode();
    let has_ip = !ip.text().is_empty();
    if has_ip {
        address::check_new_address(&ip, accepted, errors);
    }
    match (mode.exists(), has_ip) {
        (false, true) => errors.push(mode.required("must be specified when `ip` is set")),
        (false, false) => {}
        (true, false) => errors.push(mode.forbidden("may not be specified when `ip` is not set")),
        (true, true) => mode.check_one_of(&["Proxy", "VIP"], errors),
    }
    let host = ingress.hostname();
    if !host.text().is_empty() {
        host.check(names::dns_subdomain, errors);
        if address::parse_loosely(host.text()).is_some() {
            errors.push(host.invalid("must be a DNS name, not an IP address"));
        }
    }
}

fn check_hints(service: &Object, errors: &mut ErrorList) {
    let (Some(old), Some(new)) = (service.annotation(OLD_HINTS), service.annotation(HINTS)) else { return };
    if old != new {
        let path = FieldPath::new("metadata").child("annotations").key(HINTS);
        let detail = format!("must match annotations[{OLD_HINTS}] when both are specified");
        errors.push(FieldError::invalid(path, new, detail));
    }
}

/// Checks what the type demands or excludes.
fn check_type_fields(service: &Object, spec: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let ports = spec.ports();
    let is_headless = cluster_ips::is_headless(spec);
    if ports.is_empty() && !is_headless && !is_external_name(service) {
        errors.push(ports.required(""));
    }
    match kind(service) {
        kind @ ("LoadBalancer" | "NodePort") if is_headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            let path = spec.cluster_ips().path().index(0);
            errors.push(FieldError::invalid(path, "None", detail));
        }
        "ExternalName" => {
            const NOT_SET: &str = "may not be set for ExternalName services";
            for list in [spec.cluster_ips(), spec.ip_families()] {
                if !list.is_empty() {
                    errors.push(list.forbidden(NOT_SET));
                }
            }
            spec.ip_family_policy().check_absent(NOT_SET, errors);
            let name = spec.external_name();
            let bare = name.text().strip_suffix('.').unwrap_or(name.text());
            if bare.is_empty() {
                errors.push(name.required(""));
            } else {
                for complaint in names::dns_subdomain(bare) {
                    errors.push(FieldError::invalid(name.path(), bare, complaint));
                }
            }
        }
        _ => {}
    }
}

// === ports ===

fn check_ports(spec: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let ports = spec.ports();
    let mut seen = HashSet::new();
    for port in ports.elements() {
        let name = port.name();
        if name.text().is_empty() {
            if ports.len() > 1 {
                errors.push(name.required(""));
            }
        } else {
            name.check(names::dns_label, errors);
            if !seen.insert(name.text()) {
                errors.push(name.duplicate());
            }
        }
        port_number::check(&port.port(), errors);
        port.protocol().check_word(&["SCTP", "TCP", "UDP"], errors);
        let target = port.target_port();
        if target.optional_text().is_some() {
            target.as_text().check(names::port_name, errors);
        } else {
            port_number::check(&target.as_integer(), errors);
        }
        port.app_protocol().check_if_present(names::qualified_name, errors);
    }
}

fn check_node_ports(service: &Object, spec: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let ports = spec.ports();
    if kind(service) == "ClusterIP" {
        for port in ports.elements().filter(|port| port.node_port().number() != 0) {
            errors.push(port.node_port().forbidden("may not be used when `type` is 'ClusterIP'"));
        }
    }
    let mut seen = HashSet::new();
    for port in ports.elements().filter(|port| port.node_port().number() != 0) {
        if !seen.insert((port.protocol().text(), port.node_port().number())) {
            errors.push(port.node_port().duplicate());
        }
    }
    let mut seen = HashSet::new();
    for port in ports.elements() {
        let (protocol, number) = (port.protocol().text(), port.port().number());
        if !seen.insert((protocol, number)) {
            // The message only shows the fields that make ports duplicates.
            let text = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            errors.push(port.duplicate().shown_as(text));
        }
    }
}

// === affinity, addresses ===

fn check_affinity(spec: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let affinity = spec.session_affinity();
    affinity.check_word(&["ClientIP", "None"], errors);
    let settings = spec.session_affinity_config();
    match affinity.text() {
        "ClientIP" => {
            let client = settings.client_ip();
            let timeout = client.timeout_seconds();
            for field in [*settings, *client, *timeout] {
                if !field.exists() {
                    errors.push(field.required("when session affinity type is ClientIP"));
                    return;
                }
            }
            if !(1..=MAX_AFFINITY_SECONDS).contains(&timeout.number()) {
                let detail = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
                errors.push(timeout.invalid(detail));
            }
        }
        "None" => settings.check_absent("must not be set when session affinity is None", errors),
        _ => {}
    }
}

fn check_external_addresses(spec: &ServiceSpec<'_, '_>, old: Option<&Object>, errors: &mut ErrorList) {
    let addresses = spec.external_ips();
    if addresses.is_empty() {
        return;
    }
    let before = old.map(|old| Service(old).spec());
    let before = before.as_ref().map(resource_views::core::v1::ServiceSpec::external_ips);
    let accepted: HashSet<&str> =
        before.iter().flat_map(|list| list.elements().map(|ip| ip.text())).collect();
    for ip in addresses.elements() {
        let count = errors.0.len();
        address::check_new_address(&ip, &accepted, errors);
        if errors.0.len() == count {
            address::check_reachable(&ip, errors);
        }
    }
}

/// Checks the networks from which a load balancer is reached: in a field, or in an older annotation.
fn check_source_ranges(
    service: &Object,
    spec: &ServiceSpec<'_, '_>,
    old: Option<&Object>,
    errors: &mut ErrorList,
) {
    let ranges = spec.load_balancer_source_ranges().shown_as("LoadBalancerSourceRanges");
    let is_balancer = kind(service) == "LoadBalancer";
    let check = |path: FieldPath, text: &str, errors: &mut ErrorList| {
        if let Some(complaint) = address::network_complaint(text) {
            errors.push(FieldError::invalid(path, text, complaint));
        }
    };
    if !ranges.is_empty() {
        if !is_balancer {
            errors.push(ranges.forbidden(ONLY_BALANCERS));
        }
        let before = old.map(|old| Service(old).spec());
        let before = before.as_ref().map(resource_views::core::v1::ServiceSpec::load_balancer_source_ranges);
        let accepted: HashSet<&str> =
            before.iter().flat_map(|list| list.elements().map(|range| range.text().trim())).collect();
        for range in ranges.elements().filter(|range| !accepted.contains(range.text().trim())) {
            check(range.path(), range.text().trim(), errors);
        }
        return;
    }
    let Some(value) = service.annotation(SOURCE_RANGES) else { return };
    let path = FieldPath::new("metadata").child("annotations").key(SOURCE_RANGES);
    if !is_balancer {
        errors.push(FieldError::forbidden(path.clone(), ONLY_BALANCERS));
    }
    let is_kept = old.is_some_and(|old| old.annotation(SOURCE_RANGES) == Some(value));
    if !is_kept && !value.trim().is_empty() {
        for range in value.trim().split(',') {
            check(path.clone(), range.trim(), errors);
        }
    }
}

// === policies ===

fn check_policies(service: &Object, spec: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    const POLICIES: [&str; 2] = ["Cluster", "Local"];
    let external = spec.external_traffic_policy();
    if is_externally_accessible(service) {
        external.check_word(&POLICIES, errors);
    } else if !external.text().is_empty() {
        errors.push(external.invalid("may only be set for externally-accessible services"));
    }
    let port = spec.health_check_node_port();
    if !needs_health_check(service) {
        if port.number() != 0 {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(port.invalid(detail));
        }
    } else if port.number() == 0 {
        errors.push(port.required(""));
    } else {
        port_number::check(&port, errors);
    }
    let internal = spec.internal_traffic_policy();
    if !internal.exists() && matches!(kind(service), "ClusterIP" | "NodePort" | "LoadBalancer") {
        errors.push(internal.required(""));
    }
    internal.check_one_of(&POLICIES, errors);
}
