//! Names that are reserved for configurations, policies and bindings in files.
//!
//! Kubernetes concept: `ValidateStaticSuffix` and `WarningsForStaticSuffix` in
//! `pkg/apis/admissionregistration/validation`.

use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object};
use registry_core::features::{Feature, Features};

/// The ending of the names that are reserved for objects in files.
pub const RESERVED_ENDING: &str = ".static.k8s.io";

/// The answer to a new object with a reserved name. An object that exists can be changed with a warning in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReservedNames {
    /// It is created, with a warning.
    Warned,
    /// It is refused.
    Refused,
}

// === impl ReservedNames ===

impl ReservedNames {
    pub(super) fn for_features(features: Features) -> Self {
        if features.contains(Feature::ManifestBasedAdmissionControlConfig) {
            Self::Refused
        } else {
            Self::Warned
        }
    }

    /// Checks the name of a new object.
    pub(super) fn check(self, object: &Object, errors: &mut ErrorList) {
        let name = object.name();
        if self == Self::Refused && name.ends_with(RESERVED_ENDING) {
            let path = FieldPath::new("metadata").child("name");
            errors.push(FieldError::invalid(path, name, reason()));
        }
    }

    /// Returns the warning about a new object.
    pub(super) fn warnings_on_create(self, object: &Object) -> Vec<String> {
        if self == Self::Refused { Vec::new() } else { warnings(object) }
    }
}

/// Returns the warning about a changed object.
pub(super) fn warnings(object: &Object) -> Vec<String> {
    let is_reserved = object.name().ends_with(RESERVED_ENDING);
    is_reserved.then(|| format!("metadata.name: {}", reason())).into_iter().collect()
}

fn reason() -> String {
    format!(
        "names ending with {RESERVED_ENDING:?} are reserved for static manifest-based configurations and cannot be managed \
         via the API"
    )
}
