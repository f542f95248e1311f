//! Calls of webhooks: a POST over TLS to a URL or a service.
//!
//! | module | contents |
//! |---|---|
//! | `client` | the connections to one webhook, and a call |
//!
//! As in Kubernetes, a URL may name any host, this machine included: only administrators of the cluster register webhooks,
//! and a call carries no credentials of the server. Services are subject to the rules of the proxy: they are not at
//! addresses of this machine. Redirects are never followed.
//!
//! Every call is bounded in time, by the size of the answer, and by the number of calls of one webhook at once. Nothing of a
//! failure is kept.
//!
//! Kubernetes concept: `ClientManager` in `k8s.io/apiserver/pkg/util/webhook`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use registry_core::rest::webhook::{WebhookCall, WebhookCaller, WebhookClientConfig, WebhookError};

mod client;

use crate::clients::ServiceResolver;

use client::Client;

/// Maximum number of webhooks whose connections are kept.
const MAX_CLIENTS: usize = 256;

/// Calls webhooks.
pub(crate) struct Webhooks {
    resolver: Arc<ServiceResolver>,
    clients: Mutex<HashMap<WebhookClientConfig, Known>>,
}

struct Known {
    client: Arc<Client>,
    used: Instant,
}

// === impl Webhooks ===

impl Webhooks {
    /// Creates a caller that finds services by this resolver.
    pub(crate) fn new(resolver: Arc<ServiceResolver>) -> Self {
        Self { resolver, clients: Mutex::default() }
    }

    /// Returns the client of a webhook.
    fn client(&self, config: &WebhookClientConfig) -> Result<Arc<Client>, String> {
        let used = Instant::now();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get_mut(config) {
            known.used = used;
            return Ok(known.client.clone());
        }
        let client = Arc::new(Client::new(config, self.resolver.clone())?);
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
        let client = client
            .map_err(|reason| WebhookError(format!("Post {:?}: {reason}", call.config.target.to_string())))?;
        client.call(call.body, call.timeout, call.max_answer_bytes).await
    }
}
