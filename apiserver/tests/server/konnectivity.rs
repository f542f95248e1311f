//! Connections through konnectivity servers over gRPC, of `--egress-selector-config-file`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use apiserver::testing::TestServer;
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use prost::Message;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener};
use tokio::sync::mpsc;

use crate::egress::echo;

/// Length of the flag of compression and the length that precede a message.
const PREFIX_BYTES: usize = 5;

const DIAL_RESPONSE: i32 = 1;
const CLOSE_RESPONSE: i32 = 3;
const DATA: i32 = 4;

/// A message of konnectivity, with the parts that are used here. Fields with the same tag belong to one message.
#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(message, optional, tag = "2")]
    dial: Option<Dial>,
    #[prost(message, optional, tag = "3")]
    dialed: Option<Numbered>,
    #[prost(message, optional, tag = "4")]
    data: Option<Data>,
    #[prost(message, optional, tag = "5")]
    close: Option<Close>,
    #[prost(message, optional, tag = "6")]
    closed: Option<Numbered>,
}

#[derive(Clone, PartialEq, Message)]
struct Dial {
    #[prost(string, tag = "2")]
    address: String,
    #[prost(int64, tag = "3")]
    random: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Numbered {
    #[prost(string, tag = "1")]
    error: String,
    #[prost(int64, tag = "2")]
    number: i64,
    #[prost(int64, tag = "3")]
    random: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Data {
    #[prost(int64, tag = "1")]
    number: i64,
    #[prost(bytes = "bytes", tag = "3")]
    data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct Close {
    #[prost(int64, tag = "1")]
    number: i64,
}

/// A konnectivity server, with an agent for which every target is one server, whatever its name.
struct Konnectivity {
    directory: TempDir,
    targets: Arc<Mutex<Vec<String>>>,
}

type Sender = mpsc::Sender<Result<Frame<Bytes>, Infallible>>;

impl Konnectivity {
    fn start(to: SocketAddr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("konnectivity.sock")).unwrap();
        let targets = Arc::<Mutex<Vec<String>>>::default();
        let seen = targets.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let seen = seen.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let (sender, mut packets) = mpsc::channel(4);
                    tokio::spawn(serve(request.into_body(), sender, to, seen.clone()));
                    let frames = futures::stream::poll_fn(move |context| packets.poll_recv(context));
                    let mut response = Response::new(StreamBody::new(frames));
                    let grpc = HeaderValue::from_static("application/grpc");
                    response.headers_mut().insert("content-type", grpc);
                    async { Ok::<_, Infallible>(response) }
                });
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { directory, targets }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("konnectivity.sock")
    }
}

/// Serves one call: a connection.
async fn serve(body: Incoming, sender: Sender, to: SocketAddr, seen: Arc<Mutex<Vec<String>>>) {
    let mut packets = Packets { body, read: BytesMut::new() };
    let dial = packets.next().await.and_then(|packet| packet.dial).expect("a dial request");
    let is_refused = dial.address.starts_with("refused.");
    seen.lock().push(dial.address);
    let error = if is_refused { "no agent available" } else { "" };
    let dialed = Numbered { error: error.to_owned(), number: 1, random: dial.random };
    send(&sender, Packet { kind: DIAL_RESPONSE, dialed: Some(dialed), ..Packet::default() }).await;
    if is_refused {
        return;
    }
    let (mut from_target, mut to_target) = TcpStream::connect(to).await.unwrap().into_split();
    let back = sender.clone();
    let receiving = tokio::spawn(async move {
        let mut read = BytesMut::new();
        while from_target.read_buf(&mut read).await.is_ok_and(|number| number > 0) {
            let data = Data { number: 1, data: read.split().freeze() };
            send(&back, Packet { kind: DATA, data: Some(data), ..Packet::default() }).await;
        }
        let closed = Some(Numbered { error: String::new(), number: 1, random: 0 });
        send(&back, Packet { kind: CLOSE_RESPONSE, closed, ..Packet::default() }).await;
    });
    while let Some(packet) = packets.next().await {
        if let Some(data) = packet.data {
            // The target may have closed the connection.
            let _ = to_target.write_all(&data.data).await;
        }
        if packet.close.is_some() {
            let _ = to_target.shutdown().await;
        }
    }
    receiving.abort();
}

