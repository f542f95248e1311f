//! Connections to kubelets: for logs, shells, forwarded ports and proxied requests.

use std::path::PathBuf;

use clap::Args;

/// Connections to kubelets.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Kubelets")]
pub struct KubeletOptions {
    /// Types of node addresses, in the order in which they are tried to reach a kubelet
    #[arg(
        long,
        value_name = "TYPE,…",
        value_delimiter = ',',
        default_value = "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP"
    )]
    pub kubelet_preferred_address_types: Vec<String>,

    /// Certificate authorities (PEM) of kubelets' certificates, which are not verified without it
    #[arg(long, value_name = "FILE")]
    pub kubelet_certificate_authority: Option<PathBuf>,

    /// Client certificate (PEM) for kubelets [default: one of the generated authority]
    #[arg(long, value_name = "FILE", requires = "kubelet_client_key")]
    pub kubelet_client_certificate: Option<PathBuf>,

    /// Private key of --kubelet-client-certificate
    #[arg(long, value_name = "FILE", requires = "kubelet_client_certificate")]
    pub kubelet_client_key: Option<PathBuf>,
}
