//! Quotas count what a namespace uses.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::world::{World, map};

const QUOTA: &str = "/api/v1/namespaces/default/resourcequotas/own";

async fn create(world: &World, spec: &Value) {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "own"}, "spec": spec,
    });
    world.create("/api/v1/namespaces/default/resourcequotas", &quota).await;
}

async fn uses(world: &World, used: &Value) {
    world.becomes(QUOTA, |now| now["status"]["used"] == *used).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_counts_what_is_there_and_what_comes_and_goes() {
    let world = World::start().await;
    let authority = map("kube-root-ca.crt");
    world.becomes(&authority, Value::is_object).await;
    world.own("before", &[]).await;
    create(
        &world,
        &json!({"hard": {"configmaps": "3", "count/secrets": "1", "pods": "1", "requests.cpu": "1"}}),
    )
    .await;
    let used = |configmaps: &str| json!({"configmaps": configmaps, "count/secrets": "0", "pods": "0", "requests.cpu": "0"});
    uses(&world, &used("2")).await;
    let quota = world.get(QUOTA).await.unwrap();
    assert_eq!(quota["status"]["hard"], quota["spec"]["hard"]);
    world.own("third", &[]).await;
    uses(&world, &used("3")).await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fourth"}});
    let refused = world.call("POST", "/api/v1/namespaces/default/configmaps", &object).await.unwrap_err();
    assert!(refused.contains("exceeded quota: own"), "{refused}");
    world.delete(&map("third")).await;
    uses(&world, &used("2")).await;
    world.merge(QUOTA, &json!({"spec": {"hard": {"services": "1"}}})).await;
    world.becomes(QUOTA, |now| now["status"]["used"]["services"] == "1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pods_of_a_scope_count_until_they_are_over() {
    let world = World::start().await;
    create(&world, &json!({"hard": {"pods": "2", "requests.cpu": "1"}, "scopes": ["NotTerminating"]})).await;
    uses(&world, &json!({"pods": "0", "requests.cpu": "0"})).await;
    let pod = |name: &str, deadline: &Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {
                "activeDeadlineSeconds": deadline,
                "containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "300m"}}}],
            },
        })
    };
    let pods = "/api/v1/namespaces/default/pods";
    world.create(pods, &pod("counted", &Value::Null)).await;
    world.create(pods, &pod("not-in-scope", &json!(60))).await;
    uses(&world, &json!({"pods": "1", "requests.cpu": "300m"})).await;
    let mut over = world.get(&format!("{pods}/counted")).await.unwrap();
    over["status"]["phase"] = "Succeeded".into();
    world.call("PUT", &format!("{pods}/counted/status"), &over).await.unwrap();
    uses(&world, &json!({"pods": "0", "requests.cpu": "0"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_do_not_exceed_a_quota_that_is_counted_meanwhile() {
    let world = World::start().await;
    create(&world, &json!({"hard": {"count/secrets": "10"}})).await;
    uses(&world, &json!({"count/secrets": "0"})).await;
    let world_ref = &world;
    let secrets = "/api/v1/namespaces/default/secrets";
    let create = |index: usize| async move {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("a-{index}")}});
        tokio::time::sleep(std::time::Duration::from_millis(u64::try_from(index * 7).unwrap())).await;
        world_ref.call("POST", secrets, &secret).await.is_ok()
    };
    let created = join_all((0..60).map(create)).await;
    assert_eq!(created.into_iter().filter(|created| *created).count(), 10);
    uses(&world, &json!({"count/secrets": "10"})).await;
}
