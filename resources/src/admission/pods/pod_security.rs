//! `PodSecurity`: restricts the pods of a namespace to the security level in its labels.
//!
//! Kubernetes concept: [Pod Security Admission](https://kubernetes.io/docs/concepts/security/pod-security-admission/).

mod baseline;
mod checks;
mod evaluator;
mod existing;
mod policy;
mod restricted;
mod settings;

use std::borrow::Cow;
use std::time::Instant;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::Typed as _;
use resource_views::core::v1::{Container, Pod};
use serde_json::Value;

use crate::admission::refusal::forbidden;
use crate::api::core::namespaces::Namespaces;
use crate::api::core::pods::Pods;
use crate::metrics::{Evaluation, PodSecurityRequest, ResourceMetrics};
use crate::support::lookup::Lookup;
use baseline::{SECCOMP_ANNOTATION, SECCOMP_CONTAINER_ANNOTATION};
use checks::PodView;
use evaluator::{Violations, evaluate};
use policy::{Level, LevelVersion, PREFIX, Policy};
pub(crate) use settings::PodSecuritySettings;

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
    settings: PodSecuritySettings,
    metrics: ResourceMetrics,
}

/// The standards that a pod, or a template, is checked against.
struct Standards {
    policy: Policy,
    /// The errors of the namespace's labels.
    errors: ErrorList,
}

impl PodSecurity {
    /// Creates the plug-in over the installed namespaces and pods; `None` if they are not served.
    pub(super) fn new(
        installed: &InstalledApi,
        settings: PodSecuritySettings,
        metrics: ResourceMetrics,
    ) -> Option<Self> {
        let namespaces = Lookup::for_resource::<Namespaces>(installed)?;
        Some(Self { namespaces, pods: Lookup::for_resource::<Pods>(installed)?, settings, metrics })
    }

    fn standards_of(&self, namespace: &Object) -> Standards {
        let (policy, errors) = Policy::from_namespace(namespace, self.settings.defaults);
        Standards { policy, errors }
    }

    /// Returns the standards for the request's namespace.
    async fn standards(&self, context: &RequestContext) -> Result<Standards, StatusError> {
        let namespace = self.namespaces.get("", &context.namespace).await?;
        let namespace = namespace.ok_or_else(|| {
            StatusError::internal(format!("failed to lookup namespace {:?}", context.namespace))
        })?;
        Ok(self.standards_of(&namespace))
    }

    async fn check_namespace(
        &self,
        context: &RequestContext,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Standards { policy, errors } = self.standards_of(new);
        let old = old.map(|old| self.standards_of(old));
        if !errors.is_empty() && old.as_ref().is_none_or(|old| errors != old.errors) {
            return Err(StatusError::invalid(Namespaces::TYPE.kind, new.name(), &errors));
        }
        // A namespace that is created has no pods yet.
        let Some(old) = old else { return Ok(()) };
        if !policy.enforce.is_stricter_than(old.policy.enforce) {
            return Ok(());
        }
        if self.settings.exempts_namespace(new.name()) {
            if let Some(warning) = self.settings.exemption_warning(new, policy) {
                context.warn(warning);
            }
            return Ok(());
        }
        for warning in self.pod_warnings(new.name(), policy.enforce).await? {
            context.warn(warning);
        }
        Ok(())
    }

    /// Returns warnings about existing pods that violate a level.
    async fn pod_warnings(
        &self,
        namespace: &str,
        required: LevelVersion,
    ) -> Result<Vec<String>, StatusError> {
        let pods = self.pods.all_in(namespace).await?;
        let is_exempt = |pod: &&Object| {
            !self.settings.exempts_class(Pod(pod).spec().runtime_class_name().optional_text())
        };
        let pods = existing::prioritized(pods.iter().filter(is_exempt).collect());
        Ok(existing::warnings(namespace, required, &pods, Instant::now() + existing::TIME))
    }

