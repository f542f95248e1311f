//! Rules of the cluster IPs of a Service and of their families.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use resource_views::core::v1::{Service, ServiceSpec};
use resource_views::{List, Text};

use super::service_type::is_external_name;
use crate::support::address;

/// Maximum number of cluster IPs: one of each family.
const MAX_ADDRESSES: usize = 2;
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const KEPT: &str = "may not change once set";

/// Whether a service has no cluster IP of its own.
pub(super) fn is_headless(spec: &ServiceSpec<'_, '_>) -> bool {
    let ips = spec.cluster_ips();
    ips.len() == 1 && ips.elements().all(|ip| ip.text() == "None")
}

/// Returns the family of an address.
pub(super) fn family_of(address: &str) -> Option<&'static str> {
    address::is_ipv6(address).map(|is_ipv6| if is_ipv6 { "IPv6" } else { "IPv4" })
}

/// Checks the cluster IPs, the families and the policy, each alone and against each other. Addresses that the service has
/// already are not checked again.
pub(super) fn check(service: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    if is_external_name(service) {
        return;
    }
    let spec = Service(service).spec();
    let ip = spec.cluster_ip();
    let ips = spec.cluster_ips();
    let families = spec.ip_families();
    match (ip.text(), ips.elements().next()) {
        ("", Some(_)) => errors.push(ips.invalid("must be empty when `clusterIP` is not specified")),
        ("", None) => {}
        (_, None) => errors.push(ips.required("")),
        (text, Some(first)) if first.text() != text => {
            errors.push(ips.invalid("first value must match `clusterIP`"));
        }
        _ => {}
    }
    let mut seen = HashSet::new();
    for family in families.elements() {
        family.check_one_of(&FAMILIES, errors);
        if !seen.insert(family.text()) {
            errors.push(family.duplicate());
        }
    }
    spec.ip_family_policy().check_one_of(&POLICIES, errors);
    if !check_addresses(&ips, old, errors) {
        return;
    }
    if ips.len() > 1 {
        let kinds: HashSet<_> = ips.elements().map(|ip| family_of(ip.text())).collect();
        if kinds.len() < MAX_ADDRESSES {
            errors.push(ips.invalid("may specify no more than one IP for each IP family"));
        }
    }
    if !is_headless(&spec) {
        check_families(&ips, &families, errors);
    }
}

/// Checks each address; returns whether all are good.
fn check_addresses(ips: &List<Text<'_, '_>>, old: Option<&Object>, errors: &mut ErrorList) -> bool {
    let before = old.map(|old| Service(old).spec());
    let accepted: HashSet<&str> = before.iter().flat_map(|spec| spec.cluster_ips().texts()).collect();
    let mut are_good = true;
    for (index, ip) in ips.elements().enumerate() {
        if index == 0 && ip.text() == "None" {
            if ips.len() > 1 {
                are_good = false;
                errors.push(ips.invalid("'None' must be the first and only value"));
            }
            continue;
        }
        let count = errors.0.len();
        address::check_new_address(&ip, &accepted, errors);
        are_good &= errors.0.len() == count;
    }
    if ips.len() > MAX_ADDRESSES {
        errors.push(ips.invalid("may only hold up to 2 values"));
    }
    are_good
}

fn check_families(ips: &List<Text<'_, '_>>, families: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    for (index, (ip, family)) in ips.elements().zip(families.elements()).enumerate() {
        let is_six = family_of(ip.text()) == Some("IPv6");
        if family.text() == "IPv4" && is_six || family.text() == "IPv6" && !is_six {
            let family = family.text();
            errors.push(
                ip.invalid(format!("expected an {family} value as indicated by `ipFamilies[{index}]`")),
            );
        }
    }
}

// === changes ===

/// Checks that the primary address and the primary family are kept, and how secondary ones come and go.
pub(super) fn check_change(new: &Object, old: &Object, errors: &mut ErrorList) {
    if is_external_name(new) || is_external_name(old) {
        return;
    }
    let (spec, before) = (Service(new).spec(), Service(old).spec());
    let (headless, was_headless) = (is_headless(&spec), is_headless(&before));
    if !(headless && was_headless) {
        check_addresses_kept(&spec, &before, errors);
    }
    if !headless && !was_headless {
        check_families_kept(&spec, &before, errors);
    }
}

fn kept(list: &List<Text<'_, '_>>, shown: &List<Text<'_, '_>>, index: usize, detail: &str) -> FieldError {
    FieldError::invalid(list.path().index(index), shown.value().cloned().unwrap_or_default(), detail)
}

fn check_single_stack(spec: &ServiceSpec<'_, '_>, what: &str, errors: &mut ErrorList) {
    let policy = spec.ip_family_policy();
    if policy.text() != "SingleStack" {
        errors.push(
            policy.invalid(format!("must be set to 'SingleStack' when releasing the secondary {what}")),
        );
    }
}

fn first<'v>(list: &List<Text<'v, '_>>) -> Option<&'v str> {
    list.elements().next().map(|element| element.text())
}

fn check_addresses_kept(spec: &ServiceSpec<'_, '_>, before: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let (ips, old) = (spec.cluster_ips(), before.cluster_ips());
    if old.len() == ips.len() {
        for (index, (now, before)) in ips.elements().zip(old.elements()).enumerate() {
            if now.text() != before.text() {
                errors.push(kept(&ips, &ips, index, KEPT));
            }
        }
        return;
    }
    if ips.is_empty() {
        errors.push(kept(&ips, &ips, 0, "primary clusterIP can not be unset"));
    } else if !old.is_empty() && first(&ips) != first(&old) {
        errors.push(kept(&ips, &ips, 0, KEPT));
    }
    if old.len() > ips.len() && ips.len() == 1 {
        check_single_stack(spec, "clusterIP", errors);
    }
}

fn check_families_kept(spec: &ServiceSpec<'_, '_>, before: &ServiceSpec<'_, '_>, errors: &mut ErrorList) {
    let (families, old) = (spec.ip_families(), before.ip_families());
    let ips = spec.cluster_ips();
    if old.len() == families.len() {
        for (now, before) in families.elements().zip(old.elements()) {
            if now.text() != before.text() {
                // The path is that of the first one, whichever changed.
                errors.push(kept(&families, &families, 0, KEPT));
            }
        }
        return;
    }
    if old.len() > families.len() && ips.is_empty() {
        errors.push(kept(&families, &families, 0, "primary ipFamily can not be unset"));
    }
    if !old.is_empty() && !families.is_empty() && first(&families) != first(&old) {
        // The value shown is that of the addresses.
        errors.push(kept(&families, &ips, 0, KEPT));
    }
    if old.len() > families.len() && families.len() == 1 {
        check_single_stack(spec, "ipFamily", errors);
    }
}
