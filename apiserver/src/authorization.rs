//! Authorization of requests.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `setup` | the authorization that the options ask for |
//! | `delegated` | the authorization of an extension server |
//! | `reload` | changes of the file of `--authorization-config` |
//! | `modes` | the authorizers that are created at the start |
//! | `error` | the reasons for which authorization cannot be set up |
//! | `chain` | the authorizers of `--authorization-mode`, in order |
//! | `node` | what a kubelet may access: the objects that its pods refer to |
//! | `rbac` | roles and bindings, indexed by subject |
//! | `abac` | a file of policies |
//! | `configuration` | the file of `--authorization-config` |
//! | `webhook`, `conditions`, `review_spec` | another service, and the requests about which it is asked |
//! | `impersonation` | who may act as whom |
//! | `reviews` | the answers of access reviews |
//! | `rights` | the rights that a request needs |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authorization/authorizer`.

use async_trait::async_trait;
use registry_core::context::UserInfo;
use registry_core::rest::access::AccessRules;

mod abac;
mod chain;
mod conditions;
mod configuration;
mod delegated;
mod error;
pub(crate) mod impersonation;
mod modes;
mod node;
mod rbac;
mod reload;
mod review_spec;
mod reviews;
pub(crate) mod rights;
mod setup;
#[cfg(test)]
mod tests;
mod webhook;

pub(crate) use crate::access::KUBELET_CLIENT;
pub use crate::access::{Attributes, Decision, MASTERS};
pub use chain::AuthorizerChain;
pub use error::AuthorizationError;
pub use rbac::FixedRbac;
pub(crate) use reviews::ServerAccess;
pub(crate) use setup::Authorization;

/// Authorizes requests. Called for every request.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides whether the request is allowed.
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision;

    /// Returns what a user may do in a namespace, for clients that show it. By default the list is incomplete.
    fn rules_of(&self, _user: &UserInfo, _namespace: &str) -> AccessRules {
        AccessRules::unknown()
    }

    /// Returns the permissions that a user holds by roles in a namespace, or in the whole cluster if it is empty: those that
    /// the user may grant. By default there are none.
    fn granted_rules(&self, _user: &UserInfo, _namespace: &str) -> AccessRules {
        AccessRules::default()
    }
}
