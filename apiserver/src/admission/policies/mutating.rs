//! `MutatingAdmissionPolicy`: changes objects by expressions.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/policy/mutating`.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::{InformerTask, InstalledApi};
use registry_core::resource::Resource as _;
use registry_core::rest::access::AccessReviewer;
use resources::api::admissionregistration::mutatingadmissionpolicies::MutatingAdmissionPolicies;
use resources::api::admissionregistration::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings;
use serde_json::Value;

use crate::admission::expressions::{Subject, Write, namespace_value};
use crate::admission::matching::{Matched, Matcher, VersionedObjects, namespace_of};
use crate::admission::{AdmissionPlugin, Attributes, MutatingAdmission, Operation};
use crate::main_server::MainKinds;
use crate::metrics::AdmissionMetrics;

use super::definitions::{Binding, Policy};
use super::in_force::{Bound, InForce};
use super::params::Params;
use super::{cause, forbidden, is_excluded};

mod mutator;
mod patches;
mod runs;

use mutator::{Failure, Mutator, Verdict};
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

/// Reasons to refuse a write, of policies that do not ignore them.
#[derive(Default)]
struct Refusals(Vec<Refusal>);

// === impl MutatingPolicies ===

impl MutatingPolicies {
    /// Creates the plug-in; `None` if policies are not served.
    pub(super) fn new(
        installed: &InstalledApi,
        access: Arc<dyn AccessReviewer>,
        metrics: AdmissionMetrics,
        main: Option<Arc<MainKinds>>,
    ) -> Option<Self> {
        let in_force = InForce::new(
            installed,
            (MutatingAdmissionPolicies::TYPE, |object| Policy::new(object, Mutator::compile)),
            (MutatingAdmissionPolicyBindings::TYPE, |object| Binding::new(object, ())),
        )?;
        Some(Self { in_force, matcher: Matcher::new(installed), access, metrics, main })
    }

    /// Returns what is to be applied to a write, by the object before all of it.
    async fn invocations(
        &self,
        in_force: &[Bound<Mutator, ()>],
        write: &Write<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
        refusals: &mut Refusals,
    ) -> Vec<Invocation> {
        let Write { context, attributes, .. } = *write;
        let namespace = namespace_of(context, attributes);
        let mut invocations = Vec::new();
        for Bound { policy, bindings } in in_force {
            let matched = self.matcher.matches(&policy.criteria, context, attributes, object, old).await;
            let matched = match matched {
                Ok(Some(matched)) => matched,
                Ok(None) => continue,
                Err(failure) => {
                    refusals.misconfigured(policy, None, &failure.message);
                    continue;
                }
            };
            let params =
                match Params::find(policy.param_kind.as_ref(), attributes, self.main.as_deref()).await {
                    Ok(params) => params,
                    Err(failure) => {
                        refusals.misconfigured(policy, None, &failure);
                        continue;
                    }
                };
            for binding in bindings {
                if let Some(criteria) = &binding.criteria {
                    match self.matcher.matches(criteria, context, attributes, object, old).await {
                        Ok(Some(_)) => {}
                        Ok(None) => continue,
                        Err(failure) => {
                            refusals.misconfigured(policy, Some(binding), &failure.message);
                            continue;
                        }
                    }
                }
                match params.collect(binding.params.as_ref(), namespace).await {
                    Ok(found) => invocations.extend(found.into_iter().map(|param| Invocation {
                        policy: policy.clone(),
                        binding: binding.clone(),
                        matched: matched.clone(),
                        param,
                    })),
                    Err(failure) => refusals.misconfigured(policy, Some(binding), &failure),
                }
            }
        }
        invocations
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
        let mut runs = Runs::begin(write.attributes.reinvocation, object.as_deref());
        let mut namespace = None;
        for invocation in invocations {
            if invocation.policy.evaluator.needs.namespace && namespace.is_none() {
                namespace = self.namespace(write).await?;
            }
            let invoked =
                Invoked::new(&invocation.policy.name, &invocation.binding.name, invocation.param.as_ref());
            let applied = self
                .apply_one(write, invocation, object.as_deref(), old, namespace.as_ref(), refusals, || {
                    runs.is_due(&invoked)
                })
                .await?;
            let Some(changed) = applied else { continue };
            if let (Some(changed), Some(object)) = (changed, object.as_deref_mut())
                && changed != *object
            {
                *object = changed;
                runs.changed();
            }
            if invocation.policy.evaluator.is_reinvoked {
                runs.invoked(invoked);
            }
        }
        runs.end(object.as_deref());
        Ok(())
    }

