//! Rules of Jobs.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{DeleteOptions, FieldError, Object, PropagationPolicy};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use crate::batch::job_spec;
use crate::core::pod_spec::{defaults, warnings};
use crate::support::defaulting::{fill_at, is_empty_at};
use crate::support::field::Field;
use crate::support::label_selector;

/// The labels with the uid of a pod's job; the second one precedes label prefixes.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
const TEMPLATE_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];
const SELECTOR: [&str; 2] = ["spec", "selector"];
const PRESERVED: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Defaults, the generated selector, validation; pods are orphaned on deletion by default.
pub(super) struct JobStrategy;

impl ObjectStrategy for JobStrategy {
    fn unknown_field_label(&self, label: &str) -> String {
        format!("field label {label:?} not supported for Job")
    }

    fn apply_defaults(&self, object: &mut Object) {
        let spec = |field| object.get(&["spec", field]).is_some();
        if !spec("completions") && !spec("parallelism") {
            object.set(&["spec", "completions"], 1.into());
        }
        let per_index = object.get(&["spec", "backoffLimitPerIndex"]).is_some();
        let limit = if per_index { i32::MAX } else { 6 };
        let replacement = if object.get(&["spec", "podFailurePolicy"]).is_some() {
            "Failed"
        } else {
            "TerminatingOrFailed"
        };
        for (field, default) in [
            ("parallelism", json!(1)),
            ("backoffLimit", json!(limit)),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("manualSelector", json!(false)),
            ("podReplacementPolicy", json!(replacement)),
        ] {
            fill_at(object, &["spec", field], default);
        }
        if !is_empty_at(object, &TEMPLATE_LABELS) && is_empty_at(object, &["metadata", "labels"]) {
            let labels = object.get(&TEMPLATE_LABELS).cloned().unwrap_or_default();
            object.set(&["metadata", "labels"], labels);
        }
        defaults::apply_to_template(object, &["spec", "template"]);
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        if is_manual(object) {
            return;
        }
        let name = object.name().to_owned();
        let uid = object.uid().to_owned();
        for (labels, value) in [(UID_LABELS, &uid), (NAME_LABELS, &name)] {
            for label in labels {
                let path = [&TEMPLATE_LABELS[..], &[label]].concat();
                object.set(&path, value.as_str().into());
            }
        }
        let [uid_label, _] = UID_LABELS;
        fill_at(object, &["spec", "selector", "matchLabels", uid_label], uid);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        check_selector(object, &spec, &mut errors);
        job_spec::validate(context, &spec, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        // Kubernetes checks the spec with the object and again with the update.
        let spec = Field::of(new, "spec");
        check_template_labels(new, &spec, &mut errors);
        job_spec::validate(context, &spec, &mut errors);
        let not_started = old.get(&["spec", "suspend"]) == Some(&Value::Bool(true))
            && old.get(&["status", "startTime"]).is_none();
        let mut comparable = new.clone();
        if not_started {
            for field in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
                comparable.copy_field(old, &["spec", "template", "spec", field]);
            }
            for field in ["labels", "annotations"] {
                comparable.copy_field(old, &["spec", "template", "metadata", field]);
            }
        }
        let after = Field::of(&comparable, "spec");
        let before = Field::of(old, "spec");
        for field in [
            "selector",
            "template",
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        ] {
            after.get(field).check_immutable(&before.get(field), &mut errors);
        }
        // The completions of an indexed job may change together with its parallelism.
        let elastic = after.get("completionMode").text() == "Indexed"
            && after.get("completions").integer() == after.get("parallelism").integer();
        if !elastic {
            after.get("completions").check_immutable(&before.get("completions"), &mut errors);
        }
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of_new_workload(object, &["spec", "template"])
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::of_changed_workload(new, old, &["spec", "template"])
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Field::of(new, "status");
        for count in ["active", "succeeded", "failed", "ready", "terminating"] {
            status.get(count).check_not_negative(&mut errors);
        }
        errors
    }

    fn default_propagation_policy(&self) -> PropagationPolicy {
        PropagationPolicy::Orphan
    }

    fn warnings_on_delete(&self, options: &DeleteOptions) -> Vec<String> {
        options.propagation_policy.is_none().then(|| PRESERVED.to_owned()).into_iter().collect()
    }
}

fn is_manual(object: &Object) -> bool {
    object.get(&["spec", "manualSelector"]) == Some(&Value::Bool(true))
}

fn check_selector(object: &Object, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let selector = spec.get("selector");
    let template = spec.get("template");
    let metadata = template.get("metadata");
    let labels = metadata.get("labels");
    if selector.exists() {
        label_selector::check(&selector, errors);
    } else {
        errors.push(selector.required(""));
    }
    if !is_manual(object) && selector.exists() {
        for (keys, expected) in [(UID_LABELS, object.uid()), (NAME_LABELS, object.name())] {
            for key in keys {
                let label = labels.get(key);
                if label.text() != expected {
                    let detail = format!("must be '{expected}'");
                    errors.push(FieldError::invalid(
                        labels.path(),
                        labels.value().cloned().unwrap_or_default(),
                        detail,
                    ));
                }
            }
        }
        let [uid_label, _] = UID_LABELS;
        let [name_label, _] = NAME_LABELS;
        let mut expected = object.clone();
        expected.set(&TEMPLATE_LABELS, json!({uid_label: object.uid(), name_label: object.name()}));
        if !label_selector::selects(&expected, &SELECTOR, &TEMPLATE_LABELS) {
            errors.push(selector.invalid("`selector` not auto-generated"));
        }
    }
    check_template_labels(object, spec, errors);
}

/// Checks that the selector matches the pods of the template.
fn check_template_labels(object: &Object, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    if !label_selector::selects(object, &SELECTOR, &TEMPLATE_LABELS) {
        let template = spec.get("template");
        let detail = "`selector` does not match template `labels`";
        errors.push(template.get("metadata").get("labels").invalid(detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_selects_its_own_pods() {
        let context = RequestContext::default();
        let mut job = Object::from_value(json!({
            "metadata": {"name": "j", "uid": "u"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
        }))
        .unwrap();
        JobStrategy.apply_defaults(&mut job);
        JobStrategy.prepare_for_create(&context, &mut job);
        assert_eq!(
            job.get(&SELECTOR),
            Some(&json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}))
        );
        assert_eq!(JobStrategy.validate(&context, &job), ErrorList::default());
        assert_eq!(job.get_i64(&["spec", "completions"]), Some(1));
        job.set(&["spec", "selector", "matchLabels", "a"], "b".into());
        let errors = JobStrategy.validate(&context, &job);
        let fields: Vec<_> = errors.0.iter().map(|error| error.field.to_string()).collect();
        assert_eq!(fields, ["spec.selector", "spec.template.metadata.labels"]);
    }
}
