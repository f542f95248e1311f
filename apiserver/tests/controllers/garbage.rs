//! Objects without owners are collected: in the background, in the foreground, or never.

use serde_json::{Value, json};

use crate::world::{DEFINITIONS, World, blocked_owner, map, owner};

#[tokio::test(flavor = "multi_thread")]
async fn dependents_follow_their_owner_in_the_background() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    let middle = world.own("middle", &[owner(&root)]).await;
    world.own("leaf", &[owner(&middle)]).await;
    world.own("other", &[]).await;
    world.delete(&map("root")).await;
    world.gone(&map("middle")).await;
    world.gone(&map("leaf")).await;
    assert!(world.get(&map("other")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_stays_as_long_as_one_of_its_owners_does() {
    let world = World::start().await;
    let (first, second) = (world.own("first", &[]).await, world.own("second", &[]).await);
    world.own("owned", &[owner(&first), owner(&second)]).await;
    world.delete(&map("first")).await;
    let kept = json!([owner(&second)]);
    world.becomes(&map("owned"), |now| now["metadata"]["ownerReferences"] == kept).await;
    world.delete(&map("second")).await;
    world.gone(&map("owned")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_waits_in_the_foreground_for_those_that_block_it() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    world.own_in("default", "blocking", &[blocked_owner(&root)], &["example.com/wait"]).await;
    world.own_in("default", "free", &[owner(&root)], &["example.com/wait"]).await;
    world.delete_by(&map("root"), "Foreground").await;
    for name in ["blocking", "free"] {
        world.becomes(&map(name), |now| now["metadata"]["deletionTimestamp"].is_string()).await;
    }
    world.settle().await;
    let waiting = world.get(&map("root")).await.unwrap();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    world.merge(&map("blocking"), &json!({"metadata": {"finalizers": []}})).await;
    world.gone(&map("blocking")).await;
    world.gone(&map("root")).await;
    assert!(world.get(&map("free")).await.is_some(), "it does not block, and is kept by its finalizer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_ends_in_the_foreground_from_its_leaves() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    let middle = world.own("middle", &[blocked_owner(&root)]).await;
    world.own_in("default", "leaf", &[blocked_owner(&middle)], &["example.com/wait"]).await;
    world.delete_by(&map("root"), "Foreground").await;
    world.becomes(&map("leaf"), |now| now["metadata"]["deletionTimestamp"].is_string()).await;
    world.settle().await;
    assert!(world.get(&map("root")).await.is_some());
    let middle = world.get(&map("middle")).await.unwrap();
    assert_eq!(middle["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    world.merge(&map("leaf"), &json!({"metadata": {"finalizers": []}})).await;
    for name in ["leaf", "middle", "root"] {
        world.gone(&map(name)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_stays_does_not_hold_up_its_owner() {
    let world = World::start().await;
    let (ending, staying) = (world.own("ending", &[]).await, world.own("staying", &[]).await);
    world.own("owned", &[blocked_owner(&ending), owner(&staying)]).await;
    world.delete_by(&map("ending"), "Foreground").await;
    world.gone(&map("ending")).await;
    let owned = world.get(&map("owned")).await.unwrap();
    assert_eq!(owned["metadata"]["ownerReferences"], json!([owner(&staying)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_lose_their_owner_and_stay() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    for index in 0..20 {
        world.own(&format!("orphan-{index}"), &[blocked_owner(&root)]).await;
    }
    world.delete_by(&map("root"), "Orphan").await;
    world.gone(&map("root")).await;
    world.settle().await;
    for index in 0..20 {
        let orphan = world.get(&map(&format!("orphan-{index}"))).await.unwrap();
        assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_never_existed_or_has_another_uid_is_none() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    let mut missing = owner(&root);
    missing["name"] = "missing".into();
    missing["uid"] = uuid::Uuid::new_v4().to_string().into();
    let mut mistaken = owner(&root);
    mistaken["uid"] = uuid::Uuid::new_v4().to_string().into();
    world.own("of-missing", &[missing]).await;
    world.own("of-mistaken", &[mistaken]).await;
    world.own("of-root", &[owner(&root)]).await;
    world.gone(&map("of-missing")).await;
    world.gone(&map("of-mistaken")).await;
    world.settle().await;
    assert!(world.get(&map("of-root")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_in_another_namespace_counts_as_absent() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    world.own("neighbor", &[owner(&root)]).await;
    world.create_namespace("own").await;
    world.own_in("own", "owned", &[owner(&root)], &[]).await;
    world.gone("/api/v1/namespaces/own/configmaps/owned").await;
    world.settle().await;
    assert!(world.get(&map("neighbor")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_in_another_namespace_is_told_in_an_event() {
    let world = World::start().await;
    let events = async |namespace: &str| {
        let list = world.get(&format!("/api/v1/namespaces/{namespace}/events")).await.unwrap();
        let mut events = list["items"].as_array().unwrap().clone();
        events.retain(|event| event["reason"] == "OwnerRefInvalidNamespace");
        events
    };
    let lone = world.own("lone", &[]).await;
    let root = world.own("root", &[]).await;
    world.own("neighbor", &[owner(&root)]).await;
    world.create_namespace("own").await;
    // An owner without other dependents, one with some, and one that does not exist.
    let mut absent = owner(&lone);
    absent["uid"] = uuid::Uuid::new_v4().to_string().into();
    for (name, owner) in [("of-lone", owner(&lone)), ("of-root", owner(&root)), ("absent", absent)] {
        let owned = world.own_in("own", name, std::slice::from_ref(&owner), &[]).await;
        world.gone(&format!("/api/v1/namespaces/own/configmaps/{name}")).await;
        if !name.starts_with("of-") {
            continue;
        }
        let is_about = |event: &Value| event["involvedObject"]["name"] == name;
        world.until("an event", async || events("own").await.iter().any(is_about)).await;
        let event = events("own").await.into_iter().find(is_about).unwrap();
        let uid = owner["uid"].as_str().unwrap();
        assert_eq!(
            event["involvedObject"],
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "namespace": "own", "name": name,
                "uid": owned["metadata"]["uid"],
            })
        );
        let message = format!(
            "ownerRef [v1/ConfigMap, namespace: own, name: {}, uid: {uid}] does not exist in namespace \"own\"",
            owner["name"].as_str().unwrap()
        );
        assert_eq!((&event["type"], &event["message"]), (&json!("Warning"), &json!(message)));
        assert_eq!(event["source"], json!({"component": "garbage-collector-controller"}));
        assert_eq!(event["reportingComponent"], "garbage-collector-controller");
        assert_eq!((&event["count"], &event["firstTimestamp"]), (&json!(1), &event["lastTimestamp"]));
    }
    // A cluster-scoped object with a namespaced owner: the event is in the namespace `default`.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "owned", "ownerReferences": [owner(&lone)]},
    });
    world.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await;
    world.until("an event", async || !events("default").await.is_empty()).await;
    let event = &events("default").await[0];
    assert_eq!(event["involvedObject"]["kind"], "ClusterRole");
    assert!(event["message"].as_str().unwrap().ends_with("does not exist in namespace \"\""), "{event}");

    world.settle().await;
    let about: Vec<Value> =
        events("own").await.iter().map(|event| event["involvedObject"]["name"].clone()).collect();
    assert_eq!(about.len(), 2, "one for each reference to an owner that exists elsewhere: {about:?}");
    assert!(world.get(&map("neighbor")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_scoped_owner_has_dependents_in_every_namespace() {
    let world = World::start().await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "root"}});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = world.create(roles, &role).await;
    for namespace in ["a", "b"] {
        world.create_namespace(namespace).await;
        world.own_in(namespace, "owned", &[owner(&role)], &[]).await;
    }
    world.settle().await;
    assert!(world.get("/api/v1/namespaces/b/configmaps/owned").await.is_some());
    world.delete(&format!("{roles}/root")).await;
    for namespace in ["a", "b"] {
        world.gone(&format!("/api/v1/namespaces/{namespace}/configmaps/owned")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_scoped_object_with_a_namespaced_owner_is_left_alone() {
    let world = World::start().await;
    let root = world.own("root", &[]).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "owned", "ownerReferences": [owner(&root)]},
    });
    world.create(roles, &role).await;
    world.own("neighbor", &[owner(&root)]).await;
    world.settle().await;
    assert!(world.get(&map("neighbor")).await.is_some(), "the good reference is not taken for a bad one");
    world.delete(&map("root")).await;
    world.gone(&map("neighbor")).await;
    world.settle().await;
    assert!(world.get(&format!("{roles}/owned")).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_of_an_unknown_kind_decides_nothing_until_the_kind_is_served() {
    let world = World::start().await;
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Foo", "name": "a", "uid": "1"});
    world.own("owned", &[unknown]).await;
    world.settle().await;
    assert!(world.get(&map("owned")).await.is_some());
    world.define_foos("Namespaced").await;
    world.gone(&map("owned")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_follow_custom_objects_when_their_definition_is_deleted() {
    let world = World::start().await;
    let definition = world.define_foos("Cluster").await;
    let foos = "/apis/example.com/v1/foos";
    world.until("the kind is served", async || world.get(foos).await.is_some()).await;
    let foo = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}});
    let foo = world.create(foos, &foo).await;
    world.own("owned", &[owner(&foo)]).await;
    world.settle().await;
    assert!(world.get(&map("owned")).await.is_some());
    world.delete(&format!("{DEFINITIONS}/foos.example.com")).await;
    world.gone(&format!("{DEFINITIONS}/foos.example.com")).await;
    // The kind may be gone before its dependents are examined; then they wait until it is served again.
    if world.get(&map("owned")).await.is_some() {
        world.create(DEFINITIONS, &definition).await;
    }
    world.gone(&map("owned")).await;
}
