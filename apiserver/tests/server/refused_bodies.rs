//! Requests that are answered before their body has arrived: the answer is not lost.

use apiserver::testing::TestServer;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{Connection, Protocol, tls};
use crate::raw_http2::RawConnection;

/// Connections last beyond a refusal.
const LASTING: &str = "--feature-gates=UnauthenticatedHTTP2DOSMitigation=false";
const NO_ERROR: u32 = 0;
const MIB: usize = 1024 * 1024;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ADMIN: (&str, &str) = ("authorization", "Bearer admin-token");
const STRANGER: (&str, &str) = ("authorization", "Bearer nonsense");
const JSON: (&str, &str) = ("content-type", "application/json");

/// The code of a refusal; the method, the path and the headers of its request.
type Refusal = (u16, &'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Requests that are refused without their body, by code. Others, such as those of unknown resources, are answered when the
/// body has arrived.
const REFUSALS: [Refusal; 6] = [
    (401, "POST", MAPS, &[STRANGER, JSON]),
    (403, "POST", MAPS, &[JSON]),
    (
        403,
        "PATCH",
        "/api/v1/namespaces/default/configmaps/a",
        &[("content-type", "application/merge-patch+json")],
    ),
    (401, "PUT", "/nowhere", &[STRANGER]),
    (400, "POST", "/api/v1/namespaces/default/configmaps?timeout=zork", &[ADMIN, JSON]),
    (413, "POST", MAPS, &[ADMIN, JSON, ("content-length", "5242880")]),
];

/// A whole body arrives after the complete answer, and the stream ends without a reset.
#[tokio::test]
async fn the_rest_of_a_refused_body_is_taken_and_the_connection_goes_on() {
    let server = TestServer::builder().memory().flag(LASTING).start().await.unwrap();
    let mut connection = RawConnection::open(&server).await;
    for (code, method, path, headers) in REFUSALS {
        let sizes = if code == 413 { vec![5 * MIB] } else { vec![1, 10_000, 300_000, 5 * MIB] };
        for size in sizes {
            connection.begin(method, path, headers, false).await;
            let answer = connection.answer().await;
            assert_eq!(answer["code"], code, "{method} {path}: {answer}");
            let body = vec![b' '; size];
            let (first, second) = body.split_at(size / 2);
            connection.send(first, false).await;
            connection.arrived().await;
            connection.send(second, true).await;
            connection.arrived().await;
            assert!(connection.seen.resets.is_empty(), "{code} with {size} bytes");
            connection.begin("GET", "/api", &[ADMIN], true).await;
            assert_eq!(connection.answer().await["kind"], "APIVersions", "{code} with {size} bytes");
        }
    }
    server.stop().await;
}

/// The same by a client that sends the body at once, over both protocols.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_reaches_a_client_that_sends_on() {
    let server = TestServer::builder().memory().start().await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for (code, method, path, headers) in REFUSALS.into_iter().filter(|(code, ..)| *code != 413) {
            for size in [1, 10_000, 200_000] {
                let mut connection = Connection::open(&server, protocol).await;
                for _ in 0..5 {
                    let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
                    for (name, value) in headers {
                        request = request.header(*name, *value);
                    }
                    let body = Full::new(Bytes::from(vec![b' '; size]));
                    let answer = connection.send(request.body(body).unwrap()).await;
                    assert_eq!(answer.json()["code"], code, "{protocol:?} {method} {path} {size}");
                }
            }
        }
    }
    server.stop().await;
}

/// The same over HTTP/1.1 by a client that reads nothing before it has sent a body that is too long to be read first. The
/// connection ends, but not with a reset, by which the client would lose the answer.
#[tokio::test]
async fn a_refusal_reaches_a_client_that_sends_a_long_body_over_http1_before_it_reads() {
    let server = TestServer::builder().memory().start().await.unwrap();
    for (code, method, path, headers) in REFUSALS.into_iter().filter(|(code, ..)| *code != 413) {
        let mut stream = tls(&server, "http/1.1").await;
        let lines: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let headers = lines.concat();
        let length = 3 * MIB;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; MIB]).await.unwrap();
        // The server has answered, and ended the connection, when the rest arrives.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        for _ in 0..8 {
            let sent = stream.write_all(&vec![b' '; MIB / 4]).await;
            sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{method} {path}: {answer}");
        assert!(answer.trim_end().ends_with('}'), "the answer is complete: {answer}");
    }
    server.stop().await;
}

/// The limit of bytes: more than any body that is accepted.
#[tokio::test]
async fn an_endless_refused_body_is_ended_with_no_error_after_the_answer() {
    let server = TestServer::builder().memory().flag(LASTING).start().await.unwrap();
    let mut connection = RawConnection::open(&server).await;
    connection.begin("POST", MAPS, &[STRANGER, JSON], false).await;
    assert_eq!(connection.answer().await["code"], 401);
    assert!(connection.seen.resets.is_empty());
    let part = vec![b' '; MIB];
    let mut sent_mib = 0;
    while connection.seen.resets.is_empty() {
        assert!(sent_mib < 32, "the server reads on and on");
        connection.send(&part, false).await;
        sent_mib += 1;
    }
    assert_eq!(connection.reset().await, NO_ERROR);
    assert!(sent_mib >= 8, "it was given up after {sent_mib} MiB");
    connection.begin("GET", "/api", &[ADMIN], true).await;
    assert_eq!(connection.answer().await["kind"], "APIVersions");
    server.stop().await;
}

/// A stopping server waits for none of them.
#[tokio::test]
async fn bodies_that_do_not_end_are_given_up_when_the_server_stops() {
    // Not in memory, where connections are not waited for.
    let server = TestServer::builder().start().await.unwrap();
    let mut connection = RawConnection::open(&server).await;
    connection.begin("POST", MAPS, &[STRANGER, JSON], false).await;
    assert_eq!(connection.answer().await["code"], 401);
    connection.send(b"{", false).await;
    connection.arrived().await;
    assert!(connection.seen.resets.is_empty());
    let stopping = tokio::spawn(server.stop());
    assert_eq!(connection.reset().await, NO_ERROR);
    drop(connection);
    stopping.await.unwrap();
}
