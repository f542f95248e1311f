//! Outgoing clients: of the services that the operator names in a kubeconfig, of the cluster that a server runs in, of
//! webhooks, of token issuers, and of extension servers.
//!
//! | module | contents |
//! |---|---|
//! | `client` | requests over pooled connections, HTTP/2 or HTTP/1.1, with credentials that are read again when they change |
//! | `pool` | connections that are kept for further requests |
//! | `connector` | makes the connections of a pool |
//! | `files` | settings whose files are read again when they change |
//! | `kubeconfig`, `in_cluster` | the two readers of configuration |
//! | `settings` | what they read: a server, its authorities, and the credentials for it |
//! | `headers` | the headers by which a client acts as another user |
//! | `service` | the address of a service of the cluster |
//! | `egress` | the ways to networks: directly, or through proxies |
//! | `tls` | the only builder of TLS client configurations, and the authorities of certificates |
//! | `retries` | further attempts of calls that fail |
//! | `failure` | calls without an answer of success |
//! | `answer` | the answer, and the texts of failures |
//! | `dial` | a connection: resolved, checked, encrypted |
//! | `error` | the reasons for which settings cannot be used, and a service has no address |
//! | `unix_grpc` | calls of plug-ins on Unix sockets |
//! | `written` | kubeconfigs that the server writes |
//!
//! Redirects are never followed, and answers are bounded in time and size. Environment variables that name proxies are
//! ignored.
//!
//! Kubernetes concept: `rest.Config` and `transport` of `k8s.io/client-go`.

mod answer;
mod client;
mod connector;
pub mod dial;
pub mod egress;
mod error;
mod failure;
mod files;
mod headers;
mod in_cluster;
pub mod kubeconfig;
mod pool;
mod retries;
mod service;
mod settings;
pub mod tls;
#[cfg(feature = "unix-grpc")]
pub mod unix_grpc;
mod written;

pub use answer::{AnswerError, read, refused, request_failed, without_status};
pub use client::{Bounds, Client};
pub use connector::{Connector, Place};
pub use egress::EgressError;
pub use error::{ServiceError, SettingsError};
pub use failure::CallFailure;
pub use headers::escaped_header_key;
pub use pool::pool;
pub use retries::with_retries;
pub use service::ServiceResolver;
pub use settings::{Authorization, ClientSettings, Content, TrustSource};
pub use written::WrittenKubeconfig;
