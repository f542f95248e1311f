//! Rules of Jobs.

use registry_core::RequestContext;
use registry_core::api::go_text::quote;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{DeleteOptions, FieldError, FieldPath, Object, PropagationPolicy};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::batch::v1::{Job, JobMut, JobSpec};

use super::{status, template};
use crate::api::batch::job_spec;
use crate::api::core::pod_spec::{defaults, gated, warnings};
use crate::support::defaulting::{is_empty_at, is_unset};
use crate::support::field::ShownAsGo as _;
use crate::support::label_selector;
use crate::support::semantic;

/// The labels with the uid of a pod's job; the second one precedes label prefixes.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
const TEMPLATE_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];
const SELECTOR: [&str; 2] = ["spec", "selector"];
const PRESERVED: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Defaults, the generated selector, validation; pods are orphaned on deletion by default.
pub(super) struct JobStrategy;

impl ObjectStrategy for JobStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        gated::spec("spec.template.spec")
    }

    fn unknown_field_label(&self, label: &str) -> String {
        format!("field label {} not supported for Job", quote(label))
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = JobMut(object).spec().or_new();
        if spec.completions().is_absent() && spec.parallelism().is_absent() {
            spec.completions().set(1);
        }
        let limit = if spec.backoff_limit_per_index().is_absent() { 6 } else { i32::MAX };
        let has_policy = !spec.pod_failure_policy().is_absent();
        spec.parallelism().or(1);
        spec.backoff_limit().or(limit.into());
        spec.completion_mode().or_if_absent("NonIndexed");
        spec.suspend().or(false);
        spec.manual_selector().or(false);
        spec.pod_replacement_policy().or_if_absent(if has_policy { "Failed" } else { "TerminatingOrFailed" });
        job_spec::default_failure_policy(&mut spec);
        defaults::apply_to_template(spec.template());
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        if is_manual(object) {
            label_as_template(object);
            return;
        }
        let name = object.name().to_owned();
        let uid = object.uid().to_owned();
        let mut spec = JobMut(object).spec().or_new();
        let mut template = spec.template().or_new();
        let mut metadata = template.metadata().or_new();
        let labels = metadata.labels().or_new_entries();
        for (keys, value) in [(UID_LABELS, &uid), (NAME_LABELS, &name)] {
            for key in keys {
                // Labels that the client set are kept; validation refuses wrong ones.
                labels.entry(key).or_insert_with(|| value.as_str().into());
            }
        }
        let [uid_label, _] = UID_LABELS;
        let mut selector = spec.selector().or_new();
        let selected = selector.match_labels().or_new_entries();
        if is_unset(selected.get(uid_label)) {
            selected.insert(uid_label.to_owned(), uid.into());
        }
        label_as_template(object);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, _old: &Object) {
        label_as_template(new);
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, _old: &Object) {
        label_as_template(new);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        check(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = check(context, new, Some(old));
        // Kubernetes checks the spec with the object and again with the update.
        check_spec(context, new, Some(old), &mut errors);
        let after = Job(new).spec();
        let before = Job(old).spec();
        check_completions(&after, &before, &mut errors);
        let selector = after.selector();
        selector.check_immutable_as("*<metav1.LabelSelector>", &before.selector(), &mut errors);
        template::check_kept(new, old, &mut errors);
        after.completion_mode().check_immutable(&before.completion_mode(), &mut errors);
        let policy = after.pod_failure_policy();
        policy.check_immutable_as("*<batch.PodFailurePolicy>", &before.pod_failure_policy(), &mut errors);
        after.backoff_limit_per_index().check_immutable(&before.backoff_limit_per_index(), &mut errors);
        after.managed_by().check_immutable(&before.managed_by(), &mut errors);
        let policy = after.success_policy();
        policy.check_immutable_as("*<batch.SuccessPolicy>", &before.success_policy(), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = warnings::name_warnings(object, "Pod names and hostnames");
        warnings.extend(job_spec::warn(&Job(object).spec()));
        warnings
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        if new.generation() == old.generation() { Vec::new() } else { job_spec::warn(&Job(new).spec()) }
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        status::check(new, old)
    }

    fn default_propagation_policy(&self) -> PropagationPolicy {
        PropagationPolicy::Orphan
    }

    fn warnings_on_delete(&self, options: &DeleteOptions) -> Vec<String> {
        options.propagation_policy.is_none().then(|| PRESERVED.to_owned()).into_iter().collect()
    }
}

fn is_manual(object: &Object) -> bool {
    Job(object).spec().manual_selector().is_true()
}

/// Gives a job without labels the labels of its pods, also the labels that the server made.
fn label_as_template(job: &mut Object) {
    if !is_empty_at(job, &TEMPLATE_LABELS) && is_empty_at(job, &["metadata", "labels"]) {
        let labels = job.get(&TEMPLATE_LABELS).cloned().unwrap_or_default();
        job.set(&["metadata", "labels"], labels);
    }
}

fn check(context: &RequestContext, job: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    if !is_manual(job) && Job(job).spec().selector().exists() {
        check_generated_selector(job, old, &mut errors);
    }
    check_spec(context, job, old, &mut errors);
    check_host_names(job, &mut errors);
    errors
}

/// Checks that the labels of the pods and the selector are the ones that the server makes.
fn check_generated_selector(job: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let spec = Job(job).spec();
    let selector = spec.selector();
    let template = spec.template();
    let metadata = template.metadata();
    let labels = metadata.labels();
    let [uid_label, old_uid_label] = UID_LABELS;
    let [name_label, old_name_label] = NAME_LABELS;
    // Jobs from before the labels had prefixes do not need those.
    let had = |label: &str| {
        old.is_none_or(|old| Job(old).spec().template().metadata().labels().entry(label).exists())
    };
    let needs_prefixes = had(uid_label) && had(name_label);
    let mut expected = job.clone();
    expected.remove(&TEMPLATE_LABELS);
    for (key, value, is_needed) in [
        (old_uid_label, job.uid(), true),
        (old_name_label, job.name(), true),
        (uid_label, job.uid(), needs_prefixes),
        (name_label, job.name(), needs_prefixes),
    ] {
        if !is_needed {
            continue;
        }
        let detail = format!("must be '{value}'");
        let path = labels.path().key(key);
        if !labels.entry(key).exists() {
            errors.push(FieldError::required(path, detail));
        } else if labels.entry(key).text() != value {
            errors.push(FieldError::invalid(path, labels.value().cloned().unwrap_or_default(), detail));
        }
        expected.set(&[&TEMPLATE_LABELS[..], &[key]].concat(), value.into());
    }
    let is_read = label_selector::is_readable(&selector);
    if is_read && !label_selector::selects(&expected, &SELECTOR, &TEMPLATE_LABELS) {
        errors.push(selector.invalid_as("<metav1.LabelSelector>", "`selector` not auto-generated"));
    }
}

fn check_spec(context: &RequestContext, job: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let spec = Job(job).spec();
    let before = old.map(|old| Job(old).spec());
    job_spec::validate(context, &spec, before.as_ref(), errors);
    let selector = spec.selector();
    if selector.exists() {
        label_selector::check(&selector, errors);
    } else {
        errors.push(selector.required(""));
    }
    let is_read = label_selector::is_readable(&selector);
    if is_read && !label_selector::selects(job, &SELECTOR, &TEMPLATE_LABELS) {
        let template = spec.template();
        let detail = "`selector` does not match template `labels`";
        errors.push(template.metadata().labels().invalid(detail));
    }
}

/// Checks that the host names of the pods of an indexed job are labels.
fn check_host_names(job: &Object, errors: &mut ErrorList) {
    let spec = Job(job).spec();
    let completions = spec.completions().number();
    if spec.completion_mode().text() != "Indexed" || completions <= 0 {
        return;
    }
    let longest = format!("{}-{}", job.name(), completions - 1);
    if !names::dns_label(&longest).is_empty() {
        let path = FieldPath::new("metadata").child("name");
        let detail = format!("will not able to create pod with invalid DNS label: {longest}");
        errors.push(FieldError::invalid(path, job.name(), detail));
    }
}

/// The completions of an indexed job may change together with its parallelism.
fn check_completions(spec: &JobSpec<'_, '_>, before: &JobSpec<'_, '_>, errors: &mut ErrorList) {
    let (completions, old) = (spec.completions(), before.completions());
    if spec.completion_mode().text() != "Indexed" {
        completions.check_immutable(&old, errors);
        return;
    }
    let is_same = semantic::equal(completions.value(), old.value());
    if !is_same && completions.exists() && completions.number() != spec.parallelism().number() {
        errors.push(completions.invalid("can only be modified in tandem with spec.parallelism"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
