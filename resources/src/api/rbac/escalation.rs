//! Nobody grants more than they hold: the rules of a role that a user writes, or binds, must be rules that the user has, or
//! the user must have the verb `escalate` on the role, or `bind` on the role of the binding.
//!
//! The hooks run for dry runs as well. The server itself and members of `system:masters` are not checked.
//!
//! Kubernetes concept: `policybased` storage, `ConfirmNoEscalation`.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::go_text::quoted;
use registry_core::api::{GetOptions, GroupResource, Object, StatusError};
use registry_core::registry::{FinishHook, InstalledApi, Services, Store, StoreHooks};
use registry_core::resource::{Resource, ResourceDescription};
use registry_core::rest::access::{AccessReviewer, AccessRules, ResourceAccess, WantedAccess};
use registry_core::rest::{Answer, Getter as _};
use resource_views::rbac::v1::{ClusterRole, RoleBinding};
use serde_json::{Value, json};

use super::aggregation::rules_of;
use super::clusterrolebindings::ClusterRoleBindings;
use super::clusterroles::ClusterRoles;
use super::held::Held;
use super::rolebindings::RoleBindings;
use super::roles::Roles;

/// The group of roles.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Checks the writes of one kind.
struct EscalationCheck {
    resource: GroupResource,
    access: Arc<dyn AccessReviewer>,
    granted: Granted,
}

/// The source of the rules that an object of the kind grants.
enum Granted {
    /// The object's own rules.
    Rules,
    /// The rules of the role that the object names.
    Binding { roles: Option<Arc<Store>>, cluster_roles: Option<Arc<Store>> },
}

/// Attaches the checks to the stores of roles and bindings.
pub fn prevent_escalation(installed: &InstalledApi, services: &Services) {
    let attach = |resource: &'static ResourceDescription, granted: Granted| {
        let Some(store) = installed.store(resource) else { return };
        let access = services.access.clone();
        let check = EscalationCheck { resource: resource.group_resource(), access, granted };
        store.attach_hooks(&(Arc::new(check) as Arc<dyn StoreHooks>));
    };
    let binding = |is_namespaced: bool| Granted::Binding {
        roles: installed.store(Roles::TYPE).filter(|_| is_namespaced),
        cluster_roles: installed.store(ClusterRoles::TYPE),
    };
    attach(Roles::TYPE, Granted::Rules);
    attach(ClusterRoles::TYPE, Granted::Rules);
    attach(RoleBindings::TYPE, binding(true));
    attach(ClusterRoleBindings::TYPE, binding(false));
}

#[async_trait]
impl StoreHooks for EscalationCheck {
    async fn begin_create(
        &self,
        context: &RequestContext,
        object: &mut Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.check(context, object, None).await.map(|()| None)
    }

    async fn begin_update(
        &self,
        context: &RequestContext,
        new: &mut Object,
        old: &Object,
        _is_status: bool,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.check(context, new, Some(old)).await.map(|()| None)
    }
}

// === impl EscalationCheck ===

impl EscalationCheck {
    async fn check(
        &self,
        context: &RequestContext,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        if context.user.may_do_everything()
            || old.is_some_and(|old| changes_only_for_garbage_collection(new, old))
        {
            return Ok(());
        }
        match &self.granted {
            Granted::Rules => self.check_role(context, new, old).await,
            Granted::Binding { roles, cluster_roles } => {
                self.check_binding(context, new, roles.as_ref(), cluster_roles.as_ref()).await
            }
        }
    }

    async fn check_role(
        &self,
        context: &RequestContext,
        new: &Object,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        // The name of an object that does not exist yet is not part of the question, as for a POST.
        let name = old.map(Object::name).unwrap_or_default();
        if self.may(context, "escalate", self.resource.resource, name).await {
            return Ok(());
        }
        let held = self.access.granted_rules(&context.user, &context.namespace);
        self.confirm(context, new.name(), &held, rules_of(new))?;
        if has_aggregation(new) || old.is_some_and(has_aggregation) {
            let everything = [
                json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }),
                json!({ "nonResourceURLs": ["*"], "verbs": ["*"] }),
            ];
            if !Held::new(&held).missing(&everything).is_empty() {
                let reason = "must have cluster-admin privileges to use the aggregationRule";
                return Err(StatusError::forbidden(self.resource, new.name(), reason));
            }
        }
        Ok(())
    }

    async fn check_binding(
        &self,
        context: &RequestContext,
        binding: &Object,
        roles: Option<&Arc<Store>>,
        cluster_roles: Option<&Arc<Store>>,
    ) -> Result<(), StatusError> {
        // Those of bindings in the cluster have the same fields.
        let role = RoleBinding(binding).role_ref();
        let (kind, name) = (role.kind().text(), role.name().text());
        let (store, resource, namespace) = match kind {
            "ClusterRole" => (cluster_roles, "clusterroles", ""),
            "Role" => (roles, "roles", context.namespace.as_str()),
            // Neither can be bound: validation says so.
            _ => return Ok(()),
        };
        let is_known_group = role.api_group().text() == GROUP;
        let Some(store) = store.filter(|_| is_known_group && !name.is_empty()) else { return Ok(()) };
        if self.may(context, "bind", resource, name).await {
            return Ok(());
        }
        // The newest state: a role that was extended just now must not be bound by its former rules.
        let own = RequestContext::system(namespace);
        let role = match store.get(&own, name, &GetOptions::default()).await? {
            Answer::Stored(entry) => store.read(&entry)?,
            Answer::Object(role) => role,
            Answer::Success(_) => Object::default(),
        };
        let held = self.access.granted_rules(&context.user, &context.namespace);
        self.confirm(context, binding.name(), &held, rules_of(&role))
    }

    /// Whether the user has a verb on a role, in the namespace of the request.
    async fn may(&self, context: &RequestContext, verb: &str, resource: &str, name: &str) -> bool {
        let wanted = ResourceAccess {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            version: "*".to_owned(),
            resource: resource.to_owned(),
            namespace: context.namespace.clone(),
            name: name.to_owned(),
            ..ResourceAccess::default()
        };
        self.access.decide(&context.user, &WantedAccess::Resource(wanted)).await.allowed
    }

    /// Checks that the user holds all of these rules.
    fn confirm(
        &self,
        context: &RequestContext,
        name: &str,
        held: &AccessRules,
        rules: &[Value],
    ) -> Result<(), StatusError> {
        let missing = Held::new(held).missing(rules);
        if missing.is_empty() {
            return Ok(());
        }
        let user = &context.user;
        let mut text = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            quoted(&user.groups),
            missing.describe()
        );
        if !held.error.is_empty() {
            let _ = write!(text, "; resolution errors: [{}]", held.error);
        }
        Err(StatusError::forbidden(self.resource, name, text))
    }
}

fn has_aggregation(role: &Object) -> bool {
    !ClusterRole(role).aggregation_rule().cluster_role_selectors().is_empty()
}

/// Whether an update changes only what the garbage collector changes, so that it can do so for roles of any rules.
fn changes_only_for_garbage_collection(new: &Object, old: &Object) -> bool {
    let compared = |object: &Object| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
            object.remove(&["metadata", field]);
        }
        object
    };
    compared(new) == compared(old)
}
