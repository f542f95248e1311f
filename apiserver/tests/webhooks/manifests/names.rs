//! The names of objects in files, in requests.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, GATE, denying, labelling, object};
use crate::world::{GROUP, World};

const REASON: &str = "names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and cannot be \
                      managed via the API";

/// Returns an object of each kind with this name, and the paths at which it is created.
fn objects(name: &str) -> Vec<(String, Value)> {
    let [validating, validating_binding] = denying(name, CONFIG_MAPS, "true");
    let [mutating, mutating_binding] = labelling(name, "a");
    let webhooks = json!({"webhooks": []});
    let objects = [
        ("validatingadmissionpolicies", validating),
        ("validatingadmissionpolicybindings", validating_binding),
        ("mutatingadmissionpolicies", mutating),
        ("mutatingadmissionpolicybindings", mutating_binding),
        ("validatingwebhookconfigurations", object("ValidatingWebhookConfiguration", name, webhooks.clone())),
        ("mutatingwebhookconfigurations", object("MutatingWebhookConfiguration", name, webhooks)),
    ];
    objects.into_iter().map(|(plural, object)| (format!("{GROUP}/{plural}"), object)).collect()
}

#[tokio::test]
async fn requests_cannot_create_objects_with_the_names_of_files() {
    let mut world = World::over(TestServer::builder().memory().flag(GATE)).await;
    for (path, object) in objects("a.static.k8s.io") {
        let refused = world.expect(422, "POST", &path, object).await;
        let message = refused["message"].as_str().unwrap();
        let expected = format!("metadata.name: Invalid value: \"a.static.k8s.io\": {REASON}");
        assert!(message.ends_with(&expected), "{message}");
    }
    for name in ["static.k8s.io", "a.static.k8s.io.example.com", "a-static.k8s.io"] {
        for (path, object) in objects(name) {
            let answer = world.send("POST", &path, &object).await;
            assert_eq!((answer.status, answer.headers.get("warning")), (201, None), "{}", answer.text());
        }
    }
    world.server.stop().await;
}

#[tokio::test]
async fn without_the_gate_they_are_created_with_a_warning_and_can_be_changed_and_deleted_with_it() {
    let root = tempfile::tempdir().unwrap();
    let data = format!("--data-dir={}", root.path().display());
    let mut world = World::over(TestServer::builder().flag(&data)).await;
    let warning = format!("299 - {:?}", format!("metadata.name: {REASON}"));
    for (path, object) in objects("a.static.k8s.io") {
        let created = world.send("POST", &path, &object).await;
        assert_eq!(
            (created.status, created.headers["warning"].to_str().unwrap()),
            (201, &*warning),
            "{}",
            created.text()
        );
    }
    world.server.stop().await;

    let mut world = World::over(TestServer::builder().flag(&data).flag(GATE)).await;
    for (path, object) in objects("a.static.k8s.io") {
        let path = format!("{path}/a.static.k8s.io");
        let mut stored = world.get(&path).await;
        stored["metadata"]["labels"] = json!({"changed": "true"});
        let changed = world.send("PUT", &path, &stored).await;
        assert_eq!(
            (changed.status, changed.headers["warning"].to_str().unwrap()),
            (200, &*warning),
            "{}",
            changed.text()
        );
        world.expect(200, "DELETE", &path, Value::Null).await;
        assert_eq!(object["metadata"]["name"], "a.static.k8s.io");
    }
    world.server.stop().await;
}
