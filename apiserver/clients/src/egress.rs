//! The ways to the networks that the server connects to: directly, or through a proxy for each of them.
//!
//! | network | connections to |
//! |---|---|
//! | `cluster` | nodes, pods and services, the webhooks and extension servers in them |
//! | `controlplane` | webhooks at URLs, and those of authentication, authorization and audit; issuers of tokens that name it |
//! | `etcd` | etcd |
//!
//! A proxy resolves names. It is asked with `CONNECT`, or with a packet of konnectivity's protocol over gRPC (`konnectivity`). Its
//! answer is bounded; the time is that of the caller.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/egressselector`, konnectivity.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::dial::{self, BackendReach, Connection, DialError, encrypted, is_local_name, reaches};

mod configuration;
#[cfg(feature = "konnectivity")]
mod konnectivity;
#[cfg(not(feature = "konnectivity"))]
#[path = "egress/konnectivity/not_built.rs"]
mod konnectivity;

pub use configuration::EgressError;

/// Maximum size of the head of a proxy's answer.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Number of bytes that are read at once of it.
const CHUNK_BYTES: usize = 1024;

/// The ways to the networks.
#[derive(Clone, Debug, Default)]
pub struct Egress {
    /// To the other parts of the control plane.
    pub control_plane: Route,
    /// To etcd.
    pub etcd: Route,
    /// To nodes, pods and services.
    pub cluster: Route,
    /// The networks of which the file says something, in lower case.
    networks: Vec<String>,
}

/// The way to one network.
#[derive(Clone, Debug, Default)]
pub enum Route {
    /// Without a proxy.
    #[default]
    Direct,
    /// Through a proxy.
    Proxy(Arc<Proxy>),
}

/// A proxy.
#[derive(Debug)]
pub struct Proxy {
    transport: Transport,
    /// The proxy, in messages.
    name: String,
}

/// The connection to a proxy, and its protocol.
#[derive(Debug)]
enum Transport {
    /// `CONNECT` over TCP.
    Tcp { host: String, port: u16, tls: Option<(Arc<ClientConfig>, String)> },
    /// `CONNECT` over a Unix socket.
    Socket(PathBuf),
    /// Konnectivity's protocol over gRPC over a Unix socket.
    Konnectivity(PathBuf),
}

/// The end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One of these addresses: at least one.
    Addresses(Vec<SocketAddr>),
    /// A name, which the proxy resolves, and a port.
    Name(String, u16),
}

// === impl Egress ===

impl Egress {
    /// Reads the ways from the file that `--egress-selector-config-file` names; all are direct without one.
    ///
    /// # Errors
    /// Fails if it cannot be read, or has an invalid field.
    pub fn read(path: Option<&Path>) -> Result<Self, EgressError> {
        path.map_or_else(|| Ok(Self::default()), configuration::read)
    }

    /// Whether there is a file that says something of a network.
    pub fn is_configured(&self) -> bool {
        !self.networks.is_empty()
    }

    /// Returns the way to a network, `cluster` or `controlplane`, if the file says something of it.
    pub fn configured(&self, network: &str) -> Option<&Route> {
        let route = match network {
            "cluster" => &self.cluster,
            "controlplane" => &self.control_plane,
            _ => return None,
        };
        self.networks.iter().any(|known| known == network).then_some(route)
    }
}

// === impl Target ===

impl Target {
    /// Returns the addresses that are known: none of a name.
    pub fn addresses(&self) -> &[SocketAddr] {
        match self {
            Self::Addresses(addresses) => addresses,
            Self::Name(..) => &[],
        }
    }

    /// Checks that services may be at the target.
    ///
    /// # Errors
    /// Fails with an address that is refused.
    pub fn check(&self, reach: BackendReach) -> Result<(), DialError> {
        match self {
            // The proxy would resolve it to its own machine, on which this server may run.
            Self::Name(name, port) if is_local_name(name) => {
                reach.check(&[SocketAddr::new(Ipv4Addr::LOCALHOST.into(), *port)])
            }
            target => reach.check(target.addresses()),
        }
    }

    /// Checks that the target is another server than this one, which listens on `own`.
    ///
    /// # Errors
    /// Fails with an address by which this server would be reached.
    pub fn check_is_other(&self, own: SocketAddr) -> Result<(), DialError> {
        match self.addresses().iter().find(|address| reaches(**address, own)) {
            Some(address) => Err(DialError::OwnAddress(*address)),
            None => Ok(()),
        }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self::Addresses(vec![address])
    }
}

// === impl Route ===

