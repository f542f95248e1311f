//! The authorizers that are created at the start, and the members of a chain that are made of them.

use std::sync::Arc;

use clients::egress::Route;
use clients::{Client, ClientSettings};
use registry_core::features::Feature;
use registry_core::registry::{InformerTask, InstalledApi};

use crate::metrics::AuthorizationMetrics;
use crate::options::{AuthorizationMode, AuthorizationOptions};

use super::abac::AbacAuthorizer;
use super::chain::{Measured, Member};
use super::configuration::{Configured, ConfiguredAuthorizer, ConfiguredWebhook};
use super::error::{AuthorizationError, MembersError};
use super::node::{NodeAuthorizer, NodeFollower, NodeGraph};
use super::rbac::{RbacAuthorizer, RbacFollower, RbacIndex, Role};
use super::webhook::WebhookAuthorizer;

/// The ClusterRole with what every node may do.
const NODE_ROLE: &str = "system:node";

/// The authorizers that are created at the start, if they are configured then.
#[derive(Clone, Default)]
pub(super) struct Modes {
    rbac: Option<Arc<RbacIndex>>,
    graph: Option<Arc<NodeGraph>>,
    node: Option<Arc<NodeAuthorizer>>,
    abac: Option<Arc<AbacAuthorizer>>,
    /// The way to webhooks.
    route: Route,
}

// === impl Modes ===

impl Modes {
    /// Creates the authorizers that are configured. `route` is the way to webhooks.
    ///
    /// # Errors
    /// Fails if a flag or its file is missing, or cannot be used.
    pub(super) fn new(
        configured: &[ConfiguredAuthorizer],
        options: &AuthorizationOptions,
        features: &[Feature],
        route: Route,
    ) -> Result<Self, AuthorizationError> {
        let mut modes = Self { route, ..Self::default() };
        for mode in Configured::modes(configured) {
            match mode {
                AuthorizationMode::Rbac => modes.rbac = Some(Arc::default()),
                AuthorizationMode::Node => {
                    let graph = Arc::<NodeGraph>::default();
                    let rules = Role::new(&resources::bootstrap::default_rules(NODE_ROLE, features));
                    modes.node = Some(Arc::new(NodeAuthorizer::new(graph.clone(), rules)));
                    modes.graph = Some(graph);
                }
                AuthorizationMode::Abac => {
                    let path = options.authorization_policy_file.as_deref();
                    let flag = "--authorization-policy-file";
                    let path = path.ok_or(AuthorizationError::MissingFlag { mode: "ABAC", flag })?;
                    modes.abac = Some(Arc::new(AbacAuthorizer::from_file(path)?));
                }
                AuthorizationMode::AlwaysAllow
                | AuthorizationMode::AlwaysDeny
                | AuthorizationMode::Webhook => {}
            }
        }
        Ok(modes)
    }

    /// Returns the informers that keep the authorizers up to date, and attaches hooks to the stores that they follow.
    pub(super) fn follow(&self, installed: &InstalledApi) -> Vec<InformerTask> {
        let mut tasks = Vec::new();
        if let Some(index) = &self.rbac {
            tasks.extend(RbacFollower::follow(installed, index));
        }
        if let Some(graph) = &self.graph {
            tasks.extend(NodeFollower::follow(installed, graph));
        }
        tasks
    }

    /// Returns the members of a chain.
    ///
    /// # Errors
    /// Fails if a mode was not configured at the start, or if a webhook cannot be used.
    pub(super) fn members(
        &self,
        configured: Vec<ConfiguredAuthorizer>,
        metrics: &AuthorizationMetrics,
    ) -> Result<Vec<Measured>, MembersError> {
        let measured = |authorizer: ConfiguredAuthorizer| {
            let decisions = metrics.decisions_of(authorizer.kind.name(), &authorizer.name);
            let member = match authorizer.kind {
                Configured::Mode(mode) => self.member(mode)?,
                Configured::Webhook(webhook) => {
                    let ConfiguredWebhook { kubeconfig, settings, conditions } = *webhook;
                    let settings_of_client = ClientSettings::from_kubeconfig(&kubeconfig);
                    let client = settings_of_client
                        .and_then(|settings| Client::new(settings.through(self.route.clone())))?;
                    let metrics = metrics.webhook(&authorizer.name);
                    Member::Other(Arc::new(WebhookAuthorizer::new(client, settings, conditions, metrics)))
                }
            };
            Ok(Measured { member, decisions: Some(decisions) })
        };
        configured.into_iter().map(measured).collect()
    }

    fn member(&self, mode: AuthorizationMode) -> Result<Member, MembersError> {
        Ok(match mode {
            AuthorizationMode::AlwaysAllow => Member::AlwaysAllow,
            AuthorizationMode::AlwaysDeny => Member::AlwaysDeny,
            AuthorizationMode::Abac => {
                Member::Abac(self.abac.clone().ok_or(MembersError::NotEnabled("ABAC"))?)
            }
            AuthorizationMode::Node => {
                Member::Node(self.node.clone().ok_or(MembersError::NotEnabled("Node"))?)
            }
            AuthorizationMode::Rbac => {
                let index = self.rbac.clone().ok_or(MembersError::NotEnabled("RBAC"))?;
                Member::Rbac(RbacAuthorizer::new(index))
            }
            AuthorizationMode::Webhook => return Err(MembersError::NoSettings),
        })
    }
}
