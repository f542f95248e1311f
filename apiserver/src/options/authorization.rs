//! `--authorization-mode` and the files of the modes.
//!
//! Kubernetes concept: `BuiltInAuthorizationOptions`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::OptionsError;

/// Authorization of requests.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Authorization")]
pub struct AuthorizationOptions {
    /// Authorizers in the order in which they are asked: AlwaysAllow, AlwaysDeny, ABAC, Node, RBAC; separated by commas
    #[arg(
        long,
        value_name = "MODE,…",
        value_delimiter = ',',
        default_value = "Node,RBAC",
        ignore_case = false
    )]
    pub authorization_mode: Vec<AuthorizationMode>,

    /// File of policies for the mode ABAC, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub authorization_policy_file: Option<PathBuf>,

    /// Write the rules of aggregated cluster roles, such as admin, edit and view; not needed if kube-controller-manager runs
    /// beside the server
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, default_missing_value = "true",
          require_equals = true, action = ArgAction::Set)]
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
    /// Allows kubelets what they need.
    #[value(name = "Node")]
    Node,
    /// Allows what roles and their bindings allow.
    #[value(name = "RBAC")]
    Rbac,
}

// === impl AuthorizationOptions ===

impl AuthorizationOptions {
    /// Checks the flags in combination.
    ///
    /// # Errors
    /// Fails if they contradict each other.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        let modes = &self.authorization_mode;
        let repeated =
            modes.iter().enumerate().any(|(at, mode)| modes.iter().take(at).any(|one| one == mode));
        if repeated {
            return Err(OptionsError("--authorization-mode has a mode specified more than once".to_owned()));
        }
        match (modes.contains(&AuthorizationMode::Abac), &self.authorization_policy_file) {
            (true, None) => {
                Err(OptionsError("--authorization-mode=ABAC needs --authorization-policy-file".to_owned()))
            }
            (false, Some(_)) => Err(OptionsError(
                "--authorization-policy-file has no effect without --authorization-mode=ABAC".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}
