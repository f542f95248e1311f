//! The default roles and bindings. An operator's additions are kept; removed rules and subjects are restored at the next
//! start, unless disabled by annotation.
//!
//! Kubernetes concept: `rbac/bootstrap-roles`; `k8s.io/component-helpers/auth/rbac/reconciliation`.

use async_trait::async_trait;
use futures::future::{try_join, try_join_all};
use registry_core::api::{Object, StatusError};
use registry_core::features::Feature;
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::rbac::v1::{ClusterRole, RoleBinding};
use serde_json::Value;

use super::{PostStartHook, gated};
use crate::api::rbac::clusterrolebindings::ClusterRoleBindings;
use crate::api::rbac::clusterroles::ClusterRoles;
use crate::api::rbac::held::Held;
use crate::api::rbac::rolebindings::RoleBindings;
use crate::api::rbac::roles::Roles as NamespacedRoles;
use crate::support::bootstrap_objects::bootstrap_objects;
use crate::support::system_writer::{Present, SystemWriter};

/// If `false`, the server does not change a role or binding.
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// Bindings, and those that had a part of their role before.
const SPLIT: [(&str, &str); 1] = [("system:discovery", "system:public-info-viewer")];

/// The hook.
pub(super) struct Roles {
    roles: Vec<Kept>,
    bindings: Vec<Kept>,
}

/// The writer of one resource, and its wanted objects.
struct Kept {
    writer: SystemWriter,
    wanted: Wanted,
    features: Vec<Feature>,
}

/// Returns the objects that a server with these features wants.
type Wanted = fn(&[Feature]) -> Vec<Object>;

// === impl Roles ===

impl Roles {
    pub(super) fn new(installed: &InstalledApi, features: &[Feature]) -> Option<Self> {
        let roles = [
            Kept::new::<ClusterRoles>(installed, gated::cluster_roles, features),
            Kept::new::<NamespacedRoles>(installed, always::<NamespacedRoles>, features),
        ];
        let bindings = [
            Kept::new::<ClusterRoleBindings>(installed, gated::cluster_role_bindings, features),
            Kept::new::<RoleBindings>(installed, always::<RoleBindings>, features),
        ];
        let hook = Self {
            roles: roles.into_iter().flatten().collect(),
            bindings: bindings.into_iter().flatten().collect(),
        };
        (!hook.roles.is_empty() || !hook.bindings.is_empty()).then_some(hook)
    }
}

/// Returns objects that do not depend on features.
fn always<R: Resource>(_: &[Feature]) -> Vec<Object> {
    bootstrap_objects::<R>()
}

// === impl Kept ===

impl Kept {
    fn new<R: Resource>(installed: &InstalledApi, wanted: Wanted, features: &[Feature]) -> Option<Self> {
        Some(Self {
            writer: SystemWriter::for_resource::<R>(installed)?,
            wanted,
            features: features.to_vec(),
        })
    }

    fn wanted(&self) -> Vec<Object> {
        (self.wanted)(&self.features)
    }
}

#[async_trait]
impl PostStartHook for Roles {
    fn name(&self) -> &'static str {
        "rbac/bootstrap-roles"
    }

    async fn run(&self) -> Result<(), StatusError> {
        let roles = self.roles.iter().map(|kept| kept.writer.ensure(kept.wanted(), mended_role));
        let bindings = self.bindings.iter().map(|kept| ensure_bindings(&kept.writer, kept.wanted()));
        try_join(try_join_all(roles), try_join_all(bindings)).await.map(drop)
    }
}

/// Creates and updates bindings; one to another role is recreated, because the role is immutable.
async fn ensure_bindings(system_writer: &SystemWriter, wanted: Vec<Object>) -> Result<(), StatusError> {
    let present = system_writer.present().await?;
    split_bindings(system_writer, &present, &wanted).await?;
    for object in &wanted {
        let Some(entry) = present.get(object.namespace(), object.name()) else { continue };
        let stored = system_writer.read(entry)?;
        if !is_protected(&stored) && role_of(&stored) != role_of(object) {
            system_writer.remove(object.namespace(), object.name()).await?;
            system_writer.create(object.clone()).await?;
        }
    }
    system_writer.ensure(wanted, mended_binding).await
}

