//! Requests that are forwarded to extension servers.
//!
//! Kubernetes concept: the aggregation layer.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// Requests that are forwarded to extension servers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Extension servers")]
pub struct AggregatorOptions {
    /// Client certificate (PEM) that is presented to extension servers, which trust the names of users in requests with it.
    /// Read again when it changes [default: generated, unless --requestheader-client-ca-file is given]
    #[arg(long, value_name = "FILE", requires = "proxy_client_key_file")]
    pub proxy_client_cert_file: Option<PathBuf>,

    /// Private key of --proxy-client-cert-file
    #[arg(long, value_name = "FILE", requires = "proxy_client_cert_file")]
    pub proxy_client_key_file: Option<PathBuf>,

    /// Connect to the endpoints of extension servers, instead of the addresses of their services: for networks that do not
    /// route those from here
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub enable_aggregator_routing: bool,

    /// Let services of APIServices and webhooks have loopback addresses, to try an extension server or a webhook beside this
    /// server on the same machine. Whoever may write APIServices or webhook configurations then reaches what listens there
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub allow_loopback_backends: bool,
}
