//! Checks the types of validating policies against the kinds that they match, and writes what is wrong into their status.
//!
//! Kubernetes concept: `validatingadmissionpolicy-status-controller`, and `typechecking.go` of the plug-in.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use registry_core::api::{Object, split_api_version};
use registry_core::cel::admission::{Age, ExpressionCompiler, Uses};
use registry_core::cel::{DeclType, Type, declare_kind};
use registry_core::registry::{Compiled, InformerTask, InstalledApi, InstalledPath};
use registry_core::resource::Resource as _;
use resources::api::admissionregistration::policy_status::PolicyStatus;
use resources::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies;
use serde_json::Value;

use crate::admission::ServedKinds;

use super::definitions::{elements, text};

/// Maximum number of kinds that a policy is checked against.
const MAX_KINDS: usize = 10;
/// Maximum size of all warnings about a policy, in bytes.
const MAX_WARNING_BYTES: usize = 256 * 1024;
/// Time after a change before it is checked. Clients that write a policy several times in a row do not meet conflicts with
/// the server.
const DELAY: Duration = Duration::from_secs(1);
/// Time before another attempt after a failure.
const BACKOFF: Duration = Duration::from_secs(5);

/// Checks policies beside requests.
pub(super) struct TypeChecking {
    /// The policies that are still to be checked.
    outdated: Arc<Compiled<Object>>,
    status: Arc<PolicyStatus>,
    informer: Mutex<Option<InformerTask>>,
}

/// A kind, as messages show it: `apps/v1, Kind=Deployment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    group: &'static str,
    version: &'static str,
    name: &'static str,
}

// === impl TypeChecking ===

impl TypeChecking {
    /// Follows the policies; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let store = installed.store(ValidatingAdmissionPolicies::TYPE)?;
        let (outdated, informer) =
            Compiled::informer(store, |policy| PolicyStatus::is_outdated(&policy).then_some(policy));
        let status = Arc::new(PolicyStatus::new(installed)?);
        Some(Self { outdated, status, informer: Mutex::new(Some(informer.into_task())) })
    }

    /// Returns the informer, the first time it is called.
    pub(super) fn informer(&self) -> Option<InformerTask> {
        self.informer.lock().take()
    }

    /// Returns the task that checks policies until it is dropped.
    pub(super) fn task(&self, kinds: &Arc<dyn ServedKinds>) -> BoxFuture<'static, ()> {
        let outdated = self.outdated.clone();
        let status = self.status.clone();
        let kinds = kinds.clone();
        let task = async move {
            let mut changes = outdated.subscribe();
            loop {
                changes.mark_unchanged();
                let is_done = check_all(&outdated, &status, &kinds).await;
                tokio::select! {
                    changed = changes.changed() => {
                        if changed.is_err() {
                            return;
                        }
                        tokio::time::sleep(DELAY).await;
                    }
                    () = tokio::time::sleep(BACKOFF), if !is_done => {}
                }
            }
        };
        task.boxed()
    }
}

/// Checks the policies that are to be checked. Returns whether all were.
async fn check_all(outdated: &Compiled<Object>, status: &PolicyStatus, kinds: &Arc<dyn ServedKinds>) -> bool {
    let mut is_done = true;
    for policy in outdated.all() {
        let checked = policy.clone();
        let kinds = kinds.clone();
        let warnings = tokio::task::spawn_blocking(move || check(&checked, kinds.as_ref())).await;
        let Ok(warnings) = warnings else { continue };
        if let Err(failure) = status.write(&policy, &warnings).await {
            tracing::debug!("cannot write the status of a policy, trying again: {failure}");
            is_done = false;
        }
    }
    is_done
}

