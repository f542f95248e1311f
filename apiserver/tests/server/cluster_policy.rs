//! Policies that differ between clusters.

use apiserver::testing::TestServer;
use serde_json::json;

use super::client::{Connection, Protocol};

#[tokio::test]
async fn privileged_containers_are_for_clusters_that_allow_them() {
    let spec = json!({
        "containers": [{"name": "c", "image": "x", "securityContext": {"privileged": true}}],
    });
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    let labels = json!({"app": "a"});
    let daemon_set = json!({"metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec},
    }});
    let bodies = [
        ("/api/v1/namespaces/default/pods", pod),
        ("/apis/apps/v1/namespaces/default/daemonsets", daemon_set),
    ];
    for (flag, wanted) in [("--allow-privileged=false", 422), ("--allow-privileged", 201)] {
        let builder = TestServer::builder().memory().flag("--disable-admission-plugins=ServiceAccount");
        let server = builder.flag(flag).start().await.unwrap();
        let mut admin = Connection::open(&server, Protocol::Http2).await;
        for (path, body) in &bodies {
            let answer = admin.call("POST", path, body).await;
            assert_eq!(answer.status, wanted, "{flag} {path}: {}", answer.text());
            if wanted == 422 {
                let message = answer.json()["message"].as_str().unwrap().to_owned();
                let refusal = "securityContext.privileged: Forbidden: disallowed by cluster policy";
                assert!(message.ends_with(refusal), "{message}");
            }
        }
    }
}
