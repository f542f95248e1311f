//! Field selectors compare an omitted field as the zero value of its Go type.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::client::{Connection, Protocol};

async fn create(connection: &mut Connection, path: &str, object: Value) {
    let answer = connection.call("POST", path, &object).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Returns the names of the objects that a field selector matches.
async fn found(connection: &mut Connection, path: &str, selector: &str) -> Vec<String> {
    let list = connection.get(&format!("{path}?fieldSelector={selector}"), Some("admin-token")).await.json();
    let items = list["items"].as_array().unwrap_or_else(|| panic!("{list}"));
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn fields_that_are_left_out_are_zero() {
    let directory = {
        let server = TestServer::builder().without_controllers().start().await.unwrap();
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        let node = |name, spec| json!({"metadata": {"name": name}, "spec": spec});
        create(&mut connection, "/api/v1/nodes", node("open", json!({}))).await;
        create(&mut connection, "/api/v1/nodes", node("closed", json!({"unschedulable": true}))).await;
        let account = json!({"metadata": {"name": "default"}});
        create(&mut connection, "/api/v1/namespaces/default/serviceaccounts", account).await;
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
        create(&mut connection, "/api/v1/namespaces/default/pods", pod.clone()).await;
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod["spec"]});
        let replicated = json!({"metadata": {"name": "r"}, "spec": {"replicas": 1, "selector": {"a": "b"}, "template": template}});
        create(&mut connection, "/api/v1/namespaces/default/replicationcontrollers", replicated).await;
        let mut run = pod["spec"].clone();
        run["restartPolicy"] = json!("Never");
        let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": run}}});
        create(&mut connection, "/apis/batch/v1/namespaces/default/jobs", job).await;
        let directory = server.directory().clone();
        server.stop().await;
        directory
    };
    // The attributes of written objects, and of those read from the store, are computed in different ways.
    let server = TestServer::builder().without_controllers().directory(&directory).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for (path, selector, names) in [
        ("/api/v1/nodes", "spec.unschedulable=false", vec!["open"]),
        ("/api/v1/nodes", "spec.unschedulable=true", vec!["closed"]),
        ("/api/v1/nodes", "spec.unschedulable!=true", vec!["open"]),
        ("/api/v1/pods", "spec.hostNetwork=false", vec!["p"]),
        ("/api/v1/pods", "spec.hostNetwork=", vec![]),
        ("/api/v1/pods", "spec.nodeName=", vec!["p"]),
        ("/api/v1/replicationcontrollers", "status.replicas=0", vec!["r"]),
        ("/apis/batch/v1/jobs", "status.successful=0", vec!["j"]),
    ] {
        assert_eq!(found(&mut connection, path, selector).await, names, "{path} {selector}");
    }
    create(&mut connection, "/api/v1/nodes", json!({"metadata": {"name": "late"}})).await;
    assert_eq!(found(&mut connection, "/api/v1/nodes", "spec.unschedulable=false").await, ["late", "open"]);
    server.stop().await;
}
