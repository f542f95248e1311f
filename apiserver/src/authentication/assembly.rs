//! The authenticators that the options ask for, in Kubernetes' order.
//!
//! Kubernetes concept: `pkg/kubeapiserver/authenticator`.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use clients::egress::Egress;
use registry_core::registry::Stores;
use tokio_util::task::AbortOnDropHandle;

use crate::followed_file::FollowedFile;
use crate::metrics::JwtMetrics;
use crate::options::{AuthenticationOptions, ServiceAccountOptions};

use super::anonymous::Anonymous;
use super::bootstrap_tokens::BootstrapTokens;
use super::client_certificates::ClientCertificates;
use super::error::AuthenticationError;
use super::oidc::configuration::{AnonymousConfig, AuthenticationConfiguration, algorithms};
use super::oidc::reload::{self, Reload, issuers};
use super::oidc::{Algorithm, ConfigurationError, JwtAuthenticators};
use super::request_header::{FrontProxies, FrontProxyNames};
use super::webhook::{TokenWebhook, TokenWebhookError};
use super::{Authenticator, ClientTrust, ServiceAccountTokens, TokenTable};

/// Default time for which the answers of a token webhook are kept.
const TOKEN_TTL: Duration = Duration::from_mins(2);

/// The parts that authenticators are made of.
pub(crate) struct Sources<'s> {
    /// The flags of authentication.
    pub(crate) options: &'s AuthenticationOptions,
    /// The flags of service accounts.
    pub(crate) service_account_options: &'s ServiceAccountOptions,
    /// The authorities of clients' certificates.
    pub(crate) trust: Arc<ClientTrust>,
    /// Tokens of service accounts.
    pub(crate) service_accounts: Arc<ServiceAccountTokens>,
    /// The objects that tokens are kept in.
    pub(crate) stores: Stores,
    /// The metrics of issuers.
    pub(crate) metrics: JwtMetrics,
    /// The ways to the webhook, and to issuers that name a network.
    pub(crate) egress: &'s Egress,
}

/// Checks the flags and the files that they name, without creating anything.
///
/// # Errors
/// Fails if a file or a flag cannot be used.
pub(crate) fn check(
    options: &AuthenticationOptions,
    service_accounts: &ServiceAccountOptions,
) -> Result<(), AuthenticationError> {
    TokenTable::from_option(options.token_auth_file.as_ref())?;
    let configuration = match &options.authentication_config {
        Some(path) => Some(AuthenticationConfiguration::read(path)?),
        None => AuthenticationConfiguration::from_flags(&options.oidc)?,
    };
    if let Some(configuration) = configuration {
        reload::check(&configuration, &service_accounts.service_account_issuer)?;
    }
    Ok(())
}

// === impl Sources ===

impl Sources<'_> {
    /// Returns the authenticator of a server.
    ///
    /// # Errors
    /// Fails if a file or a flag cannot be used.
    pub(crate) fn assemble(self) -> Result<Authenticator, AuthenticationError> {
        let options = self.options;
        let tokens = TokenTable::from_option(options.token_auth_file.as_ref())?;
        let mut authenticator = Authenticator::new(tokens, false);
        if options.front_proxy.requestheader_client_ca_file.is_some() {
            let names = FrontProxyNames::new(&options.front_proxy)?;
            authenticator.proxy_names = names.clone();
            let proxies = FrontProxies::new(self.trust.clone(), names);
            authenticator = authenticator.with_requests(proxies);
        }
        authenticator = authenticator.with_requests(ClientCertificates(self.trust.clone()));
        authenticator = authenticator.with_service_accounts(self.service_accounts.clone());
        if options.enable_bootstrap_token_auth {
            authenticator = authenticator.with_tokens(Arc::new(BootstrapTokens::new(self.stores.clone())));
        }
        let (jwt, anonymous) = self.jwt()?;
        if let Some(jwt) = jwt {
            authenticator = authenticator.with_tokens(Arc::new(jwt));
        }
        if let Some(webhook) = self.webhook()? {
            authenticator = authenticator.with_tokens(Arc::new(webhook));
        }
        authenticator.anonymous = self.anonymous(anonymous)?;
        Ok(authenticator)
    }

    /// Returns the authenticator of issuers' tokens, if there are any, and who needs no credentials by the file.
    fn jwt(&self) -> Result<(Option<JwtAuthenticators>, Option<AnonymousConfig>), ConfigurationError> {
        let disallowed = &self.service_account_options.service_account_issuer;
        let oidc = &self.options.oidc;
        let Some(path) = &self.options.authentication_config else {
            let Some(configuration) = AuthenticationConfiguration::from_flags(oidc)? else {
                return Ok((None, None));
            };
            let algorithms = algorithms(&oidc.oidc_signing_algs)?;
            let issuers = issuers(&configuration, disallowed, &algorithms, &self.metrics, self.egress)?;
            return Ok((Some(JwtAuthenticators::new(Arc::new(ArcSwap::from_pointee(issuers)), None)), None));
        };
        let (configuration, content) = AuthenticationConfiguration::read_with_content(path)?;
        let issuers = issuers(&configuration, disallowed, &Algorithm::ALL, &self.metrics, self.egress)?;
        self.metrics.reloads().configured(&content);
        let issuers = Arc::new(ArcSwap::from_pointee(issuers));
        let anonymous = configuration.anonymous.clone();
        let reload = Reload {
            file: FollowedFile::new(path, content, reload::PERIOD),
            present: configuration,
            disallowed: disallowed.clone(),
            issuers: issuers.clone(),
            metrics: self.metrics.clone(),
            egress: self.egress.clone(),
        };
        let reload = AbortOnDropHandle::new(tokio::spawn(reload.run()));
        Ok((Some(JwtAuthenticators::new(issuers, Some(reload))), anonymous))
    }

    fn webhook(&self) -> Result<Option<TokenWebhook>, TokenWebhookError> {
        let options = &self.options.token_webhook;
        let Some(path) = &options.authentication_token_webhook_config_file else { return Ok(None) };
        let own_audiences = self.service_accounts.api_audiences().to_vec();
        let version = &options.authentication_token_webhook_version;
        let ttl = options.authentication_token_webhook_cache_ttl.unwrap_or(TOKEN_TTL);
        TokenWebhook::new(path, version, ttl, own_audiences, self.egress.control_plane.clone()).map(Some)
    }

    /// Returns who needs no credentials: by the file, or else by the flag.
    fn anonymous(&self, file: Option<AnonymousConfig>) -> Result<Anonymous, AuthenticationError> {
        let flag = self.options.anonymous_auth;
        let Some(file) = file else {
            let is_allowed = flag.unwrap_or(true);
            return Ok(if is_allowed { Anonymous::Everywhere } else { Anonymous::Nowhere });
        };
        if flag.is_some() {
            return Err(AuthenticationError::AnonymousTwice);
        }
        Ok(match file {
            AnonymousConfig { enabled: false, .. } => Anonymous::Nowhere,
            AnonymousConfig { conditions, .. } if conditions.is_empty() => Anonymous::Everywhere,
            AnonymousConfig { conditions, .. } => {
                Anonymous::Paths(conditions.into_iter().map(|condition| condition.path).collect())
            }
        })
    }
}
