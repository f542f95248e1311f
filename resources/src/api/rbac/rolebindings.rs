//! `rbac.authorization.k8s.io/v1 RoleBinding`: RoleBinding references a role, but does not contain it.

mod strategy;

use registry_derive::Resource;

/// `rolebindings` of `rbac.authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::rbac::v1::RoleBinding,
    group = "rbac.authorization.k8s.io",
    version = "v1",
    retired("rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1alpha1" => super::retired::renew_binding),
    columns = super::binding_table::NAMESPACED,
    create_on_update,
    names = PathSegment,
    strategy = strategy::RoleBindingStrategy,
)]
pub struct RoleBindings;
