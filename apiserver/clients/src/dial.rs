//! Connections: resolved once, checked, encrypted.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use certificates::handshake_text;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::Uri;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::error::ServiceError;

/// Time after which the next address is tried while the one before is silent, as in Go.
const FALLBACK_DELAY: Duration = Duration::from_millis(300);

/// A connection, encrypted or not.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Connection for S {}

/// Reasons why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Workloads cannot have this address: it is this machine's own, link-local or multicast. Not retryable.
    #[error("address not allowed")]
    NotAllowed,
    /// Services of APIServices and webhooks cannot have this address. Not retryable.
    #[error("address not allowed: {}", refusal(*.0))]
    BackendNotAllowed(IpAddr),
    /// The address is this server's own: it would receive the request with its own identity. Not retryable.
    #[error("address not allowed: {0} is this server's own")]
    OwnAddress(SocketAddr),
    /// There is no such service, or it has no address. Retryable.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A text is not a host name, so that no proxy is asked for it. Not retryable.
    #[error("{0:?} is not a host name")]
    NoHostName(String),
    /// A URL names no address. Not retryable.
    #[error("{0} has no address")]
    NoAddress(Uri),
    /// The name cannot be resolved, or the peer does not respond. Retryable.
    #[error("dial tcp {address}: {}", words(source))]
    Connect {
        /// The destination.
        address: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The TLS handshake failed. Not retryable.
    #[error("{}", handshake_text(.0))]
    Tls(std::io::Error),
    /// No response in time. Retryable.
    #[error("dial tcp {0}: i/o timeout")]
    Timeout(String),
    /// Nothing listens on the Unix socket of a proxy. Retryable.
    #[error("dial unix {}: {}", .path.display(), words(source))]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A proxy does not connect to the target. Retryable.
    #[error("proxy error from {proxy} while dialing {target}, code {code}: {status}")]
    ProxyRefused {
        /// The proxy.
        proxy: String,
        /// The target.
        target: String,
        /// The code of its answer.
        code: u16,
        /// The code and the reason.
        status: String,
    },
    /// The answer of a proxy cannot be read. Retryable.
    #[error("reading HTTP response from CONNECT to {target} via proxy {proxy} failed: {source}")]
    ProxyAnswer {
        /// The target.
        target: String,
        /// The proxy.
        proxy: String,
        /// The reason.
        source: std::io::Error,
    },
    /// A proxy sent data of its own. Not retryable.
    #[error("unexpected {bytes} bytes of buffered data from CONNECT proxy {proxy:?}")]
    ProxyData {
        /// The proxy.
        proxy: String,
        /// The number of bytes.
        bytes: usize,
    },
    /// A konnectivity server does not connect to the target. Retryable as [`TunnelError`] says.
    #[error(transparent)]
    Tunnel(#[from] TunnelError),
}

/// Reasons why a konnectivity server does not connect, or why a connection through it ended.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The server cannot connect to the target. Retryable.
    #[error("{0}")]
    Refused(String),
    /// The server, or one of its agents, gave up. Retryable.
    #[error("dial closed")]
    DialClosed,
    /// There was no answer in time. Retryable.
    #[error("dial timeout, backstop")]
    Timeout,
    /// The call ended, or has no meaning any more. Retryable.
    #[error("tunnel closed")]
    Closed,
    /// The server did not confirm that a connection is closed. Not retryable.
    #[error("close timeout")]
    CloseTimeout,
    /// The call failed. Retryable.
    #[error("rpc error: code = {code} desc = {message}")]
    Call {
        /// The name of gRPC's code.
        code: String,
        /// The reason.
        message: String,
    },
    /// The server sent something of a connection that it had not made. Not retryable.
    #[error("the konnectivity server sent a packet of a connection before it was made")]
    Early,
    /// The server made a connection without a number. Not retryable.
    #[error("the konnectivity server made a connection without a number")]
    NoNumber,
    /// The server sent something of another connection. Not retryable.
    #[error("the konnectivity server sent a packet of another connection")]
    OtherConnection,
    /// The operating system has no random numbers. Retryable.
    #[error("no random numbers")]
    NoRandomness,
    /// The program cannot connect through konnectivity. Not retryable.
    #[error(
        "this server was built without gRPC to konnectivity: build `apiserver` with the feature `konnectivity`"
    )]
    NotBuilt,
}

/// The addresses beside those of other machines that services of APIServices and webhooks may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendReach {
    /// None.
    #[default]
    OtherMachines,
    /// Loopback addresses (`--allow-loopback-backends`).
    Loopback,
    /// All, for tests.
    Everything,
}

