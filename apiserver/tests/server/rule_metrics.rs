//! Metrics of the rules of single kinds.

use apiserver::testing::TestServer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::metrics::Page;

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

fn pod_spec() -> Value {
    json!({ "containers": [{ "name": "c", "image": "i" }] })
}

fn pod(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec })
}

async fn namespace(server: &TestServer, name: &str, labels: &Value) {
    let namespace = json!({ "metadata": { "name": name, "labels": labels } });
    server.call("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    let account = json!({ "metadata": { "name": "default" } });
    // The controller may have made it.
    let _ = server.call("POST", &format!("/api/v1/namespaces/{name}/serviceaccounts"), &account).await;
}

#[tokio::test]
async fn pod_security_counts_what_it_evaluates_and_what_fails() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let label = |name: &str| format!("pod-security.kubernetes.io/{name}");
    namespace(&server, "free", &json!({})).await;
    namespace(
        &server,
        "strict",
        &json!({ label("enforce"): "restricted", label("enforce-version"): "v1.99" }),
    )
    .await;
    namespace(&server, "audited", &json!({ label("audit"): "baseline", label("audit-version"): "v1.24" }))
        .await;
    let mut host = pod_spec();
    host["hostNetwork"] = true.into();
    let pods = |namespace: &str| format!("/api/v1/namespaces/{namespace}/pods");
    server.call("POST", &pods("free"), &pod("a", &host)).await.unwrap();
    server.call("POST", &pods("audited"), &pod("a", &host)).await.unwrap();
    let refused = server.call("POST", &pods("strict"), &pod("a", &pod_spec())).await.unwrap_err();
    assert!(refused.to_string().contains("violates PodSecurity \\\"restricted:v1.99\\\""), "{refused}");
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": pod_spec() });
    let set = json!({
        "metadata": { "name": "a" },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template },
    });
    server.call("POST", "/apis/apps/v1/namespaces/strict/replicasets", &set).await.unwrap();

    let page = Page::scrape(&server).await;
    let evaluations = |labels: &[&str]| page.sum("pod_security_evaluations_total", labels);
    let privileged = [r#"policy_level="privileged""#, r#"policy_version="latest""#, r#"mode="enforce""#];
    assert_eq!(evaluations(&[&privileged[..], &[r#"decision="allow""#, r#"resource="pod""#]].concat()), 2.0);
    let strict = [r#"policy_level="restricted""#, r#"policy_version="future""#, r#"decision="deny""#];
    assert_eq!(
        evaluations(&[&strict[..], &[r#"mode="enforce""#, r#"request_operation="create""#]].concat()),
        1.0
    );
    // Without a label of its own, what would be refused later is warned about.
    assert_eq!(evaluations(&[&strict[..], &[r#"mode="warn""#, r#"resource="controller""#]].concat()), 1.0);
    let audited = [r#"policy_level="baseline""#, r#"policy_version="v1.24""#, r#"mode="audit""#];
    assert_eq!(evaluations(&audited), 1.0);
    assert!(page.has("pod_security_exemptions_total", &[r#"resource="controller""#]), "it is 0 at the start");
    assert!(!page.has("pod_security_errors_total", &[]));
    server.stop().await;
}

/// Creates a request, approves it, and issues a certificate for this duration.
async fn issue(server: &TestServer, name: &str, signer: &str, seconds: i64, query: &str) {
    let key = KeyPair::generate().unwrap();
    let csr = CertificateParams::new(Vec::new()).unwrap().serialize_request(&key).unwrap().pem().unwrap();
    let request = json!({
        "metadata": { "name": name },
        "spec": {
            "request": STANDARD.encode(csr), "signerName": signer, "usages": ["client auth"], "expirationSeconds": 3600,
        },
    });
    let mut request = server.call("POST", REQUESTS, &request).await.unwrap();
    request["status"] =
        json!({ "conditions": [{ "type": "Approved", "status": "True", "reason": "r", "message": "m" }] });
    let mut approved = server.call("PUT", &format!("{REQUESTS}/{name}/approval"), &request).await.unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = params.not_before + std::time::Duration::from_secs(seconds.unsigned_abs());
    let certificate = params.self_signed(&key).unwrap().pem();
    approved["status"]["certificate"] = STANDARD.encode(certificate).into();
    // The main resource and a dry run do not set it.
    server.call("PUT", &format!("{REQUESTS}/{name}"), &approved).await.unwrap();
    let current = server.call("GET", &format!("{REQUESTS}/{name}"), &Value::Null).await.unwrap();
    assert_eq!(current["status"]["certificate"], Value::Null);
    approved["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
    server.call("PUT", &format!("{REQUESTS}/{name}/status{query}"), &approved).await.unwrap();
}

#[tokio::test]
async fn certificates_are_counted_by_whether_their_duration_is_the_requested_one() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let client = "kubernetes.io/kube-apiserver-client";
    issue(&server, "honored", client, 3600, "").await;
    issue(&server, "longer", client, 86_400, "").await;
    issue(&server, "other", "example.com/signer", 3500, "").await;
    issue(&server, "rehearsed", client, 3600, "?dryRun=All").await;
    let page = Page::scrape(&server).await;
    let count = |name: &str, signer: &str| {
        let name = format!("apiserver_certificates_registry_csr_{name}_duration_total");
        page.sum(&name, &[&format!("signerName=\"{signer}\"")])
    };
    assert_eq!((count("requested", client), count("honored", client)), (2.0, 1.0));
    assert_eq!((count("requested", "other"), count("honored", "other")), (1.0, 1.0));
    server.stop().await;
}
