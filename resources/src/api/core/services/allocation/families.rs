//! The families of a Service's addresses.
//!
//! Kubernetes concept: `initIPFamilyFields` of `pkg/registry/core/service/storage/alloc.go`.

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use resource_views::core::v1::Service;
use serde_json::{Value, json};

use crate::api::core::services::cluster_ips::{self, family_of};
use crate::api::core::services::ranges::ServiceRanges;
use crate::api::core::services::service_type::is_external_name;
use crate::support::defaulting::is_empty_at;
use crate::support::semantic;

const POLICY: [&str; 2] = ["spec", "ipFamilyPolicy"];
const FAMILIES: [&str; 2] = ["spec", "ipFamilies"];
const ADDRESSES: [&str; 2] = ["spec", "clusterIPs"];
const SINGLE: &str = "SingleStack";

/// Sets the policy and the families where they are unset, and checks that this cluster has them.
pub(super) fn set(service: &mut Object, old: Option<&Object>, ranges: &ServiceRanges) -> ErrorList {
    let mut errors = ErrorList::default();
    if is_external_name(service) || old.is_some_and(|old| prefers_both_still(service, old)) {
        return errors;
    }
    let is_free = Service(service).spec().cluster_ip().optional_text() == Some("None")
        && is_empty_at(service, &["spec", "selector"]);
    set_policy(service, old, is_free);
    cluster_ips::check(service, old, &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    check_policy(service, old, &mut errors);
    add_families(service, ranges, &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let mut families = families_of(service);
    if is_free {
        // A headless service whose endpoints are given by others may have families that the cluster has not.
        if families.is_empty() {
            families.push(ranges.family().to_owned());
        }
        add_other(&mut families, policy(service));
    } else {
        check_configured(service, ranges, &mut errors);
        if families.is_empty() {
            families.push(ranges.family().to_owned());
        }
        if ranges.are_dual() {
            add_other(&mut families, policy(service));
        }
    }
    service.set(&FAMILIES, json!(families));
    errors
}

/// Adds the other family to a single one, unless the policy is to have one.
fn add_other(families: &mut Vec<String>, policy: &str) {
    if let [only] = families.as_slice()
        && policy != SINGLE
    {
        let other = if only == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(other.to_owned());
    }
}

fn policy(service: &Object) -> &str {
    Service(service).spec().ip_family_policy().text()
}

fn families_of(service: &Object) -> Vec<String> {
    Service(service).spec().ip_families().texts().map(str::to_owned).collect()
}

/// Whether a service preferred both families before and does so with the same addresses and families.
pub(super) fn prefers_both_still(service: &Object, old: &Object) -> bool {
    const PREFERS: &str = "PreferDualStack";
    let is_same = |path: &[&str]| semantic::equal(service.get(path), old.get(path));
    policy(service) == PREFERS
        && matches!(policy(old), "" | PREFERS)
        && is_same(&["spec", "type"])
        && is_same(&ADDRESSES)
        && is_same(&FAMILIES)
}

fn set_policy(service: &mut Object, old: Option<&Object>, is_free: bool) {
    if service.get(&POLICY).is_some_and(|policy| !policy.is_null()) {
        return;
    }
    let before = old.and_then(|old| old.get(&POLICY)).cloned();
    let default = if is_free { "RequireDualStack" } else { SINGLE };
    service.set(&POLICY, before.unwrap_or_else(|| default.into()));
}

/// Checks that the policy fits the number of addresses and families; gives up secondary ones for a single family.
fn check_policy(service: &mut Object, old: Option<&Object>, errors: &mut ErrorList) {
    let is_single = policy(service) == SINGLE;
    for (path, released, several) in
        [(ADDRESSES, "cluster IP", "cluster IPs"), (FAMILIES, "IP family", "IP families")]
    {
        let count = |object: &Object| object.get(&path).and_then(Value::as_array).map_or(0, Vec::len);
        let now = count(service);
        if let Some(old) = old {
            let is_kept = semantic::equal(service.get(&path), old.get(&path));
            if is_single && is_kept && now > 1 {
                if let Some(list) = service.get(&path).and_then(Value::as_array) {
                    let first: Vec<Value> = list.iter().take(1).cloned().collect();
                    service.set(&path, first.into());
                }
            } else if !is_single && now > 0 && now < count(old) {
                let detail = format!("must be 'SingleStack' to release the secondary {released}");
                errors.push(Service(service).spec().ip_family_policy().invalid(detail));
            }
        }
        if is_single && count(service) == 2 {
            let detail = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {several} are specified"
            );
            errors.push(Service(service).spec().ip_family_policy().invalid(detail));
        }
    }
}

/// Adds the families of addresses that have none.
fn add_families(service: &mut Object, ranges: &ServiceRanges, errors: &mut ErrorList) {
    let mut families = families_of(service);
    let spec = Service(service).spec();
    let ips = spec.cluster_ips();
    for (index, ip) in ips.elements().enumerate() {
        if ip.text() == "None" {
            break;
        }
        let family = family_of(ip.text()).unwrap_or_default();
        if index < families.len() {
            continue;
        }
        if ranges.has_family(family) {
            families.push(family.to_owned());
        } else {
            let detail = format!("{family} is not configured on this cluster");
            let value = ips.value().cloned().unwrap_or_default();
            errors.push(FieldError::invalid(ip.path(), value, detail));
        }
    }
    if !families.is_empty() {
        service.set(&FAMILIES, json!(families));
    }
}

fn check_configured(service: &Object, ranges: &ServiceRanges, errors: &mut ErrorList) {
    let spec = Service(service).spec();
    let policy = spec.ip_family_policy();
    if policy.text() == "RequireDualStack" && !ranges.are_dual() {
        errors.push(policy.invalid("this cluster is not configured for dual-stack services"));
    }
    for family in spec.ip_families().elements() {
        if !ranges.has_family(family.text()) {
            errors.push(family.invalid("not configured on this cluster"));
        }
    }
}
