//! Rules of Endpoints.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::{EndpointSubset, Endpoints};

use crate::support::address;
use crate::support::defaulting::{each, fill};
use crate::support::port_number;

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
        for subset in Endpoints(object).subsets().elements() {
            check_subset(&subset, &mut errors);
        }
        errors
    }
}

fn check_subset(subset: &EndpointSubset<'_, '_>, errors: &mut ErrorList) {
    let ready = subset.addresses();
    let not_ready = subset.not_ready_addresses();
    let ports = subset.ports();
    if ready.len() + not_ready.len() == 0 {
        errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
    }
    for endpoint in ready.elements().chain(not_ready.elements()) {
        address::check_address(&endpoint.ip(), errors);
        let hostname = endpoint.hostname();
        if !hostname.text().is_empty() {
            hostname.check(names::dns_label, errors);
        }
        let node = endpoint.node_name();
        node.check_if_present(names::dns_subdomain, errors);
        address::check_endpoint(&endpoint.ip(), errors);
    }
    let needs_names = ports.len() > 1;
    for port in ports.elements() {
        let name = port.name();
        if needs_names && name.text().is_empty() {
            errors.push(name.required(""));
        } else if !name.text().is_empty() {
            name.check(names::dns_label, errors);
        }
        port_number::check(&port.port(), errors);
        port.protocol().check_one_of(&["SCTP", "TCP", "UDP"], errors);
        let application = port.app_protocol();
        if application.exists() {
            application.check(names::qualified_name, errors);
        }
    }
}
