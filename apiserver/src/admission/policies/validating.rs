//! `ValidatingAdmissionPolicy`: refuses writes for which an expression is not true.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/policy/validating`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{InformerTask, InstalledApi};
use registry_core::resource::Resource as _;
use registry_core::rest::access::AccessReviewer;
use resources::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies;
use resources::api::admissionregistration::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings;
use serde::Serialize;
use serde_json::Value;

use crate::admission::expressions::{Subject, Write};
use crate::admission::manifests::ManifestDirectory;
use crate::admission::matching::{Matched, MatchedObjects, Matcher, VersionedObjects};
use crate::admission::{AdmissionPlugin, ObjectWrite, ServedKinds, ValidatingAdmission};
use crate::main_server::MainKinds;
use crate::metrics::{AdmissionMetrics, Enforcement, ManifestMetrics};

use super::definitions::{Binding, Policy};
use super::in_force::{Bound, InForce};
use super::matching::Matching;
use super::type_checking::TypeChecking;
use super::{PolicySetup, cause, forbidden, is_excluded};

mod validator;

pub(super) use validator::Validator;
use validator::{Denial, Outcome};

/// Maximum length of the value of an audit annotation, in bytes.
const MAX_ANNOTATION_BYTES: usize = 10 * 1024;
/// The audit annotation about failed validations.
const FAILURE_ANNOTATION: &str = "validation.policy.admission.k8s.io/validation_failure";

/// The actions of a binding for a write that the policy denies.
#[derive(Clone, Debug, Default)]
struct Actions(Vec<String>);

/// The plug-in.
pub(super) struct ValidatingPolicies {
    in_force: InForce<Validator, Actions>,
    matcher: Matcher,
    access: Arc<dyn AccessReviewer>,
    metrics: AdmissionMetrics,
    type_checking: TypeChecking,
    /// The main server of this extension server.
    main: Option<Arc<MainKinds>>,
}

/// The first denial of a write, and what else its policies have found.
struct Decisions<'a> {
    write: &'a Write<'a>,
    metrics: &'a AdmissionMetrics,
    object: Option<&'a Object>,
    old: Option<&'a Object>,
    denied: Option<(String, Denial)>,
    /// The namespace of the write, once a policy has needed it.
    namespace: Option<Value>,
}

/// An audit annotation about a failed validation. The order of the fields is Kubernetes'.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidationFailure<'a> {
    message: &'a str,
    policy: &'a str,
    binding: &'a str,
    expression_index: usize,
    validation_actions: &'a [String],
}

// === impl ValidatingPolicies ===

impl ValidatingPolicies {
    /// Creates the plug-in; `None` if policies are not served.
    pub(super) fn new(installed: &InstalledApi, setup: PolicySetup) -> Option<Self> {
        let PolicySetup { access, metrics, main } = setup;
        let in_force = InForce::new(
            installed,
            (ValidatingAdmissionPolicies::TYPE, |object| Policy::new(object, Validator::compile)),
            (ValidatingAdmissionPolicyBindings::TYPE, |object| {
                Binding::new(object, Actions::from_binding(object))
            }),
        )?;
        let type_checking = TypeChecking::new(installed)?;
        let matcher = Matcher::new(installed);
        Some(Self { in_force, matcher, access, metrics, type_checking, main })
    }

    /// Enforces the policies of a directory. Returns the task that follows it.
    pub(super) fn follow(
        &self,
        directory: ManifestDirectory,
        metrics: &ManifestMetrics,
    ) -> BoxFuture<'static, ()> {
        self.in_force.follow(directory, metrics)
    }

    async fn evaluate_policy(
        &self,
        bound: &Bound<Validator, Actions>,
        decisions: &mut Decisions<'_>,
    ) -> Result<(), StatusError> {
        let policy = &bound.policy;
        let matching = Matching {
            matcher: &self.matcher,
            main: self.main.as_deref(),
            write: decisions.write,
            object: decisions.object,
            old: decisions.old,
        };
        let matched = match matching.policy(policy).await {
            Ok(Some(matched)) => matched,
            Ok(None) => return Ok(()),
            Err(failure) => {
                decisions.misconfigured(policy, None, &failure);
                return Ok(());
            }
        };
        let mut annotations = Annotations::default();
        for binding in &bound.bindings {
            match matching.params(&matched, binding).await {
                Ok(Some(params)) => {
                    let parts = (policy.as_ref(), binding.as_ref());
                    let version = &matched.matched;
                    self.evaluate_binding(parts, version, &params, decisions, &mut annotations).await?;
                }
                Ok(None) => {}
                Err(failure) => decisions.misconfigured(policy, Some(binding), &failure),
            }
        }
        annotations.publish(&policy.name, decisions.write.context);
        Ok(())
    }

    async fn evaluate_binding(
        &self,
        (policy, binding): (&Policy<Validator>, &Binding<Actions>),
        matched: &Matched,
        params: &[Option<Object>],
        decisions: &mut Decisions<'_>,
        annotations: &mut Annotations,
    ) -> Result<(), StatusError> {
        let attributes = decisions.write.attributes;
        let mut versions = VersionedObjects::new(attributes);
        let MatchedObjects { object, old } =
            match versions.in_version(matched, decisions.object, decisions.old).await {
                Ok(objects) => objects,
                Err(failure) => {
                    let failure = format!("failed to convert object version: {}", failure.message);
                    decisions.misconfigured(policy, Some(binding), &failure);
                    return Ok(());
                }
            };
        if policy.evaluator.needs.namespace && decisions.namespace.is_none() {
            decisions.namespace = decisions.write.namespace(&self.matcher).await?;
        }
        for param in params {
            let subject = Subject {
                object: object.as_deref(),
                old_object: old.as_deref(),
                resource: matched.resource(attributes),
                kind: matched.kind(attributes),
                params: param.as_ref(),
                namespace: decisions.namespace.as_ref(),
            };
            let outcome = policy.evaluator.validate(policy, decisions.write, &subject, &self.metrics).await;
            decisions.take(policy, binding, outcome, annotations);
        }
        Ok(())
    }
}

