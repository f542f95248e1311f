//! `v1 ServiceAccount`: an identity of pods, which is authenticated and authorized.

mod strategy;
pub mod token;

use registry_derive::Resource;

/// `serviceaccounts` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::ServiceAccount,
    version = "v1",
    short("sa"),
    returns_deleted_object,
    strategy = strategy::ServiceAccountStrategy,
    subresource(token::Token, verbs(create)),
)]
pub struct ServiceAccounts;
