//! Creates the authorizers of the options, and connects them with the stores that they follow.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use registry_core::registry::{InformerTask, InstalledApi};

use crate::clients::{Client, ClientSettings};
use crate::error::ServerError;
use crate::options::{AuthorizationMode, AuthorizationOptions, OptionsError};

use super::Authorizer;
use super::abac::AbacAuthorizer;
use super::chain::{AuthorizerChain, Member};
use super::conditions::MatchConditions;
use super::configuration::{self, Configured, ConfiguredWebhook};
use super::node::{NodeAuthorizer, NodeFollower, NodeGraph};
use super::rbac::{RbacAuthorizer, RbacFollower, RbacIndex, Role};
use super::review_spec::ReviewVersion;
use super::webhook::{WebhookAuthorizer, WebhookSettings};

/// The ClusterRole with what every node may do.
const NODE_ROLE: &str = "system:node";
/// Maximum time of a call of the mode Webhook.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(30);

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
        let configured = match &options.authorization_config {
            Some(path) => configuration::load(path).map_err(OptionsError)?,
            None => options.modes().iter().map(|mode| Configured::Mode(*mode)).collect(),
        };
        let mut authorization =
            Self { authorizer: Arc::new(AuthorizerChain::default()), rbac: None, node: None };
        let members: Result<Vec<Member>, String> = configured
            .into_iter()
            .map(|one| match one {
                Configured::Mode(mode) => authorization.member(mode, options),
                Configured::Webhook(webhook) => {
                    let ConfiguredWebhook { kubeconfig, settings, conditions } = *webhook;
                    member_of_webhook(&kubeconfig, settings, conditions)
                }
            })
            .collect();
        authorization.authorizer = Arc::new(AuthorizerChain::new(members.map_err(OptionsError)?));
        Ok(authorization)
    }

    /// Creates the authorizer of a mode.
    fn member(&mut self, mode: AuthorizationMode, options: &AuthorizationOptions) -> Result<Member, String> {
        Ok(match mode {
            AuthorizationMode::AlwaysAllow => Member::AlwaysAllow,
            AuthorizationMode::AlwaysDeny => Member::AlwaysDeny,
            AuthorizationMode::Abac => {
                let path = options.authorization_policy_file.as_deref();
                let path = path.ok_or("ABAC needs --authorization-policy-file")?;
                Member::Abac(AbacAuthorizer::from_file(path)?)
            }
            AuthorizationMode::Webhook => {
                let path = options.authorization_webhook_config_file.as_deref();
                let path = path.ok_or("Webhook needs --authorization-webhook-config-file")?;
                let version = ReviewVersion::of(&options.authorization_webhook_version);
                let settings = WebhookSettings {
                    authorized_ttl: options.authorization_webhook_cache_authorized_ttl,
                    unauthorized_ttl: options.authorization_webhook_cache_unauthorized_ttl,
                    timeout: WEBHOOK_TIMEOUT,
                    version: version.ok_or("--authorization-webhook-version must be v1 or v1beta1")?,
                    denies_on_failure: false,
                };
                member_of_webhook(path, settings, MatchConditions::default())?
            }
            AuthorizationMode::Node => {
                let graph = self.node.get_or_insert_default().clone();
                let rules = Role::new(&resources::bootstrap::default_rules(NODE_ROLE));
                Member::Node(Arc::new(NodeAuthorizer::new(graph, rules)))
            }
            AuthorizationMode::Rbac => {
                Member::Rbac(RbacAuthorizer::new(self.rbac.get_or_insert_default().clone()))
            }
        })
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

fn member_of_webhook(
    kubeconfig: &Path,
    settings: WebhookSettings,
    conditions: MatchConditions,
) -> Result<Member, String> {
    let client = Client::new(ClientSettings::from_kubeconfig(kubeconfig)?)?;
    Ok(Member::Other(Arc::new(WebhookAuthorizer::new(client, settings, conditions))))
}
