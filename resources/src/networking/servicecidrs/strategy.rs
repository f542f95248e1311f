//! Rules of ServiceCIDRs.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::support::defaulting;
use crate::support::field::Field;
use crate::support::go_text::{GoShape, OPTIONAL};

/// The form of the spec in messages.
const SPEC: GoShape = GoShape::Struct(&[("CIDRs", "cidrs", OPTIONAL)]);

/// At most one range for each family; ranges are immutable.
pub(super) struct ServiceCIDRStrategy;

impl ObjectStrategy for ServiceCIDRStrategy {
    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata"]]
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let ranges = spec.get("cidrs");
        let sixes = ranges.elements().filter(|range| range.text().contains(':')).count();
        if ranges.is_empty() {
            errors.push(ranges.required("at least one CIDR required"));
        } else if ranges.len() > 2 {
            errors.push(ranges.invalid("may only hold up to 2 values").shown_as(spec.go_text(SPEC)));
        } else if ranges.len() == 2 && sixes != 1 {
            errors.push(ranges.invalid(
                "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
            ));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        let new = new.get("cidrs");
        let old = old.get("cidrs");
        for (new, old) in new.elements().zip(old.elements()) {
            new.check_immutable(&old, &mut errors);
        }
        if old.len() > new.len() || old.len() == 2 && new.len() != 2 {
            errors.push(new.invalid("field is immutable"));
        }
        errors
    }
}
