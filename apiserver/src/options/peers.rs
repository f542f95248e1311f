//! The other servers of the cluster, which may serve what this one does not.
//!
//! Kubernetes concept: the [mixed version
//! proxy](https://kubernetes.io/docs/concepts/architecture/mixed-version-proxy/).

use std::net::{AddrParseError, IpAddr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use registry_core::features::Feature;

use super::{AggregatorOptions, FeatureGates, OptionsError};

/// The other servers of the cluster.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Other servers of the cluster")]
pub struct PeerOptions {
    /// Authorities (PEM) of the other servers' certificates, which must be valid for kubernetes.default.svc. With it requests
    /// for resources that this server does not serve are forwarded to a server that does, with --proxy-client-cert-file, and
    /// discovery shows what they serve. Read again when it changes
    #[arg(long, value_name = "FILE")]
    pub peer_ca_file: Option<PathBuf>,

    /// Address at which the other servers reach this one [default: --advertise-address]
    #[arg(long, value_name = "IP")]
    pub peer_advertise_ip: Option<PeerAddress>,

    /// Port at which the other servers reach this one [default: --secure-port]
    #[arg(long, value_name = "PORT")]
    pub peer_advertise_port: Option<NonZeroU16>,
}

/// An IP address. An empty value of its flag takes back an earlier one, as of Kubernetes' flags that are texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

impl FromStr for PeerAddress {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        text.parse().map(Self)
    }
}

// === impl PeerOptions ===

impl PeerOptions {
    /// Returns a flag that is given; `None` if there is none.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--peer-ca-file", self.peer_ca_file.is_some()),
            ("--peer-advertise-ip", self.peer_advertise_ip.is_some()),
            ("--peer-advertise-port", self.peer_advertise_port.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// Checks that the feature is enabled, and that the server has an identity towards the others.
    pub(super) fn validate(
        &self,
        gates: &FeatureGates,
        aggregator: &AggregatorOptions,
    ) -> Result<(), OptionsError> {
        match self.given() {
            Some(flag) if !gates.is_enabled(Feature::UnknownVersionInteroperabilityProxy) => {
                Err(OptionsError::PeerGate(flag))
            }
            _ if self.peer_ca_file.is_some() && aggregator.proxy_client_cert_file.is_none() => {
                Err(OptionsError::PeerIdentity)
            }
            _ => Ok(()),
        }
    }
}
