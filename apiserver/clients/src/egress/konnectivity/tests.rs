use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;

use super::packets::{CloseResponse, Data, DialResponse};
use super::*;
use crate::egress::{Proxy, Route, Target, Transport};

/// The number of the connection that servers make.
const NUMBER: i64 = 7;
/// Length of the flag of compression and the length that precede a message.
const PREFIX_BYTES: usize = 5;

/// A konnectivity server that handles each call by a script, and ends with the test.
struct Server {
    directory: tempfile::TempDir,
    /// One permit for each call that has ended.
    ended: Arc<tokio::sync::Semaphore>,
}

/// The server's end of a call.
struct ServerCall {
    body: Incoming,
    read: BytesMut,
    packets: mpsc::Sender<Result<Frame<Bytes>, Infallible>>,
}

impl Server {
    fn start<F: Future<Output = ()> + Send + 'static>(
        script: impl Fn(ServerCall) -> F + Send + Sync + 'static,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("k.sock")).unwrap();
        let (script, ended) = (Arc::new(script), Arc::new(tokio::sync::Semaphore::new(0)));
        let counted = ended.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, counted) = (script.clone(), counted.clone());
                let service = service_fn(move |request: http::Request<Incoming>| {
                    assert_eq!(request.uri().path(), "/ProxyService/Proxy");
                    let (packets, sent) = mpsc::channel(1);
                    let call = ServerCall { body: request.into_body(), read: BytesMut::new(), packets };
                    let (running, counted) = (script(call), counted.clone());
                    tokio::spawn(async move {
                        running.await;
                        counted.add_permits(1);
                    });
                    let mut sent = sent;
                    let frames = futures::stream::poll_fn(move |context| sent.poll_recv(context));
                    let mut response = Response::new(StreamBody::new(frames));
                    let grpc = HeaderValue::from_static("application/grpc");
                    response.headers_mut().insert("content-type", grpc);
                    async { Ok::<_, Infallible>(response) }
                });
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { directory, ended }
    }

    fn route(&self) -> Route {
        let socket = self.directory.path().join("k.sock");
        Route::Proxy(Arc::new(Proxy {
            transport: Transport::Konnectivity(socket),
            name: "k.sock".to_owned(),
        }))
    }

    async fn connect(&self) -> Dialed {
        let target = Target::Name("node-1".to_owned(), 10_250);
        self.route().connect(&target, "node-1", None).await
    }

    async fn refusal(&self) -> String {
        self.connect().await.err().expect("no connection").to_string()
    }

    /// Waits until a call has ended.
    async fn wait_for_end(&self) {
        self.ended.acquire().await.unwrap().forget();
    }
}

impl ServerCall {
    /// Returns the next packet; `None` at the end of the call.
    async fn next(&mut self) -> Option<Payload> {
        loop {
            let length = self.read.get(1..PREFIX_BYTES).map(|mut length| length.get_u32() as usize);
            if let Some(length) = length.filter(|length| self.read.len() >= PREFIX_BYTES + length) {
                self.read.advance(PREFIX_BYTES);
                return Packet::decode(self.read.split_to(length)).unwrap().payload;
            }
            let frame = self.body.frame().await?.ok()?;
            self.read.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
    }

    /// Reads the request of a connection, and returns its number and its target.
    async fn dialed(&mut self) -> (i64, String) {
        let Some(Payload::DialRequest(request)) = self.next().await else { panic!("a request") };
        assert_eq!(request.protocol, "tcp");
        (request.random, request.address)
    }

    /// Sends a packet; fails if the client has ended the call.
    async fn send(&self, payload: Payload) -> Result<(), ()> {
        self.send_bytes(&Packet::from_server(payload).encode_to_vec()).await
    }

    async fn send_bytes(&self, message: &[u8]) -> Result<(), ()> {
        let mut framed = vec![0];
        framed.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
        framed.extend_from_slice(message);
        self.packets.send(Ok(Frame::data(Bytes::from(framed)))).await.map_err(drop)
    }

    /// Ends the call with a status.
    async fn end(&self, status: &'static str, message: &'static str) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static(status));
        trailers.insert("grpc-message", HeaderValue::from_static(message));
        let _ = self.packets.send(Ok(Frame::trailers(trailers))).await;
    }

    /// Makes the connection that is asked for.
    async fn accept(&mut self) {
        let (random, _) = self.dialed().await;
        self.send(made(random)).await.unwrap();
    }
}

