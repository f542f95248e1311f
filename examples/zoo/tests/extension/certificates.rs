//! Certificates and authorities that change while an extension server serves.

use apiserver::testing::{Kubectl, TestCluster};
use serde_json::json;

use super::NORTH;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_serving_certificate_is_replaced_while_it_serves() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    trust(&kubectl, &cluster.renew_certificate().unwrap()).await;
    kubectl.until("get apiservice v1.zoo.example.dev -o yaml", "", "FailedDiscoveryCheck").await;
    cluster.wait_until_available().await.unwrap();
    kubectl.until("get enc north -o jsonpath={.spec.species}", "", "penguin").await;
    let metrics = kubectl.run("get --raw /metrics").await;
    let failed = r#"aggregator_unavailable_apiservice_total{name="v1.zoo.example.dev",reason="FailedDiscoveryCheck"} "#;
    assert!(metrics.lines().any(|line| line.starts_with(failed)), "the failure is not counted");
    for available in ["v1.zoo.example.dev", "v1.apps", "v1."] {
        let line = format!("aggregator_unavailable_apiservice{{name=\"{available}\"}} 0");
        assert!(metrics.lines().any(|sample| sample == line), "{line}");
    }
    assert!(kubectl.run("get --raw /readyz?verbose").await.contains("[+]autoregister-completion ok"));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_serving_certificate_that_ends_is_reported_until_it_is_renewed() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    trust(&kubectl, &cluster.expire_certificate().unwrap()).await;
    let condition = "get apiservice v1.zoo.example.dev -o jsonpath={.status.conditions[0].message}";
    kubectl.until(condition, "", "certificate has expired").await;
    assert!(
        kubectl.fail("get enc north").await.contains("the server is currently unable to handle the request")
    );
    // Others are served, and so is the zoo's own health.
    kubectl.run("get namespaces").await;
    trust(&kubectl, &cluster.renew_certificate().unwrap()).await;
    kubectl.until("get enc north -o name", "", "enclosure.zoo.example.dev/north").await;
    cluster.stop().await;
}

/// An authority, and the certificate of a client by it with its key (all PEM).
struct Issued {
    authority: String,
    certificate: String,
    key: String,
}

fn issue(name: &str, organization: &str) -> Issued {
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    };
    let mut of_authority = CertificateParams::new(Vec::new()).unwrap();
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    of_authority.distinguished_name.push(DnType::CommonName, format!("authority of {name}"));
    let authority_key = KeyPair::generate().unwrap();
    let authority = of_authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(of_authority, authority_key);
    let mut of_client = CertificateParams::new(Vec::new()).unwrap();
    of_client.distinguished_name = rcgen::DistinguishedName::new();
    of_client.distinguished_name.push(DnType::CommonName, name);
    of_client.distinguished_name.push(DnType::OrganizationName, organization);
    of_client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = of_client.signed_by(&key, &issuer).unwrap().pem();
    Issued { authority, certificate, key: key.serialize_pem() }
}

/// Returns the status of the list of enclosures at a server, for the holder of a certificate with these headers.
async fn status(url: &str, issued: &Issued, headers: &[(&str, &str)]) -> u16 {
    use base64::Engine as _;
    let encoded = |pem: &str| base64::prelude::BASE64_STANDARD.encode(pem);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{ "name": "x", "cluster": { "server": url, "insecure-skip-tls-verify": true } }],
        "users": [{ "name": "x", "user": {
            "client-certificate-data": encoded(&issued.certificate), "client-key-data": encoded(&issued.key),
        } }],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
    });
    let kubeconfig: kube::config::Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    let defaults = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &defaults).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let mut request = http::Request::get("/apis/zoo.example.dev/v1/enclosures");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
    answer.status().as_u16()
}

/// Changes the authorities in the ConfigMap that the main server publishes.
async fn publish(kubectl: &Kubectl, change: impl Fn(&mut serde_json::Map<String, serde_json::Value>)) {
    let of_map = "-n kube-system configmap extension-apiserver-authentication";
    let mut map: serde_json::Value =
        serde_json::from_str(&kubectl.run(&format!("get {of_map} -o json")).await).unwrap();
    change(map["data"].as_object_mut().unwrap());
    kubectl.run_with_input("replace -f -", &map.to_string()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorities_of_clients_and_front_proxies_are_followed_while_it_serves() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    let url = cluster.extension().unwrap().url().to_owned();
    let client = issue("other", "system:masters");
    let proxy = issue("front-proxy-client", "");
    let as_master = [("x-remote-user", "jane"), ("x-remote-group", "system:masters")];
    let statuses = async || (status(&url, &client, &[]).await, status(&url, &proxy, &as_master).await);
    let becomes = async |wanted: (u16, u16)| {
        let begun = Instant::now();
        while statuses().await != wanted {
            assert!(begun.elapsed() < Duration::from_secs(20), "it never becomes {wanted:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert_eq!(statuses().await, (401, 401));
    let both = [("client-ca-file", &client.authority), ("requestheader-client-ca-file", &proxy.authority)];
    publish(&kubectl, |data| {
        for (key, authority) in both {
            let bundle = format!("{}{authority}", data[key].as_str().unwrap());
            data.insert(key.to_owned(), bundle.into());
        }
    })
    .await;
    becomes((200, 200)).await;
    // The former ones count beside them, until they are removed.
    kubectl.run("get enclosures").await;
    publish(&kubectl, |data| {
        for (key, authority) in both {
            let bundle = data[key].as_str().unwrap().replace(authority.as_str(), "");
            data.insert(key.to_owned(), bundle.into());
        }
    })
    .await;
    becomes((401, 401)).await;
    kubectl.run("get enclosures").await;
    cluster.stop().await;
}

async fn trust(kubectl: &Kubectl, ca_pem: &str) {
    use base64::Engine as _;
    let bundle = base64::prelude::BASE64_STANDARD.encode(ca_pem);
    for version in ["v1", "v1beta1"] {
        let patch = json!({ "spec": { "caBundle": bundle } }).to_string();
        kubectl.run(&format!("patch apiservice {version}.zoo.example.dev --type=merge -p {patch}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_server_goes_and_comes_back_with_another_certificate() {
    let mut cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    cluster.stop_extension().await;
    kubectl.until("get apiservice v1.zoo.example.dev", "", "False").await;
    let unavailable = kubectl.fail("get --raw /apis/zoo.example.dev/v1/enclosures").await;
    assert!(unavailable.contains("Error from server (ServiceUnavailable)"), "{unavailable}");
    assert_eq!(kubectl.run("get namespace default -o name").await, "namespace/default\n");

    let ca_pem = cluster.renew_certificate().unwrap();
    cluster.start_extension().await.unwrap();
    trust(&kubectl, &ca_pem).await;
    cluster.wait_until_available().await.unwrap();
    kubectl.until("get enc north -o jsonpath={.spec.species}", "", "penguin").await;
    cluster.stop().await;
}
