//! The permissions for parameters of policies: the server reads them with its own permissions, and expressions can show what they
//! contain. Nobody lets a policy read what they may not read themselves.
//!
//! A policy needs `get` on all objects of its `paramKind`, a binding `get` on the object of its `paramRef`, or `list` if that
//! selects by labels. Where the kind is not known, the permission on everything is needed. The server itself and members of
//! `system:masters` are not checked.
//!
//! Kubernetes concept: `authz.go` of each kind in `pkg/registry/admissionregistration`.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{Object, StatusError};
use registry_core::context::UserInfo;
use registry_core::registry::{InstalledApi, PreparedWrite, Services, StoreHooks};
use registry_core::resource::{Resource, ResourceDescription};
use registry_core::rest::access::{AccessReviewer, ResourceAccess, WantedAccess};
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingAdmissionPolicyBindingSpec, ParamRef,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use resource_views::alike::AnyAdmissionPolicySpec;

use super::mutatingadmissionpolicies::MutatingAdmissionPolicies;
use super::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings;
use super::validatingadmissionpolicies::ValidatingAdmissionPolicies;
use super::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings;
use crate::support::lookup::Lookup;

/// The value that stands for every group, version, resource, name or namespace.
const ALL: &str = "*";

/// Finds the resources of kinds, among all that are served.
///
/// Kubernetes concept: `ResourceResolver` in `pkg/registry/admissionregistration/resolver`.
pub trait ResourceResolver: Send + Sync + 'static {
    /// Returns the plural name of a kind; `None` if it is not served.
    fn resource_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<String>;
}

/// Checks the writes of one kind of policies.
struct PolicyCheck {
    access: Arc<dyn AccessReviewer>,
    resolver: Arc<dyn ResourceResolver>,
    is_mutating: bool,
}

/// Checks the writes of one kind of bindings.
struct BindingCheck {
    access: Arc<dyn AccessReviewer>,
    resolver: Arc<dyn ResourceResolver>,
    policies: Lookup,
    is_mutating: bool,
}

/// The resource whose objects are parameters.
struct ParameterResource {
    group: String,
    version: String,
    resource: String,
}

/// The parts of a policy's `paramKind`.
#[derive(PartialEq, Eq)]
struct ParameterKind<'o> {
    api_version: &'o str,
    kind: &'o str,
}

/// Attaches the checks to the stores of policies and bindings.
pub fn protect_parameters(
    installed: &InstalledApi,
    services: &Services,
    resolver: &Arc<dyn ResourceResolver>,
) {
    let attach = |resource: &'static ResourceDescription, check: Arc<dyn StoreHooks>| {
        if let Some(store) = installed.store(resource) {
            store.attach_hooks(&check);
        }
    };
    let policy = |is_mutating: bool| PolicyCheck {
        access: services.access.clone(),
        resolver: resolver.clone(),
        is_mutating,
    };
    let binding = |policies: Lookup, is_mutating: bool| BindingCheck {
        access: services.access.clone(),
        resolver: resolver.clone(),
        policies,
        is_mutating,
    };
    attach(ValidatingAdmissionPolicies::TYPE, Arc::new(policy(false)));
    attach(MutatingAdmissionPolicies::TYPE, Arc::new(policy(true)));
    if let Some(policies) = Lookup::for_resource::<ValidatingAdmissionPolicies>(installed) {
        attach(ValidatingAdmissionPolicyBindings::TYPE, Arc::new(binding(policies, false)));
    }
    if let Some(policies) = Lookup::for_resource::<MutatingAdmissionPolicies>(installed) {
        attach(MutatingAdmissionPolicyBindings::TYPE, Arc::new(binding(policies, true)));
    }
}

#[async_trait]
impl StoreHooks for PolicyCheck {
    async fn check_valid(
        &self,
        context: &RequestContext,
        write: PreparedWrite<'_>,
    ) -> Result<ErrorList, StatusError> {
        let read = |policy| ParameterKind::read(policy, self.is_mutating);
        let Some(kind) = read(write.new) else { return Ok(ErrorList::default()) };
        let is_unchanged = write.old.and_then(read).is_some_and(|old| old == kind);
        if is_unchanged || context.user.may_do_everything() {
            return Ok(ErrorList::default());
        }
        let parameters = kind.parsed().map_or_else(ParameterResource::all, |(group, version)| {
            ParameterResource::resolved(self.resolver.as_ref(), group, version, kind.kind).0
        });
        let wanted = parameters.access("get", ALL, ALL);
        if self.access.decide(&context.user, &wanted).await.allowed {
            return Ok(ErrorList::default());
        }
        let detail = format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, apiVersion={})",
            user_text(&context.user),
            kind.kind,
            kind.api_version
        );
        Ok(forbidden("paramKind", detail))
    }
}

