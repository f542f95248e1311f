//! `rbac.authorization.k8s.io/v1 Role`: Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding.

mod strategy;

use registry_derive::Resource;

use crate::support::printers;

/// `roles` of `rbac.authorization.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::rbac::v1::Role,
    group = "rbac.authorization.k8s.io",
    version = "v1",
    plural = "roles",
    storage_prefix = "roles",
    columns = printers::NAME_AND_CREATED_AT,
    create_on_update,
    strategy = strategy::RoleStrategy,
)]
pub struct Roles;
