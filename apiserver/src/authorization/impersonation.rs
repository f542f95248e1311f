//! The permission to act as another user.
//!
//! A request to act as another user is checked in several modes, and allowed if one of them allows it. The constrained modes
//! ask whether the requester may make this very request as others (`impersonate-on:<mode>:<verb>`), and whether it may act
//! as this user in that mode (`impersonate:<mode>`); the last one asks only for the verb `impersonate`, as before they
//! existed. The client receives the refusal of the first mode that is about such users.
//!
//! Kubernetes concept: constrained impersonation (KEP 5284).

use std::borrow::Cow;

use registry_core::api::StatusError;
use registry_core::api::validation::names;
use registry_core::context::{AUTHENTICATED, ServiceAccountName, UserInfo};
use request_info::{RequestInfo, ResourceRequest};

use crate::authentication::{ANONYMOUS, UNAUTHENTICATED};

use super::{Attributes, Authorizer, Decision, MASTERS};

/// The group of `authentication.k8s.io`.
const AUTHENTICATION: &str = "authentication.k8s.io";
/// Number of groups or extra values from which one question about all of them is asked first.
const MANY: usize = 4;
/// The extra value of service accounts' tokens that names the node of their pod.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// The extra value under which only the keys of the extra values are shown, so that a decision holds for all nodes.
const ASSOCIATED_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";

/// A way in which users are impersonated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A pod's service account acts as the node of the pod.
    AssociatedNode,
    /// As any node.
    ArbitraryNode,
    /// As a service account.
    ServiceAccount,
    /// As any other user, with groups and further values.
    UserInfo,
    /// As anyone: the verb `impersonate`.
    Legacy,
}

const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

/// Error of an extra value that the constrained modes refuse. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
enum ExtraError {
    #[error("impersonating the empty string key in extra is not allowed")]
    EmptyKey,
    #[error(
        "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {key:?}: {complaint}"
    )]
    Key { key: String, complaint: String },
    #[error("impersonating a non-lowercase key in extra is not allowed: {0:?}")]
    Uppercase(String),
    #[error("impersonating empty values in extra is not allowed")]
    NoValues,
    #[error("impersonating the empty string value in extra is not allowed")]
    EmptyValue,
}

/// The question whether a user may act as another one, in one mode.
struct Check<'a> {
    authorizer: &'a dyn Authorizer,
    requester: Cow<'a, UserInfo>,
    wanted: &'a UserInfo,
    mode: Mode,
    verb: String,
}

/// The user that a request is made as.
pub(crate) struct Impersonated {
    /// The user.
    pub(crate) user: UserInfo,
    /// The verb of the constrained mode that allowed it; `None` for the verb `impersonate`.
    pub(crate) constraint: Option<String>,
}

/// Returns the user that a request is made as, if the requester may act as the wanted one.
///
/// # Errors
/// 403 if it may not.
pub(crate) async fn impersonated(
    authorizer: &dyn Authorizer,
    requester: &UserInfo,
    wanted: UserInfo,
    info: &RequestInfo,
) -> Result<Impersonated, StatusError> {
    let mut first = None;
    for mode in MODES.into_iter().filter(|mode| mode.is_about(&wanted, requester)) {
        let requester = mode.seen_requester(requester);
        let check = Check { authorizer, requester, wanted: &wanted, mode, verb: mode.verb() };
        match check.user(info).await {
            Ok(user) => {
                let constraint = (mode != Mode::Legacy).then_some(check.verb);
                return Ok(Impersonated { user, constraint });
            }
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    Err(first.unwrap_or_else(|| StatusError::internal("all impersonation modes failed")))
}

// === impl Mode ===

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".to_owned(),
            constrained => format!("impersonate:{}", constrained.name()),
        }
    }

    /// Whether such users are impersonated in this mode.
    fn is_about(self, wanted: &UserInfo, requester: &UserInfo) -> bool {
        let has_name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        match self {
            Self::AssociatedNode => {
                has_name_only
                    && node.is_some()
                    && ServiceAccountName::from_user(&requester.name).is_some()
                    && node == one_extra(requester, NODE_NAME)
            }
            Self::ArbitraryNode => has_name_only && node.is_some(),
            Self::ServiceAccount => has_name_only && ServiceAccountName::from_user(&wanted.name).is_some(),
            Self::UserInfo => node.is_none() && ServiceAccountName::from_user(&wanted.name).is_none(),
            Self::Legacy => true,
        }
    }

    /// Returns the requester as authorizers see it.
    fn seen_requester(self, requester: &UserInfo) -> Cow<'_, UserInfo> {
        if self != Self::AssociatedNode {
            return Cow::Borrowed(requester);
        }
        let mut keys: Vec<String> = requester.extra.iter().map(|(key, _)| key.clone()).collect();
        keys.sort();
        let extra = vec![(ASSOCIATED_KEYS.to_owned(), keys)];
        Cow::Owned(UserInfo { extra, ..requester.clone() })
    }
}

// === impl Check ===

