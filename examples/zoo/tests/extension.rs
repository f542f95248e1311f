//! The zoo behind a main server, both in this process: over TLS, through kubectl and kube-rs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use std::time::{Duration, Instant};

use apiserver::testing::{Kubectl, TestCluster};
use futures::TryStreamExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::json;
use zoo::zoo::enclosure::Enclosure;

const NORTH: &str = "
apiVersion: zoo.example.dev/v1
kind: Enclosure
metadata: {name: north}
spec: {species: Penguin, animals: 2, keeper: ada}
";

/// Repeats a command until its output, or that of its failure, has a text: what is cached or followed arrives later.
async fn until(kubectl: &Kubectl, command: &str, input: &str, wanted: &str) -> String {
    let begun = Instant::now();
    loop {
        let output = kubectl.output(command, input).await;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.contains(wanted) {
            return text;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(40),
            "`kubectl {command}` never shows {wanted:?}: {text}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_finds_no_difference() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    until(&kubectl, "explain enclosure.spec", "", "What is wanted").await;
    assert_eq!(
        kubectl.run_with_input("apply -f -", NORTH).await,
        "enclosure.zoo.example.dev/north created\n"
    );
    let mut watch = kubectl.watch("get enc --watch --no-headers");
    watch.line_with("north").await;
    kubectl.run("scale enclosure north --replicas=4").await;
    assert_eq!(kubectl.run("get enc north -o jsonpath={.spec.animals}").await, "4");
    let same = NORTH.replace("Penguin", "penguin");
    let applied = kubectl.run_with_input("apply --server-side --force-conflicts -f -", &same).await;
    assert_eq!(applied, "enclosure.zoo.example.dev/north serverside-applied\n");
    kubectl.run(r#"patch enc north --subresource=status --type=merge -p {"status":{"phase":"Open"}}"#).await;
    watch.line_with("Open").await;
    let invalid = kubectl.fail(r#"patch enc north --type=merge -p {"spec":{"species":"lion"}}"#).await;
    assert!(invalid.contains("field is immutable"), "{invalid}");
    assert!(kubectl.run("get enc north -o yaml").await.contains("penguin"));
    assert!(kubectl.run("api-resources --api-group=zoo.example.dev").await.contains("enclosures"));
    assert!(kubectl.run("delete enc north").await.contains("deleted"));
    // What the main server has is none of the extension server's.
    let direct = cluster.extension().unwrap().kubectl();
    let missing = direct.fail("get --raw /api/v1/namespaces").await;
    assert!(missing.contains("NotFound") || missing.contains("could not find"), "{missing}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_server_decides_who_may_do_what() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    // Through the main server, which both servers refuse; and to the extension server itself, with a token of the main one.
    let refused = kubectl.fail("get enc north --as=jane").await;
    assert!(
        refused.contains(r#"User "jane" cannot get resource "enclosures" in API group "zoo.example.dev""#)
    );
    assert_eq!(kubectl.output("auth can-i get enclosures --as=jane", "").await.stdout, b"no\n");
    kubectl.run("create serviceaccount keeper").await;
    let token = kubectl.run("create token keeper").await;
    let extension = cluster.extension().unwrap();
    let url = extension.url();
    let direct = format!(
        "--kubeconfig=/dev/null --server={url} --insecure-skip-tls-verify=true --token={}",
        token.trim()
    );
    let direct_get = format!("{direct} -n default get enc north --output=name");
    let refused = kubectl.fail(&direct_get).await;
    let user = "system:serviceaccount:default:keeper";
    assert!(refused.contains(&format!("User {user:?} cannot get resource")), "{refused}");

    kubectl.run("create role keeper --verb=get,list,watch --resource=enclosures.zoo.example.dev").await;
    kubectl.run("create rolebinding keeper --role=keeper --serviceaccount=default:keeper --user=jane").await;
    until(&kubectl, "auth can-i get enclosures --as=jane", "", "yes").await;
    until(&kubectl, "get enc north --as=jane --output=name", "", "enclosure.zoo.example.dev/north\n").await;
    until(&kubectl, &direct_get, "", "enclosure.zoo.example.dev/north\n").await;
    let refused = kubectl.fail("delete enc north --as=jane").await;
    assert!(refused.contains("cannot delete resource"), "{refused}");
    let unknown =
        kubectl.fail(&direct.replace(token.trim(), "zork").replace("--server", "get enc --server")).await;
    assert!(unknown.contains("Unauthorized") || unknown.contains("must be logged in"), "{unknown}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_webhooks_and_policies_are_the_main_server_s() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    let absent = kubectl.fail_with_input("apply -n africa -f -", NORTH).await;
    assert!(absent.contains(r#"namespaces "africa" not found"#), "{absent}");
    kubectl.run("create namespace africa").await;
    kubectl.run_with_input("apply -n africa -f -", NORTH).await;

    let policy = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [zoo.example.dev], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [enclosures]}
  validations:
  - {expression: "object.spec.animals < 10", message: too many animals}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny]}
"#;
    kubectl.run_with_input("apply -f -", policy).await;
    let many = NORTH.replace("animals: 2", "animals: 20");
    let many = many.replace("north", "many");
    until(&kubectl, "create -n africa --dry-run=server -f -", &many, "too many animals").await;

    let webhook = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: nobody}
webhooks:
- name: nobody.example.dev
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules:
  - {apiGroups: [zoo.example.dev], apiVersions: [v1], operations: [CREATE], resources: [enclosures]}
  sideEffects: None
  admissionReviewVersions: [v1]
"#;
    kubectl.run_with_input("apply -f -", webhook).await;
    let south = NORTH.replace("north", "south");
    until(&kubectl, "create -n africa --dry-run=server -f -", &south, "nobody.example.dev").await;
    kubectl.run("delete validatingwebhookconfiguration nobody").await;
    until(&kubectl, "create -n africa -f -", &south, "created").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_server_goes_and_comes_back_with_another_certificate() {
    let mut cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    cluster.stop_extension().await;
    until(&kubectl, "get apiservice v1.zoo.example.dev", "", "False").await;
    let unavailable = kubectl.fail("get --raw /apis/zoo.example.dev/v1/enclosures").await;
    assert!(unavailable.contains("Error from server (ServiceUnavailable)"), "{unavailable}");
    assert_eq!(kubectl.run("get namespace default -o name").await, "namespace/default\n");

    let ca_pem = cluster.renew_certificate().unwrap();
    cluster.start_extension().await.unwrap();
    let bundle = {
        use base64::Engine as _;
        base64::prelude::BASE64_STANDARD.encode(ca_pem)
    };
    for version in ["v1", "v1beta1"] {
        let patch = json!({ "spec": { "caBundle": bundle } }).to_string();
        kubectl.run(&format!("patch apiservice {version}.zoo.example.dev --type=merge -p {patch}")).await;
    }
    cluster.wait_until_available().await.unwrap();
    until(&kubectl, "get enc north -o jsonpath={.spec.species}", "", "penguin").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kube_rs_watches_through_the_main_server() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(cluster.main().kubeconfig_path()).unwrap();
    let defaults = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &defaults).await.unwrap();
    let enclosures: Api<Enclosure> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
    let south = json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure",
        "metadata": {"name": "south"}, "spec": {"species": "lion", "animals": 1},
    });
    let applied =
        enclosures.patch("south", &PatchParams::apply("test"), &Patch::Apply(&south)).await.unwrap();
    assert_eq!(applied.spec.species, "lion");
    let from = applied.metadata.resource_version.unwrap();
    let events = enclosures.watch(&WatchParams::default(), &from).await.unwrap();
    let mut events = std::pin::pin!(events);
    enclosures.delete("south", &DeleteParams::default()).await.unwrap();
    let event = events.try_next().await.unwrap();
    assert!(matches!(event, Some(WatchEvent::Deleted(_))), "{event:?}");
    cluster.stop().await;
}