/// Returns what is wrong with the types of a policy's expressions, by field.
fn check(policy: &Object, kinds: &dyn ServedKinds) -> Vec<(String, String)> {
    let spec = policy.0.get("spec").unwrap_or(&Value::Null);
    let expressions = expressions(spec);
    let mut warnings = vec![String::new(); expressions.len()];
    let param_kind = spec.get("paramKind").filter(|kind| kind.is_object());
    let params = param_kind.and_then(|kind| declared_params(kind, kinds));
    let uses = Uses { age: Age::Stored, params: param_kind.is_some(), authorizer: true, patches: false };
    let mut bytes = 0;
    for (kind, path) in kinds_to_check(spec, kinds) {
        let Some(object) = declared(&path) else { continue };
        let mut compiler = ExpressionCompiler::with_variables().with_types(Some(&object), params.as_ref());
        for variable in elements(spec, "variables") {
            // Of a variable with errors, the type is unknown.
            let of = compiler.check_types(text(variable, "expression"), uses);
            compiler.declare_variable(text(variable, "name"), &of.unwrap_or(Type::Dyn));
        }
        for ((_, expression), warning) in expressions.iter().zip(&mut warnings) {
            if bytes > MAX_WARNING_BYTES {
                break;
            }
            if let Err(errors) = compiler.check_types(expression, uses) {
                let separator = if warning.is_empty() { "" } else { "\n" };
                let found = format!("{separator}{kind}: {errors}\n");
                bytes += found.len();
                warning.push_str(&found);
            }
        }
    }
    let found = expressions.into_iter().zip(warnings).filter(|(_, warning)| !warning.is_empty());
    found.map(|((field, _), warning)| (field, warning)).collect()
}

/// Returns the expressions that are checked, with their fields: those of validations and of their messages.
fn expressions(spec: &Value) -> Vec<(String, &str)> {
    let mut expressions = Vec::new();
    for (index, validation) in elements(spec, "validations").enumerate() {
        let field = format!("spec.validations[{index}]");
        expressions.push((format!("{field}.expression"), text(validation, "expression")));
        let message = text(validation, "messageExpression");
        if !message.is_empty() {
            expressions.push((format!("{field}.messageExpression"), message));
        }
    }
    expressions
}

fn declared_params(kind: &Value, kinds: &dyn ServedKinds) -> Option<DeclType> {
    let api_version = text(kind, "apiVersion");
    let (group, version) = split_api_version(api_version);
    declared(&*kinds.path_of_kind(group, version, text(kind, "kind"))?)
}

fn declared(path: &InstalledPath) -> Option<DeclType> {
    let storage = &path.capabilities.storage;
    declare_kind(&storage.schema(), storage.kind().kind)
}

/// Returns the kinds that a policy names, without wildcards and subresources, by group, version and name.
fn kinds_to_check(spec: &Value, kinds: &dyn ServedKinds) -> Vec<(Kind, Arc<InstalledPath>)> {
    let mut found: Vec<(Kind, Arc<InstalledPath>)> = Vec::new();
    let rules = spec.pointer("/matchConstraints/resourceRules").and_then(Value::as_array);
    'rules: for rule in rules.into_iter().flatten() {
        let mut count = 0;
        for (group, version, resource) in names_of(rule) {
            for path in paths_of(kinds, group, version, resource) {
                let kind = path.capabilities.storage.kind();
                let kind = Kind { group: kind.group, version: kind.version, name: kind.kind };
                if !found.iter().any(|(other, _)| *other == kind) {
                    found.push((kind, path));
                }
                count += 1;
                if count == MAX_KINDS {
                    break 'rules;
                }
            }
        }
    }
    found.sort_by_key(|(kind, _)| *kind);
    found
}

/// Returns the groups, versions and resources that a rule names together, as far as kinds are looked up for them.
fn names_of(rule: &Value) -> impl Iterator<Item = (&str, &str, &str)> {
    let names = |list: &str| -> BTreeSet<&str> { elements(rule, list).filter_map(Value::as_str).collect() };
    let without_wildcard = |list: &str| {
        let names = names(list);
        if names.iter().any(|name| name.contains('*')) { BTreeSet::new() } else { names }
    };
    let groups = without_wildcard("apiGroups");
    let versions = without_wildcard("apiVersions");
    let mut resources = names("resources");
    resources.retain(|resource| !resource.contains(['*', '/']));
    groups.into_iter().flat_map(move |group| {
        let resources = resources.clone();
        versions.clone().into_iter().flat_map(move |version| {
            resources.clone().into_iter().map(move |resource| (group, version, resource))
        })
    })
}

/// Returns the served resources of a name. The empty group stands for any, as in Kubernetes' mapper.
fn paths_of(kinds: &dyn ServedKinds, group: &str, version: &str, resource: &str) -> Vec<Arc<InstalledPath>> {
    if !group.is_empty() {
        return kinds.path(group, version, resource, "").into_iter().collect();
    }
    let groups = kinds.groups().into_iter().map(|(group, _)| group);
    groups.filter_map(|group| kinds.path(group, version, resource, "")).collect()
}

// === impl Kind ===

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.name)
    }
}
