//! Outgoing clients: of the services that the operator names in a kubeconfig, of the cluster that a server runs in, of
//! webhooks, of token issuers, and of extension servers.
//!
//! | module | contents |
//! |---|---|
//! | `kubeconfig`, `in_cluster` | the two readers of configuration |
//! | `error` | the reasons for which settings cannot be used |
//! | `settings` | what they read: a server, its authorities, and the credentials for it |
//! | `files` | settings whose files are read again when they change |
//! | `headers` | the headers by which a client acts as another user |
//! | `tls` | the only builder of TLS client configurations, and the authorities of certificates |
//! | `dial`, `connector` | a connection: resolved, checked, encrypted |
//! | `egress` | the ways to networks: directly, or through proxies |
//! | `service` | the address of a service of the cluster |
//! | `unix_grpc` | calls of plug-ins on Unix sockets |
//! | `client` | requests over pooled connections, HTTP/2 or HTTP/1.1, with credentials that are read again when they change |
//! | `answer` | the answer, and the texts of failures |
//!
//! Redirects are never followed, and answers are bounded in time and size. Environment variables that name proxies are
//! ignored.
//!
//! Kubernetes concept: `rest.Config` and `transport` of `k8s.io/client-go`.

mod answer;
mod client;
mod connector;
pub(crate) mod dial;
pub(crate) mod egress;
mod error;
mod files;
mod headers;
mod in_cluster;
pub(crate) mod kubeconfig;
mod service;
mod settings;
pub(crate) mod tls;
#[cfg(any(feature = "encryption", feature = "external-signer"))]
pub(crate) mod unix_grpc;

pub(crate) use answer::{AnswerError, broken, is_closed, read, refused, request_failed, without_status};
pub(crate) use client::{Bounds, CallFailure, Client};
pub(crate) use connector::{Connector, Place};
pub(crate) use egress::EgressError;
pub(crate) use error::SettingsError;
pub(crate) use files::{Followed, Prepared};
pub(crate) use headers::escaped_header_key;
pub(crate) use service::{ServiceError, ServiceResolver};
#[cfg(test)]
pub(crate) use settings::Authorization;
pub(crate) use settings::{ClientSettings, Content, TrustSource};
