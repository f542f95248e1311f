//! Connections through the proxies of `--egress-selector-config-file`.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use apiserver::testing::{TestServer, TestServerBuilder};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::servers::until;
use crate::tls_server::TlsServer;

/// A proxy on a Unix socket. Every target is one server, whatever its name.
pub(crate) struct Proxy {
    directory: TempDir,
    targets: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy that connects to this address.
    pub(crate) fn start(to: SocketAddr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("proxy.sock")).unwrap();
        let targets = Arc::<Mutex<Vec<String>>>::default();
        let seen = targets.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let seen = seen.clone();
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        request.push(client.read_u8().await.unwrap());
                    }
                    let request = String::from_utf8(request).unwrap();
                    seen.lock().push(request.split(' ').nth(1).unwrap().to_owned());
                    let mut server = TcpStream::connect(to).await.unwrap();
                    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                    // Either side may end first.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { directory, targets }
    }

    /// Writes a configuration in which these networks are reached through the proxy.
    pub(crate) fn configuration(&self, networks: &[&str]) -> PathBuf {
        let mut text = String::from(
            "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n",
        );
        let socket = self.directory.path().join("proxy.sock");
        for network in networks {
            writeln!(
                text,
                "- {{name: {network}, connection: {{proxyProtocol: HTTPConnect, transport: {{uds: {{udsName: {}}}}}}}}}",
                socket.display()
            )
            .unwrap();
        }
        let path = self.directory.path().join("egress.yaml");
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn has_seen(&self, target: &str) -> bool {
        self.targets.lock().iter().any(|seen| seen == target)
    }
}

fn through(proxy: &Proxy, networks: &[&str]) -> TestServerBuilder {
    let path = proxy.configuration(networks);
    TestServer::builder().memory().flag(format!("--egress-selector-config-file={}", path.display()))
}

/// Starts a server over plain HTTP that answers with the path of the request.
pub(crate) async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = service_fn(async |request: Request<Incoming>| {
                let text = json!({ "path": request.uri().path() }).to_string();
                Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(text))))
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer),
            );
        }
    });
    address
}

#[tokio::test]
async fn pods_and_nodes_are_reached_through_the_proxy_by_addresses_that_have_no_route() {
    let proxy = Proxy::start(echo().await);
    let server = through(&proxy, &["cluster"]).start().await.unwrap();
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "nodeName": "n" });
    let pod = json!({ "metadata": { "name": "a" }, "spec": spec });
    let pods = "/api/v1/namespaces/default/pods";
    let mut pod = until("no account", async || server.call("POST", pods, &pod).await.ok()).await;
    // An address for documentation, which nothing has.
    pod["status"] = json!({ "podIP": "192.0.2.77", "podIPs": [{ "ip": "192.0.2.77" }] });
    server.call("PUT", &format!("{pods}/a/status"), &pod).await.unwrap();
    let answer = server.call("GET", &format!("{pods}/a:8080/proxy/x"), &Value::Null).await.unwrap();
    assert_eq!(answer["path"], "/x");
    assert!(proxy.has_seen("192.0.2.77:8080"), "{:?}", proxy.targets.lock());
    // An address that must not be reached is refused, and the proxy gets no request.
    pod = server.call("GET", &format!("{pods}/a"), &Value::Null).await.unwrap();
    pod["status"]["podIP"] = "127.0.0.1".into();
    pod["status"]["podIPs"] = json!([{ "ip": "127.0.0.1" }]);
    server.call("PUT", &format!("{pods}/a/status"), &pod).await.unwrap();
    let refused = server.call("GET", &format!("{pods}/a:8080/proxy/x"), &Value::Null).await.unwrap_err();
    assert!(refused.to_string().contains("address not allowed"), "{refused}");
    assert!(!proxy.has_seen("127.0.0.1:8080"));
    server.stop().await;
}

#[tokio::test]
async fn a_webhook_at_a_url_is_reached_by_way_of_the_control_plane_and_others_directly() {
    let webhook = TlsServer::start(&["hook.example"], None, async |_: Request<Incoming>| {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": { "uid": "", "allowed": false, "status": { "message": "seen by the webhook" } },
        });
        Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(review.to_string()))))
    })
    .await;
    let proxy = Proxy::start(webhook.address);
    let server = through(&proxy, &["controlplane"]).start().await.unwrap();
    let configuration = json!({
        "metadata": { "name": "a" },
        "webhooks": [{
            "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
            "clientConfig": { "url": "https://hook.example:8443/x", "caBundle": webhook.ca_bundle() },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "default" } },
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    server.call("POST", path, &configuration).await.unwrap();
    let number = std::sync::atomic::AtomicUsize::new(0);
    let refused = until("the webhook is not called", async || {
        let name = format!("m-{}", number.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let map = json!({ "metadata": { "name": name } });
        server.call("POST", "/api/v1/namespaces/default/configmaps", &map).await.err()
    })
    .await;
    // The answer has another uid: it was the webhook's.
    assert!(refused.to_string().contains("a.example.com"), "{refused}");
    assert!(proxy.has_seen("hook.example:8443"), "{:?}", proxy.targets.lock());
    server.stop().await;
}

#[tokio::test]
async fn etcd_is_reached_through_the_proxy_by_a_name_that_only_it_knows() {
    let etcd = Etcd::start().await.unwrap();
    let address = etcd.options().endpoints[0].strip_prefix("http://").unwrap().parse().unwrap();
    let proxy = Proxy::start(address);
    let path = proxy.configuration(&["etcd"]);
    let builder = TestServer::builder().etcd("http://etcd.internal.example:2379", "/registry");
    let flag = format!("--egress-selector-config-file={}", path.display());
    let server = builder.flag(flag).start().await.unwrap();
    let map = json!({ "metadata": { "name": "a" } });
    server.call("POST", "/api/v1/namespaces/default/configmaps", &map).await.unwrap();
    server.call("GET", "/api/v1/namespaces/default/configmaps/a", &Value::Null).await.unwrap();
    assert!(proxy.has_seen("etcd.internal.example:2379"));
    server.stop().await;
}
