//! What storages may ask of the server they are in: who somebody is, and what they may do.
//!
//! The server's authenticator and authorizer live above this crate; review resources reach them through here.

use async_trait::async_trait;

use crate::context::UserInfo;

/// What somebody may want to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedAccess {
    /// Something with a resource.
    Resource(ResourceAccess),
    /// Something with a path that is no resource.
    Path {
        /// The path.
        path: String,
        /// The method, lower case.
        verb: String,
    },
}

/// A verb on a resource. Fields that are empty mean all, or none, as Kubernetes' `ResourceAttributes` do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAccess {
    /// The API verb.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The resource.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

/// Whether it may happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// It may.
    pub allowed: bool,
    /// It must not, whatever else is thought of it.
    pub denied: bool,
    /// Why; may be empty.
    pub reason: String,
}

/// All that somebody may do in a namespace, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// What may be done with resources.
    pub resources: Vec<ResourceRule>,
    /// What may be done with other paths.
    pub paths: Vec<PathRule>,
    /// Why there may be more than this; `None` when this is all.
    pub incomplete: Option<String>,
}

/// Verbs on resources. `*` is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// The API verbs.
    pub verbs: Vec<String>,
    /// The API groups.
    pub groups: Vec<String>,
    /// The resources.
    pub resources: Vec<String>,
    /// The objects' names; empty is all.
    pub names: Vec<String>,
}

/// Verbs on paths that are no resources. `*` is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    /// The methods, lower case.
    pub verbs: Vec<String>,
    /// The paths.
    pub paths: Vec<String>,
}

/// A token that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownToken {
    /// Whose it is.
    pub user: UserInfo,
    /// Which of the audiences asked for it is meant for.
    pub audiences: Vec<String>,
}

/// The server's authentication and authorization, for those that review them.
#[async_trait]
pub trait AccessReviewer: Send + Sync + 'static {
    /// Whether a user may do something.
    async fn decide(&self, user: &UserInfo, wanted: &WantedAccess) -> AccessDecision;

    /// What a user may do in a namespace. An authorizer that decides single requests only cannot list it, and
    /// says so.
    async fn rules_of(&self, _user: &UserInfo, _namespace: &str) -> AccessRules {
        let incomplete = "the authorizer cannot list what it allows".to_owned();
        AccessRules { incomplete: Some(incomplete), ..AccessRules::default() }
    }

    /// Whose token it is, when it is meant for one of these audiences. None given means the server itself.
    ///
    /// # Errors
    /// It is nobody's, or not for them; the text says why.
    async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, String>;
}

/// Knows nobody and allows nothing: for maps that are installed outside a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAccess;

// === impl NoAccess ===

#[async_trait]
impl AccessReviewer for NoAccess {
    async fn decide(&self, _: &UserInfo, _: &WantedAccess) -> AccessDecision {
        AccessDecision::default()
    }

    async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, String> {
        Err("invalid bearer token".to_owned())
    }
}
