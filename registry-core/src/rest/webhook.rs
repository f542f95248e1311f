//! Calls of webhooks: services outside of this process that the server asks while it handles a request.
//!
//! Kubernetes concept: `WebhookClientConfig`, and `k8s.io/apiserver/pkg/util/webhook`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

/// The target of a webhook, and the authorities that its certificate is checked against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebhookClientConfig {
    /// The target of the webhook.
    pub target: WebhookTarget,
    /// The authorities (PEM) that the certificate of the webhook is checked against; empty for the authorities of the
    /// system.
    pub ca_bundle: Vec<u8>,
}

/// The target of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WebhookTarget {
    /// At a URL.
    Url(String),
    /// At the server of a kubeconfig's current context, which has the authorities and the credentials too.
    Kubeconfig(PathBuf),
    /// At a service.
    Service {
        /// The service's namespace.
        namespace: String,
        /// The service's name.
        name: String,
        /// The path at the service; may be empty.
        path: String,
        /// The service's port.
        port: u16,
    },
}

/// A call: a POST of JSON.
#[derive(Clone, Debug)]
pub struct WebhookCall<'a> {
    /// The webhook.
    pub config: &'a WebhookClientConfig,
    /// The user whose request needs the call: each has a number of calls of one webhook at once. `None`: calls that are not
    /// counted, because whoever makes them bounds them.
    pub user: Option<&'a str>,
    /// The body of the request.
    pub body: Bytes,
    /// Maximum time for the whole call. The webhook receives it as the query parameter `timeout`.
    pub timeout: Duration,
    /// Maximum size of the answer.
    pub max_answer_bytes: usize,
}

/// Calls webhooks.
#[async_trait]
pub trait WebhookCaller: Send + Sync + 'static {
    /// Sends a request, and returns the body of the answer, whose status is one of success.
    ///
    /// # Errors
    /// Fails if the webhook cannot be reached, or does not answer as it should. Nothing is known about what it has done.
    async fn call(&self, call: WebhookCall<'_>) -> Result<Bytes, WebhookError>;
}

/// Error of a call, in the words that clients know from Go: `Post "https://…": dial tcp …`. Retryable.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// There is no answer that can be read.
    #[error("Post {url:?}: {source}")]
    Unanswered {
        /// The URL.
        url: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The status of the answer is not one of success; the text is the webhook's, or describes the status.
    #[error("{0}")]
    Refused(String),
    /// A call of a service that a kubeconfig names failed.
    #[error(transparent)]
    Service(Box<dyn std::error::Error + Send + Sync>),
}

/// A caller without a network: for maps that are installed without a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWebhooks;

// === impl WebhookTarget ===

/// The URL, as in error messages.
impl fmt::Display for WebhookTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::Kubeconfig(path) => path.display().fmt(f),
            Self::Service { namespace, name, path, port } => {
                write!(f, "https://{name}.{namespace}.svc:{port}{path}")
            }
        }
    }
}

// === impl NoWebhooks ===

#[async_trait]
impl WebhookCaller for NoWebhooks {
    async fn call(&self, call: WebhookCall<'_>) -> Result<Bytes, WebhookError> {
        Err(WebhookError::Unanswered {
            url: call.config.target.to_string(),
            source: "no webhooks can be called".into(),
        })
    }
}
