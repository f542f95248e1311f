//! Calls of webhooks: a POST over TLS to a URL or a service.
//!
//! | module | contents |
//! |---|---|
//! | `client` | the connections to one webhook, and a call |
//!
//! As in Kubernetes, a URL may name any host, this machine included: only administrators of the cluster register webhooks,
//! and a call carries no credentials of the server but those that its operator configured for that host. Services are subject to
//! the rules of the proxy: they are not at addresses of this machine, unless `--allow-loopback-backends` says so. Redirects are
//! never followed.
//!
//! Every call is bounded in time, by the size of the answer, and by the number of calls of one webhook that one user causes at
//! once. Nothing of a failure is kept.
//!
//! Kubernetes concept: `ClientManager` in `k8s.io/apiserver/pkg/util/webhook`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use clients::kubeconfig::Kubeconfig;
use clients::{self, Bounds, ClientSettings, ServiceResolver, SettingsError};
use parking_lot::Mutex;
use registry_core::rest::webhook::{
    WebhookCall, WebhookCaller, WebhookClientConfig, WebhookError, WebhookTarget,
};

use crate::shares::TurnBounds;

mod client;

pub(crate) use client::CALLS;
use client::Client;

/// Maximum number of webhooks whose connections are kept.
const MAX_CLIENTS: usize = 256;

/// Calls webhooks.
pub(crate) struct Webhooks {
    resolver: Arc<ServiceResolver>,
    /// The users with the credentials for webhooks, by their hosts.
    users: Option<Kubeconfig>,
    /// The calls of each webhook.
    calls: TurnBounds,
    clients: Mutex<HashMap<WebhookClientConfig, Known>>,
}

struct Known {
    client: Callee,
    used: Instant,
}

/// The target of a call.
#[derive(Clone)]
enum Callee {
    /// A webhook of the API.
    Webhook(Arc<Client>),
    /// A service that a kubeconfig names.
    Service(Arc<clients::Client>),
}

/// Error of a webhook that cannot be called with its configuration. Not retryable.
#[derive(Debug, thiserror::Error)]
enum UnusableWebhook {
    #[error("Unparsable URL: {0}")]
    Url(#[from] http::uri::InvalidUri),
    #[error("the URL names no host")]
    NoHost,
    #[error("the URL's scheme must be https")]
    Scheme,
    #[error(transparent)]
    Authority(#[from] http::header::InvalidHeaderValue),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

// === impl Webhooks ===

impl Webhooks {
    /// Creates a caller that finds services by this resolver, and has no credentials.
    pub(crate) fn new(resolver: Arc<ServiceResolver>, calls: TurnBounds) -> Self {
        Self { resolver, users: None, calls, clients: Mutex::default() }
    }

    /// Creates a caller with the credentials of a kubeconfig, whose users are named after the webhooks' hosts.
    ///
    /// # Errors
    /// Fails with a reason if it cannot be used.
    pub(crate) fn with_credentials(
        resolver: Arc<ServiceResolver>,
        kubeconfig: &Path,
        calls: TurnBounds,
    ) -> Result<Self, SettingsError> {
        let users = Kubeconfig::read(kubeconfig)?;
        users.check_users().map_err(|error| error.in_kubeconfig(kubeconfig))?;
        Ok(Self { users: Some(users), ..Self::new(resolver, calls) })
    }

    /// Returns the client of a webhook.
    fn client(&self, config: &WebhookClientConfig) -> Result<Callee, UnusableWebhook> {
        let used = Instant::now();
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get_mut(config) {
            known.used = used;
            return Ok(known.client.clone());
        }
        let client = if let WebhookTarget::Kubeconfig(path) = &config.target {
            let settings = ClientSettings::from_kubeconfig(path)?;
            Callee::Service(Arc::new(clients::Client::new(settings)?))
        } else {
            let (resolver, users) = (self.resolver.clone(), self.users.as_ref());
            Callee::Webhook(Arc::new(Client::new(config, resolver, users, self.calls)?))
        };
        if clients.len() >= MAX_CLIENTS {
            let oldest = clients.iter().min_by_key(|(_, known)| known.used).map(|(config, _)| config.clone());
            if let Some(oldest) = oldest {
                clients.remove(&oldest);
            }
        }
        clients.insert(config.clone(), Known { client: client.clone(), used });
        Ok(client)
    }
}

#[async_trait]
impl WebhookCaller for Webhooks {
    async fn call(&self, call: WebhookCall<'_>) -> Result<Bytes, WebhookError> {
        let client = self.client(call.config);
        let client = client.map_err(|reason| {
            let url = call.config.target.to_string();
            WebhookError::Unanswered { url, source: reason.into() }
        })?;
        match client {
            Callee::Webhook(client) => client.call(call).await,
            Callee::Service(client) => {
                let bounds = Bounds { timeout: call.timeout, max_answer_bytes: call.max_answer_bytes };
                client.post(call.body, bounds).await.map_err(|failure| WebhookError::Service(failure.into()))
            }
        }
    }
}
