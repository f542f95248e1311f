//! The permissions of a node: the authorizer Node and the plug-in NodeRestriction, over TLS with the node's certificate.

use apiserver::testing::TestServer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use crate::client::{Answer, Connection, Protocol, request};
use crate::identities::connect_as;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const NODES: &str = "/api/v1/nodes";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

async fn send(
    connection: &mut Connection,
    token: Option<&str>,
    (method, path): (&str, &str),
    body: Value,
) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let user = bearer.as_deref().map(|bearer| ("authorization", bearer));
    connection.send(request(method, path, user.as_slice(), &body)).await
}

async fn expect(connection: &mut Connection, status: u16, asked: (&str, &str), body: Value) -> Answer {
    let answer = send(connection, None, asked, body).await;
    assert_eq!(answer.status, status, "{asked:?}: {}", answer.text());
    answer
}

fn node(name: &str, label: Option<&str>) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {}}});
    if let Some(label) = label {
        node["metadata"]["labels"][label] = "x".into();
    }
    node
}

fn lease(name: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": name}})
}

/// Returns a pod on a node, which refers to a secret of the same name.
fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "nodeName": node, "automountServiceAccountToken": false, "serviceAccountName": "default",
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "secret": {"secretName": name}}],
        },
    })
}

async fn start() -> (TestServer, Connection) {
    let builder = TestServer::builder().memory().flag("--enable-admission-plugins=NodeRestriction");
    let builder =
        builder.flag("--disable-admission-plugins=ServiceAccount").flag("--enable-bootstrap-token-auth");
    let server = builder.start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    for (path, body) in [
        (
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}}),
        ),
        (NODES, node("n2", None)),
        (LEASES, lease("n2")),
        (SECRETS, json!({"metadata": {"name": "mine"}})),
        (SECRETS, json!({"metadata": {"name": "theirs"}})),
        (PODS, pod("mine", "n1")),
        (PODS, pod("theirs", "n2")),
    ] {
        let made = send(&mut admin, Some("admin-token"), ("POST", path), body).await;
        assert!(matches!(made.status, 201 | 409), "{path}: {}", made.text());
    }
    (server, admin)
}

#[tokio::test]
async fn a_node_touches_only_what_is_its_own() {
    let (server, _admin) = start().await;
    let mut n1 = connect_as(&server, "system:node:n1", "system:nodes").await;
    // The graph of references follows the pods.
    let begun = std::time::Instant::now();
    while send(&mut n1, None, ("GET", &format!("{SECRETS}/mine")), Value::Null).await.status != 200 {
        assert!(begun.elapsed().as_secs() < 20, "the node may not read the secret of its pod");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for (status, method, path) in [
        (403, "GET", format!("{SECRETS}/theirs")),
        (403, "GET", SECRETS.to_owned()),
        (403, "GET", format!("{SECRETS}?watch=true")),
        (200, "GET", format!("{SECRETS}?fieldSelector=metadata.name%3Dmine")),
        (403, "GET", format!("{SECRETS}?fieldSelector=metadata.name%3Dtheirs")),
        (200, "GET", format!("{PODS}/mine")),
        (403, "GET", format!("{PODS}/theirs")),
        (200, "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1".to_owned()),
        (403, "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2".to_owned()),
        (403, "DELETE", format!("{PODS}/theirs")),
        (403, "DELETE", format!("{NODES}/n2")),
        (403, "DELETE", format!("{LEASES}/n2")),
    ] {
        expect(&mut n1, status, (method, &path), Value::Null).await;
    }
    expect(&mut n1, 403, ("POST", NODES), node("n3", None)).await;
    expect(&mut n1, 403, ("POST", NODES), node("n1", Some("node-restriction.kubernetes.io/zone"))).await;
    expect(&mut n1, 201, ("POST", NODES), node("n1", Some("node.kubernetes.io/mine"))).await;
    let own = format!("{NODES}/n1");
    for (status, label) in
        [(403, "node-restriction.kubernetes.io/zone"), (403, "kubernetes.io/zork"), (200, "example.com/free")]
    {
        let labels = json!({"metadata": {"labels": {label: "y"}}});
        let refused = expect(&mut n1, status, ("PATCH", &own), labels).await;
        assert!(status == 200 || refused.text().contains(label), "{}", refused.text());
    }
    let taint = json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}});
    expect(&mut n1, 403, ("PATCH", &own), taint).await;
    let condition = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    expect(&mut n1, 200, ("PATCH", &format!("{own}/status")), condition.clone()).await;
    expect(&mut n1, 403, ("PATCH", &format!("{NODES}/n2/status")), condition).await;
    expect(&mut n1, 201, ("POST", LEASES), lease("n1")).await;
    expect(&mut n1, 403, ("POST", LEASES), lease("n3")).await;
    expect(&mut n1, 403, ("PATCH", &format!("{LEASES}/n2")), json!({"spec": {"holderIdentity": "n1"}})).await;
    let running = json!({"status": {"phase": "Running"}});
    expect(&mut n1, 200, ("PATCH", &format!("{PODS}/mine/status")), running.clone()).await;
    expect(&mut n1, 403, ("PATCH", &format!("{PODS}/theirs/status")), running).await;
    expect(&mut n1, 403, ("POST", PODS), pod("another", "n1")).await;
    expect(
        &mut n1,
        403,
        ("POST", &format!("{PODS}/theirs/eviction")),
        json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "theirs"},
        }),
    )
    .await;

    // A user in the group without the name of a node is not a node.
    let mut stranger = connect_as(&server, "stranger", "system:nodes").await;
    expect(&mut stranger, 403, ("GET", &format!("{SECRETS}/mine")), Value::Null).await;
    server.stop().await;
}

