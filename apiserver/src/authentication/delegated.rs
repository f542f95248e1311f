//! The authenticators of an extension server: it accepts whom its main server accepts.
//!
//! Front proxies and client certificates are judged by the authorities that the main server publishes; bearer tokens are sent
//! to it in a `TokenReview`, whose answers are kept for a short time.
//!
//! Kubernetes concept: `DelegatingAuthenticatorConfig` of `k8s.io/apiserver/pkg/authentication/authenticatorfactory`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::options::AuthenticationOptions;

use super::anonymous::Anonymous;
use super::client_certificates::ClientCertificates;
use super::error::AuthenticationError;
use super::request_header::{FrontProxies, FrontProxyNames};
use super::webhook::TokenWebhook;
use super::{Authenticator, ClientTrust, TokenTable};

/// Default time for which the answers of the main server are kept: short, so that a revoked token is soon refused.
const TOKEN_TTL: Duration = Duration::from_secs(10);

/// The parts that the authenticators of an extension server are made of.
pub(crate) struct DelegatedSources<'s> {
    /// The flags of authentication.
    pub(crate) options: &'s AuthenticationOptions,
    /// The kubeconfig of the server that is asked for the users of tokens.
    pub(crate) kubeconfig: Option<&'s Path>,
    /// The authorities of clients and front proxies.
    pub(crate) trust: Arc<ClientTrust>,
    /// The names of front proxies and of their headers.
    pub(crate) proxy_names: FrontProxyNames,
}

// === impl DelegatedSources ===

impl DelegatedSources<'_> {
    /// Returns the authenticator of a server.
    ///
    /// # Errors
    /// Fails if a file or a flag cannot be used.
    pub(crate) fn assemble(self) -> Result<Authenticator, AuthenticationError> {
        let options = self.options;
        let tokens = TokenTable::from_option(options.token_auth_file.as_ref())?;
        let ttl = options.token_webhook.authentication_token_webhook_cache_ttl.unwrap_or(TOKEN_TTL);
        let reviews = TokenWebhook::for_main_server(self.kubeconfig, ttl)?;
        let mut authenticator = Authenticator::new(tokens, false)
            .with_requests(FrontProxies::new(self.trust.clone(), self.proxy_names.clone()))
            .with_requests(ClientCertificates(self.trust))
            .with_tokens(Arc::new(reviews));
        authenticator.proxy_names = self.proxy_names;
        if options.anonymous_auth.unwrap_or(true) {
            authenticator.anonymous = Anonymous::Everywhere;
        }
        Ok(authenticator)
    }
}