/// Returns why a service may not have an address, and what allows it.
fn refusal(address: IpAddr) -> String {
    let ip = address.to_canonical();
    if ip.is_loopback() {
        return format!(
            "{address} is a loopback address, where services of this machine may listen that trust whoever can connect; \
             --allow-loopback-backends allows it"
        );
    }
    let is_link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let kind = match ip {
        _ if is_link_local => "a link-local address",
        _ if ip.is_unspecified() => "the unspecified address",
        _ if ip.is_multicast() => "a multicast address",
        _ => "a broadcast address",
    };
    format!("{address} is {kind}, which no backend may have")
}

// === impl BackendReach ===

impl BackendReach {
    /// Checks that services may have all of these addresses.
    ///
    /// # Errors
    /// Fails with the first address that is refused.
    pub fn check(self, addresses: &[SocketAddr]) -> Result<(), DialError> {
        let is_allowed = |ip: IpAddr| {
            is_global_unicast(ip)
                || match self {
                    Self::OtherMachines => false,
                    Self::Loopback => ip.to_canonical().is_loopback(),
                    Self::Everything => true,
                }
        };
        match addresses.iter().find(|address| !is_allowed(address.ip())) {
            Some(refused) => Err(DialError::BackendNotAllowed(refused.ip())),
            None => Ok(()),
        }
    }
}

/// Whether a name always stands for the machine on which it is resolved. (RFC 6761, 6.3)
pub fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns common errors with the messages that clients know from Go.
fn words(failure: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match failure.kind() {
        ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        ErrorKind::HostUnreachable => "connect: no route to host".to_owned(),
        ErrorKind::NetworkUnreachable => "connect: network is unreachable".to_owned(),
        ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => failure.to_string(),
    }
}

/// Returns the addresses of a host: at least one.
pub async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let failed = |source| DialError::Connect { address: format!("lookup {host}"), source };
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await.map_err(failed)?.collect();
    if addresses.is_empty() {
        return Err(failed(std::io::Error::other("no such host")));
    }
    Ok(addresses)
}

/// Connects to the first of these addresses that responds.
pub async fn connect(
    addresses: &[SocketAddr],
    host: &str,
    tls: Option<Arc<ClientConfig>>,
) -> Result<Box<dyn Connection>, DialError> {
    connect_with_protocol(addresses, host, tls).await.map(|(stream, _)| stream)
}

/// Connects as [`connect`], and says whether HTTP/2 was negotiated.
pub(super) async fn connect_with_protocol(
    addresses: &[SocketAddr],
    host: &str,
    tls: Option<Arc<ClientConfig>>,
) -> Result<(Box<dyn Connection>, bool), DialError> {
    let stream = first_to_respond(addresses).await?;
    // Fails only if the connection is gone already.
    let _ = stream.set_nodelay(true);
    encrypted(stream, host, tls).await
}

/// Returns a connection to the first of these addresses that responds. The next one is tried when the one before has failed, or has not
/// responded within [`FALLBACK_DELAY`], so that an address that loses packets does not use up the time of the others.
async fn first_to_respond(addresses: &[SocketAddr]) -> Result<TcpStream, DialError> {
    let mut untried = addresses.iter().copied();
    let mut attempts = FuturesUnordered::new();
    let mut failure = None;
    loop {
        if let Some(address) = untried.next() {
            attempts.push(async move {
                let connected = TcpStream::connect(address).await;
                connected.map_err(|source| DialError::Connect { address: address.to_string(), source })
            });
        }
        tokio::select! {
            attempt = attempts.next() => match attempt {
                Some(Ok(stream)) => return Ok(stream),
                Some(Err(error)) => failure = Some(error),
                None => return Err(failure.unwrap_or(DialError::NotAllowed)),
            },
            () = tokio::time::sleep(FALLBACK_DELAY), if untried.len() > 0 => {}
        }
    }
}

/// Returns a connection over this one, encrypted if there is a TLS configuration, and says whether HTTP/2 was negotiated.
pub(super) async fn encrypted(
    stream: impl Connection + 'static,
    host: &str,
    tls: Option<Arc<ClientConfig>>,
) -> Result<(Box<dyn Connection>, bool), DialError> {
    let Some(tls) = tls else { return Ok((Box::new(stream), false)) };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| DialError::Tls(std::io::Error::other(error)))?;
    let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(DialError::Tls)?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok((Box::new(stream), is_http2))
}

/// Returns whether a connection to this address may reach a server of this machine that listens on `own`. All
/// addresses of the machine count, whichever of them the server listens on.
pub(super) fn reaches(address: SocketAddr, own: SocketAddr) -> bool {
    if address.port() != own.port() {
        return false;
    }
    let ip = address.ip().to_canonical();
    // Connections to the unspecified address go to the loopback interface.
    ip == own.ip().to_canonical() || ip.is_loopback() || ip.is_unspecified() || is_of_this_machine(ip)
}

