//! `PodSecurity`: restricts the pods of a namespace to the security level in its labels.
//!
//! Kubernetes concept: [Pod Security Admission](https://kubernetes.io/docs/concepts/security/pod-security-admission/).

mod baseline;
mod checks;
mod evaluator;
mod policy;
mod restricted;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, Operation, ValidatingAdmission};
use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use serde_json::Value;

use super::concerns;
use crate::core::namespaces::Namespaces;
use crate::core::pods::Pods;
use crate::support::field::Field;
use crate::support::lookup::Lookup;
use checks::PodView;
use evaluator::{Violations, evaluate};
use policy::{Bar, Level, PREFIX, Policy};

/// Maximum number of existing pods that are checked against a new level.
const MAX_EXISTING_PODS: usize = 3000;

/// Subresources of pods that do not change the pod's security.
const HARMLESS_SUBRESOURCES: [&str; 8] =
    ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

/// Resources that create pods, and the paths of their pod templates.
const TEMPLATES: [(&str, &str, &[&str]); 8] = [
    ("", "replicationcontrollers", &["spec", "template"]),
    ("", "podtemplates", &["template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
    ("batch", "cronjobs", &["spec", "jobTemplate", "spec", "template"]),
];

/// The plug-in.
pub(super) struct PodSecurity {
    namespaces: Lookup,
    pods: Lookup,
}

impl PodSecurity {
    /// Creates the plug-in over the installed namespaces and pods; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { namespaces: Lookup::of::<Namespaces>(installed)?, pods: Lookup::of::<Pods>(installed)? })
    }

    /// Returns the policy of the request's namespace.
    async fn policy(&self, context: &RequestContext) -> Result<Policy, StatusError> {
        let namespace = self.namespaces.get("", &context.namespace).await?.ok_or_else(|| {
            let text = format!("failed to lookup namespace {}", context.namespace);
            StatusError::new(Reason::InternalError, text)
        })?;
        Ok(Policy::of(&namespace).0)
    }

    async fn check_namespace(
        &self,
        context: &RequestContext,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let (policy, errors) = Policy::of(new);
        let (old_policy, old_errors) = old.map(Policy::of).unwrap_or_default();
        if !errors.is_empty() && (old.is_none() || errors != old_errors) {
            return Err(StatusError::invalid(Namespaces::TYPE.kind, new.name(), &errors));
        }
        if old.is_none() || !policy.enforce.is_stricter_than(old_policy.enforce) {
            return Ok(());
        }
        for warning in self.misfits(new.name(), policy.enforce).await? {
            context.warn(warning);
        }
        Ok(())
    }

    /// Returns warnings about existing pods that violate a level.
    async fn misfits(&self, namespace: &str, bar: Bar) -> Result<Vec<String>, StatusError> {
        let pods = self.pods.all_in(namespace).await?;
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        for pod in pods.iter().take(MAX_EXISTING_PODS) {
            let violations = of_pod(pod, bar);
            if violations.is_empty() {
                continue;
            }
            let reasons = violations.reasons();
            match found.iter_mut().find(|(known, _)| *known == reasons) {
                Some((_, names)) => names.push(pod.name()),
                None => found.push((reasons, vec![pod.name()])),
            }
        }
        let mut warnings = Vec::new();
        if pods.len() > MAX_EXISTING_PODS {
            warnings.push(format!(
                "new PodSecurity enforce level only checked against the first {MAX_EXISTING_PODS} of {} existing pods",
                pods.len()
            ));
        }
        if !found.is_empty() {
            warnings.push(format!(
                "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{bar}\""
            ));
        }
        let mut texts: Vec<String> =
            found.into_iter().map(|(reasons, names)| misfit(&reasons, &names)).collect();
        texts.sort();
        warnings.extend(texts);
        Ok(warnings)
    }

    async fn check_pod(
        &self,
        context: &RequestContext,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let policy = self.policy(context).await?;
        if old.is_some_and(|old| !is_significant(new, old)) && !policy.is_privileged() {
            return Ok(());
        }
        record(context, "enforce-policy", || Some(policy.enforce.to_string()));
        if policy.is_privileged() {
            return Ok(());
        }
        record_violations(context, policy.audit, new);
        let violations = of_pod(new, policy.enforce);
        if !violations.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, violations.details());
            return Err(StatusError::forbidden(Pods::TYPE.group_resource(), new.name(), why));
        }
        warn(context, policy.warn, &of_pod(new, policy.warn));
        Ok(())
    }

    async fn check_template(
        &self,
        context: &RequestContext,
        object: &Object,
        path: &[&str],
    ) -> Result<(), StatusError> {
        let Policy { audit, warn: bar, .. } = self.policy(context).await?;
        let Some(template) = object.get(path) else { return Ok(()) };
        let is_checked = bar.level != Level::Privileged || audit.level != Level::Privileged;
        if is_checked && let Ok(template) = Object::from_value(template.clone()) {
            record_violations(context, audit, &template);
            warn(context, bar, &of_pod(&template, bar));
        }
        Ok(())
    }
}

