//! The administrator's kubeconfig.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
    let url = url(address);
    let authority = STANDARD.encode(&identities.server_ca_pem);
    let certificate = STANDARD.encode(&identities.admin.certificate_pem);
    let key = STANDARD.encode(&identities.admin.key_pem);
    let text = format!(
        "\
apiVersion: v1
kind: Config
current-context: orlop
clusters:
- name: orlop
  cluster:
    server: {url}
    certificate-authority-data: {authority}
contexts:
- name: orlop
  context:
    cluster: orlop
    user: admin
users:
- name: admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"
    );
    write_surviving(durability, path, &text)
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
