//! Rules of CSIDrivers.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::json;

use crate::support::defaulting;
use crate::support::field::Field;
use crate::support::semantic;

const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;
const LEAST_PERIOD_SECONDS: i64 = 10;
/// A field of a feature that is off.
const DISABLED: [&str; 2] = ["spec", "preventPodSchedulingIfMissing"];
const TOKENS: [&str; 2] = ["spec", "tokenRequests"];
const IN_SECRETS: [&str; 2] = ["spec", "serviceAccountTokenInSecrets"];
const RECOMMENDED: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

/// Defaults and validation; whether volumes are attached, and their life cycle, are immutable.
pub(super) struct CSIDriverStrategy;

impl ObjectStrategy for CSIDriverStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let spec = object.0.entry("spec").or_insert_with(|| json!({}));
        let Some(spec) = spec.as_object_mut() else { return };
        defaulting::fill_absent(spec, "attachRequired", true);
        for flag in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
            defaulting::fill_absent(spec, flag, false);
        }
        defaulting::fill_absent(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        if defaulting::is_empty(spec.get("volumeLifecycleModes")) {
            spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
        }
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.remove(&DISABLED);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        if old.get(&DISABLED).is_none() {
            new.remove(&DISABLED);
        }
        // Only changes are counted: a new driver has no generation.
        if !semantic::equal(new.0.get("spec"), old.0.get("spec")) {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&Field::of(object, "spec"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        new.get_shown_as("attachRequired", "attachedRequired")
            .check_immutable(&old.get("attachRequired"), &mut errors);
        let modes = "volumeLifecycleModes";
        new.get(modes).check_immutable(&old.get(modes), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let recommends = !defaulting::is_empty_at(object, &TOKENS) && object.get(&IN_SECRETS).is_none();
        recommends.then(|| RECOMMENDED.to_owned()).into_iter().collect()
    }

    fn warnings_on_update(&self, context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        if semantic::equal(new.get(&TOKENS), old.get(&TOKENS)) {
            return Vec::new();
        }
        self.warnings_on_create(context, new)
    }
}

fn check_spec(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    spec.get("fsGroupPolicy").check_one_of(&policies, errors);
    let tokens = spec.get("tokenRequests");
    let mut audiences = HashSet::new();
    for request in tokens.elements() {
        let audience = request.get("audience");
        if !audiences.insert(audience.text()) {
            errors.push(audience.duplicate());
            continue;
        }
        let seconds = request.get("expirationSeconds");
        match seconds.integer() {
            Some(..LEAST_SECONDS) => {
                errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
            }
            Some(number) if number > MOST_SECONDS => {
                errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
            }
            _ => {}
        }
    }
    let modes = spec.get("volumeLifecycleModes");
    for mode in modes.elements() {
        if !["Persistent", "Ephemeral"].contains(&mode.text()) {
            let accepted = ["Persistent", "Ephemeral"];
            errors.push(FieldError::not_supported(modes.path(), mode.text(), &accepted));
        }
    }
    let period = spec.get("nodeAllocatableUpdatePeriodSeconds");
    if period.integer().is_some_and(|seconds| seconds < LEAST_PERIOD_SECONDS) {
        errors.push(period.invalid("must be greater than or equal to 10 seconds"));
    }
    let in_secrets = spec.get("serviceAccountTokenInSecrets");
    if in_secrets.exists() && tokens.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(in_secrets.invalid(detail));
    }
}
