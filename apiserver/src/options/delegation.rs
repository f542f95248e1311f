//! The main server of an extension server.
//!
//! Kubernetes concept: `CoreAPIOptions`, `DelegatingAuthenticationOptions` and `DelegatingAuthorizationOptions` of
//! `k8s.io/apiserver/pkg/server/options`.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command};

use super::{Options, OptionsError, ValueError};

/// The names of the fields below, which are those of the arguments.
const ARGUMENTS: [&str; 7] = [
    "kubeconfig",
    "authentication_kubeconfig",
    "authorization_kubeconfig",
    "authentication_skip_lookup",
    "authentication_tolerate_lookup_failure",
    "authorization_always_allow_paths",
    "standalone",
];

/// The main server of an extension server. Other servers refuse these flags.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Behind a main server")]
pub struct DelegationOptions {
    /// Kubeconfig of the main server that an extension server stands behind [default: inside of a pod, its service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Kubeconfig of the server that an extension server asks for the users of tokens (TokenReviews), and whose
    /// authorities of client certificates and front proxies it trusts [default: --kubeconfig]
    #[arg(long, value_name = "FILE")]
    pub authentication_kubeconfig: Option<PathBuf>,

    /// Kubeconfig of the server that an extension server asks what users may do (SubjectAccessReviews)
    /// [default: --kubeconfig]
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<PathBuf>,

    /// Trust the authorities of --client-ca-file and --requestheader-client-ca-file only, not also those in the main
    /// server's ConfigMap kube-system/extension-apiserver-authentication
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub authentication_skip_lookup: bool,

    /// Start an extension server although that ConfigMap cannot be read; it is followed from then on
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub authentication_tolerate_lookup_failure: bool,

    /// Paths of an extension server that everyone may use, without asking the main server; a path that ends in * stands
    /// for all that begin so
    #[arg(long, value_name = "PATH,…", value_delimiter = ',', default_value = "/healthz,/readyz,/livez")]
    pub authorization_always_allow_paths: Vec<String>,

    /// Serve an extension server's API without a main server, with Kubernetes' resources beside it
    /// [default: true without --kubeconfig, outside of a pod]
    #[arg(long)]
    pub standalone: Option<bool>,
}

// === impl DelegationOptions ===

impl DelegationOptions {
    /// Whether a program that can do both serves without a main server. `is_in_pod` says whether the process runs in a pod
    /// with a service account.
    pub fn stands_alone(&self, is_in_pod: bool) -> bool {
        let kubeconfigs = [&self.kubeconfig, &self.authentication_kubeconfig, &self.authorization_kubeconfig];
        self.standalone.unwrap_or_else(|| !is_in_pod && kubeconfigs.iter().all(|path| path.is_none()))
    }

    /// Returns the kubeconfig for authentication.
    pub(crate) fn authentication(&self) -> Option<&Path> {
        self.authentication_kubeconfig.as_deref().or(self.kubeconfig.as_deref())
    }

    /// Returns the kubeconfig for authorization.
    pub(crate) fn authorization(&self) -> Option<&Path> {
        self.authorization_kubeconfig.as_deref().or(self.kubeconfig.as_deref())
    }

    /// Hides the flags from the help of a program that is not an extension server.
    pub(super) fn hide(command: Command) -> Command {
        ARGUMENTS.iter().fold(command, |command, name| command.mut_arg(name, |argument| argument.hide(true)))
    }

    /// Checks that none of the flags was given to a program that is not an extension server.
    ///
    /// # Errors
    /// Returns the reason for the first one that was.
    pub(super) fn refuse(matches: &ArgMatches) -> Result<(), ValueError> {
        let is_given = |name: &&&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        match ARGUMENTS.iter().find(is_given) {
            None => Ok(()),
            Some(name) => Err(ValueError::NoExtension(name.replace('_', "-"))),
        }
    }
}

// === impl Options ===

impl Options {
    /// Checks the flags of a server behind a main server, which decides who its clients are and what they may do.
    ///
    /// # Errors
    /// Fails if a flag contradicts that; the text names it.
    pub(crate) fn validate_delegation(&self) -> Result<(), OptionsError> {
        let (authentication, authorization) = (&self.authentication, &self.authorization);
        let token_webhook = &authentication.token_webhook.authentication_token_webhook_config_file;
        let given = [
            ("authentication-config", authentication.authentication_config.is_some()),
            ("oidc-issuer-url", authentication.oidc.oidc_issuer_url.is_some()),
            ("authentication-token-webhook-config-file", token_webhook.is_some()),
            ("enable-bootstrap-token-auth", authentication.enable_bootstrap_token_auth),
            ("authorization-mode", !authorization.authorization_mode.is_empty()),
            ("authorization-config", authorization.authorization_config.is_some()),
            ("aggregate-cluster-roles", authorization.aggregate_cluster_roles),
            ("proxy-client-cert-file", self.aggregator.proxy_client_cert_file.is_some()),
            ("peer-ca-file", self.peers.peer_ca_file.is_some()),
            ("peer-advertise-ip", self.peers.peer_advertise_ip.is_some()),
            ("peer-advertise-port", self.peers.peer_advertise_port.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(OptionsError::Delegated(flag)),
        }
    }
}
