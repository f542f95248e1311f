//! Empty lists that have no stored form: the client's manager owns them, and they are read back as null.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const CSI_NODES: &str = "/apis/storage.k8s.io/v1/csinodes";

fn managed(object: &Value) -> &Value {
    &object["metadata"]["managedFields"][0]["fieldsV1"]
}

#[tokio::test]
async fn an_empty_list_is_owned_and_stored_as_null() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let role = |rules: Value| json!({"metadata": {"name": "r"}, "rules": rules});
    for dry_run in ["?dryRun=All", ""] {
        let created =
            server.call("POST", &format!("{CLUSTER_ROLES}{dry_run}"), &role(json!([]))).await.unwrap();
        assert_eq!(created["rules"], Value::Null, "{created}");
        assert_eq!(*managed(&created), json!({"f:rules": {}}));
    }
    let path = format!("{CLUSTER_ROLES}/r");
    let read = server.call("GET", &path, &Value::Null).await.unwrap();
    assert_eq!(read["rules"], Value::Null, "{read}");

    // The same again changes nothing, and so does a list that is left out.
    let again = server.call("PUT", &path, &role(json!([]))).await.unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], read["metadata"]["resourceVersion"]);
    assert_eq!(*managed(&again), json!({"f:rules": {}}));

    let unset = json!({"metadata": {"name": "unset"}});
    let created = server.call("POST", CLUSTER_ROLES, &unset).await.unwrap();
    assert_eq!(created["rules"], Value::Null);
    assert_eq!(created["metadata"].get("managedFields"), None, "{created}");
    server.stop().await;
}

#[tokio::test]
async fn lists_below_and_lists_with_keys_follow_the_same_rule() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let slice = json!({"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": [], "ports": []});
    let created = server.call("POST", SLICES, &slice).await.unwrap();
    assert_eq!((&created["endpoints"], &created["ports"]), (&Value::Null, &Value::Null), "{created}");
    assert_eq!(*managed(&created), json!({"f:addressType": {}, "f:endpoints": {}, "f:ports": {}}));

    // An empty list whose elements have keys counts as a value too, as there is no element that could be owned.
    let node = json!({"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"drivers": []}});
    let created = server.call("POST", CSI_NODES, &node).await.unwrap();
    assert_eq!(created["spec"], json!({"drivers": null}), "{created}");
    assert_eq!(managed(&created)["f:spec"], json!({"f:drivers": {}}), "{created}");
    server.stop().await;
}

#[tokio::test]
async fn the_error_about_the_metadata_of_a_review_shows_it_whole() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldManager=tester";
    let owners = json!([{"uid": "u", "name": "o", "kind": "K", "apiVersion": "v1"}]);
    let question = json!({"metadata": {"name": "x", "labels": {"a": "b"}, "ownerReferences": owners},
                          "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let error = server.call("POST", path, &question).await.unwrap_err().to_string();
    let status: Value = serde_json::from_str(error.split_once(": ").unwrap().1).unwrap();
    let shown = status["details"]["causes"][0]["message"].as_str().unwrap();
    let start = "Invalid value: {\"name\":\"x\",\"labels\":{\"a\":\"b\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\
                 \"kind\":\"K\",\"name\":\"o\",\"uid\":\"u\"}],\"managedFields\":[{\"manager\":\"tester\",\
                 \"operation\":\"Update\",\"apiVersion\":\"authorization.k8s.io/v1\",\"time\":\"";
    assert!(shown.starts_with(start), "{shown}");
    assert!(shown.ends_with("}}}]}: must be empty"), "{shown}");
    server.stop().await;
}
