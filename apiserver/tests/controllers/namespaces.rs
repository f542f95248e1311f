//! Namespaces end, with everything that is in them.

use serde_json::{Value, json};

use crate::world::{World, condition, owner};

const NAMESPACE: &str = "/api/v1/namespaces/own";

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_ends_with_its_content() {
    let world = World::start().await;
    world.create_namespace("own").await;
    world.own_in("own", "a", &[], &[]).await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"a": "a"}},
            "template": {
                "metadata": {"labels": {"a": "a"}},
                "spec": {"containers": [{"name": "a", "image": "a"}]},
            },
        },
    });
    world.create("/apis/apps/v1/namespaces/own/deployments", &deployment).await;
    world.delete(NAMESPACE).await;
    world.gone(NAMESPACE).await;
    assert_eq!(world.get("/apis/apps/v1/namespaces/own/deployments/a").await, None);
    // The next one of the name begins empty.
    world.create_namespace("own").await;
    let maps = world.get("/api/v1/namespaces/own/configmaps").await.unwrap();
    let names = maps["items"].as_array().unwrap().iter().map(|map| &map["metadata"]["name"]);
    assert!(names.into_iter().all(|name| name == "kube-root-ca.crt"));
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_objects_end_with_their_namespace() {
    let world = World::start().await;
    world.define_foos("Namespaced").await;
    world.create_namespace("own").await;
    let foos = "/apis/example.com/v1/namespaces/own/foos";
    world.until("the kind is served", async || world.get(foos).await.is_some()).await;
    let foo = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}});
    let first = world.create(foos, &foo("a")).await;
    // Owned by a custom object, and one that owns itself a custom object.
    world.own_in("own", "owned", &[owner(&first)], &[]).await;
    world.delete(&format!("{foos}/a")).await;
    world.gone("/api/v1/namespaces/own/configmaps/owned").await;
    world.create(foos, &foo("b")).await;
    world.delete(NAMESPACE).await;
    world.gone(NAMESPACE).await;
    assert_eq!(world.get(foos).await.unwrap()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalizer_that_never_goes_keeps_the_namespace_and_is_reported() {
    let world = World::start().await;
    world.create_namespace("own").await;
    world.own_in("own", "kept", &[], &["example.com/never"]).await;
    world.own_in("own", "free", &[], &[]).await;
    world.delete(NAMESPACE).await;
    let namespace =
        world.becomes(NAMESPACE, |now| condition(now, "NamespaceContentRemaining").is_some()).await;
    let is = |kind: &str, status: &str, reason: &str, message: &str| {
        let condition = condition(&namespace, kind).unwrap();
        assert_eq!(condition["status"], status, "{condition}");
        assert_eq!(condition["reason"], reason);
        assert_eq!(condition["message"], message);
    };
    is(
        "NamespaceContentRemaining",
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    );
    is(
        "NamespaceFinalizersRemaining",
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.com/never in 1 resource instances",
    );
    is(
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    );
    is(
        "NamespaceDeletionDiscoveryFailure",
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    );
    is(
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    );
    assert_eq!(world.get("/api/v1/namespaces/own/configmaps/free").await, None);
    // The state is reported once, not again and again.
    world.settle().await;
    let settled = world.get(NAMESPACE).await.unwrap();
    world.settle().await;
    assert_eq!(world.get(NAMESPACE).await.unwrap(), settled);
    world.merge("/api/v1/namespaces/own/configmaps/kept", &json!({"metadata": {"finalizers": []}})).await;
    world.gone(NAMESPACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_end_before_everything_else() {
    let world = World::start().await;
    world.create_namespace("own").await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "finalizers": ["example.com/wait"]},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    });
    world.create("/api/v1/namespaces/own/pods", &pod).await;
    world.own_in("own", "a", &[], &[]).await;
    world.delete(NAMESPACE).await;
    let is_reported = |now: &Value| {
        condition(now, "NamespaceContentRemaining").is_some_and(|condition| condition["status"] == "True")
    };
    let namespace = world.becomes(NAMESPACE, is_reported).await;
    let message = &condition(&namespace, "NamespaceContentRemaining").unwrap()["message"];
    assert_eq!(message, "Some resources are remaining: pods. has 1 resource instances");
    world.settle().await;
    assert!(world.get("/api/v1/namespaces/own/configmaps/a").await.is_some(), "the pod may still read it");
    world.merge("/api/v1/namespaces/own/pods/a", &json!({"metadata": {"finalizers": []}})).await;
    world.gone(NAMESPACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_finalizers_of_the_namespace_are_left_to_others() {
    let world = World::start().await;
    let object = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own"},
        "spec": {"finalizers": ["example.com/other", "kubernetes"]},
    });
    world.create("/api/v1/namespaces", &object).await;
    world.delete(NAMESPACE).await;
    let others = json!(["example.com/other"]);
    let namespace = world.becomes(NAMESPACE, |now| now["spec"]["finalizers"] == others).await;
    let mut released = namespace.clone();
    released["spec"]["finalizers"] = json!([]);
    world.call("PUT", &format!("{NAMESPACE}/finalize"), &released).await.unwrap();
    world.gone(NAMESPACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_an_extension_server_that_is_gone_says_so() {
    let world = World::start().await;
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.gone.example.com"},
        "spec": {
            "group": "gone.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 1,
            "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "gone"},
        },
    });
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    world.create(services, &service).await;
    world.create_namespace("own").await;
    world.own_in("own", "a", &[], &[]).await;
    world
        .until("the group is known to fail", async || {
            let groups = world.get("/apis").await.unwrap();
            groups["groups"].as_array().unwrap().iter().any(|group| group["name"] == "gone.example.com")
        })
        .await;
    world.delete(NAMESPACE).await;
    let is_reported = |now: &Value| {
        condition(now, "NamespaceDeletionDiscoveryFailure")
            .is_some_and(|condition| condition["status"] == "True")
    };
    let namespace = world.becomes(NAMESPACE, is_reported).await;
    let condition = condition(&namespace, "NamespaceDeletionDiscoveryFailure").unwrap();
    assert_eq!(
        condition["message"],
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
         gone.example.com/v1: stale GroupVersion discovery: gone.example.com/v1"
    );
    assert_eq!(world.get("/api/v1/namespaces/own/configmaps/a").await, None, "what is known is deleted");
    world.delete(&format!("{services}/v1.gone.example.com")).await;
    world.gone(NAMESPACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_kubectl_are_not_warned_of_a_controller_that_runs() {
    let world = World::start().await;
    world.create_namespace("own").await;
    let deleted = world.0.kubectl().output("delete namespace own", "").await;
    assert!(deleted.status.success());
    let text = String::from_utf8_lossy(&deleted.stderr).into_owned();
    assert!(!text.contains("no namespace controller"), "{text}");
    assert_eq!(world.get(NAMESPACE).await, None);
}
