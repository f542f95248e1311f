//! The table of role bindings, in a namespace or in the cluster.

use registry_core::api::Object;
use registry_core::resource::Column;
use resource_views::rbac::v1::RoleBinding;
use serde_json::Value;

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
    // Those of bindings in the cluster have the same fields.
    let subjects = RoleBinding(object).subjects();
    let wanted = subjects.elements().filter(|subject| subject.kind().text() == kind);
    let names = wanted.map(|subject| match subject.namespace().optional_text() {
        Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{}", subject.name().text()),
        _ => subject.name().text().to_owned(),
    });
    names.collect::<Vec<_>>().join(", ").into()
}

/// Returns the role, as `Kind/name`.
fn role(object: &Object) -> Value {
    let role = RoleBinding(object).role_ref();
    format!("{}/{}", role.kind().text(), role.name().text()).into()
}
