//! Rules of LeaseCandidates.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::Text;
use resource_views::coordination::v1beta1::{LeaseCandidate, LeaseCandidateSpec};
use semver::Version;

use crate::api::coordination::election;
use crate::api::core::config_data;

/// The versions are semantic versions; the lease is immutable.
pub(super) struct LeaseCandidateStrategy;

impl ObjectStrategy for LeaseCandidateStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        for complaint in config_data::key_complaints(object.name()) {
            let place = FieldPath::new("metadata").child("name");
            errors.push(FieldError::invalid(place, object.name(), complaint));
        }
        check(&LeaseCandidate(object).spec(), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let spec = LeaseCandidate(new).spec();
        spec.lease_name().check_immutable(&LeaseCandidate(old).spec().lease_name(), &mut errors);
        errors
    }
}

fn check(spec: &LeaseCandidateSpec<'_, '_>, errors: &mut ErrorList) {
    spec.lease_name().check_present(errors);
    let emulation = spec.emulation_version();
    let emulated = version(&emulation, errors);
    let binary = spec.binary_version();
    binary.check_present(errors);
    let own = version(&binary, errors);
    if own < emulated && !emulation.text().is_empty() && !binary.text().is_empty() {
        errors.push(binary.invalid("must be greater than or equal to `emulationVersion`"));
    }
    let strategy = spec.strategy();
    if strategy.check_present(errors) {
        if strategy.text() == election::OLDEST_EMULATION_VERSION && emulated == NONE {
            let detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
            errors.push(emulation.required(detail));
        }
        election::check_strategy(&strategy, errors);
    }
}

/// The version of an empty field, and of one without a valid version.
const NONE: Version = Version::new(0, 0, 0);

/// Returns the version in a field. One that is not valid is an error.
fn version(field: &Text<'_, '_>, errors: &mut ErrorList) -> Version {
    if field.text().is_empty() {
        return NONE;
    }
    Version::parse(field.text()).unwrap_or_else(|_| {
        errors.push(field.invalid("must be a valid semantic version"));
        NONE
    })
}
