//! Rules of EndpointSlices.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::discovery::v1::EndpointSlice;

use super::{endpoints, topology};
use crate::support::address;
use crate::support::defaulting;

/// The controllers whose addresses are canonical.
const CONTROLLERS: [&str; 2] =
    ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/// The address type is immutable; a change of labels increments the generation.
pub(super) struct EndpointSliceStrategy;

impl ObjectStrategy for EndpointSliceStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        vec![GatedField::new(Feature::PreferSameTrafficDistribution, "endpoints.*.hints.forNodes")]
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::each(&mut object.0, &["ports"], |port| {
            defaulting::fill_absent(port, "name", "");
            defaulting::fill_absent(port, "protocol", "TCP");
        });
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        topology::drop_from(object, None);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // Consumers depend on the labels too, so a change of them counts.
        if EndpointSlice(new).metadata().labels().value() != EndpointSlice(old).metadata().labels().value() {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
        topology::drop_from(new, Some(old));
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        if EndpointSlice(object).address_type().optional_text() == Some("FQDN") {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        warn_of_addresses(object, &mut warnings);
        warnings
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        warn_of_addresses(new, &mut warnings);
        warnings
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let kind = EndpointSlice(object).address_type();
        if kind.check_present(&mut errors) {
            kind.check_one_of(&["FQDN", "IPv4", "IPv6"], &mut errors);
        }
        endpoints::check(&EndpointSlice(object).endpoints(), kind.text(), &mut errors);
        let mut seen = HashSet::new();
        for port in EndpointSlice(object).ports().elements() {
            let name = port.name();
            if seen.contains(&name.text()) {
                errors.push(name.duplicate());
            }
            seen.insert(name.text());
            if !name.text().is_empty() {
                name.check(names::dns_label, &mut errors);
            }
            let application = port.app_protocol();
            if application.exists() {
                application.check(names::qualified_name, &mut errors);
            }
            port.protocol().check_one_of(&["SCTP", "TCP", "UDP"], &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        EndpointSlice(new).address_type().check_immutable(&EndpointSlice(old).address_type(), &mut errors);
        errors
    }
}

/// Warns of addresses that are not in canonical form, except in what Kubernetes' controllers write.
fn warn_of_addresses(object: &Object, warnings: &mut Vec<String>) {
    let metadata = EndpointSlice(object).metadata();
    let manager = metadata.labels().entry("endpointslice.kubernetes.io/managed-by").text();
    if CONTROLLERS.contains(&manager) {
        return;
    }
    for endpoint in EndpointSlice(object).endpoints().elements() {
        for element in endpoint.addresses().elements() {
            warnings.extend(address::warning(&element.path(), element.text()));
        }
    }
}
