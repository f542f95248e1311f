//! Rules of StatefulSets.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::apps::v1::{StatefulSet, StatefulSetMut, StatefulSetUpdateStrategy};

use super::template;
use crate::api::core::pod_spec::{defaults, gated, warnings};
use crate::api::core::volume_claim::{self, Tolerated};
use crate::api::core::workload::{self, Counts};
use crate::support::amount;
use crate::support::field::ShownAsGo as _;
use crate::support::semantic;

/// The fields of the spec that may change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const IMMUTABLE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// Defaults and validation; most of the spec is immutable.
pub(super) struct StatefulSetStrategy;

impl ObjectStrategy for StatefulSetStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        let mut fields = gated::spec("spec.template.spec");
        fields.push(GatedField::unsupported("spec.updateStrategy.rollingUpdate.maxUnavailable"));
        fields
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = StatefulSetMut(object).spec().or_new();
        spec.replicas().or(1);
        spec.revision_history_limit().or(10);
        spec.pod_management_policy().or("OrderedReady");
        let mut rollout = spec.update_strategy().or_new();
        let has_kind = !rollout.r#type().is_unset();
        rollout.r#type().or("RollingUpdate");
        if rollout.r#type().is("RollingUpdate") && (!has_kind || rollout.rolling_update().present().is_some())
        {
            rollout.rolling_update().or_new().partition().or(0);
        }
        let mut retention = spec.persistent_volume_claim_retention_policy().or_new();
        retention.when_deleted().or("Retain");
        retention.when_scaled().or("Retain");
        for mut claim in spec.volume_claim_templates().elements() {
            // Kubernetes does not keep what the templates of claims say about themselves.
            claim.api_version().set("v1");
            claim.kind().set("PersistentVolumeClaim");
            if let Some(mut spec) = claim.spec().present() {
                volume_claim::apply_defaults(&mut spec);
            }
            claim.status().or_new().phase().or("Pending");
        }
        defaults::apply_to_template(spec.template());
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        check(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = check(context, new, Some(old));
        let mut allowed = new.clone();
        for field in MUTABLE {
            allowed.copy_field(old, &["spec", field]);
        }
        if !semantic::equal(StatefulSet(&allowed).spec().value(), StatefulSet(old).spec().value()) {
            errors.push(FieldError::forbidden(FieldPath::new("spec"), IMMUTABLE));
        }
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::template_warnings(&StatefulSet(object).spec().template());
        // The path of these warnings does not name the spec.
        warn_of_claims(object, None, &mut warnings);
        warnings
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        let mut warnings = warnings::changed_workload_warnings(new, old, &StatefulSet(new).spec().template());
        // The path of these warnings has the Go name of the spec.
        warn_of_claims(new, Some("Spec"), &mut warnings);
        warnings
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = StatefulSet(new).status();
        let counts = Counts {
            replicas: status.replicas(),
            observed_generation: status.observed_generation(),
            ready: status.ready_replicas(),
            available: status.available_replicas(),
            shares: &[
                status.ready_replicas(),
                status.current_replicas(),
                status.updated_replicas(),
                status.available_replicas(),
            ],
            others: &[],
        };
        counts.check("status.readyReplicas", &mut errors);
        let before = StatefulSet(old).status();
        workload::check_collisions(&status.collision_count(), &before.collision_count(), &mut errors);
        errors
    }
}

/// Warns of amounts of storage in the templates of claims, and of a history without end.
fn warn_of_claims(object: &Object, spec_name: Option<&str>, warnings: &mut Vec<String>) {
    let spec = StatefulSet(object).spec();
    for claim in spec.volume_claim_templates().elements() {
        let path = spec_name.map_or_else(|| claim.path(), |name| claim.path().child(name));
        volume_claim::warn_at(&claim.spec(), &path, warnings);
    }
    if spec.revision_history_limit().number() < 0 {
        warnings.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned());
    }
}

fn check(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = StatefulSet(object).spec();
    let policy = spec.pod_management_policy();
    if policy.check_present(&mut errors) && !matches!(policy.text(), "OrderedReady" | "Parallel") {
        errors.push(policy.invalid("must be 'OrderedReady' or 'Parallel'"));
    }
    check_update_strategy(&spec.update_strategy(), &mut errors);
    let retention = spec.persistent_volume_claim_retention_policy();
    for when in [retention.when_deleted(), retention.when_scaled()] {
        when.check_one_of(&["Retain", "Delete"], &mut errors);
    }
    // Claims and the service are immutable: what is stored is not checked again.
    if old.is_none() {
        for claim in spec.volume_claim_templates().elements() {
            volume_claim::check_spec(&claim.spec(), Tolerated::default(), &mut errors);
        }
    }
    spec.replicas().check_not_negative(&mut errors);
    spec.min_ready_seconds().check_not_negative(&mut errors);
    spec.ordinals().start().check_not_negative(&mut errors);
    if old.is_none() {
        spec.service_name().check_if_set(names::dns_label, &mut errors);
    }
    template::check(context, object, old, &mut errors);
    errors
}

fn check_update_strategy(strategy: &StatefulSetUpdateStrategy<'_, '_>, errors: &mut ErrorList) {
    let rolling = strategy.rolling_update();
    match strategy.r#type().text() {
        "OnDelete" => {
            if rolling.exists() {
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                errors.push(rolling.invalid_as("<apps.RollingUpdateStatefulSetStrategy>", detail));
            }
        }
        "RollingUpdate" => {
            rolling.partition().check_not_negative(errors);
            let unavailable = rolling.max_unavailable();
            amount::check(&unavailable, errors);
            if amount::is_zero(&unavailable) {
                errors.push(unavailable.invalid("cannot be 0"));
            }
            amount::check_at_most_all(&unavailable, errors);
        }
        "" => errors.push(strategy.required("")),
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(strategy.invalid_as("<apps.StatefulSetUpdateStrategy>", detail));
        }
    }
}
