//! Rules of Endpoints.

use std::net::IpAddr;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;

use crate::edit::{each, fill};
use crate::field::Field;

/// Addresses and ports.
pub(super) struct EndpointsStrategy;

impl ObjectStrategy for EndpointsStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        each(&mut object.0, &["subsets"], |subset| {
            each(subset, &["ports"], |port| fill(port, "protocol", "TCP"));
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        for subset in Field::of(object, "subsets").elements() {
            check_subset(&subset, &mut errors);
        }
        errors
    }

    fn deprecation(&self) -> Option<&'static str> {
        Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

fn check_subset(subset: &Field<'_, '_>, errors: &mut ErrorList) {
    let (ready, not_ready, ports) =
        (subset.get("addresses"), subset.get("notReadyAddresses"), subset.get("ports"));
    if ready.len() + not_ready.len() == 0 {
        errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
    }
    for address in ready.elements().chain(not_ready.elements()) {
        check_address(&address.get("ip"), errors);
        let hostname = address.get("hostname");
        if !hostname.text().is_empty() {
            hostname.check(names::dns_label, errors);
        }
        let node = address.get("nodeName");
        if !node.text().is_empty() {
            node.check(names::dns_subdomain, errors);
        }
    }
    let needs_names = ports.len() > 1;
    for port in ports.elements() {
        let name = port.get("name");
        if needs_names && name.text().is_empty() {
            errors.push(name.required(""));
        } else if !name.text().is_empty() {
            name.check(names::dns_label, errors);
        }
        let number = port.get("port");
        if !number.integer().is_some_and(|number| (1..=65_535).contains(&number)) {
            errors.push(number.invalid("must be between 1 and 65535, inclusive"));
        }
        port.get("protocol").check_one_of(&["SCTP", "TCP", "UDP"], errors);
        let application = port.get("appProtocol");
        if application.exists() {
            application.check(names::qualified_name, errors);
        }
    }
}

/// An address that another machine can reach.
fn check_address(field: &Field<'_, '_>, errors: &mut ErrorList) {
    let Ok(address) = field.text().parse::<IpAddr>() else {
        errors.push(field.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
        return;
    };
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(four) => (four.is_link_local(), four.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(six) => (six.is_unicast_link_local(), six.segments().first() == Some(&0xff02)),
    };
    if address.is_unspecified() {
        errors.push(field.invalid(format!("may not be unspecified ({address})")));
    }
    if address.is_loopback() {
        errors.push(field.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    if link_local {
        errors.push(field.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
    if link_local_multicast {
        errors.push(field.invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
    }
}
