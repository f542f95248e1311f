//! The sequence of a test with controller-runtime's envtest, from the probes to the stop.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::environment::{Environment, PROGRAM};
use crate::hook::{Hook, Reply};
use crate::{names, until};

/// Returns the names of the flags in the help of a program, as envtest looks for them: at the beginning of a line.
fn flags_in_help(program: &Path) -> Vec<String> {
    let output = Command::new(program).arg("--help").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let flags = text.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let end = |flag: &str| flag.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    flags.map(|flag| flag[..end(flag).unwrap_or(flag.len())].to_owned()).collect()
}

fn object<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

fn definition() -> CustomResourceDefinition {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"size": {"type": "integer"}}}}});
    object(json!({
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    }))
}

fn webhook(hook: &Hook) -> ValidatingWebhookConfiguration {
    object(json!({
        "metadata": {"name": "refuses"},
        "webhooks": [{
            "name": "refuses.example.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": hook.url("refuse"), "caBundle": hook.ca_bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
            "objectSelector": {"matchLabels": {"refused": "yes"}},
        }],
    }))
}

async fn send(client: &kube::Client, method: &str, path: &str, body: &Value) -> Result<Value, kube::Error> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request =
        http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(body).unwrap()).await
}

/// Installs a definition and a webhook, and sees them work.
async fn install(client: &kube::Client, hook: &Hook) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition()).await.unwrap();
    until("the kind is served", async || {
        let resources = client.list_api_group_resources("example.dev/v1").await;
        resources.is_ok_and(|found| found.resources.iter().any(|resource| resource.name == "widgets"))
    })
    .await;
    hook.on("refuse", |_| Reply::Response(json!({"allowed": false, "status": {"message": "by the test"}})));
    let hooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    hooks.create(&PostParams::default(), &webhook(hook)).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let refused: ConfigMap =
        object(json!({"metadata": {"generateName": "a-", "labels": {"refused": "yes"}}}));
    until("the webhook refuses", async || {
        let created = maps.create(&PostParams::default(), &refused).await;
        created.is_err_and(|error| error.to_string().contains("by the test"))
    })
    .await;
}

/// Creates a namespace with objects of two kinds, deletes it, and sees it end.
async fn delete_a_namespace(client: &kube::Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace = object(json!({"metadata": {"name": "short"}}));
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "short");
    maps.create(&PostParams::default(), &object(json!({"metadata": {"name": "a"}}))).await.unwrap();
    let widget = json!({"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}});
    send(client, "POST", "/apis/example.dev/v1/namespaces/short/widgets", &widget).await.unwrap();
    namespaces.delete("short", &DeleteParams::default()).await.unwrap();
    until("the namespace ends", async || namespaces.get_opt("short").await.unwrap().is_none()).await;
}

/// Asks for a token of an account, which the key in `--cert-dir` signs, and uses it.
async fn use_an_account(environment: &Environment, client: &kube::Client) {
    let path = "/api/v1/namespaces/default/serviceaccounts/default";
    until("the account is there", async || send(client, "GET", path, &Value::Null).await.is_ok()).await;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = send(client, "POST", &format!("{path}/token"), &request).await.unwrap();
    let account = environment.client_with(&json!({"token": answer["status"]["token"]})).await;
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review =
        send(&account, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await.unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], "system:serviceaccount:default:default");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envtest_runs_over_the_assets() {
    let home = TempDir::new().unwrap();
    let assets = home.path().join("assets");
    let flag = format!("--assets={}", assets.display());
    let output = Command::new(PROGRAM).args(["test", &flag]).current_dir(home.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let expected = format!("export KUBEBUILDER_ASSETS={}\n", assets.display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);

    let mut environment = Environment::with_assets(home, assets);
    assert!(flags_in_help(&environment.program("etcd")).contains(&"unsafe-no-fsync".to_owned()));
    let flags = flags_in_help(&environment.program("kube-apiserver"));
    assert!(
        flags.iter().any(|flag| flag == "etcd-servers") && !flags.iter().any(|flag| flag == "insecure-port")
    );

    let etcd = environment.start_etcd().await;
    let server = environment.start_server().await;
    let client = environment.client().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    until("the default namespace", async || namespaces.get_opt("default").await.unwrap().is_some()).await;
    let hook = Hook::start().await;
    install(&client, &hook).await;
    use_an_account(&environment, &client).await;
    delete_a_namespace(&client).await;

    environment.signal(server, "TERM");
    let ended = environment.ended(server).await;
    assert!(ended.success(), "{ended}: {}", environment.log("kube-apiserver"));
    environment.signal(etcd, "TERM");
    assert_eq!(environment.ended(etcd).await.signal(), Some(15));
    assert_eq!(names(&environment.work()), [""; 0]);
    assert_eq!(
        names(&environment.temporary()),
        ["k8s_test_framework_1", "k8s_test_framework_2"],
        "the test removes them"
    );
    assert_eq!(names(&environment.etcd_directory()), [""; 0]);
}
