//! Evictions that a disruption budget allows, and those that it does not.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::client::{Connection, Protocol};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";

/// Creates a running pod of the app `a`.
async fn run(connection: &mut Connection, name: &str, is_ready: bool) {
    let pod = json!({"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {
        "nodeName": "n1", "containers": [{"name": "c", "image": "x"}],
    }});
    assert_eq!(connection.call("POST", PODS, &pod).await.status, 201);
    let ready = if is_ready { "True" } else { "False" };
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}});
    assert_eq!(connection.call("PATCH", &format!("{PODS}/{name}/status"), &status).await.status, 200);
}

async fn evict(connection: &mut Connection, name: &str, query: &str) -> (u16, Value) {
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    let answer = connection.call("POST", &format!("{PODS}/{name}/eviction{query}"), &eviction).await;
    (answer.status, answer.json())
}

#[tokio::test]
async fn a_budget_is_asked_and_charged() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    let account = json!({"metadata": {"name": "default"}});
    admin.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
    for (name, is_ready) in [("first", true), ("second", true), ("sick", false)] {
        run(&mut admin, name, is_ready).await;
    }
    let budget = json!({"metadata": {"name": "b"}, "spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": "a"}},
    }});
    let (budgets, _) = BUDGET.rsplit_once('/').unwrap();
    assert_eq!(admin.call("POST", budgets, &budget).await.status, 201);
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 3,
    }});
    assert_eq!(admin.call("PATCH", &format!("{BUDGET}/status"), &status).await.status, 200);
    let allowed = async |admin: &mut Connection| {
        admin.get(BUDGET, Some("admin-token")).await.json()["status"]["disruptionsAllowed"].clone()
    };

    let breaking = json!({"metadata": {"name": "first"},
        "deleteOptions": {"ignoreStoreReadErrorWithClusterBreakingPotential": true}});
    let refused = admin.call("POST", &format!("{PODS}/first/eviction"), &breaking).await;
    assert_eq!(refused.status, 422);
    assert_eq!(
        refused.json()["message"],
        "Eviction.policy \"first\" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: \
         Invalid value: true: can not be set for pod eviction, try after removing the option"
    );

    for (query, own, code) in [
        ("?dryRun=All", json!(["All", "All"]), 500),
        ("?dryRun=All&dryRun=All", json!(["All"]), 500),
        ("?dryRun=All", json!(["All"]), 201),
        ("?dryRun=All&dryRun=All", json!(["All", "All"]), 201),
        ("", json!(["All", "All"]), 201),
        ("?dryRun=All&dryRun=All", json!([]), 201),
    ] {
        let eviction = json!({"metadata": {"name": "first"}, "deleteOptions": {"dryRun": own}});
        let answer = admin.call("POST", &format!("{PODS}/first/eviction{query}"), &eviction).await;
        assert_eq!(answer.status, code, "{query} {own}: {}", answer.json());
    }
    let eviction = json!({"metadata": {"name": "first"}, "deleteOptions": {"dryRun": ["All", "All"]}});
    let refused = admin.call("POST", &format!("{PODS}/first/eviction?dryRun=All"), &eviction).await;
    let message = "Non-matching dry-run options in request and content: [All] and [All All]";
    assert_eq!(
        refused.json(),
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": 500})
    );
    // A dry run does not use up the budget.
    assert_eq!(evict(&mut admin, "first", "?dryRun=All").await.0, 201);
    assert_eq!(allowed(&mut admin).await, 1);
    // Neither does a pod that is not healthy, as long as enough others are.
    assert_eq!(evict(&mut admin, "sick", "").await.0, 201);
    assert_eq!(allowed(&mut admin).await, 1);
    let ends = admin.get(&format!("{PODS}/sick"), Some("admin-token")).await.json();
    assert!(ends["metadata"]["deletionTimestamp"].is_string(), "{ends}");

    assert_eq!(evict(&mut admin, "first", "").await.0, 201);
    let spent = admin.get(BUDGET, Some("admin-token")).await.json();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert!(spent["status"]["disruptedPods"]["first"].is_string());
    assert_eq!(spent["status"]["conditions"][0]["reason"], "InsufficientPods");
    let (code, refused) = evict(&mut admin, "second", "").await;
    assert_eq!(code, 429);
    let cause = &refused["details"]["causes"][0];
    assert_eq!(cause["message"], "The disruption budget b needs 2 healthy pods and has 2 currently");
    let stays = admin.get(&format!("{PODS}/second"), Some("admin-token")).await.json();
    assert_eq!(stays["metadata"]["deletionTimestamp"], Value::Null);
    server.stop().await;
}

/// Of `policy/v1`: no selector selects no pod, and an empty selector selects all pods of the namespace.
#[tokio::test]
async fn an_empty_selector_selects_all_pods_and_an_absent_selector_none() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    let account = json!({"metadata": {"name": "default"}});
    admin.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
    run(&mut admin, "a", true).await;
    let (budgets, _) = BUDGET.rsplit_once('/').unwrap();
    for (name, selector, code, message) in [
        ("none", Value::Null, 201, ""),
        ("all", json!({}), 429, "Cannot evict pod as it would violate the pod's disruption budget."),
        (
            "second",
            json!({"matchLabels": {"app": "a"}}),
            500,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ),
    ] {
        let budget = json!({"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}});
        assert_eq!(admin.call("POST", budgets, &budget).await.status, 201, "{name}");
        let (answered, status) = evict(&mut admin, "a", "?dryRun=All").await;
        assert_eq!(answered, code, "{name}: {status}");
        assert_eq!(status["message"].as_str().unwrap_or_default(), message, "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn only_the_budget_that_selects_the_pod_is_charged() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let mut admin = Connection::open(&server, Protocol::Http2).await;
    let account = json!({"metadata": {"name": "default"}});
    admin.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
    run(&mut admin, "a", true).await;
    let (budgets, _) = BUDGET.rsplit_once('/').unwrap();
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
    let mut selectors = vec![
        ("b".to_owned(), expression("In", json!(["x", "a"]))),
        ("differs".to_owned(), expression("NotIn", json!(["x", "a"]))),
        ("lacks".to_owned(), json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})),
        ("both".to_owned(), json!({"matchLabels": {"app": "a", "tier": "x"}})),
    ];
    selectors.extend((0..20).map(|number| {
        (format!("other-{number}"), json!({"matchLabels": {"app": format!("other-{number}")}}))
    }));
    for (name, selector) in &selectors {
        let budget = json!({"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}});
        assert_eq!(admin.call("POST", budgets, &budget).await.status, 201, "{name}");
        let status = json!({"status": {
            "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1,
        }});
        let path = format!("{budgets}/{name}/status");
        assert_eq!(admin.call("PATCH", &path, &status).await.status, 200, "{name}");
    }
    let (code, status) = evict(&mut admin, "a", "").await;
    assert_eq!(code, 201, "{status}");
    let list = admin.get(budgets, Some("admin-token")).await.json();
    let charged: Vec<&Value> = list["items"].as_array().unwrap().iter().collect();
    assert_eq!(charged.len(), selectors.len());
    for budget in charged {
        let is_charged = budget["metadata"]["name"] == "b";
        let (allowed, disrupted) =
            (&budget["status"]["disruptionsAllowed"], &budget["status"]["disruptedPods"]["a"]);
        assert_eq!(
            (allowed, disrupted.is_string()),
            (&json!(i32::from(!is_charged)), is_charged),
            "{budget}"
        );
    }
    server.stop().await;
}