#[async_trait]
impl StoreHooks for BindingCheck {
    async fn check_valid(
        &self,
        context: &RequestContext,
        write: PreparedWrite<'_>,
    ) -> Result<ErrorList, StatusError> {
        let spec = self.spec_of(write.new);
        let reference = spec.param_ref();
        let is_unchanged = write.old.is_some_and(|old| refer_alike(&self.spec_of(old), &spec));
        if !reference.exists() || is_unchanged || context.user.may_do_everything() {
            return Ok(ErrorList::default());
        }
        let (name, namespace) = (reference.name().text(), reference.namespace().text());
        let verb = if name.is_empty() { "list" } else { "get" };
        let (parameters, doubt) = self.parameters(spec.policy_name().text()).await;
        let wanted = parameters.access(verb, namespace, name);
        if self.access.decide(&context.user, &wanted).await.allowed {
            return Ok(ErrorList::default());
        }
        let user = user_text(&context.user);
        let detail = match doubt {
            Some(doubt) => format!(
                "{doubt} to determine minimum required permissions and user {user} does not have {verb:?} permission for all \
                 groups, versions and resources"
            ),
            // Kubernetes passes the arguments of this text in the wrong order.
            None if self.is_mutating => {
                format!(
                    "user {verb} does not have \"{user}\" permission on the object referenced by paramRef"
                )
            }
            None => {
                format!("user {user} does not have {verb:?} permission on the object referenced by paramRef")
            }
        };
        Ok(forbidden("paramRef", detail))
    }
}

// === impl BindingCheck ===

impl BindingCheck {
    fn spec_of<'o>(&self, binding: &'o Object) -> MutatingAdmissionPolicyBindingSpec<'o, 'o> {
        if self.is_mutating {
            MutatingAdmissionPolicyBinding(binding).spec()
        } else {
            ValidatingAdmissionPolicyBinding(binding).spec().into()
        }
    }

    /// Returns the resource of the parameters by a policy, and the reason if it is not known exactly.
    async fn parameters(&self, name: &str) -> (ParameterResource, Option<String>) {
        let Ok(policy) = self.policies.newest("", name).await else {
            return (ParameterResource::all(), Some(format!("unable to get policy {name}")));
        };
        let Some(kind) = ParameterKind::read(&policy, self.is_mutating) else {
            return (ParameterResource::all(), None);
        };
        let Some((group, version)) = kind.parsed() else {
            return (ParameterResource::all(), Some(format!("unable to parse paramKind {}", kind.shown())));
        };
        let (parameters, is_served) =
            ParameterResource::resolved(self.resolver.as_ref(), group, version, kind.kind);
        let doubt = (!is_served).then(|| format!("unable to resolve paramKind {}", kind.shown()));
        (parameters, doubt)
    }
}

// === impl ParameterResource ===

impl ParameterResource {
    /// Returns all resources of all groups.
    fn all() -> Self {
        Self { group: ALL.to_owned(), version: ALL.to_owned(), resource: ALL.to_owned() }
    }

    /// Returns the resource of a kind, and whether it is served; all resources of the version if it is not.
    fn resolved(resolver: &dyn ResourceResolver, group: &str, version: &str, kind: &str) -> (Self, bool) {
        let resource = resolver.resource_of_kind(group, version, kind);
        let is_served = resource.is_some();
        let resource = resource.unwrap_or_else(|| ALL.to_owned());
        (Self { group: group.to_owned(), version: version.to_owned(), resource }, is_served)
    }

    fn access(self, verb: &str, namespace: &str, name: &str) -> WantedAccess {
        WantedAccess::Resource(ResourceAccess {
            verb: verb.to_owned(),
            group: self.group,
            version: self.version,
            resource: self.resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..ResourceAccess::default()
        })
    }
}

// === impl ParameterKind ===

impl<'o> ParameterKind<'o> {
    /// Returns the kind of a policy's parameters; `None` if it has none.
    fn read(policy: &'o Object, is_mutating: bool) -> Option<Self> {
        let spec: AnyAdmissionPolicySpec<'_, '_> = if is_mutating {
            MutatingAdmissionPolicy(policy).spec().into()
        } else {
            ValidatingAdmissionPolicy(policy).spec().into()
        };
        let kind = spec.param_kind();
        kind.exists().then(|| Self { api_version: kind.api_version().text(), kind: kind.kind().text() })
    }

    /// Returns the group and the version; `None` if `apiVersion` has more parts.
    fn parsed(&self) -> Option<(&'o str, &'o str)> {
        match self.api_version.split_once('/') {
            None => Some(("", self.api_version)),
            Some((group, version)) => (!version.contains('/')).then_some((group, version)),
        }
    }

    /// Returns the kind as Go prints the pointer to it.
    fn shown(&self) -> String {
        format!("&{{{} {}}}", self.api_version, self.kind)
    }
}

/// Whether two states of a binding refer to the same parameters of the same policy. References with a selector or a
/// `parameterNotFoundAction` never do: Kubernetes compares the pointers to these.
fn refer_alike(
    old: &MutatingAdmissionPolicyBindingSpec<'_, '_>,
    new: &MutatingAdmissionPolicyBindingSpec<'_, '_>,
) -> bool {
    let (old_reference, new_reference) = (old.param_ref(), new.param_ref());
    let has_pointer = |reference: &ParamRef<'_, '_>| {
        reference.selector().exists() || reference.parameter_not_found_action().exists()
    };
    old.policy_name().text() == new.policy_name().text()
        && old_reference.value() == new_reference.value()
        && !has_pointer(&old_reference)
        && !has_pointer(&new_reference)
}

fn forbidden(field: &str, detail: String) -> ErrorList {
    let mut errors = ErrorList::default();
    errors.push(FieldError::forbidden(FieldPath::new("spec").child(field), detail));
    errors
}

/// Returns a user as Go prints the pointer to it.
fn user_text(user: &UserInfo) -> String {
    let mut extra: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{key}:[{}]", values.join(" "))).collect();
    extra.sort();
    format!("&{{{} {} [{}] map[{}]}}", user.name, user.uid, user.groups.join(" "), extra.join(" "))
}
