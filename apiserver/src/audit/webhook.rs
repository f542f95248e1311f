//! The webhook backend: POSTs lists of events.
//!
//! A request is repeated with growing delays, five times in all; then its events are lost.
//!
//! Kubernetes concept: `k8s.io/apiserver/plugin/pkg/audit/webhook`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use clients::egress::Route;
use clients::{Bounds, Client, ClientSettings, with_retries};

use crate::options::TruncateConfig;

use super::AuditError;
use super::event::Event;
use super::sink::{Backend, Faults};
use super::truncate;

#[cfg(test)]
mod tests;

/// The bounds of a request. Its answer is read only to use the connection again.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(30), max_answer_bytes: 64 * 1024 };
/// The text before the events.
const LIST_HEAD: &[u8] =
    b"{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"metadata\":{},\"items\":[";
/// The text after the events.
const LIST_TAIL: &[u8] = b"]}\n";

/// Sends events to a webhook.
pub(super) struct WebhookBackend {
    client: Client,
    initial_backoff: Duration,
    truncate: Option<TruncateConfig>,
    faults: Arc<Faults>,
}

// === impl WebhookBackend ===

impl WebhookBackend {
    /// Creates the backend of the webhook that a kubeconfig names.
    ///
    /// # Errors
    /// Fails if the kubeconfig cannot be used.
    pub(super) fn new(
        kubeconfig: &Path,
        route: Route,
        initial_backoff: Duration,
        truncate: Option<TruncateConfig>,
        faults: Arc<Faults>,
    ) -> Result<Self, AuditError> {
        let settings = ClientSettings::from_kubeconfig(kubeconfig);
        let client = settings.and_then(|settings| Client::new(settings.through(route)));
        let client = client.map_err(AuditError::Webhook)?;
        Ok(Self { client, initial_backoff, truncate, faults })
    }
}

#[async_trait]
impl Backend for WebhookBackend {
    async fn deliver(&self, events: &[Arc<Event>]) -> bool {
        let max_bytes = self.truncate.map_or(usize::MAX, |limit| limit.max_batch_bytes);
        let mut is_delivered = true;
        let mut list: Vec<u8> = Vec::new();
        let mut listed: Vec<Arc<Event>> = Vec::new();
        for event in events {
            let json = match truncate::within(self.truncate, event) {
                Ok(json) => json,
                Err(error) => {
                    // Such an event fails no request, as in Kubernetes.
                    self.faults.report("truncate", &error, std::slice::from_ref(event));
                    continue;
                }
            };
            if !list.is_empty() && list.len() + json.len() > max_bytes {
                is_delivered &= self.send_list(std::mem::take(&mut list), &listed).await;
                listed.clear();
            }
            if !list.is_empty() {
                list.push(b',');
            }
            list.extend_from_slice(&json);
            listed.push(event.clone());
        }
        if !list.is_empty() {
            is_delivered &= self.send_list(list, &listed).await;
        }
        is_delivered
    }
}

impl WebhookBackend {
    async fn send_list(&self, items: Vec<u8>, events: &[Arc<Event>]) -> bool {
        let body = Bytes::from([LIST_HEAD, &items, LIST_TAIL].concat());
        // As in Kubernetes, any failure is worth another attempt.
        match with_retries(self.initial_backoff, |_| true, || self.client.post(body.clone(), BOUNDS)).await {
            Ok(_) => true,
            Err(failure) => {
                self.faults.report("webhook", &failure, events);
                false
            }
        }
    }
}
