//! `rbac.authorization.k8s.io/v1 ClusterRoleBinding`: ClusterRoleBinding references a ClusterRole, but not contain it.

mod strategy;

use registry_derive::Resource;

/// `clusterrolebindings` of `rbac.authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::rbac::v1::ClusterRoleBinding,
    group = "rbac.authorization.k8s.io",
    version = "v1",
    retired("rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1alpha1" => super::retired::renew_binding),
    cluster,
    columns = super::binding_table::CLUSTER,
    create_on_update,
    names = PathSegment,
    strategy = strategy::ClusterRoleBindingStrategy,
)]
pub struct ClusterRoleBindings;