/// Returns a request for a node's client certificate.
fn signing_request(user: &str) -> String {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    parameters.distinguished_name.push(DnType::CommonName, user);
    let request = parameters.serialize_request(&KeyPair::generate().unwrap()).unwrap();
    STANDARD.encode(request.pem().unwrap())
}

fn csr(name: &str) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "request": signing_request("system:node:n9"),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["client auth", "digital signature"],
        },
    })
}

#[tokio::test]
async fn a_machine_asks_for_a_certificate_by_a_bootstrap_token_and_cannot_approve_it() {
    const TOKEN: &str = "abcdef.0123456789abcdef";
    let (server, mut admin) = start().await;
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
        },
    });
    let made =
        send(&mut admin, Some("admin-token"), ("POST", "/api/v1/namespaces/kube-system/secrets"), secret)
            .await;
    assert_eq!(made.status, 201, "{}", made.text());
    let refused = send(&mut admin, Some(TOKEN), ("POST", REQUESTS), csr("early")).await;
    assert_eq!(refused.status, 403, "the group has no role yet: {}", refused.text());
    // As kubeadm binds it.
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "bootstrap"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:bootstrappers"}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let made = send(&mut admin, Some("admin-token"), ("POST", bindings), binding).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = send(&mut admin, Some(TOKEN), ("POST", REQUESTS), csr("n9")).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let spec = &made.json()["spec"];
    assert_eq!(spec["username"], "system:bootstrap:abcdef");
    assert_eq!(spec["groups"], json!(["system:bootstrappers", "system:authenticated"]));

    let mut approved = made.json();
    approved["status"] =
        json!({"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]});
    let path = format!("{REQUESTS}/n9/approval");
    let refused = send(&mut admin, Some(TOKEN), ("PUT", &path), approved.clone()).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    // An approver needs the signer too, not only the subresource.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "approver"},
        "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests/approval"],
            "verbs": ["update"]}],
    });
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let made = send(&mut admin, Some("admin-token"), ("POST", roles), role).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "approver"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "approver"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    });
    let made = send(&mut admin, Some("admin-token"), ("POST", bindings), binding).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let refused = send(&mut admin, Some("alice-token"), ("PUT", &path), approved.clone()).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("kubernetes.io/kube-apiserver-client-kubelet"), "{}", refused.text());
    let done = send(&mut admin, Some("admin-token"), ("PUT", &path), approved).await;
    assert_eq!(done.status, 200, "{}", done.text());
    server.stop().await;
}

#[tokio::test]
async fn a_node_reads_the_requests_for_certificates_of_its_pods() {
    let builder = TestServer::builder().memory().flag("--feature-gates=PodCertificateRequest=true");
    let server = builder.flag("--runtime-config=certificates.k8s.io/v1beta1=true").start().await.unwrap();
    let spec = json!({
        "signerName": "example.com/signer", "podName": "p", "podUID": "pod-uid", "serviceAccountName": "s",
        "serviceAccountUID": "u", "nodeName": "n", "nodeUID": "v", "maxExpirationSeconds": 86400,
        "stubPKCS10Request": "MH8wMwIBADAAMCowBQYDK2VwAyEAB8HHv00B75ivXwuKKANCzR8XqjLD9OEIdCAg5J5xc0ugADAFBgMrZXADQQBBYUz1OxRGJ0OxdvPvRO94w31uFJzUsS87m1j7BcVAiORHjrOsDqV06xFXoICkuq1T0HUBNHBSDv5QuvyV+EEM",
    });
    let path = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests";
    server.call("POST", path, &json!({"metadata": {"name": "r"}, "spec": spec})).await.unwrap();
    let mut own = connect_as(&server, "system:node:n", "system:nodes").await;
    let mut other = connect_as(&server, "system:node:m", "system:nodes").await;
    let request = format!("{path}/r");
    until_status(&mut own, &request, 200).await;
    expect(&mut other, 403, ("GET", &request), Value::Null).await;
    let elsewhere = request.replace("/default/", "/kube-system/");
    expect(&mut own, 403, ("GET", &elsewhere), Value::Null).await;
    server.call("DELETE", &request, &Value::Null).await.unwrap();
    until_status(&mut own, &request, 403).await;
    server.stop().await;
}

/// Reads until the answer has this status: the graph of references follows the objects.
async fn until_status(connection: &mut Connection, path: &str, status: u16) {
    let begun = std::time::Instant::now();
    loop {
        let answer = send(connection, None, ("GET", path), Value::Null).await;
        if answer.status == status {
            return;
        }
        assert!(begun.elapsed().as_secs() < 20, "{path} is never answered with {status}: {}", answer.text());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
