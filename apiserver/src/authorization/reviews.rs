//! The server's authenticator and authorizer, for the review resources.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::context::UserInfo;
use registry_core::rest::access::{
    AccessDecision, AccessReviewer, AccessRules, InvalidToken, KnownToken, ResourceAccess, WantedAccess,
};
use request_info::ResourceRequest;

use crate::authentication::Authenticator;

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

    async fn decide_resource(&self, user: &UserInfo, access: &ResourceAccess) -> Decision {
        let resource = ResourceRequest {
            group: access.group.clone(),
            version: access.version.clone(),
            namespace: access.namespace.clone(),
            resource: access.resource.clone(),
            subresource: access.subresource.clone(),
            name: access.name.clone(),
        };
        let attributes = Attributes {
            user,
            verb: &access.verb,
            resource: Some(&resource),
            path: "",
            selectors: Some(&access.selectors),
        };
        self.authorizer.authorize(&attributes).await
    }
}

#[async_trait]
impl AccessReviewer for ServerAccess {
    async fn decide(&self, user: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
        let decision = match wanted {
            WantedAccess::Path { path, verb } => {
                let attributes = Attributes { user, verb, resource: None, path, selectors: None };
                self.authorizer.authorize(&attributes).await
            }
            WantedAccess::Resource(access) => self.decide_resource(user, access).await,
        };
        let (allowed, denied, reason, error) = match decision {
            Decision::Allow { reason } => (true, false, reason, "".into()),
            Decision::Deny { reason, error } => (false, true, reason, error),
            Decision::NoOpinion { reason, error } => (false, false, reason, error),
        };
        AccessDecision { allowed, denied, reason: reason.into_owned(), error: error.into_owned() }
    }

    async fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        self.authorizer.rules_of(user, namespace)
    }

    fn granted_rules(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        self.authorizer.granted_rules(user, namespace)
    }

    async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, InvalidToken> {
        self.authenticator.user_of_token(token, audiences).await
    }
}
