//! Authorization of requests.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authorization/authorizer`.

use std::borrow::Cow;
use std::fmt::Write as _;

use async_trait::async_trait;
use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;

use crate::authentication::{AUTHENTICATED, UNAUTHENTICATED};
use crate::request_info::{RequestInfo, ResourceRequest};

mod reviews;
#[cfg(test)]
mod tests;

pub(crate) use reviews::ServerAccess;

/// The group whose members may do everything, regardless of policy.
pub const MASTERS: &str = "system:masters";
/// The user name of the server towards kubelets, in its generated certificate.
pub(crate) const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";
/// The group of all service accounts.
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// The attributes of a request that authorization is decided by.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The user.
    pub user: &'a UserInfo,
    /// The API verb, or the method for a non-resource path.
    pub verb: &'a str,
    /// The resource; `None` for non-resource paths.
    pub resource: Option<&'a ResourceRequest>,
    /// The path.
    pub path: &'a str,
}

/// The decision of an authorizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed.
    Allow {
        /// The reason, for the audit log and access reviews; may be empty.
        reason: Cow<'static, str>,
    },
    /// The request is denied, regardless of other authorizers.
    Deny {
        /// The reason reported to the client; may be empty.
        reason: Cow<'static, str>,
    },
    /// The request is denied unless another authorizer allows it.
    NoOpinion {
        /// The reason reported to the client; may be empty.
        reason: Cow<'static, str>,
    },
}

/// Authorizes requests. Called for every request.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides whether the request is allowed.
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision;
}

/// The rules that hold without any policy: `system:masters` may do everything, everyone may read health and
/// version, and authenticated users may use discovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct BaselineAuthorizer;

// === impl Attributes ===

impl<'a> Attributes<'a> {
    /// Returns the attributes of a request.
    pub fn of(user: &'a UserInfo, info: &'a RequestInfo) -> Self {
        Self { user, verb: info.verb.as_str(), resource: info.resource.as_ref(), path: &info.path }
    }

    /// Returns whether the user is in a group.
    pub fn is_in_group(&self, group: &str) -> bool {
        self.user.groups.iter().any(|own| own == group)
    }

    /// Returns the 403 error of a refusal, with Kubernetes' message.
    pub fn forbidden(&self, reason: &str) -> StatusError {
        let mut why = self.describe();
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        let mut details = StatusDetails::default();
        let message = match self.resource {
            None => format!("forbidden: {why}"),
            Some(resource) => {
                details.group.clone_from(&resource.group);
                details.kind.clone_from(&resource.resource);
                details.name.clone_from(&resource.name);
                format!("{} is forbidden: {why}", qualified(resource))
            }
        };
        let mut failure = StatusError::new(Reason::Forbidden, message);
        failure.details = Some(Box::new(details));
        failure
    }

    fn describe(&self) -> String {
        let user = &self.user.name;
        let verb = self.verb;
        let Some(resource) = self.resource else {
            return format!("User {user:?} cannot {verb} path {:?}", self.path);
        };
        let mut path = resource.resource.clone();
        if !resource.subresource.is_empty() {
            path.push('/');
            path.push_str(&resource.subresource);
        }
        let scope = match resource.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        format!("User {user:?} cannot {verb} resource {path:?} in API group {:?} {scope}", resource.group)
    }
}

/// Formats the resource: `pods`, `deployments.apps "web"`.
fn qualified(resource: &ResourceRequest) -> String {
    let mut text = resource.resource.clone();
    if !resource.group.is_empty() {
        text.push('.');
        text.push_str(&resource.group);
    }
    if !resource.name.is_empty() {
        let _ = write!(text, " {:?}", resource.name);
    }
    text
}

// === impl Decision ===

impl Decision {
    /// Returns an `Allow` with this reason.
    pub const fn allow(reason: &'static str) -> Self {
        Self::Allow { reason: Cow::Borrowed(reason) }
    }

    /// Returns a `NoOpinion` without a reason.
    pub const fn no_opinion() -> Self {
        Self::NoOpinion { reason: Cow::Borrowed("") }
    }
}

// === impl BaselineAuthorizer ===

#[async_trait]
impl Authorizer for BaselineAuthorizer {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.is_in_group(MASTERS) {
            return Decision::allow("");
        }
        let reads = matches!(attributes.verb, "get" | "head") && attributes.resource.is_none();
        let is_anyone = attributes.is_in_group(AUTHENTICATED) || attributes.is_in_group(UNAUTHENTICATED);
        if reads && is_anyone && is_public(attributes.path) {
            return Decision::allow("health and version are public");
        }
        if reads && attributes.is_in_group(AUTHENTICATED) && is_discovery(attributes.path) {
            return Decision::allow("discovery is open to authenticated users");
        }
        if reads && attributes.is_in_group(SERVICE_ACCOUNTS) && is_issuer_discovery(attributes.path) {
            return Decision::allow("service accounts may read how their tokens are verified");
        }
        let creates_self_review =
            attributes.verb == "create" && attributes.resource.is_some_and(is_self_review);
        if creates_self_review && attributes.is_in_group(AUTHENTICATED) {
            return Decision::allow("users may ask about themselves");
        }
        if attributes.user.name == KUBELET_CLIENT && attributes.resource.is_some_and(is_kubelet_api) {
            return Decision::allow("the server may use the API of kubelets");
        }
        Decision::no_opinion()
    }
}

/// Returns whether this is a subresource of the kubelet API, which kubelets check access to. (The ClusterRole
/// `system:kubelet-api-admin`.)
fn is_kubelet_api(resource: &ResourceRequest) -> bool {
    const SUBRESOURCES: [&str; 8] =
        ["checkpoint", "configz", "healthz", "log", "metrics", "pods", "proxy", "stats"];
    resource.group.is_empty()
        && resource.resource == "nodes"
        && SUBRESOURCES.contains(&resource.subresource.as_str())
}

/// Returns whether this is a review of the user's own access. (The ClusterRole `system:basic-user`.)
fn is_self_review(resource: &ResourceRequest) -> bool {
    matches!(
        (resource.group.as_str(), resource.resource.as_str()),
        ("authentication.k8s.io", "selfsubjectreviews")
            | ("authorization.k8s.io", "selfsubjectaccessreviews" | "selfsubjectrulesreviews")
    )
}

/// Returns whether this is a health or version path.
fn is_public(path: &str) -> bool {
    matches!(path, "/version" | "/version/") || below(path, &["/healthz", "/livez", "/readyz"])
}

/// Returns whether this is a discovery path. (The ClusterRole `system:discovery`.)
fn is_discovery(path: &str) -> bool {
    below(path, &["/api", "/apis", "/openapi"])
}

/// Returns whether this is a service account issuer discovery path. (The ClusterRole
/// `system:service-account-issuer-discovery`.)
fn is_issuer_discovery(path: &str) -> bool {
    below(path, &["/.well-known/openid-configuration", "/openid/v1/jwks"])
}

/// Returns whether a path equals one of these or is below one.
fn below(path: &str, roots: &[&str]) -> bool {
    roots
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}
