//! Kinds whose controllers belong to kube-controller-manager: what these may do, in the requests that they make.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use crate::client::{ADMIN, Connection, Protocol, request};
use crate::servers::start;

const COLLECTOR: &str = "storage-version-garbage-collector";
const POOL_STATUS: &str = "resourcepoolstatusrequest-controller";
const VERSIONS: &str = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const NAME: &str = "storageversion.integration.test.foos";
const REQUESTS: &str = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests";

/// The requests of one user: an administrator, or the account of a controller.
struct As {
    connection: Connection,
    user: Option<String>,
}

impl As {
    async fn administrator(server: &TestServer) -> Self {
        Self { connection: Connection::open(server, Protocol::Http2).await, user: None }
    }

    async fn controller(server: &TestServer, account: &str) -> Self {
        let user = format!("system:serviceaccount:kube-system:{account}");
        Self { user: Some(user), ..Self::administrator(server).await }
    }

    /// Returns the status code of the answer, and the answer.
    async fn send(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut headers = vec![ADMIN, ("content-type", "application/json")];
        if let Some(user) = &self.user {
            headers.push(("impersonate-user", user));
            headers.push(("impersonate-group", "system:authenticated"));
        }
        let answer = self.connection.send(request(method, path, &headers, body)).await;
        (answer.status, answer.json())
    }

    /// Sends a request that succeeds, and returns the answer.
    async fn make(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let (code, answer) = self.send(method, path, body).await;
        assert!(code < 300, "{method} {path}: {answer}");
        answer
    }
}

/// Returns the status of a StorageVersion with an entry of each of these servers, in a version of its own.
fn entries(servers: &[&str], common: Option<&str>) -> Value {
    let entry = |server: &&str| {
        let version = server.replace("id-", "v");
        json!({ "apiServerID": server, "encodingVersion": version, "decodableVersions": [version] })
    };
    let entries: Vec<Value> = servers.iter().map(entry).collect();
    json!({ "storageVersions": entries, "commonEncodingVersion": common })
}

#[tokio::test]
async fn reports_of_servers_are_collected_after_their_leases() {
    let served = "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true";
    let server = start(&["--feature-gates=StorageVersionAPI=true", served]).await;
    let mut admin = As::administrator(&server).await;
    let mut collector = As::controller(&server, COLLECTOR).await;
    let (object, status) = (format!("{VERSIONS}/{NAME}"), format!("{VERSIONS}/{NAME}/status"));

    let named = json!({ "metadata": { "name": NAME }, "status": entries(&["id-1"], Some("v1")) });
    let mut version = admin.make("POST", VERSIONS, &named).await;
    assert_eq!(version["status"], json!({}), "it is written apart");
    version["status"] = entries(&["id-1", "id-2"], None);
    version = admin.make("PUT", &status, &version).await;
    // Two servers in two versions have none in common.
    let mut wrong = version.clone();
    wrong["status"]["commonEncodingVersion"] = "v1".into();
    let (code, refused) = admin.send("PUT", &status, &wrong).await;
    assert_eq!(code, 422);
    assert!(refused["message"].as_str().unwrap().contains("status.commonEncodingVersion"), "{refused}");

    collector.make("GET", "/apis/coordination.k8s.io/v1/leases", &Value::Null).await;
    let listed = collector.make("GET", VERSIONS, &Value::Null).await;
    assert!(listed["items"].as_array().unwrap().iter().any(|item| item["metadata"]["name"] == NAME));
    version["status"] = entries(&["id-2"], Some("v2"));
    let kept = collector.make("PUT", &status, &version).await;
    assert_eq!(kept["status"]["storageVersions"][0]["apiServerID"], "id-2");
    assert_eq!(collector.send("POST", VERSIONS, &named).await.0, 403);
    collector.make("DELETE", &object, &Value::Null).await;
    assert_eq!(admin.send("GET", &object, &Value::Null).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn requests_for_the_status_of_pools_are_answered_once() {
    let gate = "--feature-gates=DRAResourcePoolStatus=true,DynamicResourceAllocation=true";
    let server = start(&[gate, "--runtime-config=resource.k8s.io/v1alpha3=true"]).await;
    let mut admin = As::administrator(&server).await;
    let mut controller = As::controller(&server, POOL_STATUS).await;
    let asked = json!({ "metadata": { "name": "q" }, "spec": { "driver": "test.example.com", "limit": 2 } });
    admin.make("POST", REQUESTS, &asked).await;
    for path in ["resourceslices", "resourceclaims"] {
        controller.make("GET", &format!("/apis/resource.k8s.io/v1/{path}"), &Value::Null).await;
    }
    let (object, status) = (format!("{REQUESTS}/q"), format!("{REQUESTS}/q/status"));
    let mut answered = controller.make("GET", &object, &Value::Null).await;
    let pool = json!({
        "driver": "test.example.com", "poolName": "test-pool", "nodeName": "test-node", "generation": 1,
        "resourceSliceCount": 1, "totalDevices": 4, "allocatedDevices": 0, "availableDevices": 4,
        "unavailableDevices": 0,
    });
    answered["status"] = json!({
        "poolCount": 5, "pools": [pool],
        "conditions": [{
            "type": "Complete", "status": "True", "reason": "CalculationComplete", "message": "done",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    });
    let mut answered = controller.make("PUT", &status, &answered).await;
    assert_eq!(answered["status"]["pools"][0], pool);
    answered["status"]["poolCount"] = 6.into();
    let (code, refused) = controller.send("PUT", &status, &answered).await;
    assert_eq!(code, 422);
    assert!(refused["message"].as_str().unwrap().contains("field is immutable"), "{refused}");
    assert_eq!(controller.send("POST", REQUESTS, &asked).await.0, 403);
    controller.make("DELETE", &object, &Value::Null).await;
    server.stop().await;

    // Without the gate the kind is the same, and the controller has no rights.
    let server = start(&["--runtime-config=resource.k8s.io/v1alpha3=true"]).await;
    As::administrator(&server).await.make("POST", REQUESTS, &asked).await;
    let mut controller = As::controller(&server, POOL_STATUS).await;
    assert_eq!(controller.send("GET", &object, &Value::Null).await.0, 403);
    server.stop().await;
}
