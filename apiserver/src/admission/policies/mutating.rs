//! `MutatingAdmissionPolicy`: changes objects by expressions.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/policy/mutating`.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::future::BoxFuture;
use registry_core::RequestContext;
use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::{InformerTask, InstalledApi};
use registry_core::resource::Resource as _;
use registry_core::rest::access::AccessReviewer;
use resources::api::admissionregistration::mutatingadmissionpolicies::MutatingAdmissionPolicies;
use resources::api::admissionregistration::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings;

use crate::admission::expressions::{Subject, Write};
use crate::admission::manifests::ManifestDirectory;
use crate::admission::matching::{Matched, Matcher, VersionedObjects, own_path};
use crate::admission::{AdmissionPlugin, Attributes, MutatingAdmission, ObjectWriteMut, Operation};
use crate::main_server::MainKinds;
use crate::metrics::{AdmissionMetrics, ManifestMetrics};

use super::definitions::{Binding, Policy};
use super::in_force::{Bound, InForce};
use super::matching::Matching;
use super::{PolicySetup, cause, forbidden, is_excluded};

mod mutator;
mod patches;
mod runs;

use mutator::{Mutator, Verdict};
use patches::Failure;
use runs::{Invoked, Runs};

/// The name of the plug-in.
const NAME: &str = "MutatingAdmissionPolicy";

/// The plug-in.
pub(super) struct MutatingPolicies {
    in_force: InForce<Mutator, ()>,
    matcher: Matcher,
    access: Arc<dyn AccessReviewer>,
    metrics: AdmissionMetrics,
    /// The main server of this extension server.
    main: Option<Arc<MainKinds>>,
}

/// A policy that is to be applied to a write, with one of its parameters.
struct Invocation {
    policy: Arc<Policy<Mutator>>,
    binding: Arc<Binding<()>>,
    matched: Matched,
    param: Option<Object>,
}

/// Why a write is refused: a message, and a reason if it is not the default one.
struct Refusal {
    message: String,
    reason: Option<Reason>,
}

/// The result of the mutations of one policy.
struct Mutated {
    /// The object after them; `None` if it stays as it is.
    object: Option<Object>,
    /// Whether one of them did not fail.
    is_applied: bool,
}

/// Reasons to refuse a write, of policies that do not ignore them.
#[derive(Default)]
struct Refusals(Vec<Refusal>);

// === impl MutatingPolicies ===

impl MutatingPolicies {
    /// Creates the plug-in; `None` if policies are not served.
    pub(super) fn new(installed: &InstalledApi, setup: PolicySetup) -> Option<Self> {
        let PolicySetup { access, metrics, main } = setup;
        let in_force = InForce::new(
            installed,
            (MutatingAdmissionPolicies::TYPE, |object| Policy::new(object, Mutator::compile)),
            (MutatingAdmissionPolicyBindings::TYPE, |object| Binding::new(object, ())),
        )?;
        Some(Self { in_force, matcher: Matcher::new(installed), access, metrics, main })
    }

    /// Enforces the policies of a directory. Returns the task that follows it.
    pub(super) fn follow(
        &self,
        directory: ManifestDirectory,
        metrics: &ManifestMetrics,
    ) -> BoxFuture<'static, ()> {
        self.in_force.follow(directory, metrics)
    }

    /// Applies policies in their order; each sees the changes of those before it.
    async fn apply(
        &self,
        write: &Write<'_>,
        invocations: &[Invocation],
        mut object: Option<&mut Object>,
        old: Option<&Object>,
        refusals: &mut Refusals,
    ) -> Result<(), StatusError> {
        let Write { attributes, .. } = *write;
        let mut runs = Runs::begin(attributes.reinvocation, object.as_deref());
        let mut namespace = None;
        for invocation in invocations {
            let Invocation { policy, binding, matched, param } = invocation;
            if policy.evaluator.needs.namespace && namespace.is_none() {
                namespace = write.namespace(&self.matcher).await?;
            }
            let mut versions = VersionedObjects::new(attributes);
            let objects = versions.in_version(matched, object.as_deref(), old).await?;
            let subject = Subject {
                object: objects.object.as_deref(),
                old_object: objects.old.as_deref(),
                resource: matched.resource(attributes),
                kind: matched.kind(attributes),
                params: param.as_ref(),
                namespace: namespace.as_ref(),
            };
            match policy.evaluator.matches(policy, write, &subject, &self.metrics).await {
                Verdict::Match => {}
                Verdict::NoMatch { .. } => continue,
                Verdict::Failed(message) => {
                    refusals.failed(policy, binding, &message, Some(Reason::Invalid));
                    continue;
                }
            }
            let invoked = Invoked::new(&policy.name, &binding.name, param.as_ref());
            if !runs.is_due(&invoked) {
                continue;
            }
            let Mutated { object: mutated, is_applied } =
                self.mutated(write, invocation, subject, refusals).await?;
            if is_applied {
                runs.applied();
            }
            if let (Some(mutated), Some(object)) = (mutated, object.as_deref_mut()) {
                let restored = versions.restored(matched, mutated, &write.context.budget).await?;
                if restored != *object {
                    *object = restored;
                    runs.changed();
                }
            }
            if policy.evaluator.is_reinvoked {
                runs.invoked(invoked);
            }
        }
        runs.end(object.as_deref());
        Ok(())
    }

    /// Applies the mutations of one policy to the object of the subject.
    async fn mutated(
        &self,
        write: &Write<'_>,
        Invocation { policy, binding, matched, .. }: &Invocation,
        subject: Subject<'_>,
        refusals: &mut Refusals,
    ) -> Result<Mutated, StatusError> {
        let mut mutated: Option<Object> = None;
        let mut is_applied = false;
        let count = if subject.object.is_some() { policy.evaluator.len() } else { 0 };
        for place in 0..count {
            let subject = Subject { object: mutated.as_ref().or(subject.object), ..subject };
            let path = matched.path.clone().or_else(|| own_path(write.attributes));
            let begun = Instant::now();
            let patched = policy.evaluator.mutate(place, write, &subject, path.as_deref()).await;
            let error = patched.as_ref().err().map(Failure::message);
            let names = (policy.name.as_str(), binding.name.as_str());
            self.metrics.policies().mutated(names, error, begun.elapsed());
            is_applied |= patched.is_ok();
            match patched {
                Ok(Some(patched)) => mutated = Some(patched),
                Ok(None) => {}
                Err(Failure::Status(failure)) => return Err(failure),
                Err(Failure::Refused(message)) => {
                    refusals.failed(policy, binding, &message, Some(Reason::Invalid));
                }
            }
        }
        Ok(Mutated { object: mutated, is_applied })
    }
}