    /// Applies the mutations of one policy. Returns `None` if it does not apply, and otherwise the changed object, if there
    /// is one.
    #[expect(clippy::too_many_arguments, reason = "one call of one loop")]
    async fn apply_one(
        &self,
        write: &Write<'_>,
        invocation: &Invocation,
        object: Option<&Object>,
        old: Option<&Object>,
        namespace: Option<&Value>,
        refusals: &mut Refusals,
        is_due: impl FnOnce() -> bool,
    ) -> Result<Option<Option<Object>>, StatusError> {
        let Invocation { policy, binding, matched, param } = invocation;
        let attributes = write.attributes;
        let mut versions = VersionedObjects::new(attributes);
        let old = match old {
            Some(own) => Some(versions.old_object(matched, own).await?),
            None => None,
        };
        let mut current = match object {
            Some(own) => Some(Object::clone(&*versions.object(matched, own).await?)),
            None => None,
        };
        let subject = Subject {
            object: None,
            old_object: old.as_deref(),
            resource: matched.resource(attributes),
            kind: matched.kind(attributes),
            params: param.as_ref(),
            namespace,
        };
        let own = Subject { object: current.as_ref(), ..subject };
        match policy.evaluator.matches(policy, write, &own, &self.metrics).await {
            Verdict::Match => {}
            Verdict::NoMatch { .. } => return Ok(None),
            Verdict::Failed(_) if policy.ignores_failures => return Ok(None),
            Verdict::Failed(message) => {
                refusals.failed(policy, binding, &message, Some(Reason::Invalid));
                return Ok(None);
            }
        }
        if !is_due() {
            return Ok(None);
        }
        let Some(current) = &mut current else { return Ok(Some(None)) };
        let mut is_changed = false;
        for place in 0..policy.evaluator.len() {
            let own = Subject { object: Some(current), ..subject };
            let path = matched.path.clone().or_else(|| own_path(attributes));
            let begun = Instant::now();
            let mutated = policy.evaluator.mutate(place, write, &own, path.as_deref()).await;
            let error = mutated.as_ref().err().map(Failure::message);
            let names = (policy.name.as_str(), binding.name.as_str());
            self.metrics.policies().mutated(names, error, begun.elapsed());
            match mutated {
                Ok(Some(patched)) => {
                    *current = patched;
                    is_changed = true;
                }
                Ok(None) => {}
                Err(Failure::Status(failure)) => return Err(failure),
                Err(Failure::Refused(message)) => {
                    refusals.failed(policy, binding, &message, Some(Reason::Invalid));
                }
            }
        }
        if !is_changed {
            return Ok(Some(None));
        }
        let restored = versions.restored(matched, std::mem::take(current), &write.context.budget).await?;
        Ok(Some(Some(restored)))
    }

    /// Returns the namespace of a write as expressions see it; `None` for writes to the cluster and to namespaces.
    async fn namespace(&self, write: &Write<'_>) -> Result<Option<Value>, StatusError> {
        let is_namespace =
            write.attributes.kind.kind == "Namespace" && write.attributes.kind.group.is_empty();
        let name = namespace_of(write.context, write.attributes);
        if is_namespace || name.is_empty() {
            return Ok(None);
        }
        Ok(Some(namespace_value(&self.matcher.namespace(name).await?)))
    }
}

/// Returns the path of the request.
fn own_path(attributes: &Attributes<'_>) -> Option<Arc<registry_core::registry::InstalledPath>> {
    let Attributes { resource, subresource, kinds, .. } = *attributes;
    kinds.path(resource.group, resource.version, resource.resource, subresource)
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
    async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let in_force = self.in_force.current();
        if in_force.is_empty() || attributes.operation == Operation::Delete || is_excluded(attributes) {
            return Ok(());
        }
        // Policies may change while this write waits.
        let in_force = Arc::clone(&in_force);
        let write = Write::new(context, attributes, &self.access);
        let mut refusals = Refusals::default();
        let invocations = self.invocations(&in_force, &write, object.as_deref(), old, &mut refusals).await;
        let name = object.as_deref().map(named).unwrap_or_default();
        if !invocations.is_empty() {
            self.apply(&write, &invocations, object, old, &mut refusals).await?;
        }
        refusals.refuse(attributes, &name)
    }
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