/// Creates the missing bindings that took over a part of another one, with its subjects, labels and annotations: what an
/// operator has closed stays closed.
async fn split_bindings(
    system_writer: &SystemWriter,
    present: &Present,
    wanted: &[Object],
) -> Result<(), StatusError> {
    for (source, name) in SPLIT {
        let object = wanted.iter().find(|object| object.name() == name && object.namespace().is_empty());
        let (Some(object), Some(entry), None) = (object, present.get("", source), present.get("", name))
        else {
            continue;
        };
        let stored = system_writer.read(entry)?;
        let mut binding = object.clone();
        for field in [&["subjects"][..], &["metadata", "labels"], &["metadata", "annotations"]] {
            binding.remove(field);
            if let Some(value) = stored.get(field) {
                binding.set(field, value.clone());
            }
        }
        system_writer.create(binding).await?;
    }
    Ok(())
}

fn is_protected(present: &Object) -> bool {
    present.annotation(AUTOUPDATE) == Some("false")
}

/// Returns the role with its missing rules; `None` when none is missing, or it must not be changed.
fn mended_role(present: &Object, wanted: &Object) -> Option<Object> {
    if is_protected(present) {
        return None;
    }
    let mut role = present.clone();
    add_metadata(&mut role, wanted);
    if ClusterRole(wanted).aggregation_rule().exists() {
        add_elements(&mut role, wanted, &["aggregationRule", "clusterRoleSelectors"]);
    } else {
        let missing = Held::from_rules(rules(present)).missing(rules(wanted)).rules();
        if missing.is_none() {
            tracing::warn!(
                role = present.name(),
                "it has too many rules, or lacks too many, to be completed"
            );
        }
        if let Some(missing) = missing.filter(|missing| !missing.is_empty()) {
            let all = rules(present).iter().cloned().chain(missing).collect();
            role.set(&["rules"], Value::Array(all));
        }
    }
    (role != *present).then_some(role)
}

fn role_of(binding: &Object) -> Option<&Value> {
    RoleBinding(binding).role_ref().value()
}

fn rules(role: &Object) -> &[Value] {
    ClusterRole(role).rules().values()
}

/// Returns the binding with its missing subjects.
fn mended_binding(present: &Object, wanted: &Object) -> Option<Object> {
    // A binding to another role was recreated before, or has just been created by another client.
    if is_protected(present) || role_of(present) != role_of(wanted) {
        return None;
    }
    let mut binding = present.clone();
    add_metadata(&mut binding, wanted);
    add_elements(&mut binding, wanted, &["subjects"]);
    (binding != *present).then_some(binding)
}

/// Adds missing labels and annotations; those with another value are the operator's.
fn add_metadata(object: &mut Object, wanted: &Object) {
    for field in ["labels", "annotations"] {
        let entries = wanted.get(&["metadata", field]).and_then(Value::as_object);
        for (name, value) in entries.into_iter().flatten() {
            if object.get(&["metadata", field, name]).is_none() {
                object.set(&["metadata", field, name], value.clone());
            }
        }
    }
}

/// Adds the elements of a list that are missing.
fn add_elements(object: &mut Object, wanted: &Object, path: &[&str]) {
    let elements = |object: &Object| object.get(path).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = elements(object);
    let missing: Vec<Value> = elements(wanted).into_iter().filter(|element| !all.contains(element)).collect();
    if !missing.is_empty() {
        all.extend(missing);
        object.set(path, Value::Array(all));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(rules: &Value, annotations: &Value) -> Object {
        let role = json!({"metadata": {"name": "r", "annotations": annotations}, "rules": rules});
        Object::from_value(role).expect("an object")
    }

    #[test]
    fn a_role_gets_back_what_it_lacks_and_keeps_what_it_has() {
        let read = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
        let own = json!({"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]});
        let wanted = role(&json!([read]), &json!({AUTOUPDATE: "true"}));
        let mended = mended_role(&role(&json!([own]), &json!({})), &wanted).expect("it lacks rules");
        assert_eq!(rules(&mended).len(), 3, "its own, and one for each verb that was missing");
        assert_eq!(mended_role(&mended, &wanted), None);
        assert_eq!(mended_role(&role(&json!([]), &json!({AUTOUPDATE: "false"})), &wanted), None);
    }
}