impl Check<'_> {
    async fn user(&self, info: &RequestInfo) -> Result<UserInfo, StatusError> {
        if self.mode != Mode::Legacy {
            let verb = format!("impersonate-on:{}:{}", self.mode.name(), info.verb);
            self.ask(&Attributes { verb: &verb, ..Attributes::from_request(&self.requester, info) }).await?;
        }
        let mut user = self.wanted.clone();
        self.check_name(&mut user).await?;
        if !self.wanted.uid.is_empty() {
            self.may(&authentication("uids", "", &self.wanted.uid)).await?;
        }
        self.check_groups().await?;
        self.check_extra().await?;
        let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        let has = |group: &str| user.groups.iter().any(|own| own == group);
        if !has(group) && !has(UNAUTHENTICATED) {
            user.groups.push(group.to_owned());
        }
        Ok(user)
    }

    /// Checks the name, and sets the groups that follow from it.
    async fn check_name(&self, user: &mut UserInfo) -> Result<(), StatusError> {
        let name = &self.wanted.name;
        if let Some(account) = ServiceAccountName::from_user(name) {
            if self.wanted.groups.is_empty() {
                user.groups = account.groups();
            }
            let resource = ResourceRequest {
                namespace: account.namespace.to_owned(),
                ..self.user_resource("serviceaccounts", account.name)
            };
            return self.may(&resource).await;
        }
        if self.mode != Mode::Legacy
            && let Some(node) = node_name(name)
        {
            user.groups = vec!["system:nodes".to_owned()];
            // The decision must hold for all nodes.
            let node = if self.mode == Mode::AssociatedNode { "*" } else { node };
            return self.may(&self.user_resource("nodes", node)).await;
        }
        self.may(&self.user_resource("users", name)).await
    }

    async fn check_groups(&self) -> Result<(), StatusError> {
        let groups = &self.wanted.groups;
        if self.mode != Mode::Legacy {
            let refused = |name: &str, reason: &str| {
                let resource = self.user_resource("groups", name);
                Err(self.attributes(&resource).forbidden(reason))
            };
            if groups.iter().any(String::is_empty) {
                return refused("", "impersonating the empty string group is not allowed");
            }
            if self.wanted.may_do_everything() {
                return refused(MASTERS, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && self.may(&self.user_resource("groups", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            self.may(&self.user_resource("groups", group)).await?;
        }
        Ok(())
    }

    async fn check_extra(&self) -> Result<(), StatusError> {
        let extra = &self.wanted.extra;
        if self.mode != Mode::Legacy && !extra.is_empty() {
            if let Err(error) = extra.iter().try_for_each(|(key, values)| check_extra_value(key, values)) {
                let subject = authentication("userextras", "", "");
                return Err(self.attributes(&subject).forbidden(&error.to_string()));
            }
            let values: usize = extra.iter().map(|(_, values)| values.len()).sum();
            let all = authentication("userextras", "*", "*");
            if (extra.len() >= MANY || values >= MANY) && self.may(&all).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.may(&authentication("userextras", key, value)).await?;
            }
        }
        Ok(())
    }

    /// Returns the resource that stands for a user or group: in the core group for the verb `impersonate`.
    fn user_resource(&self, resource: &str, name: &str) -> ResourceRequest {
        let mut request = authentication(resource, "", name);
        if self.mode == Mode::Legacy {
            request.group.clear();
        }
        request
    }

    fn attributes<'a>(&'a self, resource: &'a ResourceRequest) -> Attributes<'a> {
        let user = &self.requester;
        Attributes { user, verb: &self.verb, resource: Some(resource), path: "", selectors: None }
    }

    async fn may(&self, resource: &ResourceRequest) -> Result<(), StatusError> {
        self.ask(&self.attributes(resource)).await
    }

    async fn ask(&self, attributes: &Attributes<'_>) -> Result<(), StatusError> {
        match self.authorizer.authorize(attributes).await {
            Decision::Allow { .. } => Ok(()),
            Decision::Deny { reason, error } | Decision::NoOpinion { reason, error } => {
                let separator = if error.is_empty() || reason.is_empty() { "" } else { ": " };
                Err(attributes.forbidden(&format!("{error}{separator}{reason}")))
            }
        }
    }
}

/// Returns a request for a resource of the group `authentication.k8s.io`.
fn authentication(resource: &str, subresource: &str, name: &str) -> ResourceRequest {
    ResourceRequest {
        group: AUTHENTICATION.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        name: name.to_owned(),
        ..ResourceRequest::default()
    }
}

/// Checks a key and its values as the constrained modes require.
fn check_extra_value(key: &str, values: &[String]) -> Result<(), ExtraError> {
    if key.is_empty() {
        return Err(ExtraError::EmptyKey);
    }
    let complaints = names::domain_prefixed_path(key);
    if !complaints.is_empty() {
        return Err(ExtraError::Key { key: key.to_owned(), complaint: complaints.join("; ") });
    }
    if key != key.to_lowercase() {
        return Err(ExtraError::Uppercase(key.to_owned()));
    }
    if values.is_empty() {
        return Err(ExtraError::NoValues);
    }
    if values.iter().any(String::is_empty) {
        return Err(ExtraError::EmptyValue);
    }
    Ok(())
}

/// Returns the value of a key that has exactly one.
fn one_extra<'a>(user: &'a UserInfo, key: &str) -> Option<&'a str> {
    let (_, values) = user.extra.iter().find(|(own, _)| own == key)?;
    match values.as_slice() {
        [value] => Some(value),
        _ => None,
    }
}

/// Returns the node that a user name stands for.
fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    names::dns_subdomain(name).is_empty().then_some(name)
}
