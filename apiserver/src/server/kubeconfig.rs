//! The administrator's kubeconfig.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use clients::WrittenKubeconfig;
use registry_core::durable_file::Durability;

use crate::options::Options;
use crate::pki::{Identities, PkiError, write_surviving};

/// Writes the kubeconfig of the administrator to all the places that the options name.
pub(super) fn write_all(
    options: &Options,
    address: SocketAddr,
    identities: &Identities,
) -> Result<(), PkiError> {
    let durability = options.locations.durability();
    write(&options.kubeconfig_path(), durability, address, identities)?;
    match &options.locations.write_kubeconfig {
        Some(path) => write(path, Durability::PowerLoss, address, identities),
        None => Ok(()),
    }
}

/// Writes a self-contained kubeconfig that only its owner can read.
fn write(
    path: &Path,
    durability: Durability,
    address: SocketAddr,
    identities: &Identities,
) -> Result<(), PkiError> {
    let kubeconfig = WrittenKubeconfig {
        server: &url(address),
        authority_pem: &identities.server_ca_pem,
        user: "admin",
        certificate_pem: &identities.admin.certificate_pem,
        key_pem: &identities.admin.key_pem,
    };
    write_surviving(durability, path, &kubeconfig.to_string())
}

/// Returns the URL of an address, for clients on this machine.
pub(super) fn url(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(host, address.port()))
}
