//! The account and the authority of every namespace.

use apiserver::testing::TestServerBuilder;
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_can_be_created_as_soon_as_its_namespace_exists() {
    let world = World::start().await;
    for namespace in ["default", "own"] {
        if namespace == "own" {
            world.create_namespace(namespace).await;
        }
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        });
        let pod = world.create(&format!("/api/v1/namespaces/{namespace}/pods"), &pod).await;
        assert_eq!(pod["spec"]["serviceAccountName"], "default");
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        assert!(volumes[0]["projected"].is_object(), "{volumes:?}");
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt");
        let map = world.becomes(&path, Value::is_object).await;
        assert_eq!(map["data"]["ca.crt"], world.0.ca_pem());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_and_an_authority_that_are_deleted_are_restored() {
    let world = World::start().await;
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    let map = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    for path in [account, map] {
        let before = world.becomes(path, Value::is_object).await;
        world.delete(path).await;
        let uid = before["metadata"]["uid"].clone();
        world.becomes(path, |now| now.is_object() && now["metadata"]["uid"] != uid).await;
    }
    world.merge(map, &json!({"data": {"ca.crt": "another"}})).await;
    world.becomes(map, |now| now["data"]["ca.crt"] == world.0.ca_pem()).await;
    let changed = world.merge(account, &json!({"automountServiceAccountToken": false})).await;
    world.settle().await;
    assert_eq!(world.get(account).await.unwrap(), changed, "an account is as its user wants it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writes_are_those_of_upstreams_accounts() {
    let world = World::start().await;
    let map = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    let map = world.becomes(map, Value::is_object).await;
    assert_eq!(map["metadata"]["managedFields"][0]["manager"], "kube-controller-manager");
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregated_cluster_roles_have_rules_that_follow_the_roles_they_select() {
    let world = World::start().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    for name in ["admin", "edit", "view"] {
        world.becomes(&format!("{roles}/{name}"), |role| role["rules"].is_array()).await;
    }
    let rule = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]});
    let widgets = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [rule],
        "metadata": {"name": "widgets", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
    });
    world.create(roles, &widgets).await;
    let has_rule = |role: &Value| role["rules"].as_array().unwrap().contains(&rule);
    // `edit` aggregates `view`, and `admin` aggregates `edit`.
    for name in ["view", "edit", "admin"] {
        world.becomes(&format!("{roles}/{name}"), has_rule).await;
    }
    world.delete(&format!("{roles}/widgets")).await;
    world.becomes(&format!("{roles}/admin"), |role| !has_rule(role)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_controllers_namespaces_have_nothing_and_stay() {
    let world = World::with(TestServerBuilder::without_controllers).await;
    world.create_namespace("own").await;
    world.delete("/api/v1/namespaces/own").await;
    let path = "/api/v1/namespaces/own/configmaps/kube-root-ca.crt";
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(world.get(path).await, None);
    assert_eq!(world.get("/api/v1/namespaces/own").await.unwrap()["status"]["phase"], "Terminating");
}
