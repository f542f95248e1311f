//! Rules of IPAddresses.

use std::net::IpAddr;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::networking::v1::IPAddress;

use crate::support::address;
use crate::support::field::ShownAsGo as _;

/// Returns the error of a name: it must be an address in canonical form, so that no address has two names.
fn name_complaint(name: &str) -> Option<String> {
    if let Some(complaint) = address::complaint(name) {
        return Some(complaint.to_owned());
    }
    let address: IpAddr = name.parse().ok()?;
    if address.to_canonical() != address {
        return Some("must not be an IPv4-mapped IPv6 address".to_owned());
    }
    let canonical = address.to_string();
    (canonical != name).then(|| format!("must be in canonical form ({canonical:?})"))
}

/// The name is the address; the parent is immutable.
pub(super) struct IPAddressStrategy;

impl ObjectStrategy for IPAddressStrategy {
    // IPv6 addresses are no DNS names.
    // The name is an address, which nothing can be appended to.
    fn completes_generated_names(&self) -> bool {
        false
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let base = IPAddress(object).metadata().generate_name().text();
        for (field, name) in [("generateName", base), ("name", object.name())] {
            if let Some(complaint) = name_complaint(name).filter(|_| !name.is_empty()) {
                let path = FieldPath::new("metadata").child(field);
                errors.push(FieldError::invalid(path, name, complaint));
            }
        }
        let spec = IPAddress(object).spec();
        let parent = spec.parent_ref();
        if parent.exists() {
            parent.group().check_if_set(names::dns_subdomain, &mut errors);
            parent.resource().check_named(names::path_segment, &mut errors);
            parent.name().check_named(names::path_segment, &mut errors);
            parent.namespace().check_if_set(names::path_segment, &mut errors);
        } else {
            errors.push(parent.required(""));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = IPAddress(new).spec();
        let old = IPAddress(old).spec();
        let new = new.parent_ref();
        let old = old.parent_ref();
        if new.value() != old.value() {
            errors.push(new.invalid_as("*<networking.ParentReference>", "field is immutable"));
        }
        errors
    }
}
