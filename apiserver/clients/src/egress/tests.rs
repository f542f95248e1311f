use tokio::net::{TcpListener, UnixListener};

use super::*;
use crate::egress::configuration::parse;

#[cfg(feature = "konnectivity")]
const NO_TRANSPORT: &str = "service.connection.transport: Required value: transport must be set for GRPC";
#[cfg(feature = "konnectivity")]
const NO_SOCKET: &str = "service.connection.uds: Required value: UDS must be set with GRPC";
#[cfg(feature = "konnectivity")]
const NO_NAME: &str =
    "service.connection.udsName: Invalid value: \"nil\": must be present for UDS connections";
/// Without the feature, nothing else matters.
#[cfg(not(feature = "konnectivity"))]
const NO_TRANSPORT: &str = "build `apiserver` with the feature `konnectivity`";
#[cfg(not(feature = "konnectivity"))]
const NO_SOCKET: &str = NO_TRANSPORT;
#[cfg(not(feature = "konnectivity"))]
const NO_NAME: &str = NO_TRANSPORT;

/// A proxy on a Unix socket, which ends with the test.
struct Socket {
    _directory: tempfile::TempDir,
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    fn bind() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("proxy.sock");
        let listener = UnixListener::bind(&path).unwrap();
        Self { path, listener, _directory: directory }
    }

    fn route(&self) -> Route {
        let name = "proxy.sock".to_owned();
        Route::Proxy(Arc::new(Proxy { transport: Transport::Socket(self.path.clone()), name }))
    }

    /// Accepts a connection, reads the request, and sends this answer.
    async fn answer(&self, answer: &[u8]) -> (String, UnixStream) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        // The client may refuse before it has read everything.
        let _ = stream.write_all(answer).await;
        (String::from_utf8(request).unwrap(), stream)
    }
}

#[tokio::test]
async fn a_connection_through_a_proxy_has_the_bytes_of_both_sides() {
    let socket = Socket::bind();
    let route = socket.route();
    for (host, target) in [
        ("node-1.example", "node-1.example:10250"),
        ("192.0.2.1", "192.0.2.1:10250"),
        ("2001:db8::1", "[2001:db8::1]:10250"),
    ] {
        // A name is not resolved here.
        let resolved = route.resolve(host, 10_250).await.unwrap();
        let connect = async {
            let mut stream = route.connect(&resolved, host, None).await.unwrap();
            stream.write_all(b"ping").await.unwrap();
            let mut read = [0; 4];
            stream.read_exact(&mut read).await.unwrap();
            read
        };
        let serve = async {
            let (request, mut stream) =
                socket.answer(b"HTTP/1.1 200 Connection established\r\nVia: p\r\n\r\n").await;
            assert_eq!(request, format!("CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
            let mut read = [0; 4];
            stream.read_exact(&mut read).await.unwrap();
            stream.write_all(b"pong").await.unwrap();
            read
        };
        assert_eq!(tokio::join!(connect, serve), (*b"pong", *b"ping"));
    }
}

#[tokio::test]
async fn no_proxy_is_asked_for_what_is_no_name_or_for_its_own_machine() {
    let route = Socket::bind().route();
    for text in ["", "a b", "a:1", "node:22 HTTP/1.1\r\nX-Injected: 1\r\nX: ", "n\u{f6}de", "[::1", "a/b"] {
        let refused = route.resolve(text, 10_250).await.err().unwrap().to_string();
        assert_eq!(refused, format!("{text:?} is not a host name"));
    }
    for name in ["localhost", "LOCALHOST.", "a.localhost"] {
        let target = route.resolve(name, 443).await.unwrap();
        assert!(target.check(BackendReach::OtherMachines).is_err(), "{name}");
        assert!(target.check(BackendReach::Loopback).is_ok(), "{name}");
    }
    let elsewhere = route.resolve("localhost.example.com", 443).await.unwrap();
    assert!(elsewhere.check(BackendReach::OtherMachines).is_ok());
}

#[tokio::test]
async fn a_proxy_that_does_not_behave_is_told_and_left() {
    let socket = Socket::bind();
    let route = socket.route();
    let huge = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'a'; 1 << 20]].concat();
    let answers: [(&[u8], &str); 9] = [
        (b"", "reading HTTP response from CONNECT to node:1 via proxy proxy.sock failed: unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\n", "unexpected EOF"),
        (
            b"HTTP/1.1 403 Forbidden\r\n\r\nno",
            "proxy error from proxy.sock while dialing node:1, code 403: 403 Forbidden",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "code 100: 100 Continue"),
        (
            b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0",
            "unexpected 7 bytes of buffered data from CONNECT proxy \"proxy.sock\"",
        ),
        (b"SSH-2.0-x\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 2OO OK\r\n\r\n", "malformed HTTP response"),
        (b"\xff\xfe 200\r\n\r\n", "malformed HTTP response"),
        (&huge, "the head of the answer is too large"),
    ];
    for (answer, reason) in answers {
        let target = Target::Name("node".to_owned(), 1);
        let connect = async { route.connect(&target, "node", None).await.err().unwrap().to_string() };
        let serve = async { drop(socket.answer(answer).await) };
        let (refused, ()) = tokio::join!(connect, serve);
        assert!(refused.contains(reason), "{refused}");
    }
    // One that does not answer is left when its caller has no more time.
    let target = Target::Name("node".to_owned(), 1);
    let waiting = route.connect(&target, "node", None);
    let waited = tokio::time::timeout(std::time::Duration::from_millis(50), waiting).await;
    assert!(waited.is_err());
    let gone = socket.route();
    std::fs::remove_file(&socket.path).unwrap();
    let refused = gone.connect(&target, "node", None).await.err().unwrap().to_string();
    assert!(refused.starts_with("dial unix ") && refused.contains("proxy.sock"), "{refused}");
}

