//! The server's authenticator and authorizer, for the review resources.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessDecision, AccessReviewer, KnownToken, WantedAccess};

use crate::authentication::Authenticator;
use crate::request_info::ResourceRequest;

use super::{Attributes, Authorizer, Decision};

/// The server's authenticator and authorizer.
pub(crate) struct ServerAccess {
    authenticator: Arc<Authenticator>,
    authorizer: Arc<dyn Authorizer>,
}

// === impl ServerAccess ===

impl ServerAccess {
    pub(crate) fn new(authenticator: Arc<Authenticator>, authorizer: Arc<dyn Authorizer>) -> Self {
        Self { authenticator, authorizer }
    }
}

#[async_trait]
impl AccessReviewer for ServerAccess {
    async fn decide(&self, user: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
        let decision = match wanted {
            WantedAccess::Path { path, verb } => {
                self.authorizer.authorize(&Attributes { user, verb, resource: None, path }).await
            }
            WantedAccess::Resource(access) => {
                let resource = ResourceRequest {
                    group: access.group.clone(),
                    version: access.version.clone(),
                    namespace: access.namespace.clone(),
                    resource: access.resource.clone(),
                    subresource: access.subresource.clone(),
                    name: access.name.clone(),
                };
                let attributes = Attributes { user, verb: &access.verb, resource: Some(&resource), path: "" };
                self.authorizer.authorize(&attributes).await
            }
        };
        let (allowed, denied, reason) = match decision {
            Decision::Allow { reason } => (true, false, reason),
            Decision::Deny { reason } => (false, true, reason),
            Decision::NoOpinion { reason } => (false, false, reason),
        };
        AccessDecision { allowed, denied, reason: reason.into_owned() }
    }

    async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, String> {
        self.authenticator.user_of_token(token, audiences).await
    }
}
