//! Creates the authorizers of the options, and connects them with the stores that they follow.

use std::sync::Arc;

use registry_core::registry::{InformerTask, InstalledApi};

use crate::error::ServerError;
use crate::options::{AuthorizationMode, AuthorizationOptions, OptionsError};

use super::Authorizer;
use super::abac::AbacAuthorizer;
use super::chain::{AuthorizerChain, Member};
use super::node::{NodeAuthorizer, NodeFollower, NodeGraph};
use super::rbac::{RbacAuthorizer, RbacFollower, RbacIndex, Role};

/// The ClusterRole with what every node may do.
const NODE_ROLE: &str = "system:node";

/// The authorization of a server. It allows members of `system:masters` only, until the stores that it
/// [follows](Self::follow) have been read.
pub(crate) struct Authorization {
    authorizer: Arc<dyn Authorizer>,
    rbac: Option<Arc<RbacIndex>>,
    node: Option<Arc<NodeGraph>>,
}

// === impl Authorization ===

impl Authorization {
    /// Creates the authorizers of these options, unless another one replaces them.
    ///
    /// # Errors
    /// Fails if a file that the options name cannot be used.
    pub(crate) fn new(
        options: &AuthorizationOptions,
        replacement: Option<Arc<dyn Authorizer>>,
    ) -> Result<Self, ServerError> {
        if let Some(authorizer) = replacement {
            return Ok(Self { authorizer, rbac: None, node: None });
        }
        let mut rbac = None;
        let mut node = None;
        let mut members = Vec::new();
        for mode in &options.authorization_mode {
            members.push(match mode {
                AuthorizationMode::AlwaysAllow => Member::AlwaysAllow,
                AuthorizationMode::AlwaysDeny => Member::AlwaysDeny,
                AuthorizationMode::Abac => {
                    let path = options.authorization_policy_file.as_deref().unwrap_or_else(|| "".as_ref());
                    Member::Abac(AbacAuthorizer::from_file(path).map_err(OptionsError)?)
                }
                AuthorizationMode::Node => {
                    let graph = Arc::<NodeGraph>::default();
                    node = Some(graph.clone());
                    let rules = Role::new(&resources::bootstrap::default_rules(NODE_ROLE));
                    Member::Node(Arc::new(NodeAuthorizer::new(graph, rules)))
                }
                AuthorizationMode::Rbac => {
                    let index = Arc::<RbacIndex>::default();
                    rbac = Some(index.clone());
                    Member::Rbac(RbacAuthorizer::new(index))
                }
            });
        }
        Ok(Self { authorizer: Arc::new(AuthorizerChain::new(members)), rbac, node })
    }

    /// Returns the authorizer of all requests.
    pub(crate) fn authorizer(&self) -> Arc<dyn Authorizer> {
        self.authorizer.clone()
    }

    /// Returns the informers that keep the authorizers up to date, and attaches hooks to the stores that they follow.
    pub(crate) fn follow(&self, installed: &InstalledApi) -> Vec<InformerTask> {
        let mut tasks = Vec::new();
        if let Some(index) = &self.rbac {
            tasks.extend(RbacFollower::follow(installed, index));
        }
        if let Some(graph) = &self.node {
            tasks.extend(NodeFollower::follow(installed, graph));
        }
        tasks
    }
}