/// Returns whether an interface of this machine has this address, because only such addresses can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    match UdpSocket::bind((ip, 0)) {
        Ok(_) => true,
        // A link-local address without its interface, or no free sockets: assume that it is.
        Err(error) => error.kind() != std::io::ErrorKind::AddrNotAvailable,
    }
}

/// Returns whether a pod or node can have this address. (`net.IP.IsGlobalUnicast` of Go.)
pub fn is_global_unicast(address: IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(v4) => v4.is_broadcast() || v4.is_link_local(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => return is_global_unicast(v4.into()),
            None => v6.is_unicast_link_local(),
        },
    };
    !(is_local || address.is_unspecified() || address.is_loopback() || address.is_multicast())
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// Returns a listener whose queue of connections is full, so that it ignores further ones; and the connections.
    async fn silent_listener() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(connected) =
            tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
        {
            waiting.push(connected.unwrap());
        }
        (listener, waiting)
    }

    #[tokio::test]
    async fn a_silent_address_and_one_that_refuses_do_not_keep_from_the_next() {
        let (silent, _waiting) = silent_listener().await;
        let refusing = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = good.local_addr().unwrap();
        for addresses in [
            vec![address],
            vec![refusing, address],
            vec![silent.local_addr().unwrap(), address],
            vec![silent.local_addr().unwrap(), refusing, address],
        ] {
            let connected = tokio::time::timeout(Duration::from_secs(30), first_to_respond(&addresses)).await;
            assert_eq!(connected.unwrap().unwrap().peer_addr().unwrap(), address, "{addresses:?}");
        }
        let refused = first_to_respond(&[refusing]).await.unwrap_err();
        assert!(refused.to_string().contains("connection refused"), "{refused}");
    }

    #[test]
    fn own_addresses_are_recognized_in_every_form() {
        let own: SocketAddr = "0.0.0.0:6443".parse().unwrap();
        for address in [
            "127.0.0.1:6443",
            "127.9.9.9:6443",
            "0.0.0.0:6443",
            "[::1]:6443",
            "[::]:6443",
            "[::ffff:127.0.0.1]:6443",
        ] {
            assert!(reaches(address.parse().unwrap(), own), "{address}");
        }
        for address in ["127.0.0.1:6444", "192.0.2.1:6443", "[2001:db8::1]:6443"] {
            assert!(!reaches(address.parse().unwrap(), own), "{address}");
        }
        let elsewhere: SocketAddr = "192.0.2.1:6443".parse().unwrap();
        assert!(reaches(elsewhere, elsewhere));
        assert!(reaches("[::ffff:192.0.2.1]:6443".parse().unwrap(), elsewhere));
    }

    #[test]
    fn backends_are_where_the_flag_allows_and_a_refusal_names_address_rule_and_flag() {
        let reaches = [BackendReach::OtherMachines, BackendReach::Loopback, BackendReach::Everything];
        let flag = "--allow-loopback-backends";
        for (address, refused_by, rule) in [
            ("10.0.0.1", 0, ""),
            ("2001:db8::1", 0, ""),
            ("127.0.0.1", 1, flag),
            ("127.9.9.9", 1, flag),
            ("::1", 1, flag),
            ("::ffff:127.0.0.1", 1, flag),
            ("0.0.0.0", 2, "the unspecified address"),
            ("::", 2, "the unspecified address"),
            ("169.254.169.254", 2, "a link-local address"),
            ("::ffff:169.254.169.254", 2, "a link-local address"),
            ("fe80::1", 2, "a link-local address"),
            ("224.0.0.1", 2, "a multicast address"),
            ("ff02::1", 2, "a multicast address"),
            ("255.255.255.255", 2, "a broadcast address"),
        ] {
            let ip: IpAddr = address.parse().unwrap();
            // One refused address among others is enough.
            let addresses = ["192.0.2.1:1".parse().unwrap(), SocketAddr::new(ip, 1)];
            for (index, reach) in reaches.into_iter().enumerate() {
                match reach.check(&addresses) {
                    Ok(()) => assert!(index >= refused_by, "{reach:?} allows {address}"),
                    Err(error) => {
                        assert!(index < refused_by, "{reach:?} refuses {address}");
                        let error = error.to_string();
                        assert!(error.contains(&ip.to_string()) && error.contains(rule), "{error}");
                    }
                }
            }
        }
    }

    #[test]
    fn workloads_are_not_at_local_addresses() {
        for allowed in ["10.0.0.1", "192.168.1.1", "8.8.8.8", "2001:db8::1", "fd00::1"] {
            assert!(is_global_unicast(allowed.parse().unwrap()), "{allowed}");
        }
        let local = [
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
        ];
        for refused in local {
            assert!(!is_global_unicast(refused.parse().unwrap()), "{refused}");
        }
    }
}
