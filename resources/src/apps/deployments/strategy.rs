//! Rules of Deployments.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use crate::apps::workload;
use crate::core::pod_spec::defaults;
use crate::field::Field;

/// Defaults and validation; the selector stays as it was made.
pub(super) struct DeploymentStrategy;

impl ObjectStrategy for DeploymentStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let defaults = [
            (&["spec", "replicas"][..], json!(1)),
            (&["spec", "revisionHistoryLimit"], json!(10)),
            (&["spec", "progressDeadlineSeconds"], json!(600)),
            (&["spec", "strategy", "type"], json!("RollingUpdate")),
        ];
        for (path, value) in defaults {
            set_absent(object, path, value);
        }
        if object.get_str(&["spec", "strategy", "type"]) == Some("RollingUpdate") {
            for field in ["maxSurge", "maxUnavailable"] {
                set_absent(object, &["spec", "strategy", "rollingUpdate", field], json!("25%"));
            }
        }
        defaults::apply_to_template(object, &["spec", "template"]);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        spec.get("replicas").check_not_negative(&mut errors);
        workload::check_selector_and_template(object, &mut errors);
        check_rollout(&spec.get("strategy"), &mut errors);
        for number in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
            spec.get(number).check_not_negative(&mut errors);
        }
        let deadline = spec.get("progressDeadlineSeconds");
        let ready = spec.get("minReadySeconds").integer().unwrap_or_default();
        if deadline.integer().is_some_and(|deadline| deadline <= ready) {
            errors.push(deadline.invalid("must be greater than minReadySeconds"));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let (new, old) = (Field::of(new, "spec"), Field::of(old, "spec"));
        new.get("selector").check_immutable(&old.get("selector"), &mut errors);
        errors
    }
}

fn set_absent(object: &mut Object, path: &[&str], value: Value) {
    if matches!(object.get(path), None | Some(Value::Null)) || object.get_str(path) == Some("") {
        object.set(path, value);
    }
}

fn check_rollout(strategy: &Field<'_, '_>, errors: &mut ErrorList) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" if rolling.exists() => {
            errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
        }
        "RollingUpdate" => check_rolling_update(&rolling, errors),
        "Recreate" => {}
        _ => errors.push(strategy.unsupported(&["Recreate", "RollingUpdate"])),
    }
}

fn check_rolling_update(rolling: &Field<'_, '_>, errors: &mut ErrorList) {
    let (surge, unavailable) = (rolling.get("maxSurge"), rolling.get("maxUnavailable"));
    for field in [&unavailable, &surge] {
        check_amount(field, errors);
    }
    if is_zero(&surge) && is_zero(&unavailable) {
        errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
    }
    if percent(&unavailable).is_some_and(|percent| percent > 100) {
        errors.push(unavailable.invalid("must not be greater than 100%"));
    }
}

/// A count, or a percentage.
fn check_amount(field: &Field<'_, '_>, errors: &mut ErrorList) {
    if field.integer().is_some() {
        field.check_not_negative(errors);
    } else if field.exists() && percent(field).is_none() {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        errors.push(FieldError::invalid(field.path(), field.text(), detail));
    }
}

fn percent(field: &Field<'_, '_>) -> Option<u64> {
    field
        .text()
        .strip_suffix('%')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()
}

fn is_zero(field: &Field<'_, '_>) -> bool {
    field.integer() == Some(0) || percent(field) == Some(0)
}