impl AdmissionPlugin for MutatingPolicies {
    fn name(&self) -> &'static str {
        NAME
    }

    fn informers(&self) -> Vec<InformerTask> {
        self.in_force.informers()
    }
}

#[async_trait]
impl MutatingAdmission for MutatingPolicies {
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let ObjectWriteMut { attributes, object, old } = write;
        if attributes.operation == Operation::Delete || is_excluded(attributes) {
            return Ok(());
        }
        let Some(in_force) = self.in_force.current(attributes).await? else { return Ok(()) };
        let write = Write::new(context, attributes, &self.access);
        let mut refusals = Refusals::default();
        let matching = Matching {
            matcher: &self.matcher,
            main: self.main.as_deref(),
            write: &write,
            object: object.as_deref(),
            old,
        };
        let invocations = invocations(&in_force, matching, &mut refusals).await;
        let name = object.as_deref().map(named).unwrap_or_default();
        if !invocations.is_empty() {
            self.apply(&write, &invocations, object, old, &mut refusals).await?;
        }
        refusals.refuse(attributes, &name)
    }
}

/// Returns what is to be applied to a write, by the object before all of it.
async fn invocations(
    in_force: &[Bound<Mutator, ()>],
    matching: Matching<'_>,
    refusals: &mut Refusals,
) -> Vec<Invocation> {
    let mut invocations = Vec::new();
    for Bound { policy, bindings } in in_force {
        let matched = match matching.policy(policy).await {
            Ok(Some(matched)) => matched,
            Ok(None) => continue,
            Err(failure) => {
                refusals.misconfigured(policy, None, &failure);
                continue;
            }
        };
        for binding in bindings {
            match matching.params(&matched, binding).await {
                Ok(params) => invocations.extend(params.into_iter().flatten().map(|param| Invocation {
                    policy: policy.clone(),
                    binding: binding.clone(),
                    matched: matched.matched.clone(),
                    param,
                })),
                Err(failure) => refusals.misconfigured(policy, Some(binding), &failure),
            }
        }
    }
    invocations
}

/// Returns an object with the name of another.
fn named(object: &Object) -> Object {
    let mut named = Object::default();
    for field in ["name", "generateName"] {
        named.copy_field(object, &["metadata", field]);
    }
    named
}

// === impl Refusals ===

impl Refusals {
    fn misconfigured(
        &mut self,
        policy: &Policy<Mutator>,
        binding: Option<&Binding<()>>,
        failure: &dyn Display,
    ) {
        match binding {
            Some(binding) => {
                self.failed(policy, binding, &format!("failed to configure binding: {failure}"), None);
            }
            None if policy.ignores_failures => {}
            None => self.0.push(Refusal {
                message: format!(
                    "policy {:?} denied request: failed to configure policy: {failure}",
                    policy.name
                ),
                reason: None,
            }),
        }
    }

    fn failed(
        &mut self,
        policy: &Policy<Mutator>,
        binding: &Binding<()>,
        failure: &str,
        reason: Option<Reason>,
    ) {
        if policy.ignores_failures {
            return;
        }
        let message =
            format!("policy '{}' with binding '{}' denied request: {failure}", policy.name, binding.name);
        self.0.push(Refusal { message, reason });
    }

    /// Refuses the write with all messages, if there are any. The code stays that of a refusal, whatever the reason.
    fn refuse(self, attributes: &Attributes<'_>, named: &Object) -> Result<(), StatusError> {
        let Some(first) = self.0.first() else { return Ok(()) };
        let mut failure = forbidden(attributes, Some(named), "");
        failure.message.clone_from(&first.message);
        failure.reason = first.reason.unwrap_or(failure.reason);
        Err(failure.with_causes(self.0.iter().map(|refusal| cause(&refusal.message)).collect()))
    }
}
