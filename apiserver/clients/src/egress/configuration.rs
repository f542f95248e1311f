//! The file of `--egress-selector-config-file`.
//!
//! Kubernetes concept: `EgressSelectorConfiguration` of `apiserver.k8s.io`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Uri;
use registry_core::api::FieldPath;
use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::codec::configuration::{DecodingError, decode};
use serde::Deserialize;

use super::{Egress, Proxy, Route, Transport, konnectivity};
use crate::SettingsError;
use crate::dial::TunnelError;
use crate::tls::client_config_from_files;

const VERSIONS: [&str; 2] = ["apiserver.k8s.io/v1beta1", "apiserver.k8s.io/v1alpha1"];
const KIND: &str = "EgressSelectorConfiguration";
const NETWORKS: [&str; 3] = ["cluster", "controlplane", "etcd"];
const PROTOCOLS: [&str; 3] = ["Direct", "GRPC", "HTTPConnect"];

/// The configuration of egress cannot be used. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The file cannot be read.
    #[error(
        "failed to read egress selector config: unable to read egress selector configuration from {path:?} [{source}]"
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It is not a configuration.
    #[error("failed to read egress selector config: {0}")]
    Decoding(#[from] DecodingError),
    /// A field is invalid.
    #[error("failed to validate egress selector configuration: {0}")]
    Invalid(ErrorList),
    /// A certificate or a key cannot be used.
    #[error(
        "failed to setup egress selector: failed to create dialer for egressSelection {network:?}: {reason}"
    )]
    Tls {
        /// The network.
        network: String,
        /// The reason.
        reason: ProxyError,
    },
}

