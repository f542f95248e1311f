//! How kubelets are reached: for logs, shells, forwarded ports and proxied requests.

use std::path::PathBuf;

use clap::Args;

/// How kubelets are reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Kubelets")]
pub struct KubeletOptions {
    /// The types of a node's addresses, the one to reach its kubelet by first
    #[arg(
        long,
        value_name = "TYPE,…",
        value_delimiter = ',',
        default_value = "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP"
    )]
    pub kubelet_preferred_address_types: Vec<String>,

    /// The certificate authorities (PEM) of kubelets' certificates; without one they are not verified
    #[arg(long, value_name = "FILE")]
    pub kubelet_certificate_authority: Option<PathBuf>,

    /// The certificate (PEM) to show to kubelets [default: one of the generated authority]
    #[arg(long, value_name = "FILE", requires = "kubelet_client_key")]
    pub kubelet_client_certificate: Option<PathBuf>,

    /// The private key of --kubelet-client-certificate
    #[arg(long, value_name = "FILE", requires = "kubelet_client_certificate")]
    pub kubelet_client_key: Option<PathBuf>,
}
