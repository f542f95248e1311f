//! Credentials for webhooks, from the files that `--admission-control-config-file` names.

use std::path::Path;

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use crate::hook::{Hook, Reply};
use crate::world::{Kind, MAPS, World, map};

const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");

/// Writes the configuration of plug-ins with these kubeconfigs, and returns its flag.
fn configuration(directory: &Path, kubeconfigs: &[(&str, Value)]) -> String {
    let mut plugins = Vec::new();
    for (plugin, kubeconfig) in kubeconfigs {
        let file = directory.join(format!("{plugin}.kubeconfig"));
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        plugins.push(match *plugin {
            "ImagePolicyWebhook" => {
                json!({"name": plugin, "configuration": {"imagePolicy": {"kubeConfigFile": file}}})
            }
            _ => json!({"name": plugin, "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
                "kubeConfigFile": file,
            }}),
        });
    }
    let path = directory.join("admission.yaml");
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins,
    });
    std::fs::write(&path, configuration.to_string()).unwrap();
    format!("--admission-control-config-file={}", path.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_plug_in_presents_the_credentials_for_the_host() {
    let directory = tempfile::tempdir().unwrap();
    let hook = Hook::start().await;
    hook.expect_credentials();
    let user = |name: &str, token: &str| json!({"name": name, "user": {"token": token}});
    let host = format!("127.0.0.1:{}", hook.port());
    let flag = configuration(
        directory.path(),
        &[
            ("MutatingAdmissionWebhook", json!({"users": [user(&host, "exact"), user("*", "all")]})),
            ("ValidatingAdmissionWebhook", json!({"users": [user("*.svc", "services")]})),
        ],
    );
    let mut world = World::with_hook(TestServer::builder().memory().flag(flag), hook).await;
    let mutating = world.webhook("mutate", "CREATE", CONFIG_MAPS);
    world.register(Kind::Mutating, "m", &[mutating]).await;
    let validating = world.webhook("validate", "CREATE", CONFIG_MAPS);
    world.register(Kind::Validating, "v", &[validating]).await;
    world.expect(201, "POST", MAPS, map("a")).await;
    let shown = |path: &str| world.hook.calls(path).last().unwrap()["authorization"].clone();
    assert_eq!(shown("mutate"), "Bearer exact");
    assert_eq!(shown("validate"), Value::Null, "no user is for this host");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_that_decides_about_images_gets_the_credentials_of_its_kubeconfig() {
    let directory = tempfile::tempdir().unwrap();
    let hook = Hook::start().await;
    hook.expect_credentials();
    hook.on("images", |_| {
        Reply::Body(200, json!({"status": {"allowed": false, "reason": "unsigned"}}).to_string())
    });
    let kubeconfig = json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {
            "server": hook.url("images"), "certificate-authority-data": hook.ca_bundle,
        }}],
        "users": [{"name": "u", "user": {"username": "a", "password": "b"}}],
    });
    let flag = configuration(directory.path(), &[("ImagePolicyWebhook", kubeconfig)]);
    let builder =
        TestServer::builder().memory().flag(flag).flag("--enable-admission-plugins=ImagePolicyWebhook");
    let mut world = World::with_hook(builder, hook).await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let refused = world.expect(403, "POST", "/api/v1/namespaces/default/pods", pod).await;
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.ends_with("image policy webhook backend denied one or more images: unsigned"),
        "{message}"
    );
    assert_eq!(world.hook.calls("images")[0]["authorization"], "Basic YTpi");
    world.server.stop().await;
}

#[tokio::test]
async fn credentials_that_cannot_be_used_are_refused_at_the_start() {
    for (plugin, kubeconfig) in [
        ("MutatingAdmissionWebhook", json!({"users": [{"name": "*", "user": {"exec": {"command": "x"}}}]})),
        (
            "ValidatingAdmissionWebhook",
            json!({"users": [{"name": "*", "user": {"client-certificate": "absent"}}]}),
        ),
        ("ImagePolicyWebhook", json!({"current-context": "c"})),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let flag = configuration(directory.path(), &[(plugin, kubeconfig)]);
        let started = TestServer::builder().memory().flag(flag).start().await;
        let Err(refused) = started else { panic!("{plugin}") };
        assert!(refused.to_string().contains("kubeConfigFile"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_owners_that_a_webhook_adds_are_removed_with_a_warning() {
    let mut world = World::start().await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let patch = json!([{"op": "add", "path": "/metadata/ownerReferences", "value": [owner, owner]}]);
    world.hook.on("owners", move |_| crate::hook::patched(&patch));
    let webhook = world.webhook("owners", "CREATE", CONFIG_MAPS);
    world.register(Kind::Mutating, "o", &[webhook]).await;
    let answer = world.send("POST", MAPS, &map("a")).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    let warning = answer.headers["warning"].to_str().unwrap();
    assert!(warning.contains("contains duplicate entries after mutating admission happens"), "{warning}");
    world.server.stop().await;
}