/// Sends a packet, unless the call has ended.
async fn send(sender: &Sender, packet: Packet) {
    let message = packet.encode_to_vec();
    let mut framed = vec![0];
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    framed.extend_from_slice(&message);
    let _ = sender.send(Ok(Frame::data(Bytes::from(framed)))).await;
}

/// The packets of a client.
struct Packets {
    body: Incoming,
    read: BytesMut,
}

impl Packets {
    /// Returns the next one; `None` at the end of the call.
    async fn next(&mut self) -> Option<Packet> {
        loop {
            let length = self.read.get(1..PREFIX_BYTES).map(|mut length| length.get_u32() as usize);
            if let Some(length) = length.filter(|length| self.read.len() >= PREFIX_BYTES + length) {
                self.read.advance(PREFIX_BYTES);
                return Some(Packet::decode(self.read.split_to(length)).unwrap());
            }
            let frame = self.body.frame().await?.ok()?;
            self.read.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_and_pods_are_reached_through_konnectivity() {
    let etcd = Etcd::start().await.unwrap();
    let store =
        Konnectivity::start(etcd.options().endpoints[0].strip_prefix("http://").unwrap().parse().unwrap());
    let cluster = Konnectivity::start(echo().await);
    let selection = |name: &str, konnectivity: &Konnectivity| {
        json!({ "name": name, "connection": {
            "proxyProtocol": "GRPC", "transport": { "uds": { "udsName": konnectivity.socket() } },
        }})
    };
    let configuration = json!({
        "apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration",
        "egressSelections": [selection("etcd", &store), selection("cluster", &cluster)],
    });
    let path = cluster.directory.path().join("egress.yaml");
    std::fs::write(&path, configuration.to_string()).unwrap();
    let builder = TestServer::builder().etcd("http://etcd.internal.example:2379", "/registry");
    let flag = format!("--egress-selector-config-file={}", path.display());
    let server = builder.flag(flag).start().await.unwrap();
    assert!(store.targets.lock().iter().all(|target| target == "etcd.internal.example:2379"));

    let spec = json!({ "automountServiceAccountToken": false, "containers": [{ "name": "c", "image": "i" }], "nodeName": "n" });
    let pod = json!({ "metadata": { "name": "a" }, "spec": spec });
    let pods = "/api/v1/namespaces/default/pods";
    let account = json!({ "metadata": { "name": "default" } });
    server.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await.unwrap();
    let mut pod = server.call("POST", pods, &pod).await.unwrap();
    // An address for documentation, which nothing has.
    pod["status"] = json!({ "podIP": "192.0.2.77", "podIPs": [{ "ip": "192.0.2.77" }] });
    server.call("PUT", &format!("{pods}/a/status"), &pod).await.unwrap();
    for _ in 0..20 {
        let answer = server.call("GET", &format!("{pods}/a:8080/proxy/x"), &Value::Null).await.unwrap();
        assert_eq!(answer["path"], "/x");
    }
    assert!(cluster.targets.lock().contains(&"192.0.2.77:8080".to_owned()));

    // The agents do not reach everything.
    let service = json!({ "metadata": { "name": "s" }, "spec": {
        "type": "ExternalName", "externalName": "refused.example.com", "ports": [{ "port": 80 }],
    }});
    server.call("POST", "/api/v1/namespaces/default/services", &service).await.unwrap();
    let registration = json!({
        "metadata": { "name": "v1.refused.example.com" },
        "spec": {
            "group": "refused.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
            "service": { "name": "s", "namespace": "default", "port": 80 }, "insecureSkipTLSVerify": true,
        },
    });
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    server.call("POST", services, &registration).await.unwrap();
    let told = server
        .until(services, "v1.refused.example.com", |service| {
            let condition = &service["status"]["conditions"][0];
            condition["message"].as_str().is_some_and(|message| message.contains("no agent available"))
        })
        .await;
    told.unwrap();
    server.stop().await;
}
