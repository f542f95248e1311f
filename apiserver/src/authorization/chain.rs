//! The authorizers of `--authorization-mode`, asked in order until one decides.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authorization/union`, and the privileged group.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use registry_core::api::go_text::aggregate;
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessRules, PathRule, ResourceRule};
use request_info::ResourceRequest;

use crate::metrics::DecisionMetrics;

use super::abac::AbacAuthorizer;
use super::node::NodeAuthorizer;
use super::rbac::RbacAuthorizer;
use super::{Attributes, Authorizer, Decision, KUBELET_CLIENT};

/// The authorizers of a server, in order. Before them, members of `system:masters` are allowed everything. The paths of the
/// server's health are no exception: with RBAC the role `system:public-info-viewer` opens them.
#[derive(Default)]
pub struct AuthorizerChain {
    members: ArcSwap<Vec<Measured>>,
    /// The paths that everyone may use on an extension server; `None` on a main server, which kubelets ask.
    open_paths: Option<OpenPaths>,
}

/// An authorizer whose decisions are counted.
pub(super) struct Measured {
    pub(super) member: Member,
    pub(super) decisions: Option<DecisionMetrics>,
}

/// The paths of `--authorization-always-allow-paths`, which everyone may use.
///
/// Kubernetes concept: `k8s.io/apiserver/pkg/authorization/path`.
#[derive(Debug, Default)]
pub(super) struct OpenPaths {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

/// Error of an open path with a `*` before its end.
#[derive(Debug, thiserror::Error)]
#[error("only trailing * allowed in {0:?}")]
pub struct OpenPathError(String);

/// One authorizer of a chain. All but webhooks decide at once, without a future of their own.
pub(super) enum Member {
    /// Allows everything.
    AlwaysAllow,
    /// Allows nothing.
    AlwaysDeny,
    /// Allows kubelets what they need.
    Node(Arc<NodeAuthorizer>),
    /// Allows what roles allow.
    Rbac(RbacAuthorizer),
    /// Allows what a file of policies allows.
    Abac(Arc<AbacAuthorizer>),
    /// Asks another process.
    Other(Arc<dyn Authorizer>),
}

// === impl AuthorizerChain ===

impl AuthorizerChain {
    /// Creates a chain of these authorizers.
    pub(super) fn new(members: Vec<Measured>) -> Self {
        Self { members: ArcSwap::from_pointee(members), open_paths: None }
    }

    /// Replaces the authorizers.
    pub(super) fn replace(&self, members: Vec<Measured>) {
        self.members.store(Arc::new(members));
    }

    /// Lets everyone use these paths, as on an extension server.
    pub(super) fn with_open_paths(self, paths: OpenPaths) -> Self {
        Self { open_paths: Some(paths), ..self }
    }

    /// Returns why a request is allowed whatever the policy says, if it is.
    fn always_allows(&self, attributes: &Attributes<'_>) -> Option<&'static str> {
        match (&self.open_paths, attributes.resource) {
            (Some(paths), None) => paths.contain(attributes.path).then_some(""),
            (None, Some(resource)) => {
                let is_own = attributes.user.name == KUBELET_CLIENT && is_kubelet_api(resource);
                is_own.then_some("the server may use the API of kubelets")
            }
            (Some(_), Some(_)) | (None, None) => None,
        }
    }
}

#[async_trait]
impl Authorizer for AuthorizerChain {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.may_do_everything() {
            return Decision::allow("");
        }
        if let Some(reason) = self.always_allows(attributes) {
            return Decision::allow(reason);
        }
        let mut reasons = String::new();
        let mut errors = Vec::new();
        let members = self.members.load_full();
        for measured in members.iter() {
            match measured.member.authorize(attributes).await {
                Decision::NoOpinion { reason, error } => {
                    if !reason.is_empty() {
                        let separator = if reasons.is_empty() { "" } else { "\n" };
                        reasons.push_str(separator);
                        reasons.push_str(&reason);
                    }
                    if !error.is_empty() {
                        errors.push(error.into_owned());
                    }
                }
                decided => {
                    measured.count(&decided);
                    return decided;
                }
            }
        }
        Decision::NoOpinion { reason: Cow::Owned(reasons), error: Cow::Owned(aggregate(errors)) }
    }

    fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        let mut all = AccessRules::default();
        let mut errors = Vec::new();
        for measured in self.members.load().iter() {
            let rules = measured.member.rules_of(user, namespace);
            all.resources.extend(rules.resources);
            all.paths.extend(rules.paths);
            all.incomplete |= rules.incomplete;
            errors.extend(Some(rules.error).filter(|error| !error.is_empty()));
        }
        all.error = aggregate(errors);
        all
    }

    fn granted_rules(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        let members = self.members.load();
        let rbac = members.iter().find_map(|measured| match &measured.member {
            Member::Rbac(rbac) => Some(rbac),
            _ => None,
        });
        rbac.map(|rbac| rbac.rules_of(user, namespace)).unwrap_or_default()
    }
}

/// Returns whether this is a subresource of the kubelet API, which kubelets check access to. (The ClusterRole
/// `system:kubelet-api-admin`, which the server holds towards kubelets without a binding.)
fn is_kubelet_api(resource: &ResourceRequest) -> bool {
    const SUBRESOURCES: [&str; 8] =
        ["checkpoint", "configz", "healthz", "log", "metrics", "pods", "proxy", "stats"];
    resource.group.is_empty()
        && resource.resource == "nodes"
        && SUBRESOURCES.contains(&resource.subresource.as_str())
}

// === impl OpenPaths ===

impl OpenPaths {
    /// Reads paths. Those that end in `*` are prefixes; the leading slash may be missing.
    ///
    /// # Errors
    /// Fails with Kubernetes' message if there is a `*` elsewhere.
    pub(super) fn new(paths: &[String]) -> Result<Self, OpenPathError> {
        let mut open = Self::default();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            let path = path.strip_prefix('/').unwrap_or(path);
            let prefix = path.strip_suffix('*');
            if prefix.unwrap_or(path).contains('*') {
                return Err(OpenPathError(path.to_owned()));
            }
            match prefix {
                Some(prefix) => open.prefixes.push(prefix.to_owned()),
                None => open.exact.push(path.to_owned()),
            }
        }
        Ok(open)
    }

    fn contain(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        self.exact.iter().any(|exact| exact == path)
            || self.prefixes.iter().any(|prefix| path.starts_with(prefix.as_str()))
    }
}

// === impl Measured ===

impl Measured {
    fn count(&self, decision: &Decision) {
        let Some(decisions) = &self.decisions else { return };
        if decision.is_allow() { &decisions.allowed } else { &decisions.denied }.inc();
    }
}

// === impl Member ===

impl Member {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        match self {
            Self::AlwaysAllow => Decision::allow(""),
            Self::AlwaysDeny => Decision::no_opinion("Everything is forbidden."),
            Self::Node(node) => node.authorize(attributes),
            Self::Rbac(rbac) => rbac.authorize(attributes),
            Self::Abac(abac) => abac.authorize(attributes),
            Self::Other(other) => other.authorize(attributes).await,
        }
    }

    fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        match self {
            Self::AlwaysAllow => everything(),
            Self::AlwaysDeny => AccessRules::default(),
            Self::Node(_) => NodeAuthorizer::rules_of(user),
            Self::Rbac(rbac) => rbac.rules_of(user, namespace),
            Self::Abac(abac) => abac.rules_of(user, namespace),
            Self::Other(other) => other.rules_of(user, namespace),
        }
    }
}

fn everything() -> AccessRules {
    let all = || vec!["*".to_owned()];
    AccessRules {
        resources: vec![ResourceRule { verbs: all(), groups: all(), resources: all(), names: Vec::new() }],
        paths: vec![PathRule { verbs: all(), paths: all() }],
        ..AccessRules::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_paths_are_whole_or_end_in_a_star() {
        let read =
            |paths: &[&str]| OpenPaths::new(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        let open = read(&["/healthz", "livez", "/docs/*", "/", ""]).unwrap();
        for (path, is_open) in [
            ("/healthz", true),
            ("/healthz/ping", false),
            ("/livez", true),
            ("/docs/a/b", true),
            ("/docs", false),
            ("/", true),
            ("/metrics", false),
        ] {
            assert_eq!(open.contain(path), is_open, "{path}");
        }
        assert!(!read(&[""]).unwrap().contain("/"), "an empty flag opens nothing");
        assert_eq!(read(&["/a*b"]).unwrap_err().to_string(), "only trailing * allowed in \"a*b\"");
    }
}
