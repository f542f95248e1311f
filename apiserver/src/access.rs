//! The attributes of a request that authorization is asked about, and the decision about it. Modules that only
//! name these do not depend on the authorizers.
//!
//! Kubernetes concept: `Attributes` and `Decision` of `k8s.io/apiserver/pkg/authorization/authorizer`.

use std::borrow::Cow;

use registry_core::api::go_text::quote;
use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
pub use registry_core::context::MASTERS;
use registry_core::context::UserInfo;
use registry_core::rest::access::AccessSelectors;
use request_info::{RequestInfo, ResourceRequest};

/// The user name of the server towards kubelets, in its generated certificate.
pub(crate) const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";

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
    /// The requirements of the selectors of the request; `None` if it has none.
    pub selectors: Option<&'a AccessSelectors>,
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
        /// Why the decision could not be evaluated; may be empty. A client receives an internal error instead of a refusal.
        error: Cow<'static, str>,
    },
    /// The request is denied unless another authorizer allows it.
    NoOpinion {
        /// The reason reported to the client; may be empty.
        reason: Cow<'static, str>,
        /// Why the decision could not be evaluated; may be empty. A client receives an internal error instead of a refusal.
        error: Cow<'static, str>,
    },
}

// === impl Attributes ===

impl<'a> Attributes<'a> {
    /// Returns the attributes of a request.
    pub fn from_request(user: &'a UserInfo, info: &'a RequestInfo) -> Self {
        let selectors = Some(&info.selectors).filter(|selectors| **selectors != AccessSelectors::default());
        Self { user, verb: info.verb.as_str(), resource: info.resource.as_ref(), path: &info.path, selectors }
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
        let user = quote(&self.user.name);
        let verb = self.verb;
        let Some(resource) = self.resource else {
            return format!("User {user} cannot {verb} path {}", quote(self.path));
        };
        let mut path = resource.resource.clone();
        if !resource.subresource.is_empty() {
            path.push('/');
            path.push_str(&resource.subresource);
        }
        let scope = match resource.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", quote(namespace)),
        };
        let [path, group] = [&path, &resource.group].map(|text| quote(text));
        format!("User {user} cannot {verb} resource {path} in API group {group} {scope}")
    }
}

/// Formats the resource: `pods`, `deployments.apps "web"`.
pub(crate) fn qualified(resource: &ResourceRequest) -> String {
    let mut text = resource.resource.clone();
    if !resource.group.is_empty() {
        text.push('.');
        text.push_str(&resource.group);
    }
    if !resource.name.is_empty() {
        text.push(' ');
        text.push_str(&quote(&resource.name));
    }
    text
}

// === impl Decision ===

impl Decision {
    /// Returns an `Allow` with this reason.
    pub const fn allow(reason: &'static str) -> Self {
        Self::Allow { reason: Cow::Borrowed(reason) }
    }

    /// Returns a `NoOpinion` with this reason.
    pub const fn no_opinion(reason: &'static str) -> Self {
        Self::NoOpinion { reason: Cow::Borrowed(reason), error: Cow::Borrowed("") }
    }

    /// Returns a `NoOpinion` with a reason about this request.
    pub(crate) fn undecided(reason: String) -> Self {
        Self::NoOpinion { reason: Cow::Owned(reason), error: Cow::Borrowed("") }
    }

    /// Returns whether the request is allowed.
    pub const fn is_allow(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }
}