#[tokio::test]
async fn a_proxy_that_answers_before_it_is_asked_gets_no_answer_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let transport = Transport::Tcp { host: "127.0.0.1".to_owned(), port, tls: None };
    let route = Route::Proxy(Arc::new(Proxy { transport, name: format!("127.0.0.1:{port}") }));
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.unwrap();
        stream
    };
    let target = Target::Name("node".to_owned(), 1);
    let (refused, _stream) = tokio::join!(route.connect(&target, "node", None), serve);
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("code 407: 407 Proxy Authentication Required"), "{refused}");
}

fn parsed(selections: &str) -> Result<Egress, String> {
    let head = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n";
    parse(format!("{head}{selections}").as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn a_configuration_has_a_way_to_each_network() {
    let egress = parsed(
        "egressSelections:\n\
         - {name: Cluster, connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: /run/k.sock}}}}\n\
         - {name: controlplane, connection: {proxyProtocol: Direct}}\n\
         - {name: etcd, connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://127.0.0.1:8131'}}}}\n",
    );
    let egress = egress.unwrap();
    assert!(matches!(egress.control_plane, Route::Direct));
    assert!(matches!(egress.configured("controlplane"), Some(Route::Direct)));
    assert!(matches!(egress.configured("cluster"), Some(Route::Proxy(_))));
    let Route::Proxy(cluster) = egress.cluster else { panic!("direct") };
    assert!(matches!(&cluster.transport, Transport::Socket(path) if path == Path::new("/run/k.sock")));
    let Route::Proxy(etcd) = egress.etcd else { panic!("direct") };
    assert!(matches!(&etcd.transport, Transport::Tcp { host, port: 8131, tls: None } if host == "127.0.0.1"));
    for none in ["", "egressSelections:\n", "egressSelections: []\n"] {
        let egress = parsed(none).unwrap();
        assert!(matches!(egress.cluster, Route::Direct), "{none:?}");
        assert!(!egress.is_configured() && egress.configured("cluster").is_none(), "{none:?}");
    }
    // A field without a value is one that is not there.
    let nothing = "egressSelections: [{name: etcd, connection: {proxyProtocol: Direct, transport: }}]\n";
    assert!(parsed(nothing).unwrap().is_configured());
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_with_its_field() {
    let selection = |name: &str, connection: &str| {
        format!("egressSelections: [{{name: {name}, connection: {connection}}}]")
    };
    let connect = |transport: &str| {
        selection("cluster", &format!("{{proxyProtocol: HTTPConnect, transport: {transport}}}"))
    };
    let twice = "egressSelections:\n\
                 - {name: etcd, connection: {proxyProtocol: Direct}}\n\
                 - {name: ETCD, connection: {proxyProtocol: Direct}}\n";
    for (fields, reason) in [
        (twice.to_owned(), "service.connection[1]: Duplicate value: \"etcd\""),
        (
            selection("master", "{proxyProtocol: Direct}"),
            "supported values: \"cluster\", \"controlplane\", \"etcd\"",
        ),
        (
            selection("cluster", "{proxyProtocol: Socks5}"),
            "supported values: \"Direct\", \"GRPC\", \"HTTPConnect\"",
        ),
        (
            selection("cluster", "{proxyProtocol: Direct, transport: {}}"),
            "config must be absent for direct connect",
        ),
        (selection("cluster", "{proxyProtocol: HTTPConnect}"), "transport must be set for HTTPConnect"),
        (connect("{}"), "One of TCP or UDS must be set"),
        (selection("cluster", "{proxyProtocol: GRPC}"), NO_TRANSPORT),
        (selection("cluster", "{proxyProtocol: GRPC, transport: {}}"), NO_SOCKET),
        (selection("cluster", "{proxyProtocol: GRPC, transport: {tcp: {url: 'http://a:1'}}}"), NO_SOCKET),
        (selection("cluster", "{proxyProtocol: GRPC, transport: {uds: {}}}"), NO_NAME),
        (connect("{tcp: {url: 'http://a:1'}, uds: {udsName: /a}}"), "TCP and UDS cannot both be set"),
        (connect("{uds: {}}"), "must be present for UDS connections"),
        (connect("{tcp: {url: 'ftp://a:1'}}"), "supported connection protocols are http:// and https://"),
        (connect("{tcp: {url: 'http://a'}}"), "names no port"),
        (connect("{tcp: {url: 'https://a:1'}}"), "TLSConfig must be present when using HTTPS"),
        (connect("{tcp: {url: 'http://a:1', tlsConfig: {}}}"), "config must not be present when using HTTP"),
        (
            connect("{tcp: {url: 'https://a:1', tlsConfig: {clientKey: /nope}}}"),
            "Using TLS requires clientCert",
        ),
        (
            connect("{tcp: {url: 'https://a:1', tlsConfig: {clientKey: /nope}}}"),
            "TLS client key does not exist",
        ),
        (
            connect("{tcp: {url: 'https://a:1', tlsConfig: {caBundle: /nope}}}"),
            "TLS config ca bundle does not exist",
        ),
        (connect("{tcp: {uri: 'http://a:1'}}"), "strict decoding error"),
        ("kind: x".to_owned(), "strict decoding error"),
    ] {
        let refused = parsed(&fields).unwrap_err();
        assert!(refused.contains(reason), "{fields}: {refused}");
    }
    let other = parse(b"apiVersion: apiserver.config.k8s.io/v1\nkind: EgressSelectorConfiguration");
    assert!(other.unwrap_err().to_string().contains("is registered for version"));
}
