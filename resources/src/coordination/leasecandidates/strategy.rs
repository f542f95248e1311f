//! Rules of LeaseCandidates.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::NameRule;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use semver::Version;

use crate::coordination::election;
use crate::core::config_data;
use crate::support::field::Field;

/// The versions are semantic versions; the lease is immutable.
pub(super) struct LeaseCandidateStrategy;

impl ObjectStrategy for LeaseCandidateStrategy {
    fn name_rule(&self) -> NameRule {
        NameRule::Any
    }

    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn deprecation(&self) -> Option<&'static str> {
        Some("coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+")
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        for complaint in config_data::key_complaints(object.name()) {
            let place = FieldPath::new("metadata").child("name");
            errors.push(FieldError::invalid(place, object.name(), complaint));
        }
        check(&Field::of(object, "spec"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let spec = Field::of(new, "spec");
        let before = Field::of(old, "spec");
        spec.get("leaseName").check_immutable(&before.get("leaseName"), &mut errors);
        errors
    }
}

fn check(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    spec.get("leaseName").check_present(errors);
    let emulation = spec.get("emulationVersion");
    let emulated = version(&emulation, errors);
    let binary = spec.get("binaryVersion");
    binary.check_present(errors);
    let own = version(&binary, errors);
    if own < emulated && !emulation.text().is_empty() && !binary.text().is_empty() {
        errors.push(binary.invalid("must be greater than or equal to `emulationVersion`"));
    }
    let strategy = spec.get("strategy");
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
fn version(field: &Field<'_, '_>, errors: &mut ErrorList) -> Version {
    if field.text().is_empty() {
        return NONE;
    }
    Version::parse(field.text()).unwrap_or_else(|_| {
        errors.push(field.invalid("must be a valid semantic version"));
        NONE
    })
}
