//! The table of role bindings, in a namespace or in the cluster.

use registry_core::api::Object;
use registry_core::resource::Column;
use serde_json::Value;

use crate::support::printers;

/// The table of bindings in a namespace.
pub(super) static NAMESPACED: &[Column] = &columns(
    "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    ["Users in the roleBinding", "Groups in the roleBinding", "ServiceAccounts in the roleBinding"],
);

/// The table of bindings in the cluster.
pub(super) static CLUSTER: &[Column] = &columns(
    "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    [
        "Users in the clusterRoleBinding",
        "Groups in the clusterRoleBinding",
        "ServiceAccounts in the clusterRoleBinding",
    ],
);

const fn columns(about_role: &'static str, about_subjects: [&'static str; 3]) -> [Column; 6] {
    let [users, groups, accounts] = about_subjects;
    [
        Column::NAME,
        Column::text("Role", role).described(about_role),
        Column::AGE,
        Column::text("Users", |object| subjects(object, "User")).described(users).wide(),
        Column::text("Groups", |object| subjects(object, "Group")).described(groups).wide(),
        Column::text("ServiceAccounts", |object| subjects(object, "ServiceAccount"))
            .described(accounts)
            .wide(),
    ]
}

/// Returns the names of the subjects of one kind.
fn subjects(object: &Object, kind: &str) -> Value {
    let subjects = printers::elements(object, &["subjects"]);
    let names =
        subjects.filter(|subject| subject.get("kind").and_then(Value::as_str) == Some(kind)).map(|subject| {
            let name = subject.get("name").and_then(Value::as_str).unwrap_or_default();
            match subject.get("namespace").and_then(Value::as_str) {
                Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        });
    names.collect::<Vec<_>>().join(", ").into()
}

/// Returns the role, as `Kind/name`.
fn role(object: &Object) -> Value {
    let part = |field| object.get_str(&["roleRef", field]).unwrap_or_default();
    format!("{}/{}", part("kind"), part("name")).into()
}
