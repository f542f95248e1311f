//! Clients that speak HTTP without TLS to the TLS port.

use apiserver::testing::TestServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Connection, Protocol};
use crate::metrics::Page;

/// The answer of Go's server.
const ANSWER: &str = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Sends these pieces, and returns everything that the server sends until it closes or resets the connection.
async fn answer_to(server: &TestServer, pieces: &[&[u8]]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in pieces {
        stream.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answer = Vec::new();
    // A reset may be all there is to read: the server leaves unread what it does not know.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

#[tokio::test]
async fn plain_http_is_answered_as_by_go() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let body =
        format!("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n{}", "x".repeat(30_000));
    let requests: [&[&[u8]]; 7] = [
        &[b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
        &[b"HEAD /healthz HTTP/1.0\r\n\r\n"],
        &[b"PUT /a HTTP/1.1\r\n\r\n"],
        &[b"OPTIONS * HTTP/1.1\r\n\r\n"],
        &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"],
        &[b"G", b"E", b"T", b" ", b"/"],
        &[body.as_bytes()],
    ];
    for pieces in requests {
        let answer = answer_to(&server, pieces).await;
        assert_eq!(String::from_utf8_lossy(&answer), ANSWER, "{pieces:?}");
    }
    let failed = Page::scrape(&server).await.sum("apiserver_tls_handshake_errors_total", &[]);
    assert!(failed >= 7.0, "each is counted: {failed}");
    server.stop().await;
}

#[tokio::test]
async fn other_protocols_are_closed_without_an_answer() {
    let server = TestServer::builder().memory().start().await.unwrap();
    for pieces in [
        &[b"SSH-2.0-x\r\n" as &[u8]],
        &[b"GETAWAY / HTTP"],
        &[b"\x00\x00\x00\x00\x00"],
        &[b"\x80\x2e\x01\x00\x02"],
    ] {
        assert_eq!(answer_to(&server, pieces).await, b"", "{pieces:?}");
    }
    // A record of the handshake without a ClientHello is the business of TLS.
    let alert = answer_to(&server, &[b"\x16\x03\x01\x00\x05hello"]).await;
    assert!(!alert.starts_with(b"HTTP"), "{alert:?}");
    // Whoever says nothing holds a connection only; others are served.
    let silent = TcpStream::connect(server.address()).await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(connection.get("/version", None).await.status, 200);
    drop(silent);
    server.stop().await;
}
