//! Creates the authorizers of the options, and connects them with the stores that they follow.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clients::egress::Route;
use futures::future::BoxFuture;
use registry_core::features::Feature;
use registry_core::registry::{InformerTask, InstalledApi};

use crate::metrics::AuthorizationMetrics;
use crate::options::{AuthorizationMode, AuthorizationOptions, Options};

use super::Authorizer;
use super::chain::AuthorizerChain;
use super::conditions::MatchConditions;
use super::configuration::{Configured, ConfiguredAuthorizer, ConfiguredWebhook};
use super::delegated;
use super::error::AuthorizationError;
use super::modes::Modes;
use super::reload::{ConfigurationFile, Reload};
use super::review_spec::ReviewVersion;
use super::webhook::WebhookSettings;

/// Maximum time of a call of the mode Webhook.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(30);
/// Default time for which the permissions of a webhook are kept.
const AUTHORIZED_TTL: Duration = Duration::from_mins(5);
/// Default time for which the refusals of a webhook are kept.
const UNAUTHORIZED_TTL: Duration = Duration::from_secs(30);
/// The name of the webhook of the mode Webhook.
const DEFAULT_WEBHOOK: &str = "default";

/// The authorization of a server. It allows members of `system:masters` only, until the stores that it
/// [follows](Self::follow) have been read.
pub(crate) struct Authorization {
    authorizer: Arc<dyn Authorizer>,
    modes: Modes,
    reload: Option<Reload>,
}

// === impl Authorization ===

impl Authorization {
    /// Creates the authorizers of these options, on a server with these features, unless another one replaces them. `route` is
    /// the way to webhooks.
    ///
    /// # Errors
    /// Fails if a file that the options name cannot be used.
    pub(crate) fn new(
        options: &AuthorizationOptions,
        features: &[Feature],
        replacement: Option<Arc<dyn Authorizer>>,
        metrics: &AuthorizationMetrics,
        route: &Route,
    ) -> Result<Self, AuthorizationError> {
        if let Some(authorizer) = replacement {
            return Ok(Self { authorizer, modes: Modes::default(), reload: None });
        }
        let mut file = options.authorization_config.as_deref().map(ConfigurationFile::open).transpose()?;
        let configured = match &mut file {
            Some(file) => std::mem::take(&mut file.configured),
            None => from_flags(options)?,
        };
        let modes = Modes::new(&configured, options, features, route.clone())?;
        let required = Configured::modes(&configured);
        let members = modes.members(configured, metrics)?;
        let chain = Arc::new(AuthorizerChain::new(members));
        let reload =
            file.map(|file| Reload::new(file, required, modes.clone(), chain.clone(), metrics.clone()));
        Ok(Self { authorizer: chain, modes, reload })
    }

    /// Creates the authorization of an extension server, which its main server decides, unless another one replaces it.
    ///
    /// # Errors
    /// Fails if the kubeconfig cannot be used.
    pub(crate) fn delegated(
        options: &Options,
        replacement: Option<Arc<dyn Authorizer>>,
        metrics: &AuthorizationMetrics,
    ) -> Result<Self, AuthorizationError> {
        let authorizer = match replacement {
            Some(authorizer) => authorizer,
            None => Arc::new(delegated::chain(options, metrics)?),
        };
        Ok(Self { authorizer, modes: Modes::default(), reload: None })
    }

    /// Returns the authorizer of all requests.
    pub(crate) fn authorizer(&self) -> Arc<dyn Authorizer> {
        self.authorizer.clone()
    }

    /// Returns what applies changes of the configuration file, if there is one.
    pub(crate) fn reloading(&mut self) -> Option<BoxFuture<'static, ()>> {
        self.reload.take().map(|reload| Box::pin(reload.run()) as BoxFuture<'static, ()>)
    }

    /// Returns the informers that keep the authorizers up to date, and attaches hooks to the stores that they follow.
    pub(crate) fn follow(&self, installed: &InstalledApi) -> Vec<InformerTask> {
        self.modes.follow(installed)
    }
}

/// Returns the authorizers of `--authorization-mode`.
fn from_flags(options: &AuthorizationOptions) -> Result<Vec<ConfiguredAuthorizer>, AuthorizationError> {
    let configured = options.modes().iter().map(|mode| {
        if *mode != AuthorizationMode::Webhook {
            let kind = Configured::Mode(*mode);
            return Ok(ConfiguredAuthorizer { name: kind.name().to_lowercase(), kind });
        }
        let path = options.authorization_webhook_config_file.as_deref();
        let flag = "--authorization-webhook-config-file";
        let path = path.ok_or(AuthorizationError::MissingFlag { mode: "Webhook", flag })?;
        let kind = Configured::Webhook(Box::new(webhook_of_flags(path, options)?));
        Ok(ConfiguredAuthorizer { name: DEFAULT_WEBHOOK.to_owned(), kind })
    });
    configured.collect()
}

fn webhook_of_flags(
    path: &Path,
    options: &AuthorizationOptions,
) -> Result<ConfiguredWebhook, AuthorizationError> {
    let version = ReviewVersion::from_name(&options.authorization_webhook_version);
    let settings = WebhookSettings {
        authorized_ttl: options.authorization_webhook_cache_authorized_ttl.unwrap_or(AUTHORIZED_TTL),
        unauthorized_ttl: options.authorization_webhook_cache_unauthorized_ttl.unwrap_or(UNAUTHORIZED_TTL),
        timeout: WEBHOOK_TIMEOUT,
        version: version.ok_or(AuthorizationError::WebhookVersion)?,
        denies_on_failure: false,
    };
    let conditions = MatchConditions::default();
    Ok(ConfiguredWebhook { kubeconfig: path.to_owned(), settings, conditions })
}