impl AdmissionPlugin for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }
}

#[async_trait]
impl ValidatingAdmission for PodSecurity {
    async fn validate(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(new) = object else { return Ok(()) };
        let writes = [Operation::Create, Operation::Update];
        let resource = attributes.resource.group_resource();
        if concerns::<Namespaces>(attributes, &writes) {
            return self.check_namespace(context, new, old).await;
        }
        if resource == Pods::TYPE.group_resource() && writes.contains(&attributes.operation) {
            if HARMLESS_SUBRESOURCES.contains(&attributes.subresource) {
                return Ok(());
            }
            return self.check_pod(context, new, old).await;
        }
        let template = TEMPLATES
            .iter()
            .find(|(group, plural, _)| (resource.group, resource.resource) == (*group, *plural));
        match template {
            Some((_, _, path)) if attributes.subresource.is_empty() => {
                self.check_template(context, new, path).await
            }
            _ => Ok(()),
        }
    }
}

/// Returns the violations of a level by a pod, or by a pod template.
fn of_pod(pod: &Object, bar: Bar) -> Violations {
    let metadata = Field::of(pod, "metadata");
    let spec = Field::of(pod, "spec");
    evaluate(bar, &PodView { metadata: &metadata, spec: &spec })
}

/// Adds an annotation to the audit log.
fn record(context: &RequestContext, name: &str, value: impl FnOnce() -> Option<String>) {
    if context.audit.is_some()
        && let Some(value) = value()
    {
        context.annotate(format!("{PREFIX}{name}"), value);
    }
}

/// Records the violations of a level by a pod, or by a pod template, in the audit log.
fn record_violations(context: &RequestContext, bar: Bar, pod: &Object) {
    record(context, "audit-violations", || {
        let violations = of_pod(pod, bar);
        (!violations.is_empty())
            .then(|| format!("would violate PodSecurity \"{bar}\": {}", violations.details()))
    });
}

fn warn(context: &RequestContext, bar: Bar, violations: &Violations) {
    if !violations.is_empty() {
        context.warn(format!("would violate PodSecurity \"{bar}\": {}", violations.details()));
    }
}

fn misfit(reasons: &str, names: &[&str]) -> String {
    let first = names.iter().min().copied().unwrap_or_default();
    match names.len() {
        1 => format!("{first}: {reasons}"),
        2 => format!("{first} (and 1 other pod): {reasons}"),
        count => format!("{first} (and {} other pods): {reasons}", count - 1),
    }
}

/// Whether an update changes anything that a level checks: only images may change, and containers may be added.
fn is_significant(new: &Object, old: &Object) -> bool {
    let images = |pod: &Object| {
        ["containers", "initContainers", "ephemeralContainers"].map(|list| {
            let containers = pod.get(&["spec", list]).and_then(Value::as_array).into_iter().flatten();
            containers
                .map(|container| (container.get("name").cloned(), container.get("image").cloned()))
                .collect::<Vec<_>>()
        })
    };
    let annotations = |pod: &Object| {
        let profiles =
            pod.annotations().filter(|(key, _)| key.contains("seccomp.security.alpha.kubernetes.io/"));
        profiles.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    images(new) != images(old) || annotations(new) != annotations(old)
}

#[cfg(test)]
mod tests;
