//! Names that are reserved for configurations, policies and bindings in files, and the strategy of these kinds.
//!
//! Kubernetes concept: `ValidateStaticSuffix` and `WarningsForStaticSuffix` in
//! `pkg/apis/admissionregistration/validation`.

use std::marker::PhantomData;
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object};
use registry_core::context::Budget;
use registry_core::features::{Feature, Features};
use registry_core::resource::ObjectStrategy;

/// The ending of the names that are reserved for objects in files.
pub const RESERVED_ENDING: &str = ".static.k8s.io";

/// The rules of a kind beside those of its names.
pub(super) trait Rules: Send + Sync + 'static {
    /// Sets the defaults of absent fields.
    fn apply_defaults(object: &mut Object);

    /// Returns the errors of a new object, or of one that changes an old one.
    fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList;

    /// Returns the errors of a new status.
    fn check_status(_object: &Object) -> ErrorList {
        ErrorList::default()
    }
}

/// The strategy of a kind with reserved names.
pub(super) struct ReservingStrategy<R> {
    names: ReservedNames,
    rules: PhantomData<fn() -> R>,
}

/// The answer to a new object with a reserved name. An object that exists can be changed with a warning in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReservedNames {
    /// It is created, with a warning.
    Warned,
    /// It is refused.
    Refused,
}

// === impl ReservingStrategy ===

impl<R: Rules> ReservingStrategy<R> {
    /// The strategy with the default features.
    pub(super) const DEFAULT: Self = Self { names: ReservedNames::Warned, rules: PhantomData };
}

impl<R: Rules> ObjectStrategy for ReservingStrategy<R> {
    fn for_features(&self, features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        Some(Arc::new(Self { names: ReservedNames::for_features(features), rules: PhantomData }))
    }

    fn apply_defaults(&self, object: &mut Object) {
        R::apply_defaults(object);
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings(object)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        self.names.warnings_on_create(object)
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = R::check(object, None, &context.budget);
        self.names.check(object, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        R::check(new, Some(old), &context.budget)
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        R::check_status(new)
    }
}

// === impl ReservedNames ===

impl ReservedNames {
    fn for_features(features: Features) -> Self {
        if features.contains(Feature::ManifestBasedAdmissionControlConfig) {
            Self::Refused
        } else {
            Self::Warned
        }
    }

    /// Checks the name of a new object.
    fn check(self, object: &Object, errors: &mut ErrorList) {
        let name = object.name();
        if self == Self::Refused && name.ends_with(RESERVED_ENDING) {
            let path = FieldPath::new("metadata").child("name");
            errors.push(FieldError::invalid(path, name, reason()));
        }
    }

    /// Returns the warning about a new object.
    fn warnings_on_create(self, object: &Object) -> Vec<String> {
        if self == Self::Refused { Vec::new() } else { warnings(object) }
    }
}

/// Returns the warning about a changed object.
fn warnings(object: &Object) -> Vec<String> {
    let is_reserved = object.name().ends_with(RESERVED_ENDING);
    is_reserved.then(|| format!("metadata.name: {}", reason())).into_iter().collect()
}

fn reason() -> String {
    format!(
        "names ending with {RESERVED_ENDING:?} are reserved for static manifest-based configurations and cannot be managed \
         via the API"
    )
}
