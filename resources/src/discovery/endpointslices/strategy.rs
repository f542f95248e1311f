//! Rules of EndpointSlices.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::resource::ObjectStrategy;

use super::endpoints;
use crate::support::defaulting;
use crate::support::field::Field;

/// The address type is immutable; a change of labels increments the generation.
pub(super) struct EndpointSliceStrategy;

impl ObjectStrategy for EndpointSliceStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::each(&mut object.0, &["ports"], |port| {
            defaulting::fill(port, "name", "");
            defaulting::fill(port, "protocol", "TCP");
        });
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // Consumers depend on the labels too, so a change of them counts.
        if new.get(&["metadata", "labels"]) != old.get(&["metadata", "labels"]) {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let kind = Field::of(object, "addressType");
        if kind.check_present(&mut errors) {
            kind.check_one_of(&["FQDN", "IPv4", "IPv6"], &mut errors);
        }
        endpoints::check(&Field::of(object, "endpoints"), kind.text(), &mut errors);
        let mut seen = HashSet::new();
        for port in Field::of(object, "ports").elements() {
            let name = port.get("name");
            if seen.contains(&name.text()) {
                errors.push(name.duplicate());
            }
            seen.insert(name.text());
            if !name.text().is_empty() {
                name.check(names::dns_label, &mut errors);
            }
            let application = port.get("appProtocol");
            if application.exists() {
                application.check(names::qualified_name, &mut errors);
            }
            port.get("protocol").check_one_of(&["SCTP", "TCP", "UDP"], &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "addressType").check_immutable(&Field::of(old, "addressType"), &mut errors);
        errors
    }
}
