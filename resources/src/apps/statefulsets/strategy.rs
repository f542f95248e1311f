//! Rules of StatefulSets.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::{self, NameRule};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use super::template;
use crate::apps::workload;
use crate::core::pod_spec::{defaults, warnings};
use crate::core::volume_claim::{self, Tolerated};
use crate::support::defaulting::{each, fill, fill_absent, fill_at, with};
use crate::support::field::{Field, ShownAsGo as _};
use crate::support::go_text::{GoShape, NUMBER, OPTIONAL, TEXT};
use crate::support::semantic;

/// A field of a feature that is off.
const MAX_UNAVAILABLE: [&str; 4] = ["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"];
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

/// The form of a rolling update in messages.
const ROLLING_UPDATE: GoShape =
    GoShape::Struct(&[("Partition", "partition", NUMBER), ("MaxUnavailable", "maxUnavailable", OPTIONAL)]);

/// The form of an update strategy in messages.
const STRATEGY: GoShape = GoShape::Struct(&[
    ("Type", "type", TEXT),
    ("RollingUpdate", "rollingUpdate", GoShape::Pointer(&ROLLING_UPDATE)),
]);

/// Defaults and validation; most of the spec is immutable.
pub(super) struct StatefulSetStrategy;

impl ObjectStrategy for StatefulSetStrategy {
    fn name_rule(&self) -> NameRule {
        // The names of its pods begin with the name of the set.
        NameRule::DnsLabel
    }

    fn apply_defaults(&self, object: &mut Object) {
        const KIND: [&str; 3] = ["spec", "updateStrategy", "type"];
        const ROLLING: [&str; 3] = ["spec", "updateStrategy", "rollingUpdate"];
        fill_at(object, &["spec", "replicas"], 1);
        fill_at(object, &["spec", "revisionHistoryLimit"], 10);
        fill_at(object, &["spec", "podManagementPolicy"], "OrderedReady");
        let has_kind = object.get_str(&KIND).is_some_and(|kind| !kind.is_empty());
        fill_at(object, &KIND, "RollingUpdate");
        let rolls = object.get_str(&KIND) == Some("RollingUpdate");
        if rolls && (!has_kind || object.get(&ROLLING).is_some_and(Value::is_object)) {
            fill_at(object, &[&ROLLING[..], &["partition"]].concat(), 0);
        }
        for field in ["whenDeleted", "whenScaled"] {
            fill_at(object, &["spec", "persistentVolumeClaimRetentionPolicy", field], "Retain");
        }
        with(&mut object.0, "spec", |spec| {
            each(spec, &["volumeClaimTemplates"], |claim| {
                // Kubernetes does not keep what the templates of claims say about themselves.
                claim.insert("apiVersion".to_owned(), "v1".into());
                claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
                with(claim, "spec", |spec| fill_absent(spec, "volumeMode", "Filesystem"));
                let status = claim.entry("status").or_insert_with(|| json!({}));
                if let Some(status) = status.as_object_mut() {
                    fill(status, "phase", "Pending");
                }
            });
        });
        defaults::apply_to_template(object, &["spec", "template"]);
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.remove(&MAX_UNAVAILABLE);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        if old.get(&MAX_UNAVAILABLE).is_none() {
            new.remove(&MAX_UNAVAILABLE);
        }
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
        if !semantic::equal(allowed.0.get("spec"), old.0.get("spec")) {
            errors.push(FieldError::forbidden(FieldPath::new("spec"), IMMUTABLE));
        }
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::of_template(object, &["spec", "template"]);
        // The path of these warnings does not name the spec.
        warn_of_claims(object, None, &mut warnings);
        warnings
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        let mut warnings = warnings::of_changed_workload(new, old, &["spec", "template"]);
        // The path of these warnings has the Go name of the spec.
        warn_of_claims(new, Some("Spec"), &mut warnings);
        warnings
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let counts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
        workload::check_status(new, &counts, &[], "status.readyReplicas", &mut errors);
        workload::check_collisions(new, old, &mut errors);
        errors
    }
}

/// Warns of amounts of storage in the templates of claims, and of a history without end.
fn warn_of_claims(object: &Object, spec_name: Option<&str>, warnings: &mut Vec<String>) {
    let spec = Field::of(object, "spec");
    for claim in spec.get("volumeClaimTemplates").elements() {
        let path = spec_name.map_or_else(|| claim.path(), |name| claim.path().child(name));
        volume_claim::warn_at(&claim.get("spec"), &path, warnings);
    }
    if spec.get("revisionHistoryLimit").number() < 0 {
        warnings.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned());
    }
}

fn check(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Field::of(object, "spec");
    let policy = spec.get("podManagementPolicy");
    if policy.check_present(&mut errors) && !matches!(policy.text(), "OrderedReady" | "Parallel") {
        errors.push(policy.invalid("must be 'OrderedReady' or 'Parallel'"));
    }
    check_update_strategy(&spec.get("updateStrategy"), &mut errors);
    let retention = spec.get("persistentVolumeClaimRetentionPolicy");
    for when in ["whenDeleted", "whenScaled"] {
        retention.get(when).check_one_of(&["Retain", "Delete"], &mut errors);
    }
    // Claims and the service are immutable: what is stored is not checked again.
    if old.is_none() {
        for claim in spec.get("volumeClaimTemplates").elements() {
            volume_claim::check_spec(&claim.get("spec"), Tolerated::default(), &mut errors);
        }
    }
    for number in ["replicas", "minReadySeconds"] {
        spec.get(number).check_not_negative(&mut errors);
    }
    let ordinals = spec.get("ordinals");
    ordinals.get("start").check_not_negative(&mut errors);
    if old.is_none() {
        spec.get("serviceName").check_if_set(names::dns_label, &mut errors);
    }
    template::check(context, object, old, &mut errors);
    errors
}

fn check_update_strategy(strategy: &Field<'_, '_>, errors: &mut ErrorList) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" => {
            if rolling.value().is_some_and(|value| *value != Value::Null) {
                let error = rolling.invalid("only allowed for updateStrategy 'RollingUpdate'");
                errors.push(error.shown_as(rolling.go_text(ROLLING_UPDATE)));
            }
        }
        "RollingUpdate" => {
            rolling.get("partition").check_not_negative(errors);
            let unavailable = rolling.get("maxUnavailable");
            workload::check_amount(&unavailable, errors);
            if workload::is_zero(&unavailable) {
                errors.push(unavailable.invalid("cannot be 0"));
            }
            if workload::percent(&unavailable).is_some_and(|percent| percent > 100) {
                errors.push(unavailable.invalid("must not be greater than 100%"));
            }
        }
        "" => errors.push(strategy.required("")),
        _ => {
            let error = strategy.invalid("must be 'RollingUpdate' or 'OnDelete'");
            errors.push(error.shown_as(strategy.go_text(STRATEGY)));
        }
    }
}