fn made(random: i64) -> Payload {
    Payload::DialResponse(DialResponse { error: String::new(), number: NUMBER, random })
}

fn data(number: i64, data: impl Into<Bytes>) -> Payload {
    Payload::Data(Data { number, data: data.into() })
}

fn closed() -> Payload {
    Payload::CloseResponse(CloseResponse { error: String::new(), number: NUMBER })
}

async fn read_to_end(connection: &mut Box<dyn Connection>) -> (Vec<u8>, Option<io::Error>) {
    let mut read = Vec::new();
    let failure = connection.read_to_end(&mut read).await.err();
    (read, failure)
}

#[tokio::test]
async fn a_connection_has_the_bytes_of_both_sides_until_it_is_closed() {
    let server = Server::start(async |mut call| {
        let (random, target) = call.dialed().await;
        assert_eq!(target, "node-1:10250");
        call.send(made(random)).await.unwrap();
        let mut received = Vec::new();
        loop {
            match call.next().await {
                Some(Payload::Data(data)) => {
                    assert_eq!(data.number, NUMBER);
                    received.extend_from_slice(&data.data);
                }
                Some(Payload::CloseRequest(request)) => {
                    assert_eq!(request.number, NUMBER);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(received.len(), 1_000_000);
        // The bytes that follow the request are read too.
        for part in received.chunks(300_000) {
            call.send(data(NUMBER, part.to_vec())).await.unwrap();
        }
        call.send(closed()).await.unwrap();
    });
    let connection = server.connect().await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(connection);
    let sent: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[number as usize % 3]).collect();
    writer.write_all(&sent).await.unwrap();
    writer.shutdown().await.unwrap();
    let mut read = Vec::new();
    reader.read_to_end(&mut read).await.unwrap();
    assert!(read == sent, "{} bytes", read.len());
    server.wait_for_end().await;
}

#[tokio::test]
async fn a_connection_that_the_server_closes_ends_for_both_directions() {
    let server = Server::start(async |mut call| {
        call.accept().await;
        call.send(data(NUMBER, "bye")).await.unwrap();
        call.send(closed()).await.unwrap();
        assert!(call.next().await.is_none(), "the client ends the call");
    });
    let mut connection = server.connect().await.unwrap();
    let (read, failure) = read_to_end(&mut connection).await;
    assert_eq!((read.as_slice(), failure.is_none()), (&b"bye"[..], true));
    assert_eq!(connection.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    server.wait_for_end().await;
}

#[tokio::test]
async fn a_connection_that_is_dropped_is_closed_at_the_server() {
    let server = Server::start(async |mut call| {
        call.accept().await;
        assert!(matches!(call.next().await, Some(Payload::CloseRequest(_))));
        call.send(closed()).await.unwrap();
        assert!(call.next().await.is_none());
    });
    drop(server.connect().await.unwrap());
    server.wait_for_end().await;
}

#[tokio::test]
async fn the_reason_why_there_is_no_connection_is_told() {
    let refused = |error: &str| {
        let error = error.to_owned();
        Server::start(move |mut call: ServerCall| {
            let error = error.clone();
            async move {
                let (random, _) = call.dialed().await;
                call.send(Payload::DialResponse(DialResponse { error, number: 0, random })).await.unwrap();
                assert!(call.next().await.is_none());
            }
        })
    };
    let reason = "dial tcp 192.0.2.1:10250: connect: connection refused";
    assert_eq!(refused(reason).refusal().await, reason);
    assert_eq!(refused(&format!("a\r\nb\u{1b}{}", "c".repeat(9_000))).refusal().await.len(), MAX_REASON);

    let gone = tempfile::tempdir().unwrap();
    let transport = Transport::Konnectivity(gone.path().join("none"));
    let route = Route::Proxy(Arc::new(Proxy { transport, name: String::new() }));
    let target = Target::Name("a".to_owned(), 1);
    let refused = route.connect(&target, "a", None).await.err().unwrap().to_string();
    assert!(refused.starts_with("dial unix ") && refused.contains("none"), "{refused}");
}

#[tokio::test]
async fn a_server_that_lies_gets_no_connection() {
    /// The answer to a request with this number.
    type Lie = fn(i64) -> Payload;
    let lies: [(Lie, &str); 6] = [
        (|random| made(random ^ 1), "tunnel closed"),
        (|random| Payload::CloseDial(packets::CloseDial { random }), "dial closed"),
        (
            |random| Payload::DialResponse(DialResponse { error: String::new(), number: 0, random }),
            "the konnectivity server made a connection without a number",
        ),
        (
            |_| data(NUMBER, "early"),
            "the konnectivity server sent a packet of a connection before it was made",
        ),
        (|_| closed(), "the konnectivity server sent a packet of a connection before it was made"),
        (|_| made(0), "tunnel closed"),
    ];
    for (lie, reason) in lies {
        let server = Server::start(move |mut call: ServerCall| async move {
            let (random, _) = call.dialed().await;
            call.send(lie(random)).await.unwrap();
            assert!(call.next().await.is_none());
        });
        assert_eq!(server.refusal().await, reason);
        server.wait_for_end().await;
    }
}

#[tokio::test]
async fn a_server_that_ends_or_breaks_the_call_ends_the_connection_with_an_error() {
    for (status, message, reason) in [
        ("0", "", "tunnel closed"),
        ("14", "no agents", "rpc error: code = Unavailable desc = no agents"),
        ("5", "no proxy", "rpc error: code = NotFound desc = no proxy"),
    ] {
        let before = Server::start(move |mut call: ServerCall| async move {
            call.dialed().await;
            call.end(status, message).await;
        });
        assert_eq!(before.refusal().await, reason);
        let after = Server::start(move |mut call: ServerCall| async move {
            call.accept().await;
            call.send(data(NUMBER, "half")).await.unwrap();
            call.end(status, message).await;
        });
        let (read, failure) = read_to_end(&mut after.connect().await.unwrap()).await;
        let failure = failure.expect("the data are not complete");
        assert_eq!((read.as_slice(), failure.kind()), (&b"half"[..], io::ErrorKind::ConnectionReset));
        assert_eq!(failure.to_string(), reason);
    }
    let garbage = Server::start(async |mut call| {
        call.accept().await;
        // A field that is longer than the message.
        let _ = call.send_bytes(b"\x22\xff\xff\x03").await;
        assert!(call.next().await.is_none());
    });
    let (_, failure) = read_to_end(&mut garbage.connect().await.unwrap()).await;
    assert!(failure.unwrap().to_string().starts_with("rpc error: code = Internal"));

    let other = Server::start(async |mut call| {
        call.accept().await;
        let _ = call.send(data(NUMBER + 1, "not yours")).await;
        assert!(call.next().await.is_none());
    });
    let (read, failure) = read_to_end(&mut other.connect().await.unwrap()).await;
    let failure = failure.unwrap().to_string();
    assert_eq!(
        (read.as_slice(), failure.as_str()),
        (&b""[..], "the konnectivity server sent a packet of another connection")
    );
}

#[tokio::test]
async fn unknown_packets_and_hints_are_passed_over() {
    let server = Server::start(async |mut call| {
        let (random, _) = call.dialed().await;
        // A drain, and a packet of a type that does not exist yet.
        for unknown in [&b"\x08\x06\x42\x00"[..], b"\x08\x63", b""] {
            call.send_bytes(unknown).await.unwrap();
        }
        call.send(made(random)).await.unwrap();
        call.send_bytes(b"\x08\x06\x42\x00").await.unwrap();
        call.send(data(NUMBER, "x")).await.unwrap();
        call.send(closed()).await.unwrap();
    });
    let (read, failure) = read_to_end(&mut server.connect().await.unwrap()).await;
    assert_eq!((read.as_slice(), failure.is_none()), (&b"x"[..], true));
}

#[tokio::test]
async fn a_server_that_floods_waits_for_the_reader() {
    const PART: usize = 64 * 1024;
    let sent = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = sent.clone();
    let server = Server::start(move |mut call: ServerCall| {
        let counted = counted.clone();
        async move {
            call.accept().await;
            while call.send(data(NUMBER, vec![0; PART])).await.is_ok() {
                counted.fetch_add(PART, std::sync::atomic::Ordering::SeqCst);
            }
        }
    });
    let mut connection = server.connect().await.unwrap();
    let count = || sent.load(std::sync::atomic::Ordering::SeqCst);
    // It sends no more as soon as all buffers are full.
    let mut before = usize::MAX;
    while before != count() {
        before = count();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(before < 2 << 20, "{before} bytes wait in buffers");
    let mut read = vec![0; 4 << 20];
    connection.read_exact(&mut read).await.unwrap();
    assert!(count() > 4 << 20);
    // The flood does not go on after the connection.
    drop(connection);
    server.wait_for_end().await;
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_connection() {
    let server = Server::start(async |mut call| {
        call.accept().await;
        let _ = call.send(data(NUMBER, vec![0; 5 << 20])).await;
        assert!(call.next().await.is_none());
    });
    let (_, failure) = read_to_end(&mut server.connect().await.unwrap()).await;
    assert!(failure.unwrap().to_string().starts_with("rpc error: code = OutOfRange"));
}

#[tokio::test]
async fn a_dial_that_nobody_waits_for_is_taken_back() {
    let server = Server::start(async |mut call| {
        let (random, _) = call.dialed().await;
        let Some(Payload::CloseDial(taken_back)) = call.next().await else { panic!("the client hangs up") };
        assert_eq!(taken_back.random, random);
        assert!(call.next().await.is_none());
    });
    let connecting = tokio::time::timeout(Duration::from_millis(50), server.connect());
    assert!(connecting.await.is_err());
    server.wait_for_end().await;
}

#[tokio::test]
async fn a_server_that_hangs_is_left_after_a_time() {
    // One accepts and is silent, the other does not even speak HTTP/2.
    let silent = Server::start(async |mut call| while call.next().await.is_some() {});
    tokio::time::pause();
    assert_eq!(silent.refusal().await, "dial timeout, backstop");
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("k.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let route =
        Route::Proxy(Arc::new(Proxy { transport: Transport::Konnectivity(socket), name: String::new() }));
    let target = Target::Name("a".to_owned(), 1);
    let refused = route.connect(&target, "a", None).await.err().unwrap().to_string();
    assert_eq!(refused, "dial timeout, backstop");
    drop(listener);
}

#[tokio::test]
async fn a_server_that_does_not_confirm_the_end_is_left_after_a_time() {
    let server = Server::start(async |mut call| {
        call.accept().await;
        while call.next().await.is_some() {}
    });
    let mut connection = server.connect().await.unwrap();
    connection.shutdown().await.unwrap();
    tokio::time::pause();
    let (_, failure) = read_to_end(&mut connection).await;
    assert_eq!(failure.unwrap().to_string(), "close timeout");
    server.wait_for_end().await;
}

#[tokio::test]
async fn a_server_that_does_not_read_stops_the_writer_and_is_left_after_a_time() {
    let server = Server::start(async |mut call| {
        call.accept().await;
        call.packets.closed().await;
    });
    let mut connection = server.connect().await.unwrap();
    let writing = async {
        let chunk = vec![0; 64 * 1024];
        let mut written = 0;
        while connection.write_all(&chunk).await.is_ok() {
            written += chunk.len();
            assert!(written < 64 << 20, "nothing stops the writer");
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(200), writing).await.is_err());
    drop(connection);
    tokio::time::pause();
    server.wait_for_end().await;
}

impl Packet {
    /// Returns a packet as servers send them. The type, which is not read here, is left out.
    fn from_server(payload: Payload) -> Self {
        Self { kind: 0, payload: Some(payload) }
    }
}
