//! Access reviews: authentication and authorisation decisions of the server, for storages.
//!
//! The authenticator and the authorizer are implemented above this crate; review resources use them through this
//! module.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::selector::{FieldRequirement, LabelRequirement};
use crate::context::UserInfo;

/// An access to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedAccess {
    /// Access to a resource.
    Resource(ResourceAccess),
    /// Access to a non-resource path.
    Path {
        /// The path.
        path: String,
        /// The HTTP method, lower case.
        verb: String,
    },
}

/// A verb on a resource. Empty fields mean all, or none, as in Kubernetes' `ResourceAttributes`.
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
    /// The selectors that restrict the access.
    pub selectors: AccessSelectors,
}

/// The requirements to which the selectors of a `list`, `watch` or `deletecollection` restrict it. All apply together, so
/// that leaving one out is a question about more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSelectors {
    /// The requirements on fields.
    pub fields: Vec<FieldRequirement>,
    /// The requirements on labels.
    pub labels: Vec<LabelRequirement>,
}

/// The decision on an access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// Whether the access is allowed.
    pub allowed: bool,
    /// Whether the access is denied, regardless of other authorizers.
    pub denied: bool,
    /// The reason; may be empty.
    pub reason: String,
    /// The failures because of which the decision could not be evaluated completely; may be empty.
    pub error: String,
}

/// The known permissions of a user in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// The permissions on resources.
    pub resources: Vec<ResourceRule>,
    /// The permissions on non-resource paths.
    pub paths: Vec<PathRule>,
    /// Whether the user may have permissions that are not listed.
    pub incomplete: bool,
    /// The failures of evaluations; may be empty.
    pub error: String,
}

/// Verbs on resources. `*` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// The API verbs.
    pub verbs: Vec<String>,
    /// The API groups.
    pub groups: Vec<String>,
    /// The resources.
    pub resources: Vec<String>,
    /// The objects' names; empty matches all.
    pub names: Vec<String>,
}

/// Verbs on non-resource paths. `*` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    /// The HTTP methods, lower case.
    pub verbs: Vec<String>,
    /// The paths.
    pub paths: Vec<String>,
}

/// An accepted token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownToken {
    /// The user of the token.
    pub user: UserInfo,
    /// The requested audiences for which the token is valid.
    pub audiences: Vec<String>,
}

/// Error of a token that is not accepted. Clients see the text.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InvalidToken {
    /// No authenticator knows it.
    #[error("invalid bearer token")]
    Unknown,
    /// The authenticators of tokens of its kind do not accept it.
    #[error("{0}")]
    Refused(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// It may be valid, but too many others wait for their review.
    #[error("too many tokens wait for their review, please try again later")]
    NotReviewed,
}

/// The server's authentication and authorisation, for review resources.
#[async_trait]
pub trait AccessReviewer: Send + Sync + 'static {
    /// Decides whether a user may perform an access.
    async fn decide(&self, user: &UserInfo, wanted: &WantedAccess) -> AccessDecision;

    /// Returns the permissions of a user in a namespace. An authorizer that cannot enumerate its rules reports an
    /// incomplete result.
    async fn rules_of(&self, _user: &UserInfo, _namespace: &str) -> AccessRules {
        AccessRules::unknown()
    }

    /// Returns the permissions that a user holds in a namespace by roles, or in the whole cluster if it is empty: those
    /// that the user may grant to others.
    fn granted_rules(&self, _user: &UserInfo, _namespace: &str) -> AccessRules {
        AccessRules::default()
    }

    /// Returns the user of a token that is valid for one of these audiences. An empty list means the server itself.
    ///
    /// # Errors
    /// Fails if the token is invalid or not for these audiences.
    async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, InvalidToken>;
}

/// Rejects all tokens and denies all access: for maps that are installed without a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAccess;

// === impl AccessRules ===

impl AccessRules {
    /// Returns the rules of an authorizer that cannot enumerate them.
    pub fn unknown() -> Self {
        let error = "the authorizer cannot list what it allows".to_owned();
        Self { incomplete: true, error, ..Self::default() }
    }
}

// === impl InvalidToken ===

impl InvalidToken {
    /// Returns the error of a token that is refused for this reason.
    pub fn refused(reason: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Refused(Arc::new(reason))
    }
}

// === impl NoAccess ===

#[async_trait]
impl AccessReviewer for NoAccess {
    async fn decide(&self, _: &UserInfo, _: &WantedAccess) -> AccessDecision {
        AccessDecision::default()
    }

    async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
        Err(InvalidToken::Unknown)
    }
}