impl Route {
    /// Returns the target of connections to a host.
    ///
    /// # Errors
    /// Fails if the name has no address, or is none that a proxy can be asked for.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Target, DialError> {
        match (self, host.parse::<IpAddr>()) {
            (_, Ok(address)) => Ok(SocketAddr::new(address, port).into()),
            (Self::Direct, Err(_)) => dial::resolve(host, port).await.map(Target::Addresses),
            (Self::Proxy(_), Err(_)) if is_host_name(host) => Ok(Target::Name(host.to_owned(), port)),
            (Self::Proxy(_), Err(_)) => Err(DialError::NoHostName(host.to_owned())),
        }
    }

    /// Connects to a target, whose certificate has the name `host`.
    ///
    /// # Errors
    /// Fails if the proxy refuses, nothing responds, or the certificate is another one.
    pub async fn connect(
        &self,
        target: &Target,
        host: &str,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Box<dyn Connection>, DialError> {
        self.connect_with_protocol(target, host, tls).await.map(|(stream, _)| stream)
    }

    /// Connects as [`connect`](Self::connect), and says whether HTTP/2 was negotiated.
    pub async fn connect_with_protocol(
        &self,
        target: &Target,
        host: &str,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<(Box<dyn Connection>, bool), DialError> {
        match (self, target) {
            (Self::Direct, Target::Addresses(addresses)) => {
                dial::connect_with_protocol(addresses, host, tls).await
            }
            (Self::Direct, Target::Name(name, port)) => {
                let addresses = dial::resolve(name, *port).await?;
                dial::connect_with_protocol(&addresses, host, tls).await
            }
            (Self::Proxy(proxy), Target::Addresses(addresses)) => {
                let mut failure = DialError::Timeout(host.to_owned());
                for address in addresses {
                    match proxy.open(&address.to_string()).await {
                        Ok(stream) => return encrypted(stream, host, tls).await,
                        Err(error) => failure = error,
                    }
                }
                Err(failure)
            }
            (Self::Proxy(proxy), Target::Name(name, port)) => {
                encrypted(proxy.open(&format!("{name}:{port}")).await?, host, tls).await
            }
        }
    }
}

/// Whether a text has only characters of names of hosts, so that it cannot end the line of a request to a proxy.
fn is_host_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !text.is_empty() && text.bytes().all(is_part)
}

// === impl Proxy ===

impl Proxy {
    /// Returns a connection through the proxy to `target`, a host and a port.
    async fn open(&self, target: &str) -> Result<Box<dyn Connection>, DialError> {
        let stream = match &self.transport {
            Transport::Konnectivity(socket) => return konnectivity::open(socket, target).await,
            Transport::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.map_err(|source| DialError::Socket { path: path.clone(), source })?;
                Box::new(stream)
            }
            Transport::Tcp { host, port, tls } => {
                let addresses = dial::resolve(host, *port).await?;
                let (tls, name) = tls.clone().unzip();
                dial::connect(&addresses, name.as_ref().unwrap_or(host), tls).await?
            }
        };
        self.ask(stream, target).await
    }

    /// Asks with `CONNECT` for a connection over this stream.
    async fn ask(
        &self,
        mut stream: Box<dyn Connection>,
        target: &str,
    ) -> Result<Box<dyn Connection>, DialError> {
        let failed =
            |source| DialError::ProxyAnswer { target: target.to_owned(), proxy: self.name.clone(), source };
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        stream.flush().await.map_err(failed)?;
        let (head, bytes_after) = read_head(&mut stream).await.map_err(failed)?;
        let (code, status) = status_of(&head).ok_or_else(|| failed(malformed("malformed HTTP response")))?;
        if code != 200 {
            let (proxy, target) = (self.name.clone(), target.to_owned());
            return Err(DialError::ProxyRefused { proxy, target, code, status });
        }
        if bytes_after > 0 {
            // The server does not begin to speak, so that they are the proxy's.
            return Err(DialError::ProxyData { proxy: self.name.clone(), bytes: bytes_after });
        }
        Ok(stream)
    }
}

/// Reads the head of an answer, and returns it with the number of bytes after it that were read too.
async fn read_head(stream: &mut Box<dyn Connection>) -> io::Result<(Vec<u8>, usize)> {
    let mut read = Vec::new();
    let mut chunk = [0; CHUNK_BYTES];
    loop {
        let number = stream.read(&mut chunk).await?;
        if number == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "unexpected EOF"));
        }
        // A blank line may begin in what was read before.
        let searched_from = read.len().saturating_sub(3);
        read.extend_from_slice(chunk.get(..number).unwrap_or_default());
        let unsearched = read.get(searched_from..).unwrap_or_default();
        if let Some(end) = blank_line_end(unsearched) {
            let bytes_after = unsearched.len().saturating_sub(end);
            read.truncate(searched_from + end);
            return Ok((read, bytes_after));
        }
        if read.len() >= MAX_HEAD_BYTES {
            return Err(malformed("the head of the answer is too large"));
        }
    }
}

/// Returns the position after the first blank line.
fn blank_line_end(text: &[u8]) -> Option<usize> {
    let after =
        |line: &[u8]| text.windows(line.len()).position(|part| part == line).map(|at| at + line.len());
    [after(b"\r\n\r\n"), after(b"\n\n")].into_iter().flatten().min()
}

/// Returns the code of an answer, and its status as Go shows it: the code and the reason.
fn status_of(head: &[u8]) -> Option<(u16, String)> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (version, status) = line.split_once(' ')?;
    let code = status.split(' ').next()?;
    let is_code = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    if !version.starts_with("HTTP/") || !is_code {
        return None;
    }
    Some((code.parse().ok()?, status.chars().filter(|letter| !letter.is_control()).take(200).collect()))
}

fn malformed(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests;
