//! Requests that are forwarded to extension servers.
//!
//! Kubernetes concept: the aggregation layer.

use std::path::PathBuf;

use clap::Args;

/// Requests that are forwarded to extension servers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Extension servers")]
pub struct AggregatorOptions {
    /// Client certificate (PEM) that is presented to extension servers, which trust the names of users in requests with it;
    /// without it they cannot know users
    #[arg(long, value_name = "FILE", requires = "proxy_client_key_file")]
    pub proxy_client_cert_file: Option<PathBuf>,

    /// Private key of --proxy-client-cert-file
    #[arg(long, value_name = "FILE", requires = "proxy_client_cert_file")]
    pub proxy_client_key_file: Option<PathBuf>,
}
