//! Webhooks in files.

use serde_json::{Value, json};

use super::{MUTATING_WEBHOOKS, Manifests, Reloads, VALIDATING_WEBHOOKS, expect_map, labelled, list, object};
use crate::hook::{Hook, Reply, patched};
use crate::world::{GROUP, Kind, MAPS, World, map};

const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");
const SECRETS: (&str, &str, &str) = ("", "v1", "secrets");
const CONFIGURATIONS: (&str, &str, &str) =
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");

/// Returns the rule of the creation of objects.
fn creating((group, version, resource): (&str, &str, &str)) -> Value {
    json!({"operations": ["CREATE"], "apiGroups": [group], "apiVersions": [version], "resources": [resource]})
}

/// Returns a configuration with one webhook, at a path of the webhook server.
fn configuration(hook: &Hook, kind: &str, path: &str, rules: &[Value]) -> Value {
    let name = format!("{path}.static.k8s.io");
    let webhook = json!({
        "name": format!("{path}.example.com"), "rules": rules, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": hook.url(path), "caBundle": hook.ca_bundle},
    });
    object(kind, &name, json!({"webhooks": [webhook]}))
}

/// Adds a label to each object, as a webhook.
fn set_label(hook: &Hook, path: &str) {
    let label = format!("/metadata/labels/{path}");
    hook.on(path, move |_| patched(&json!([{"op": "add", "path": label, "value": "true"}])));
}

