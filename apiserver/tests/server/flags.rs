//! Effects of single flags, as clients see them. The list of all flags and their tests is in `rows.txt`
//! in `apiserver/src/options/upstream/tests`.

use apiserver::testing::TestServer;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Response;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{self, Connection, Protocol};
use crate::servers::{start, until};
use crate::tls_server::{ClientCertificate, TlsServer};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn create(server: &TestServer, path: &str, object: &Value) -> Value {
    server.call("POST", path, object).await.unwrap()
}

/// Writes a file, and returns its path.
fn written(directory: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Returns the claims of a token.
fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// Returns the claims of a new token of an account, for a pod that mounts it.
async fn token(server: &TestServer, spec: Value) -> Value {
    let path = format!("{ACCOUNTS}/default/token");
    let answer = create(server, &path, &json!({"spec": spec})).await;
    claims(answer["status"]["token"].as_str().unwrap())
}

async fn account_and_pod(server: &TestServer) -> Value {
    create(server, ACCOUNTS, &json!({"metadata": {"name": "default"}})).await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    create(server, PODS, &pod).await
}

#[tokio::test]
async fn the_server_is_published_at_its_advertised_address() {
    let server = start(&["--advertise-address=192.0.2.7"]).await;
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    let addresses = until("no endpoints", async || {
        let slice = server.call("GET", path, &Value::Null).await.ok()?;
        Some(slice["endpoints"][0]["addresses"].clone()).filter(|addresses| !addresses.is_null())
    });
    assert_eq!(addresses.await, json!(["192.0.2.7"]));
    server.stop().await;
}

#[tokio::test]
async fn the_endpoints_of_the_server_can_be_left_to_something_else() {
    for (kind, is_written) in [("lease", true), ("none", false)] {
        let reconciler = format!("--endpoint-reconciler-type={kind}");
        // A server is ready after it has written its objects.
        let server = start(&["--advertise-address=192.0.2.7", &reconciler]).await;
        let is_there = async |path: &str| server.call("GET", path, &Value::Null).await.is_ok();
        assert!(is_there("/api/v1/namespaces/default/services/kubernetes").await, "{kind}");
        for path in [
            "/api/v1/namespaces/default/endpoints/kubernetes",
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
        ] {
            assert_eq!(is_there(path).await, is_written, "{kind}: {path}");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn objects_are_found_below_any_prefix_of_keys() {
    let path = "/api/v1/namespaces/default/configmaps";
    let first = TestServer::builder().start().await.unwrap();
    let directory = first.directory().clone();
    first.stop().await;
    for (number, (prefix, found)) in [
        ("", json!([])),
        ("/", json!(["n0"])),
        ("6d0b7a9e/registry", json!([])),
        ("/6d0b7a9e/registry/", json!(["n2"])),
        ("/a//b/", json!([])),
        ("a/b", json!(["n4"])),
    ]
    .into_iter()
    .enumerate()
    {
        let flag = format!("--etcd-prefix={prefix}");
        let builder = TestServer::builder().without_controllers().directory(&directory).flag(flag);
        let server = builder.start().await.unwrap();
        let list = server.call("GET", path, &Value::Null).await.unwrap();
        let names = list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone());
        assert_eq!(names.collect::<Value>(), found, "{prefix}");
        create(&server, path, &json!({"metadata": {"name": format!("n{number}")}})).await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_stops_withdraws_its_address_and_the_next_one_publishes_its_own() {
    let published = async |server: &TestServer| {
        let slice = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
        let endpoints = "/api/v1/namespaces/default/endpoints/kubernetes";
        let slice = server.call("GET", slice, &Value::Null).await.ok()?;
        let endpoints = server.call("GET", endpoints, &Value::Null).await.ok()?;
        Some((slice["endpoints"].clone(), endpoints["subsets"].clone()))
    };
    let first = TestServer::builder()
        .flag("--advertise-address=192.0.2.7")
        .flag("--shutdown-delay-duration=2s")
        .start()
        .await
        .unwrap();
    until("no endpoints", async || published(&first).await.filter(|(slice, _)| slice.is_array())).await;
    first.begin_shutdown();
    let withdrawn = (Value::Null, Value::Null);
    until("the address stays", async || published(&first).await.filter(|found| *found == withdrawn)).await;
    let directory = first.directory().clone();
    first.stop().await;
    let next = TestServer::builder()
        .directory(&directory)
        .flag("--advertise-address=192.0.2.8")
        .start()
        .await
        .unwrap();
    let (slice, subsets) =
        until("no endpoints", async || published(&next).await.filter(|(slice, _)| slice.is_array())).await;
    assert_eq!(slice[0]["addresses"], json!(["192.0.2.8"]));
    assert_eq!(subsets[0]["addresses"], json!([{"ip": "192.0.2.8"}]));
    next.stop().await;
}

#[tokio::test]
async fn tokens_of_service_accounts_follow_their_flags() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name, text: &str| written(&directory, name, text);
    let key = rcgen::KeyPair::generate().unwrap();
    let further = rcgen::KeyPair::generate().unwrap();
    let server = start(&[
        "--service-account-issuer=https://issuer.example.com",
        "--api-audiences=one,two",
        "--service-account-max-token-expiration=2h",
        "--service-account-extend-token-expiration=false",
        &format!("--service-account-signing-key-file={}", write("sa.key", &key.serialize_pem())),
        &format!("--service-account-key-file={}", write("more.pub", &further.public_key_pem())),
        "--service-account-jwks-uri=https://keys.example.com/jwks",
    ])
    .await;
    let pod = account_and_pod(&server).await;
    let given = token(&server, json!({"expirationSeconds": 86_400})).await;
    assert_eq!(
        (&given["iss"], &given["aud"]),
        (&json!("https://issuer.example.com"), &json!(["one", "two"]))
    );
    let lifetime = |claims: &Value| claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
    assert_eq!(lifetime(&given), 7_200, "{given}");
    // 3,607 s is what pods ask for when their token may be extended.
    let bound = json!({"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": pod["metadata"]["uid"]});
    let spec = json!({"expirationSeconds": 3607, "boundObjectRef": bound});
    assert_eq!(lifetime(&token(&server, spec.clone()).await), 3_607);
    let published = server.call("GET", "/.well-known/openid-configuration", &Value::Null).await.unwrap();
    assert_eq!(published["issuer"], "https://issuer.example.com");
    assert_eq!(published["jwks_uri"], "https://keys.example.com/jwks");
    let keys = server.call("GET", "/openid/v1/jwks", &Value::Null).await.unwrap();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2, "the signing key and the further one");
    server.stop().await;

    let server =
        start(&["--service-account-extend-token-expiration", "--external-hostname=api.example.com"]).await;
    let pod = account_and_pod(&server).await;
    let bound = json!({"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": pod["metadata"]["uid"]});
    let spec = json!({"expirationSeconds": 3607, "boundObjectRef": bound});
    assert_eq!(lifetime(&token(&server, spec).await), 365 * 86_400, "extended to a year");
    let published = server.call("GET", "/.well-known/openid-configuration", &Value::Null).await.unwrap();
    let keys = published["jwks_uri"].as_str().unwrap();
    assert!(keys.starts_with("https://api.example.com:"), "{keys}");
    server.stop().await;
}

#[tokio::test]
async fn pods_tolerate_lost_nodes_as_long_as_the_flags_say() {
    let server =
        start(&["--default-not-ready-toleration-seconds=11", "--default-unreachable-toleration-seconds=22"])
            .await;
    let pod = account_and_pod(&server).await;
    let tolerations = pod["spec"]["tolerations"].as_array().unwrap().iter();
    let seconds: Vec<_> =
        tolerations.map(|it| (it["key"].clone(), it["tolerationSeconds"].clone())).collect();
    let expected = [("node.kubernetes.io/not-ready", 11), ("node.kubernetes.io/unreachable", 22)];
    assert_eq!(seconds, expected.map(|(key, seconds)| (json!(key), json!(seconds))));
    server.stop().await;
}

#[tokio::test]
async fn a_file_of_policies_decides_in_mode_abac() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policies");
    let policy = json!({"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy",
                        "spec": {"user": "alice", "namespace": "default", "resource": "configmaps", "readonly": true}});
    std::fs::write(&path, format!("{policy}\n")).unwrap();
    let file = format!("--authorization-policy-file={}", path.display());
    let server = start(&["--authorization-mode=ABAC", &file]).await;
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for (path, status) in [
        ("/api/v1/namespaces/default/configmaps", 200),
        ("/api/v1/namespaces/default/secrets", 403),
        ("/api/v1/namespaces/kube-system/configmaps", 403),
    ] {
        assert_eq!(connection.get(path, Some("alice-token")).await.status, status, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn events_end_after_their_time() {
    let server = start(&["--event-ttl=1s"]).await;
    let event = json!({"metadata": {"name": "e"}, "reason": "r", "message": "m", "type": "Normal",
                       "involvedObject": {"namespace": "default"}});
    let events = "/api/v1/namespaces/default/events";
    create(&server, events, &event).await;
    let path = format!("{events}/e");
    until("the event stays", async || {
        let gone = server.call("GET", &path, &Value::Null).await.err()?;
        gone.to_string().starts_with("404").then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn without_a_garbage_collector_nothing_waits_for_it() {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"});
    for (flag, is_kept) in
        [("--enable-garbage-collector=true", true), ("--enable-garbage-collector=false", false)]
    {
        let server = start(&[flag]).await;
        let path = "/api/v1/namespaces/default/configmaps";
        create(&server, path, &json!({"metadata": {"name": "c"}})).await;
        server.call("DELETE", &format!("{path}/c"), &options).await.unwrap();
        let rest = server.call("GET", &format!("{path}/c"), &Value::Null).await;
        assert_eq!(rest.is_ok(), is_kept, "{flag}: {rest:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn the_past_is_forgotten_after_an_interval() {
    let server = start(&["--etcd-compaction-interval=1s", "--watch-cache=false"]).await;
    let path = "/api/v1/namespaces/default/configmaps";
    let first = create(&server, path, &json!({"metadata": {"name": "c"}})).await;
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let past = format!("{path}?resourceVersion={revision}&resourceVersionMatch=Exact&limit=1");
    server.call("GET", &past, &Value::Null).await.unwrap();
    let mut count = 0;
    until("the past is still there", async || {
        count += 1;
        create(&server, path, &json!({"metadata": {"name": format!("n{count}")}})).await;
        let gone = server.call("GET", &past, &Value::Null).await.err()?;
        gone.to_string().starts_with("410").then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn the_number_of_streams_is_declared_to_clients() {
    for (flags, expected) in [(&["--http2-max-streams-per-connection=7"][..], 7), (&[], 1_000)] {
        let server = start(flags).await;
        let mut stream = client::tls(&server, "h2").await;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(head[3], 4, "the first frame has the settings");
        let mut settings = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut settings).await.unwrap();
        let streams = settings.chunks(6).find(|setting| setting[..2] == [0, 3]).unwrap();
        assert_eq!(u32::from_be_bytes(streams[2..6].try_into().unwrap()), expected);
        drop(stream);
        server.stop().await;
    }
}

/// A kubelet that returns whether it was shown a client certificate.
async fn kubelet(authority: &str) -> TlsServer {
    TlsServer::start(&["127.0.0.1"], Some(authority), |request| async move {
        let shown = request.extensions().get::<ClientCertificate>().is_some_and(|shown| shown.0.is_some());
        let text = json!({"certificate": shown}).to_string();
        Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from(text))))
    })
    .await
}

async fn ask_kubelet(server: &TestServer, port: u16, addresses: &Value) -> Result<Value, String> {
    let node = json!({"metadata": {"name": "n"}, "status": {
        "addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }});
    create(server, "/api/v1/nodes", &node).await;
    let answer = server.call("GET", "/api/v1/nodes/n/proxy/stats", &Value::Null).await;
    answer.map_err(|error| error.to_string())
}

#[tokio::test]
async fn kubelets_are_reached_verified_and_shown_a_certificate_as_flags_say() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name, text: &str| written(&directory, name, text);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap().self_signed(&key).unwrap();
    let kubelet = kubelet(&certificate.pem()).await;
    let own = write("kubelet-ca.pem", &kubelet.ca_pem);
    let other = write("other-ca.pem", &certificate.pem());
    let shown = [
        format!("--kubelet-client-certificate={other}"),
        format!("--kubelet-client-key={}", write("client.key", &key.serialize_pem())),
    ];
    let internal = json!({"type": "InternalIP", "address": "127.0.0.1"});
    // Nobody listens there.
    let external = json!({"type": "ExternalIP", "address": "127.0.0.9"});
    for (flags, refusal) in [
        (vec![format!("--kubelet-certificate-authority={own}")], None),
        (vec![format!("--kubelet-certificate-authority={other}")], Some("certificate")),
        (vec!["--kubelet-preferred-address-types=InternalIP".to_owned()], None),
        (
            vec!["--kubelet-preferred-address-types=ExternalIP,InternalIP".to_owned()],
            Some("connection refused"),
        ),
    ] {
        let builder = TestServer::builder().memory().reach_local_workloads();
        let server = shown.iter().chain(&flags).fold(builder, |builder, flag| builder.flag(flag.as_str()));
        let server = server.start().await.unwrap();
        let answer = ask_kubelet(&server, kubelet.address.port(), &json!([external, internal])).await;
        match refusal {
            None => assert_eq!(answer, Ok(json!({"certificate": true})), "{flags:?}"),
            Some(reason) => assert!(answer.clone().unwrap_err().contains(reason), "{flags:?}: {answer:?}"),
        }
        server.stop().await;
    }
}
