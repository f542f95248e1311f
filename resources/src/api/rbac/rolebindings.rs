//! `rbac.authorization.k8s.io/v1 RoleBinding`: RoleBinding references a role, but does not contain it.

mod strategy;

use registry_derive::Resource;

/// `rolebindings` of `rbac.authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::rbac::v1::RoleBinding,
    group = "rbac.authorization.k8s.io",
    version = "v1",
    columns = super::binding_table::NAMESPACED,
    create_on_update,
    names = PathSegment,
    strategy = strategy::RoleBindingStrategy,
)]
pub struct RoleBindings;
