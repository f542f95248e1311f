//! Rules of ServiceCIDRs.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::networking::v1::{ServiceCIDR, ServiceCIDRSpec};

use crate::support::address;
use crate::support::field::ShownAsGo as _;

/// At most one range for each family; ranges are immutable.
pub(super) struct ServiceCIDRStrategy;

impl ObjectStrategy for ServiceCIDRStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check(&ServiceCIDR(object).spec(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = ServiceCIDR(new).spec();
        let before = ServiceCIDR(old).spec();
        let (ranges, known) = (spec.cidrs(), before.cidrs());
        let is_extended = known.len() == 1 && ranges.len() == 2;
        if ranges.len() != known.len() && !is_extended {
            errors.push(ranges.invalid("field is immutable"));
            return errors;
        }
        for (range, known) in ranges.elements().zip(known.elements()) {
            range.check_immutable(&known, &mut errors);
        }
        // A range of the other family may be added.
        if is_extended {
            check(&spec, &mut errors);
        }
        errors
    }
}

fn check(spec: &ServiceCIDRSpec<'_, '_>, errors: &mut ErrorList) {
    let ranges = spec.cidrs();
    if ranges.is_empty() {
        errors.push(ranges.required("at least one CIDR required"));
        return;
    }
    if ranges.len() > 2 {
        errors.push(
            ranges
                .invalid("may only hold up to 2 values")
                .shown_as(spec.go_text("<networking.ServiceCIDRSpec>")),
        );
        return;
    }
    for range in ranges.elements() {
        address::check_canonical_network(&range, errors);
    }
    let families: Vec<_> = ranges
        .elements()
        .map(|range| range.text().split_once('/').and_then(|(address, _)| address::is_ipv6(address)))
        .collect();
    if let [Some(first), Some(second)] = families.as_slice()
        && first == second
    {
        errors.push(ranges.invalid(
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
        ));
    }
}