async fn metrics(world: &mut World) -> [Reloads; 2] {
    [VALIDATING_WEBHOOKS.reloads(world).await, MUTATING_WEBHOOKS.reloads(world).await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_of_files_are_called_from_the_first_write_until_their_file_is_gone() {
    let hook = Hook::start().await;
    hook.on("validate", |request| match request["resource"]["resource"].as_str() {
        Some("validatingwebhookconfigurations") => {
            Reply::Response(json!({"allowed": false, "status": {"message": "denied by a file"}}))
        }
        _ => Reply::Response(json!({"allowed": true})),
    });
    set_label(&hook, "mutate");
    let validating = configuration(
        &hook,
        VALIDATING_WEBHOOKS.kind,
        "validate",
        &[creating(CONFIG_MAPS), creating(CONFIGURATIONS)],
    );
    let mutating = configuration(&hook, MUTATING_WEBHOOKS.kind, "mutate", &[creating(CONFIG_MAPS)]);
    let of_secrets = configuration(&hook, VALIDATING_WEBHOOKS.kind, "secrets", &[creating(SECRETS)]);
    let manifests = Manifests::new(&[VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS]);
    manifests.write(VALIDATING_WEBHOOKS, "validating.yaml", std::slice::from_ref(&validating));
    let mut world = World::with_hook(manifests.builder(), hook).await;

    // From the first write.
    expect_map(&mut world, 201, labelled(json!({"app": "a"}))).await;
    assert_eq!(world.hook.calls("validate").len(), 1);
    let [started, empty] = metrics(&mut world).await;
    assert!(started.hash.as_ref().unwrap().starts_with("sha256:"), "{started:?}");
    assert_eq!((started.successes, empty.successes), (1, 1));
    assert_eq!(empty.hash.as_deref(), Some(""), "an empty directory");

    // A file that is added is read, and both plug-ins work at once.
    manifests.write(MUTATING_WEBHOOKS, "mutating.yaml", &[mutating]);
    MUTATING_WEBHOOKS.reloaded(&mut world, &empty).await;
    let created = expect_map(&mut world, 201, labelled(json!({"app": "a"}))).await;
    assert_eq!(created["metadata"]["labels"], json!({"app": "a", "mutate": "true"}));
    assert_eq!(world.hook.calls("validate").len(), 2);
    assert_eq!(world.hook.calls("validate")[1]["object"]["metadata"]["labels"]["mutate"], "true");

    // A list, as JSON.
    manifests.write(VALIDATING_WEBHOOKS, "list.json", &[list(&[of_secrets])]);
    let listed = VALIDATING_WEBHOOKS.reloaded(&mut world, &started).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    world.expect(201, "POST", secrets, json!({"metadata": {"name": "s"}})).await;
    assert_eq!(world.hook.calls("secrets").len(), 1);
    manifests.remove(VALIDATING_WEBHOOKS, "list.json");
    let unlisted = VALIDATING_WEBHOOKS.reloaded(&mut world, &listed).await;
    assert_eq!(unlisted.hash, started.hash, "the files are those of the start");
    world.expect(201, "POST", secrets, json!({"metadata": {"name": "s2"}})).await;
    assert_eq!(world.hook.calls("secrets").len(), 1, "it is called no longer");

    // Those of files judge configurations of webhooks too.
    let path = format!("{GROUP}/validatingwebhookconfigurations");
    let of_api = object(VALIDATING_WEBHOOKS.kind, "of-api", json!({"webhooks": []}));
    let refused = world.expect(400, "POST", &path, of_api.clone()).await;
    let message = "admission webhook \"validate.example.com\" denied the request: denied by a file";
    assert_eq!(refused["message"], message);

    manifests.remove(VALIDATING_WEBHOOKS, "validating.yaml");
    let removed = VALIDATING_WEBHOOKS.reloaded(&mut world, &unlisted).await;
    assert_eq!(removed.hash.as_deref(), Some(""));
    world.expect(201, "POST", &path, of_api).await;
    let calls = world.hook.calls("validate").len();
    let created = expect_map(&mut world, 201, labelled(json!({"app": "a"}))).await;
    assert_eq!(world.hook.calls("validate").len(), calls, "it is called no longer");
    assert_eq!(created["metadata"]["labels"]["mutate"], "true", "the other directory is another one");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_of_files_are_called_before_those_of_the_api() {
    let hook = Hook::start().await;
    for path in ["z-file", "y-file"] {
        hook.on(path, move |request| {
            let before = request["object"]["data"]["order"].as_str().unwrap().to_owned();
            patched(&json!([{"op": "replace", "path": "/data/order", "value": format!("{before}{path} ")}]))
        });
    }
    hook.on("a-api", |request| {
        let before = request["object"]["data"]["order"].as_str().unwrap().to_owned();
        patched(&json!([{"op": "replace", "path": "/data/order", "value": format!("{before}a-api ")}]))
    });
    let manifests = Manifests::new(&[MUTATING_WEBHOOKS]);
    // By the names of the configurations, not of the files.
    for (file, path) in [("1.yaml", "z-file"), ("2.yml", "y-file")] {
        let configuration = configuration(&hook, MUTATING_WEBHOOKS.kind, path, &[creating(CONFIG_MAPS)]);
        manifests.write(MUTATING_WEBHOOKS, file, &[configuration]);
    }
    let mut world = World::with_hook(manifests.builder(), hook).await;
    let mut ordered = map("ordered");
    ordered["data"] = json!({"order": ""});
    let created = expect_map(&mut world, 201, ordered.clone()).await;
    assert_eq!(created["data"]["order"], "y-file z-file ");
    let webhook = world.webhook("a-api", "CREATE", CONFIG_MAPS);
    // The probe of the registration has no order.
    world.hook.on("probe-a", |_| Reply::Response(json!({"allowed": true})));
    let mut plain = object(MUTATING_WEBHOOKS.kind, "a", json!({"webhooks": [webhook]}));
    plain["webhooks"][0]["timeoutSeconds"] = json!(5);
    world.expect(201, "POST", &format!("{GROUP}/mutatingwebhookconfigurations"), plain).await;
    let created = expect_map(&mut world, 201, ordered.clone()).await;
    assert_eq!(created["data"]["order"], "y-file z-file a-api ", "a moment after the registration");
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let created = expect_map(&mut world, 201, ordered.clone()).await;
    assert_eq!(created["data"]["order"], "y-file z-file a-api ", "when the configuration is known");
    world.unregister(Kind::Mutating, "a").await;
    let created = expect_map(&mut world, 201, ordered).await;
    assert_eq!(created["data"]["order"], "y-file z-file ");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_of_a_file_gets_the_defaults_of_the_api() {
    let hook = Hook::start().await;
    let manifests = Manifests::new(&[VALIDATING_WEBHOOKS]);
    let validating = configuration(&hook, VALIDATING_WEBHOOKS.kind, "validate", &[creating(CONFIG_MAPS)]);
    manifests.write(VALIDATING_WEBHOOKS, "a.yaml", &[validating]);
    hook.on("validate", |_| Reply::Close);
    let mut world = World::with_hook(manifests.builder(), hook).await;
    // `failurePolicy` is Fail, and `matchPolicy` Equivalent.
    let refused = world.expect(500, "POST", MAPS, map("a")).await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("failed calling webhook \"validate.example.com\""), "{message}");
    world.server.stop().await;
}
