//! Rules of CSIDrivers.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::Typed as _;
use resource_views::storage::v1::{CSIDriver, CSIDriverMut, CSIDriverSpec};
use serde_json::json;

use crate::support::semantic;

const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;
const LEAST_PERIOD_SECONDS: i64 = 10;
const RECOMMENDED: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

/// Defaults and validation; whether volumes are attached, and their life cycle, are immutable.
pub(super) struct CSIDriverStrategy;

impl ObjectStrategy for CSIDriverStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        vec![
            GatedField::new(Feature::CSIServiceAccountTokenSecrets, "spec.serviceAccountTokenInSecrets"),
            GatedField::new(
                Feature::MutableCSINodeAllocatableCount,
                "spec.nodeAllocatableUpdatePeriodSeconds",
            ),
            GatedField::unsupported("spec.preventPodSchedulingIfMissing"),
        ]
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = CSIDriverMut(object).spec().or_new();
        spec.attach_required().or_if_absent(true);
        spec.pod_info_on_mount().or_if_absent(false);
        spec.storage_capacity().or_if_absent(false);
        spec.requires_republish().or_if_absent(false);
        spec.se_linux_mount().or_if_absent(false);
        spec.fs_group_policy().or_if_absent("ReadWriteOnceWithFSType");
        spec.volume_lifecycle_modes().or_if_empty(|| json!(["Persistent"]));
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // Only changes are counted: a new driver has no generation.
        if !semantic::equal(CSIDriver(new).spec().value(), CSIDriver(old).spec().value()) {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&CSIDriver(object).spec(), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let (new, old) = (CSIDriver(new).spec(), CSIDriver(old).spec());
        let attached = new.attach_required().shown_as("attachedRequired");
        attached.check_immutable(&old.attach_required(), &mut errors);
        new.volume_lifecycle_modes().check_immutable(&old.volume_lifecycle_modes(), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let spec = CSIDriver(object).spec();
        let recommends =
            !spec.token_requests().is_empty() && !spec.service_account_token_in_secrets().exists();
        recommends.then(|| RECOMMENDED.to_owned()).into_iter().collect()
    }

    fn warnings_on_update(&self, context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        let tokens = CSIDriver(new).spec().token_requests().value();
        if semantic::equal(tokens, CSIDriver(old).spec().token_requests().value()) {
            return Vec::new();
        }
        self.warnings_on_create(context, new)
    }
}

fn check_spec(spec: &CSIDriverSpec<'_, '_>, errors: &mut ErrorList) {
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    spec.fs_group_policy().check_one_of(&policies, errors);
    let tokens = spec.token_requests();
    let mut audiences = HashSet::new();
    for request in tokens.elements() {
        let audience = request.audience();
        if !audiences.insert(audience.text()) {
            errors.push(audience.duplicate());
            continue;
        }
        let seconds = request.expiration_seconds();
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
    let modes = spec.volume_lifecycle_modes();
    for mode in modes.elements() {
        if !["Persistent", "Ephemeral"].contains(&mode.text()) {
            let accepted = ["Persistent", "Ephemeral"];
            errors.push(FieldError::not_supported(modes.path(), mode.text(), &accepted));
        }
    }
    let period = spec.node_allocatable_update_period_seconds();
    if period.integer().is_some_and(|seconds| seconds < LEAST_PERIOD_SECONDS) {
        errors.push(period.invalid("must be greater than or equal to 10 seconds"));
    }
    let in_secrets = spec.service_account_token_in_secrets();
    if in_secrets.exists() && tokens.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(in_secrets.invalid(detail));
    }
}
