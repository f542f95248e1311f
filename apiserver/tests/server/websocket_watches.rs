//! Watches over WebSocket, byte by byte.

use std::time::Duration;

use apiserver::testing::TestServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::client::{self, Connection, Protocol, post};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A connection whose watch has begun, or was refused.
struct Socket {
    stream: TlsStream<TcpStream>,
    /// The head of the response.
    head: String,
}

// === impl Socket ===

impl Socket {
    async fn open(server: &TestServer, query: &str, headers: &str) -> Self {
        let mut stream = client::tls(server, "http/1.1").await;
        let request = format!(
            "GET {MAPS}?watch=1{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin-token\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://localhost\r\n\
             Sec-WebSocket-Version: 13\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        Self { stream, head: String::from_utf8(head).unwrap() }
    }

    async fn begun(server: &TestServer, query: &str, headers: &str) -> Self {
        let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let socket = Self::open(server, query, &format!("{key}{headers}")).await;
        assert!(socket.head.starts_with("HTTP/1.1 101 "), "{}", socket.head);
        let accept = "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        assert!(socket.head.to_lowercase().contains(&accept.to_lowercase()), "{}", socket.head);
        socket
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Returns the opcode and the payload of the next frame.
    async fn frame(&mut self) -> (u8, Vec<u8>) {
        let read = async {
            let first = self.stream.read_u8().await.unwrap();
            assert_eq!(first & 0xf0, 0x80, "each message is a frame");
            let length = match self.stream.read_u8().await.unwrap() {
                126 => usize::from(self.stream.read_u16().await.unwrap()),
                127 => usize::try_from(self.stream.read_u64().await.unwrap()).unwrap(),
                length => usize::from(length),
            };
            let mut payload = vec![0; length];
            self.stream.read_exact(&mut payload).await.unwrap();
            (first & 0x0f, payload)
        };
        tokio::time::timeout(Duration::from_secs(20), read).await.expect("a frame in time")
    }

    async fn event(&mut self) -> Value {
        let (opcode, payload) = self.frame().await;
        assert_eq!(opcode, TEXT);
        serde_json::from_slice(&payload).unwrap()
    }

    /// Returns the code with which the server closes the connection.
    async fn closed(&mut self) -> u16 {
        let (opcode, payload) = self.frame().await;
        assert_eq!(opcode, CLOSE, "{payload:?}");
        let mut rest = Vec::new();
        // The server may reset the connection of a client that breaks the protocol.
        let _ = self.stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{rest:?}");
        u16::from_be_bytes(payload.try_into().unwrap())
    }
}

async fn create(server: &TestServer, name: &str, bytes: usize) {
    let map = json!({ "metadata": { "name": name }, "data": { "k": "x".repeat(bytes) } });
    let mut connection = Connection::open(server, Protocol::Http1).await;
    assert_eq!(connection.send(post(MAPS, map.to_string().into_bytes())).await.status, 201);
}

async fn started() -> TestServer {
    TestServer::builder().memory().without_controllers().start().await.unwrap()
}

#[tokio::test]
async fn each_event_is_a_message_and_the_end_of_the_watch_closes_the_connection() {
    let server = started().await;
    create(&server, "a", 1).await;
    let mut socket = Socket::begun(&server, "&timeoutSeconds=3", "").await;
    for bytes in [1, 300, 70_000] {
        create(&server, &format!("b{bytes}"), bytes).await;
    }
    let mut names = Vec::new();
    while names.len() < 4 {
        let event = socket.event().await;
        assert_eq!(event["type"], "ADDED");
        names.push(event["object"]["metadata"]["name"].as_str().unwrap().to_owned());
    }
    assert_eq!(names, ["a", "b1", "b300", "b70000"]);
    socket.send(&[0x80 | PING, 0x82, 1, 1, 1, 1, b'o' ^ 1, b'k' ^ 1]).await;
    assert_eq!(socket.frame().await, (PONG, b"ok".to_vec()));
    assert_eq!(socket.closed().await, 1000);

    // The subprotocol of streams changes nothing, as in Kubernetes.
    let protocol = "Sec-WebSocket-Protocol: base64.binary.k8s.io\r\n";
    let mut socket = Socket::begun(&server, "", protocol).await;
    assert!(socket.head.contains("base64.binary.k8s.io"), "{}", socket.head);
    assert_eq!(socket.event().await["object"]["metadata"]["name"], "a");

    let protobuf = "Accept: application/vnd.kubernetes.protobuf;stream=watch\r\n";
    let mut socket = Socket::begun(&server, "", protobuf).await;
    let (opcode, message) = socket.frame().await;
    assert_eq!((opcode, &message[..7]), (BINARY, &b"\n\x05ADDED"[..]), "no length before it");
    server.stop().await;
}

#[tokio::test]
async fn handshakes_and_frames_that_break_the_protocol_are_refused() {
    let server = started().await;
    create(&server, "a", 1).await;
    let without_key = Socket::open(&server, "", "").await;
    assert!(without_key.head.starts_with("HTTP/1.1 400 "), "{}", without_key.head);
    let two = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, b\r\n";
    let two = Socket::open(&server, "", two).await;
    assert!(two.head.starts_with("HTTP/1.1 400 "), "{}", two.head);

    let gigabyte = [&[0x80 | BINARY, 0xff][..], &(1_u64 << 30).to_be_bytes()].concat();
    for (frame, code) in [(&[0x80 | TEXT, 2, b'h', b'i'][..], 1002), (&gigabyte, 1009)] {
        let mut socket = Socket::begun(&server, "", "").await;
        socket.event().await;
        socket.send(frame).await;
        assert_eq!(socket.closed().await, code);
    }

    let mut leaving = Socket::begun(&server, "", "").await;
    leaving.event().await;
    leaving.send(&[0x80 | TEXT, 0x82, 0, 0, 0, 0, b'h', b'i', 0x80 | CLOSE, 0x80, 0, 0, 0, 0]).await;
    assert_eq!(leaving.closed().await, 1000);
    server.stop().await;
}