    /// Returns why a write is not checked, if it is not.
    fn exemption(&self, context: &RequestContext) -> Option<&'static str> {
        if self.settings.exempts_namespace(&context.namespace) {
            Some("namespace")
        } else if self.settings.exempts_user(&context.user.name) {
            Some("user")
        } else {
            None
        }
    }

    async fn check_pod(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let request = labels(attributes, "pod");
        if let Some(reason) = self.exemption(context) {
            annotate(context, "exempt", reason);
            self.metrics.exempted(request);
            return Ok(());
        }
        let standards = self.standards(context).await.inspect_err(|_| self.metrics.failed(true, request))?;
        if standards.errors.is_empty() && standards.policy.is_privileged() {
            annotate(context, "enforce-policy", LevelVersion::default().to_string());
            self.count(true, standards.policy.enforce, "enforce", request);
            return Ok(());
        }
        if old.is_some_and(|old| !is_significant(new, old)) {
            return Ok(());
        }
        match self.evaluate(context, &standards, new, request, true) {
            Some(why) => Err(forbidden(attributes, Some(new), why)),
            None => Ok(()),
        }
    }

    async fn check_template(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: &Object,
        path: &[&str],
    ) -> Result<(), StatusError> {
        let request = labels(attributes, "controller");
        if let Some(reason) = self.exemption(context) {
            annotate(context, "exempt", reason);
            self.metrics.exempted(request);
            return Ok(());
        }
        let standards = match self.standards(context).await {
            Ok(standards) => standards,
            Err(failure) => {
                annotate(context, "error", failure.message);
                self.metrics.failed(true, request);
                return Ok(());
            }
        };
        let Policy { audit, warn, .. } = standards.policy;
        let allows_all = audit.level == Level::Privileged && warn.level == Level::Privileged;
        if standards.errors.is_empty() && allows_all {
            return Ok(());
        }
        if let Some(Value::Object(template)) = object.get(path) {
            self.evaluate(context, &standards, &Object(template.clone()), request, false);
        }
        Ok(())
    }

    /// Checks a pod or a template, audits and warns; returns why it is refused, if it is.
    fn evaluate(
        &self,
        context: &RequestContext,
        standards: &Standards,
        pod: &Object,
        request: PodSecurityRequest,
        enforces: bool,
    ) -> Option<String> {
        if self.settings.exempts_class(Pod(pod).spec().runtime_class_name().optional_text()) {
            annotate(context, "exempt", "runtimeClass");
            self.metrics.exempted(request);
            return None;
        }
        if !standards.errors.is_empty() {
            self.metrics.failed(false, request);
            annotate(context, "error", format!("Failed to parse policy: {}", standards.errors));
        }
        let Policy { enforce, audit, warn } = standards.policy;
        let mut refusal = None;
        if enforces {
            annotate(context, "enforce-policy", enforce.to_string());
            let violations = pod_violations(pod, enforce);
            self.count(violations.is_empty(), enforce, "enforce", request);
            if !violations.is_empty() {
                refusal = Some(format!("violates PodSecurity \"{enforce}\": {}", violations.details()));
            }
        }
        let audited = pod_violations(pod, audit);
        if !audited.is_empty() {
            let text = format!("would violate PodSecurity \"{audit}\": {}", audited.details());
            annotate(context, "audit-violations", text);
            self.count(false, audit, "audit", request);
        }
        let warned = pod_violations(pod, warn);
        if refusal.is_none() && !warned.is_empty() {
            context.warn(format!("would violate PodSecurity \"{warn}\": {}", warned.details()));
            self.count(false, warn, "warn", request);
        }
        refusal
    }

    fn count(
        &self,
        is_allowed: bool,
        required: LevelVersion,
        mode: &'static str,
        request: PodSecurityRequest,
    ) {
        let version = required.version_label();
        let evaluation = Evaluation { is_allowed, level: required.level.as_str(), version: &version, mode };
        self.metrics.evaluated(evaluation, request);
    }
}

fn labels(attributes: &Attributes<'_>, resource: &'static str) -> PodSecurityRequest {
    let operation = if attributes.operation == Operation::Create { "create" } else { "update" };
    PodSecurityRequest { operation, resource, subresource: attributes.subresource }
}

fn annotate(context: &RequestContext, name: &str, value: impl Into<Cow<'static, str>>) {
    context.annotate(format!("{PREFIX}{name}"), value);
}

#[async_trait]
impl ValidatingAdmission for PodSecurity {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(new) = write.object else { return Ok(()) };
        let is_write = Operation::WRITES.contains(&write.attributes.operation);
        let resource = write.attributes.resource.group_resource();
        if write.attributes.are_of::<Namespaces>(Operation::WRITES) {
            return self.check_namespace(context, new, write.old).await;
        }
        if resource == Pods::TYPE.group_resource() && is_write {
            if HARMLESS_SUBRESOURCES.contains(&write.attributes.subresource) {
                return Ok(());
            }
            return self.check_pod(context, write.attributes, new, write.old).await;
        }
        let template = TEMPLATES
            .iter()
            .find(|(group, plural, _)| (resource.group, resource.resource) == (*group, *plural));
        match template {
            Some((_, _, path)) if write.attributes.subresource.is_empty() && is_write => {
                self.check_template(context, write.attributes, new, path).await
            }
            _ => Ok(()),
        }
    }
}

/// Returns the violations of a level by a pod, or by a pod template.
fn pod_violations(pod: &Object, required: LevelVersion) -> Violations {
    let metadata = Pod(pod).metadata();
    let spec = Pod(pod).spec();
    evaluate(required, &PodView { metadata: &metadata, spec: &spec })
}

/// Whether an update changes anything that a level checks: only images and the annotations for seccomp profiles may
/// change, and containers may be added.
///
/// Kubernetes concept: `isSignificantPodUpdate` in `k8s.io/pod-security-admission/admission`.
fn is_significant(new: &Object, old: &Object) -> bool {
    if new.annotation(SECCOMP_ANNOTATION) != old.annotation(SECCOMP_ANNOTATION) {
        return true;
    }
    ["containers", "initContainers", "ephemeralContainers"].into_iter().any(|list| {
        let containers = |pod: &Object| {
            let values = pod.get(&["spec", list]).and_then(Value::as_array).into_iter().flatten();
            let containers = values.map(Container::from_value).map(|container| {
                let name = container.name().text().to_owned();
                let profile =
                    pod.annotation(&format!("{SECCOMP_CONTAINER_ANNOTATION}{name}")).map(str::to_owned);
                (name, container.image().text().to_owned(), profile)
            });
            containers.collect::<Vec<_>>()
        };
        containers(new) != containers(old)
    })
}

#[cfg(test)]
mod tests;
