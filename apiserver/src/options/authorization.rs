//! `--authorization-mode` and the files of the modes.
//!
//! Kubernetes concept: `BuiltInAuthorizationOptions`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use super::{OptionsError, parse_duration};

/// Authorization of requests.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Authorization")]
pub struct AuthorizationOptions {
    /// Authorizers in the order in which they are asked: AlwaysAllow, AlwaysDeny, ABAC, Webhook, Node, RBAC; separated by
    /// commas [default: Node,RBAC]
    #[arg(long, value_name = "MODE,…", value_delimiter = ',')]
    pub authorization_mode: Vec<AuthorizationMode>,

    /// File with the authorizers and their settings (AuthorizationConfiguration), instead of the other flags
    #[arg(long, value_name = "FILE", conflicts_with_all = ["authorization_mode", "authorization_webhook_config_file"])]
    pub authorization_config: Option<PathBuf>,

    /// File of policies for the mode ABAC, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub authorization_policy_file: Option<PathBuf>,

    /// Kubeconfig of the service that the mode Webhook asks
    #[arg(long, value_name = "FILE")]
    pub authorization_webhook_config_file: Option<PathBuf>,

    /// Version of the reviews that the service is asked with: v1 or v1beta1
    #[arg(long, value_name = "VERSION", default_value = "v1beta1")]
    pub authorization_webhook_version: String,

    /// Time for which permissions of the service are kept [default: 5m; 10s in an extension server]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub authorization_webhook_cache_authorized_ttl: Option<Duration>,

    /// Time for which refusals of the service are kept [default: 30s; 10s in an extension server]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub authorization_webhook_cache_unauthorized_ttl: Option<Duration>,

    /// Write the rules of aggregated cluster roles, such as admin, edit and view, also if
    /// clusterrole-aggregation-controller is not among --controllers; not needed if kube-controller-manager runs beside
    /// the server
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub aggregate_cluster_roles: bool,
}

/// An authorizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthorizationMode {
    /// Allows everything.
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    /// Allows nothing.
    #[value(name = "AlwaysDeny")]
    AlwaysDeny,
    /// Allows what a file of policies allows.
    #[value(name = "ABAC")]
    Abac,
    /// Asks another service.
    #[value(name = "Webhook")]
    Webhook,
    /// Allows kubelets what they need.
    #[value(name = "Node")]
    Node,
    /// Allows what roles and their bindings allow.
    #[value(name = "RBAC")]
    Rbac,
}

// === impl AuthorizationOptions ===

impl AuthorizationOptions {
    /// Returns the modes in order.
    pub fn modes(&self) -> &[AuthorizationMode] {
        const DEFAULT: &[AuthorizationMode] = &[AuthorizationMode::Node, AuthorizationMode::Rbac];
        if self.authorization_mode.is_empty() { DEFAULT } else { &self.authorization_mode }
    }

    /// Checks the flags in combination.
    ///
    /// # Errors
    /// Fails if they contradict each other.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        let modes = self.modes();
        if modes.iter().enumerate().any(|(at, mode)| modes.iter().take(at).any(|earlier| earlier == mode)) {
            return Err(OptionsError::RepeatedMode);
        }
        let is_used = self.authorization_webhook_config_file.is_some();
        if is_used && !matches!(self.authorization_webhook_version.as_str(), "v1" | "v1beta1") {
            return Err(OptionsError::WebhookVersion);
        }
        // With a configuration file, ABAC may be in there.
        let abac_file = self.authorization_policy_file.is_some();
        let files = [
            (AuthorizationMode::Abac, "ABAC", "--authorization-policy-file", abac_file),
            (
                AuthorizationMode::Webhook,
                "Webhook",
                "--authorization-webhook-config-file",
                self.authorization_webhook_config_file.is_some(),
            ),
        ];
        for (mode, name, flag, is_given) in files.into_iter().filter(|_| self.authorization_config.is_none())
        {
            match (modes.contains(&mode), is_given) {
                (true, false) => {
                    return Err(OptionsError::ModeNeeds { mode: name, flag });
                }
                (false, true) => {
                    return Err(OptionsError::WithoutMode { mode: name, flag });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
