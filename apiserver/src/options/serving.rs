//! Addresses and certificates to serve with.

use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{NodePortRange, OptionsError, ServiceAllocation, ServiceRanges};

/// Maximum number of open requests of an HTTP/2 connection.
pub(crate) const DEFAULT_MAX_STREAMS: u32 = 1000;

/// Addresses and certificates to serve with.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Serving")]
pub struct ServingOptions {
    /// Address to listen on; 0.0.0.0 and :: are all interfaces
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub bind_address: IpAddr,

    /// Address at which the rest of the cluster reaches the server
    /// [default: --bind-address, or this machine's own address if that is a loopback or unspecified address]
    #[arg(long, value_name = "IP")]
    pub advertise_address: Option<IpAddr>,

    /// Way in which servers agree on the endpoints of the Service `kubernetes`: `lease` (those that run), `master-count`
    /// (up to --apiserver-count), or `none`, if something else writes them
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = EndpointReconciler::Lease)]
    pub endpoint_reconciler_type: EndpointReconciler,

    /// Number of servers of the cluster, for --endpoint-reconciler-type=master-count
    #[arg(long, value_name = "COUNT", default_value_t = NonZeroU16::MIN)]
    pub apiserver_count: NonZeroU16,

    /// Port to serve HTTPS on; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    pub secure_port: u16,

    /// Directory of generated keys and certificates [default: pki in the data directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub cert_dir: Option<PathBuf>,

    /// Serving certificate (PEM, with its chain), instead of a generated one
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,

    /// Private key of --tls-cert-file
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,

    /// Maximum number of open requests of an HTTP/2 connection, watches included; 0 is the default
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_MAX_STREAMS)]
    pub http2_max_streams_per_connection: u32,

    /// Range of service addresses, or one of each family separated by a comma; the first address of the first range is the
    /// server's own inside the cluster
    #[arg(long, value_name = "CIDR[,CIDR]", default_value = "10.0.0.0/24")]
    pub service_cluster_ip_range: ServiceRanges,

    /// Range of node ports of services: FIRST-LAST, FIRST+COUNT, or one port
    #[arg(long, value_name = "RANGE", default_value_t = NodePortRange::default())]
    pub service_node_port_range: NodePortRange,
}

// === impl ServingOptions ===

impl ServingOptions {
    /// Checks that clients of the Service `kubernetes` can use the published address.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        let primary = self.service_cluster_ip_range.primary();
        let is_published = self.endpoint_reconciler_type != EndpointReconciler::None;
        match self.advertise_address {
            Some(address) if is_published && address.is_ipv4() != primary.base.is_ipv4() => {
                Err(OptionsError::AddressFamily { primary: primary.to_string(), address })
            }
            _ => Ok(()),
        }
    }

    /// Returns the ranges that services get addresses and ports from.
    pub fn service_allocation(&self) -> ServiceAllocation {
        ServiceAllocation {
            addresses: self.service_cluster_ip_range,
            node_ports: self.service_node_port_range,
        }
    }
}

/// The writer of the endpoints of the Service `kubernetes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EndpointReconciler {
    /// The servers that have a lease.
    Lease,
    /// A known number of servers.
    MasterCount,
    /// Something else.
    None,
}
