//! `v1 ServiceAccount`: ServiceAccount binds together: * a name, understood by users, and perhaps by peripheral systems, for an identity * a principal that can be authenticated and authorized * a set of secrets.

mod strategy;
pub mod token;

use registry_derive::Resource;

/// `serviceaccounts` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ServiceAccount,
    version = "v1",
    plural = "serviceaccounts",
    short("sa"),
    returns_deleted_object,
    storage_prefix = "serviceaccounts",
    strategy = strategy::ServiceAccountStrategy,
    subresource(token::Token, verbs(create)),
)]
pub struct ServiceAccounts;
