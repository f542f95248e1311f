//! `rbac.authorization.k8s.io/v1 Role`: permissions in a namespace, which bindings refer to.

mod strategy;

use registry_derive::Resource;

use crate::support::printers;

/// `roles` of `rbac.authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::rbac::v1::Role,
    group = "rbac.authorization.k8s.io",
    version = "v1",
    retired("rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1alpha1"),
    columns = printers::NAME_AND_CREATED_AT,
    create_on_update,
    names = PathSegment,
    strategy = strategy::RoleStrategy,
)]
pub struct Roles;