impl AdmissionPlugin for ValidatingPolicies {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionPolicy"
    }

    fn informers(&self) -> Vec<InformerTask> {
        let own = self.type_checking.informer();
        self.in_force.informers().into_iter().chain(own).collect()
    }

    fn background(&self, kinds: &Arc<dyn ServedKinds>) -> Option<BoxFuture<'static, ()>> {
        Some(self.type_checking.task(kinds))
    }
}

#[async_trait]
impl ValidatingAdmission for ValidatingPolicies {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let ObjectWrite { attributes, object, old } = write;
        if is_excluded(attributes) {
            return Ok(());
        }
        let Some(in_force) = self.in_force.current(attributes).await? else { return Ok(()) };
        let write = Write::new(context, attributes, &self.access);
        let metrics = &self.metrics;
        let mut decisions = Decisions { write: &write, metrics, object, old, denied: None, namespace: None };
        for bound in in_force.iter() {
            self.evaluate_policy(bound, &mut decisions).await?;
        }
        decisions.denied.map_or(Ok(()), |(message, denial)| {
            let mut failure = forbidden(attributes, object, &message);
            failure.reason = denial.reason;
            failure.code = denial.reason.code();
            Err(failure.with_causes(vec![cause(&message)]))
        })
    }
}

// === impl Decisions ===

impl Decisions<'_> {
    /// Denies the write, if none has before: only the first denial is shown.
    fn deny(&mut self, policy: &str, binding: Option<&str>, denial: Denial) {
        if self.denied.is_some() {
            return;
        }
        let binding = binding.map_or(String::new(), |binding| format!(" with binding '{binding}'"));
        let message =
            format!("ValidatingAdmissionPolicy '{policy}'{binding} denied request: {}", denial.message);
        self.denied = Some((message, denial));
    }

    /// Denies the write because of a policy or a binding that cannot be used, unless failures are ignored.
    fn misconfigured(
        &mut self,
        policy: &Policy<Validator>,
        binding: Option<&Binding<Actions>>,
        failure: &dyn Display,
    ) {
        if policy.ignores_failures {
            return;
        }
        let what = if binding.is_some() { "binding" } else { "policy" };
        let denial = Denial::failed(format!("failed to configure {what}: {failure}"));
        self.deny(&policy.name, binding.map(|binding| binding.name.as_str()), denial);
    }

    /// Takes over what a policy says about the write.
    fn take(
        &mut self,
        policy: &Policy<Validator>,
        binding: &Binding<Actions>,
        outcome: Outcome,
        annotations: &mut Annotations,
    ) {
        let metrics = self.metrics.policies();
        let count = |error: Option<&str>, enforcement: Enforcement| {
            metrics.validated((&policy.name, &binding.name), error, enforcement, outcome.time);
        };
        for error in &outcome.ignored {
            count(Some(error), Enforcement::Allow);
        }
        for (index, denial) in outcome.denials {
            for action in &binding.extra.0 {
                let enforcement = match action.as_str() {
                    "Deny" => {
                        self.deny(&policy.name, Some(&binding.name), denial.clone());
                        Enforcement::Deny
                    }
                    "Warn" => {
                        self.write.context.warn(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                            policy.name, binding.name, denial.message
                        ));
                        Enforcement::Warn
                    }
                    "Audit" => {
                        self.audit(binding, index, &denial);
                        Enforcement::Audit
                    }
                    _ => continue,
                };
                count(denial.is_error.then_some(denial.message.as_str()), enforcement);
            }
        }
        for annotation in outcome.annotations {
            match annotation {
                Ok((key, value)) => annotations.add(key, value),
                Err(failure) => {
                    let failure = failure.to_string();
                    count(Some(&failure), Enforcement::Deny);
                    self.deny(&policy.name, Some(&binding.name), Denial::failed(failure));
                }
            }
        }
    }

    fn audit(&self, binding: &Binding<Actions>, index: usize, denial: &Denial) {
        let failure = ValidationFailure {
            message: &denial.message,
            policy: &binding.policy,
            binding: &binding.name,
            expression_index: index,
            validation_actions: &binding.extra.0,
        };
        // Texts and numbers can always be written.
        let value = serde_json::to_string(&[failure]).unwrap_or_default();
        self.write.context.annotate(FAILURE_ANNOTATION, value);
    }
}

// === audit annotations ===

/// The audit annotations of one policy: values of several bindings and parameters are joined.
#[derive(Default)]
struct Annotations(BTreeMap<String, Vec<String>>);

impl Annotations {
    fn add(&mut self, key: String, mut value: String) {
        if value.len() > MAX_ANNOTATION_BYTES {
            value.truncate(value.floor_char_boundary(MAX_ANNOTATION_BYTES));
        }
        let values = self.0.entry(key).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }

    fn publish(self, policy: &str, context: &RequestContext) {
        for (key, values) in self.0 {
            context.annotate(format!("{policy}/{key}"), values.join(", "));
        }
    }
}

// === impl Actions ===

impl Actions {
    fn from_binding(binding: &Object) -> Self {
        let actions = binding.get(&["spec", "validationActions"]).and_then(Value::as_array);
        Self(actions.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}
