//! The endpoints of a slice: reachable addresses of one type.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, FieldError, names};
use resource_views::discovery::v1::{Endpoint, ForZone};
use resource_views::{List, Text};

use crate::support::address;
use crate::support::label_selector;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_HINTS: usize = 8;

/// Checks the endpoints of a slice with this address type.
pub(super) fn check(endpoints: &List<Endpoint<'_, '_>>, kind: &str, errors: &mut ErrorList) {
    if endpoints.len() > MAX_ENDPOINTS {
        errors.push(FieldError::too_many(endpoints.path(), endpoints.len(), MAX_ENDPOINTS));
        return;
    }
    for endpoint in endpoints.elements() {
        let addresses = endpoint.addresses();
        if addresses.is_empty() {
            errors.push(addresses.required("must contain at least 1 address"));
        } else if addresses.len() > MAX_ADDRESSES {
            errors.push(FieldError::too_many(addresses.path(), addresses.len(), MAX_ADDRESSES));
        }
        for address in addresses.elements() {
            check_address(&addresses, &address, kind, errors);
        }
        endpoint.node_name().check_if_present(names::dns_subdomain, errors);
        label_selector::check_labels(&endpoint.deprecated_topology(), errors);
        let hostname = endpoint.hostname();
        if hostname.exists() {
            hostname.check(names::dns_label, errors);
        }
        let hints = endpoint.hints();
        check_hints(&hints.for_zones(), names::label_value, errors);
        check_hints(&hints.for_nodes().seen_as(), names::dns_subdomain, errors);
    }
}

/// Checks an address. Those of IPv4 may have forms that are not canonical. An address of the other family is an error of the
/// whole list.
fn check_address(list: &List<Text<'_, '_>>, address: &Text<'_, '_>, kind: &str, errors: &mut ErrorList) {
    let before = errors.0.len();
    let wants_ipv6 = match kind {
        "IPv4" => {
            address::check_address(address, errors);
            false
        }
        "IPv6" => {
            address::check_canonical_address(address, errors);
            true
        }
        "FQDN" => return check_domain(address, errors),
        _ => return,
    };
    if errors.0.len() > before {
        return;
    }
    if address::is_ipv6(address.text()) != Some(wants_ipv6) {
        let detail = format!("must be an {kind} address");
        errors.push(FieldError::invalid(list.path(), address.text(), detail));
    }
    address::check_reachable(address, errors);
}

/// Checks a domain of at least two labels, which may end in a dot.
fn check_domain(name: &Text<'_, '_>, errors: &mut ErrorList) {
    if !name.check_present(errors) {
        return;
    }
    let text = name.text().strip_suffix('.').unwrap_or(name.text());
    let complaints = names::dns_subdomain(text);
    if complaints.is_empty() && !text.contains('.') {
        errors.push(FieldError::invalid(
            name.path(),
            text,
            "should be a domain with at least two segments separated by dots",
        ));
    }
    for complaint in complaints {
        errors.push(FieldError::invalid(name.path(), text, complaint));
    }
}

fn check_hints(hints: &List<ForZone<'_, '_>>, rule: fn(&str) -> Vec<String>, errors: &mut ErrorList) {
    if hints.len() > MAX_HINTS {
        errors.push(FieldError::too_many(hints.path(), hints.len(), MAX_HINTS));
        return;
    }
    let mut seen = HashSet::new();
    for hint in hints.elements() {
        let name = hint.name();
        if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        seen.insert(name.text());
        name.check(rule, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_core::api::Object;
    use resource_views::discovery::v1::EndpointSlice;
    use serde_json::{Value, json};

    #[test]
    fn addresses_are_of_the_slices_kind() {
        let causes = |kind: &str, endpoint: Value| {
            let slice = Object::from_value(json!({"endpoints": [endpoint]})).unwrap();
            let mut errors = ErrorList::default();
            check(&EndpointSlice(&slice).endpoints(), kind, &mut errors);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let at = |address: &str| json!({"addresses": [address]});
        let none: [&str; 0] = [];
        // As in Kubernetes, an address of the other family is an error of the list.
        let (list, address) = ("endpoints[0].addresses", "endpoints[0].addresses[0]");
        for (kind, good, bad, place) in [
            ("IPv4", "10.0.0.1", "fd00::1", list),
            ("IPv4", "10.0.0.1", "127.0.0.1", address),
            ("IPv6", "fd00::1", "10.0.0.1", list),
            ("FQDN", "a.example.", "a", address),
        ] {
            assert_eq!(causes(kind, at(good)), none, "{good}");
            assert_eq!(causes(kind, at(bad)), [place], "{bad}");
        }
        assert_eq!(causes("IPv4", json!({})), ["endpoints[0].addresses"]);
        let named = json!({"addresses": ["10.0.0.1"], "hostname": "A"});
        assert_eq!(causes("IPv4", named), ["endpoints[0].hostname"]);
    }
}