/// Error of a proxy that cannot be connected to as the configuration says.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address is not a URL.
    #[error("invalid proxy server url {url:?}: {source}")]
    Url {
        /// The address.
        url: String,
        /// The reason.
        source: http::uri::InvalidUri,
    },
    /// The address lacks a part.
    #[error("invalid proxy server url {url:?}: it names no {part}")]
    Incomplete {
        /// The address.
        url: String,
        /// The part.
        part: &'static str,
    },
    /// A certificate or a key cannot be used.
    #[error(transparent)]
    Tls(#[from] SettingsError),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Configuration {
    egress_selections: Vec<Selection>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Selection {
    name: String,
    connection: ConnectionConfiguration,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct ConnectionConfiguration {
    proxy_protocol: String,
    transport: Option<TransportConfiguration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TransportConfiguration {
    tcp: Option<TcpConfiguration>,
    uds: Option<SocketConfiguration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct TcpConfiguration {
    url: String,
    tls_config: Option<TlsConfiguration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct SocketConfiguration {
    uds_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct TlsConfiguration {
    ca_bundle: String,
    client_key: String,
    client_cert: String,
    tls_server_name: String,
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Egress, EgressError> {
    let content =
        std::fs::read(path).map_err(|source| EgressError::Unreadable { path: path.to_owned(), source })?;
    parse(&content)
}

pub(super) fn parse(content: &[u8]) -> Result<Egress, EgressError> {
    let configuration: Configuration = decode(content, KIND, &VERSIONS).map_err(EgressError::Decoding)?;
    let errors = validate(&configuration);
    if !errors.is_empty() {
        return Err(EgressError::Invalid(errors));
    }
    let mut egress = Egress::default();
    for Selection { name, connection } in &configuration.egress_selections {
        let route = match (&*connection.proxy_protocol, &connection.transport) {
            ("HTTPConnect", Some(transport)) => Route::Proxy(Arc::new(
                transport
                    .proxy()
                    .map_err(|reason| EgressError::Tls { network: name.to_lowercase(), reason })?,
            )),
            ("GRPC", Some(TransportConfiguration { uds: Some(socket), .. })) => {
                let (name, transport) =
                    (socket.uds_name.clone(), Transport::Konnectivity(PathBuf::from(&socket.uds_name)));
                Route::Proxy(Arc::new(Proxy { transport, name }))
            }
            _ => Route::Direct,
        };
        let name = name.to_lowercase();
        match &*name {
            "cluster" => egress.cluster = route,
            "controlplane" => egress.control_plane = route,
            _ => egress.etcd = route,
        }
        egress.networks.push(name);
    }
    Ok(egress)
}

fn validate(configuration: &Configuration) -> ErrorList {
    let mut errors = ErrorList::default();
    let path = FieldPath::new("service").child("connection");
    for Selection { connection, .. } in &configuration.egress_selections {
        let transport = &connection.transport;
        match &*connection.proxy_protocol {
            "Direct" => {
                if transport.is_some() {
                    let detail = "config must be absent for direct connect";
                    errors.push(FieldError::invalid(path.child("transport"), "direct", detail));
                }
            }
            "HTTPConnect" => match transport {
                Some(transport) => transport.validate(&path, &mut errors),
                None => errors.push(FieldError::required(
                    path.child("transport"),
                    "transport must be set for HTTPConnect",
                )),
            },
            "GRPC" if !konnectivity::IS_BUILT => {
                errors.push(FieldError::invalid(
                    path.child("protocol"),
                    "GRPC",
                    TunnelError::NotBuilt.to_string(),
                ));
            }
            "GRPC" => match transport {
                Some(TransportConfiguration { uds: Some(socket), .. }) => socket.validate(&path, &mut errors),
                Some(_) => errors.push(FieldError::required(path.child("uds"), "UDS must be set with GRPC")),
                None => errors
                    .push(FieldError::required(path.child("transport"), "transport must be set for GRPC")),
            },
            other => errors.push(FieldError::not_supported(path.child("protocol"), other, &PROTOCOLS)),
        }
    }
    let mut seen = Vec::new();
    for (index, Selection { name, .. }) in configuration.egress_selections.iter().enumerate() {
        let name = name.to_lowercase();
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(path.index(index), name));
        } else if NETWORKS.contains(&&*name) {
            seen.push(name);
        } else {
            errors.push(FieldError::not_supported(path.clone(), name.clone(), &NETWORKS));
            seen.push(name);
        }
    }
    errors
}

// === impl TransportConfiguration ===

impl TransportConfiguration {
    fn validate(&self, path: &FieldPath, errors: &mut ErrorList) {
        match (&self.tcp, &self.uds) {
            (Some(tcp), Some(_)) => errors.push(FieldError::invalid(
                path.child("tcp"),
                &*tcp.url,
                "TCP and UDS cannot both be set",
            )),
            (None, None) => {
                errors.push(FieldError::required(path.child("tcp"), "One of TCP or UDS must be set"));
            }
            (Some(tcp), None) => tcp.validate(path, errors),
            (None, Some(socket)) => socket.validate(path, errors),
        }
    }

    /// Returns the proxy of a valid configuration.
    fn proxy(&self) -> Result<Proxy, ProxyError> {
        let Some(tcp) = &self.tcp else {
            let name = self.uds.as_ref().map(|socket| socket.uds_name.clone()).unwrap_or_default();
            return Ok(Proxy { transport: Transport::Socket(PathBuf::from(&name)), name });
        };
        let incomplete = |part| ProxyError::Incomplete { url: tcp.url.clone(), part };
        let uri: Uri = tcp.url.parse().map_err(|source| ProxyError::Url { url: tcp.url.clone(), source })?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| incomplete("host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().ok_or_else(|| incomplete("port"))?;
        let name = uri.authority().map(ToString::to_string).unwrap_or_default();
        let tls = match &tcp.tls_config {
            None => None,
            Some(tls) => {
                let server_name =
                    Some(&tls.tls_server_name).filter(|name| !name.is_empty()).unwrap_or(&host).clone();
                Some((tls.client()?, server_name))
            }
        };
        Ok(Proxy { transport: Transport::Tcp { host, port, tls }, name })
    }
}

// === impl SocketConfiguration ===

impl SocketConfiguration {
    fn validate(&self, path: &FieldPath, errors: &mut ErrorList) {
        if self.uds_name.is_empty() {
            let detail = "must be present for UDS connections";
            errors.push(FieldError::invalid(path.child("udsName"), "nil", detail));
        }
    }
}

// === impl TcpConfiguration ===

impl TcpConfiguration {
    fn validate(&self, path: &FieldPath, errors: &mut ErrorList) {
        if self.url.starts_with("http://") {
            if self.tls_config.is_some() {
                let detail = "config must not be present when using HTTP";
                errors.push(FieldError::invalid(path.child("tlsConfig"), "nil", detail));
            }
        } else if self.url.starts_with("https://") {
            match &self.tls_config {
                Some(tls) => tls.validate(&path.child("tlsConfig"), errors),
                None => errors.push(FieldError::required(
                    path.child("tlsConfig"),
                    "TLSConfig must be present when using HTTPS",
                )),
            }
        } else {
            let detail = "supported connection protocols are http:// and https://";
            errors.push(FieldError::invalid(path.child("url"), &*self.url, detail));
        }
    }
}

// === impl TlsConfiguration ===

impl TlsConfiguration {
    fn validate(&self, path: &FieldPath, errors: &mut ErrorList) {
        let mut check = |field: &str, file: &str, absent: Option<&str>, missing: &str| {
            let detail = match absent {
                _ if !file.is_empty() => Some(missing).filter(|_| !Path::new(file).exists()),
                absent => absent,
            };
            if let Some(detail) = detail {
                let value = if file.is_empty() { "nil" } else { file };
                errors.push(FieldError::invalid(path.child(field), value, detail));
            }
        };
        check("caBundle", &self.ca_bundle, None, "TLS config ca bundle does not exist");
        let required = Some("Using TLS requires clientCert");
        check("clientCert", &self.client_cert, required, "TLS client cert does not exist");
        let required = Some("Using TLS requires requires clientKey");
        check("clientKey", &self.client_key, required, "TLS client key does not exist");
    }

    fn client(&self) -> Result<Arc<rustls::ClientConfig>, SettingsError> {
        let authorities = Some(&self.ca_bundle).filter(|path| !path.is_empty()).map(Path::new);
        let identity = (Path::new(&self.client_cert), Path::new(&self.client_key));
        client_config_from_files(authorities, Some(identity), &[b"http/1.1"])
    }
}
