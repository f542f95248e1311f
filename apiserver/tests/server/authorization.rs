//! The permissions of users by default and by roles, the grants that are refused, and impersonation.

use apiserver::testing::{ADMIN_TOKEN, ALICE_TOKEN, TestServer};
use serde_json::{Value, json};

use crate::client::{Answer, Connection, Protocol, request};
use crate::servers::refusal;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A client that sends requests of several users.
struct Client(Connection);

impl Client {
    async fn open(server: &TestServer) -> Self {
        Self(Connection::open(server, Protocol::Http1).await)
    }

    async fn send(&mut self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        self.send_with(token, method, path, body, &[]).await
    }

    async fn send_with(
        &mut self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let bearer = format!("Bearer {token}");
        let user = (!token.is_empty()).then_some(("authorization", &*bearer));
        let applied = (method == "PATCH").then_some(("content-type", "application/apply-patch+yaml"));
        let headers: Vec<_> = user.into_iter().chain(applied).chain(headers.iter().copied()).collect();
        self.0.send(request(method, path, &headers, body)).await
    }

    /// Sends a request of an administrator, which succeeds.
    async fn admin(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.send(ADMIN_TOKEN, method, path, body).await;
        assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text());
        answer.json()
    }

    async fn alice(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(ALICE_TOKEN, method, path, body).await
    }

    /// Gives alice these rules in the namespace `default`.
    async fn grant(&mut self, name: &str, rules: Value) {
        let metadata = json!({ "name": name });
        self.admin("POST", &roles("default"), &json!({ "metadata": metadata, "rules": rules })).await;
        self.admin("POST", &bindings("default"), &binding(name, "Role", name)).await;
    }
}

fn roles(namespace: &str) -> String {
    format!("{RBAC}/namespaces/{namespace}/roles")
}

fn bindings(namespace: &str) -> String {
    format!("{RBAC}/namespaces/{namespace}/rolebindings")
}

/// Returns a binding of a role to alice.
fn binding(name: &str, kind: &str, role: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    })
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

fn everything() -> Value {
    rule("*", &["*"], &["*"])
}

#[tokio::test]
async fn a_user_without_roles_gets_nothing_whatever_the_path() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    let secret = json!({ "metadata": { "name": "s" }, "data": { "k": "aGlkZGVu" } });
    client.admin("POST", "/api/v1/namespaces/default/secrets", &secret).await;
    for path in [
        "/api/v1/secrets",
        "/api/v1/secrets/",
        "//api/v1/secrets",
        "/api//v1/secrets",
        "/api/v1//secrets",
        "/api%2Fv1%2Fsecrets",
        "/api/v1/%73ecrets",
        "/api/v1/namespaces/default/secrets/s",
        "/api/v1/namespaces/default/secrets/s/",
        "/api/v1/namespaces/default//secrets/s",
        "/api/v1/namespaces//secrets/s",
        "/api/v1/namespaces/default/secrets/s/status",
        "/api/v1/watch/secrets",
        "/api/v1/watch/namespaces/default/secrets/s",
        "/api/v1/proxy/namespaces/default/secrets/s",
        "/healthz/../api/v1/secrets",
        "/openapi/../api/v1/secrets",
        "/openapi/v3/../../api/v1/secrets",
        "/api/v1/nodes/../secrets",
        "/api/../api/v1/secrets",
        "/api/v1/./secrets",
        "/healthz%2F..%2Fapi%2Fv1%2Fsecrets",
        "/api/v1/secrets?watch=1&timeoutSeconds=1",
        "/api/v1/secrets?fieldSelector=metadata.name%3Ds",
        "/API/v1/secrets",
        "/apis//v1/secrets",
        "/apis/core/v1/secrets",
        "/version/../api/v1/secrets",
    ] {
        for token in [ALICE_TOKEN, ""] {
            let answer = client.send(token, "GET", path, &Value::Null).await;
            assert!(matches!(answer.status, 400 | 403 | 404), "{path}: {} {}", answer.status, answer.text());
            assert!(!answer.text().contains("aGlkZGVu"), "{path}: {}", answer.text());
        }
    }
    for (method, path) in [
        ("HEAD", "/api/v1/namespaces/default/secrets/s"),
        ("OPTIONS", "/api/v1/namespaces/default/secrets/s"),
        ("DELETE", "/api/v1/namespaces/default/secrets"),
        ("DELETE", "/api/v1/secrets"),
        ("POST", "/api/v1/namespaces/default/pods/x/exec"),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token"),
        ("POST", "/api/v1/namespaces"),
        ("PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps"),
        ("GET", "/metrics"),
        ("GET", "/readyz/ping"),
        ("GET", "/logs/x"),
        ("GET", "/debug/pprof"),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
        ("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
    ] {
        let answer = client.alice(method, path, &Value::Null).await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.text());
    }
    for (token, path, status) in [
        ("", "/healthz", 200),
        ("", "/version", 200),
        ("", "/api", 403),
        (ALICE_TOKEN, "/api", 200),
        (ALICE_TOKEN, "/apis/apps/v1", 200),
        (ALICE_TOKEN, "/openapi/v3", 200),
    ] {
        assert_eq!(client.send(token, "GET", path, &Value::Null).await.status, status, "{token:?} {path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_role_is_in_force_when_its_write_is_answered() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    let role =
        |verb: &str| json!({ "metadata": { "name": "r" }, "rules": [rule("", &["configmaps"], &[verb])] });
    let path = format!("{}/r", roles("default"));
    let objects = "/api/v1/namespaces/default/configmaps";
    client.grant("r", json!([])).await;
    for _ in 0..20 {
        client.admin("PUT", &path, &role("list")).await;
        assert_eq!(client.alice("GET", objects, &Value::Null).await.status, 200);
        client.admin("PUT", &path, &role("get")).await;
        assert_eq!(client.alice("GET", objects, &Value::Null).await.status, 403);
    }
    client.admin("PUT", &path, &role("list")).await;
    let own_binding = format!("{}/r", bindings("default"));
    for _ in 0..20 {
        client.admin("DELETE", &own_binding, &Value::Null).await;
        assert_eq!(client.alice("GET", objects, &Value::Null).await.status, 403);
        client.admin("POST", &bindings("default"), &binding("r", "Role", "r")).await;
        assert_eq!(client.alice("GET", objects, &Value::Null).await.status, 200);
    }
    client.admin("DELETE", &roles("default"), &Value::Null).await;
    let refused = client.alice("GET", objects, &Value::Null).await;
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with(r#": RBAC: role.rbac.authorization.k8s.io "r" not found"#), "{message}");
    server.stop().await;
}

#[tokio::test]
async fn a_selector_that_only_looks_like_a_name_does_not_count() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    for name in ["own", "other"] {
        client.admin("POST", secrets, &json!({ "metadata": { "name": name } })).await;
    }
    let mut own = rule("", &["secrets"], &["list", "deletecollection"]);
    own["resourceNames"] = json!(["own"]);
    client.grant("r", json!([own])).await;
    let list = |query: &str| format!("{secrets}?{query}");
    let found = client.alice("GET", &list("fieldSelector=metadata.name%3Down"), &Value::Null).await;
    assert_eq!((found.status, found.json()["items"].as_array().unwrap().len()), (200, 1));
    for (query, status) in [
        ("", 403),
        ("fieldSelector=type!%3Dx%5C%2Cmetadata.name%3Down", 403),
        ("fieldSelector=metadata.name%3Down&fieldSelector=", 200),
        ("fieldSelector=&fieldSelector=metadata.name%3Down", 403),
    ] {
        let answer = client.alice("GET", &list(query), &Value::Null).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
        assert!(!answer.text().contains("\"other\""), "{query}: {}", answer.text());
    }
    let deleted = client.alice("DELETE", &list("fieldSelector=metadata.name%3Down"), &Value::Null).await;
    assert_eq!(deleted.status, 403, "a collection has no name");
    server.stop().await;
}

#[tokio::test]
async fn nobody_grants_more_than_they_hold() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    let group = "rbac.authorization.k8s.io";
    let kinds = ["roles", "rolebindings"];
    client.grant("writer", json!([rule(group, &kinds, &["create", "update", "patch", "get"])])).await;
    client.grant("reader", json!([rule("", &["configmaps"], &["get", "list"])])).await;
    let metadata = |name: &str| json!({ "name": name });
    let role = |name: &str, rules: Value| json!({ "metadata": metadata(name), "rules": rules });
    let own = role("own", json!([rule("", &["configmaps"], &["get"])]));
    let made = client.alice("POST", &roles("default"), &own).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let more = json!([rule("", &["configmaps", "secrets"], &["get", "delete"])]);
    let own_path = format!("{}/own", roles("default"));
    let applied = |name: &str, rules: &Value| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata(name), "rules": rules });
    for (method, path, body) in [
        ("POST", roles("default"), role("e", more.clone())),
        ("POST", format!("{}?dryRun=All", roles("default")), role("e", more.clone())),
        ("PUT", own_path.clone(), role("own", more.clone())),
        ("PUT", format!("{}/e", roles("default")), role("e", more.clone())),
        ("PATCH", format!("{own_path}?fieldManager=x&force=true"), applied("own", &more)),
        ("PATCH", format!("{}/e?fieldManager=x", roles("default")), applied("e", &more)),
        ("POST", roles("default"), role("e", json!([everything()]))),
        ("POST", bindings("default"), binding("e", "ClusterRole", "cluster-admin")),
        ("POST", format!("{}?dryRun=All", bindings("default")), binding("e", "ClusterRole", "cluster-admin")),
        ("PUT", format!("{}/e", bindings("default")), binding("e", "ClusterRole", "cluster-admin")),
    ] {
        let answer = client.alice(method, &path, &body).await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.text());
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("is attempting to grant RBAC permissions not currently held:\n{"),
            "{message}"
        );
    }
    let refused = client.alice("POST", &roles("default"), &role("e", more)).await;
    assert_eq!(
        refused.json()["message"],
        "roles.rbac.authorization.k8s.io \"e\" is forbidden: user \"alice\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"delete\"]}\n\
         {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}"
    );
    let own_role = client.alice("POST", &bindings("default"), &binding("own", "Role", "own")).await;
    assert_eq!(own_role.status, 201, "{}", own_role.text());
    let missing = client.alice("POST", &bindings("default"), &binding("m", "ClusterRole", "none")).await;
    assert_eq!(missing.status, 404, "{}", missing.text());
    let elsewhere = client.alice("POST", &bindings("kube-system"), &binding("own", "Role", "own")).await;
    assert_eq!(elsewhere.status, 403);
    let other_role =
        client.alice("PUT", &format!("{}/own", bindings("default")), &binding("own", "Role", "reader")).await;
    assert_eq!(other_role.status, 422, "{}", other_role.text());
    server.stop().await;
}

#[tokio::test]
async fn the_verbs_bind_and_escalate_allow_it() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    let group = "rbac.authorization.k8s.io";
    let mut bind = rule(group, &["clusterroles"], &["bind"]);
    bind["resourceNames"] = json!(["system:basic-user"]);
    client.grant("writer", json!([rule(group, &["rolebindings", "roles"], &["create"]), bind])).await;
    let wanted = binding("b", "ClusterRole", "system:basic-user");
    assert_eq!(client.alice("POST", &bindings("default"), &wanted).await.status, 201);
    let other = binding("c", "ClusterRole", "system:node");
    assert_eq!(client.alice("POST", &bindings("default"), &other).await.status, 403);
    let all = json!({ "metadata": { "name": "all" }, "rules": [everything()] });
    assert_eq!(client.alice("POST", &roles("default"), &all).await.status, 403);
    client.grant("escalate", json!([rule(group, &["roles"], &["escalate"])])).await;
    assert_eq!(client.alice("POST", &roles("default"), &all).await.status, 201);

    // Cluster roles: who may write them all still needs full rights to aggregate.
    let cluster_roles = format!("{RBAC}/clusterroles");
    let writer = json!({ "metadata": { "name": "w" }, "rules": [rule(group, &["clusterroles"], &["create", "update"])] });
    client.admin("POST", &cluster_roles, &writer).await;
    client.admin("POST", &format!("{RBAC}/clusterrolebindings"), &binding("w", "ClusterRole", "w")).await;
    let aggregated = json!({
        "metadata": { "name": "a" },
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "x": "y" } }] },
    });
    let refused = client.alice("POST", &cluster_roles, &aggregated).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("must have cluster-admin privileges to use the aggregationRule"));
    client.admin("POST", &cluster_roles, &aggregated).await;
    let without = json!({ "metadata": { "name": "a" }, "rules": [] });
    assert_eq!(client.alice("PUT", &format!("{cluster_roles}/a"), &without).await.status, 403);
    server.stop().await;
}

#[tokio::test]
async fn impersonation_is_allowed_by_mode() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    let cluster_role = |rules: Value| json!({ "metadata": { "name": "i" }, "rules": rules });
    let path = format!("{RBAC}/clusterroles/i");
    client.admin("POST", &format!("{RBAC}/clusterroles"), &cluster_role(json!([]))).await;
    client.admin("POST", &format!("{RBAC}/clusterrolebindings"), &binding("i", "ClusterRole", "i")).await;
    let authentication = "authentication.k8s.io";
    let as_carol = [("impersonate-user", "carol")];
    let as_master = [("impersonate-user", "carol"), ("impersonate-group", "system:masters")];
    let as_robot = [("impersonate-user", "system:serviceaccount:default:robot")];
    let as_node = [("impersonate-user", "system:node:n")];
    let constrained = |verb: &str, resource: &str| {
        json!([
            rule(authentication, &[resource], &[verb]),
            rule(
                "authentication.k8s.io",
                &["selfsubjectreviews"],
                &[
                    "impersonate-on:user-info:create",
                    "impersonate-on:serviceaccount:create",
                    "impersonate-on:arbitrary-node:create",
                ]
            )
        ])
    };
    for (rules, headers, allowed) in [
        (json!([]), &as_carol[..], false),
        (json!([rule("", &["users"], &["impersonate"])]), &as_carol, true),
        (json!([rule("", &["users"], &["impersonate"])]), &as_master, false),
        (json!([rule("", &["users", "groups"], &["impersonate"])]), &as_master, true),
        (json!([rule("", &["users"], &["impersonate"])]), &as_robot, false),
        (json!([rule("", &["serviceaccounts"], &["impersonate"])]), &as_robot, true),
        (json!([rule(authentication, &["users"], &["impersonate:user-info"])]), &as_carol, false),
        (constrained("impersonate:user-info", "users"), &as_carol, true),
        (constrained("impersonate:user-info", "*"), &as_master, false),
        (constrained("impersonate:user-info", "*"), &as_robot, false),
        (constrained("impersonate:serviceaccount", "serviceaccounts"), &as_robot, true),
        (constrained("impersonate:user-info", "users"), &as_node, false),
        (constrained("impersonate:arbitrary-node", "nodes"), &as_node, true),
    ] {
        client.admin("PUT", &path, &cluster_role(rules.clone())).await;
        let reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let answer = client.send_with(ALICE_TOKEN, "POST", reviews, &json!({}), headers).await;
        assert_eq!(answer.status, if allowed { 201 } else { 403 }, "{rules} {headers:?}: {}", answer.text());
        if allowed {
            assert_eq!(answer.json()["status"]["userInfo"]["username"], headers[0].1);
        }
    }
    // The right to impersonate in one request is none for others.
    client.admin("PUT", &path, &cluster_role(constrained("impersonate:user-info", "users"))).await;
    let refused = client.send_with(ALICE_TOKEN, "GET", "/api", &Value::Null, &as_carol).await;
    assert_eq!(
        refused.json()["message"],
        "forbidden: User \"alice\" cannot impersonate-on:user-info:get path \"/api\""
    );
    server.stop().await;
}

#[tokio::test]
async fn reviews_say_what_would_happen() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::open(&server).await;
    client.grant("r", json!([rule("", &["pods"], &["list"])])).await;
    let rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let answer = client.alice("POST", rules, &json!({ "spec": { "namespace": "default" } })).await.json();
    let listed = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(listed.contains(&rule("", &["pods"], &["list"])), "{answer}");
    assert!(
        listed.contains(&rule("authentication.k8s.io", &["selfsubjectreviews"], &["create"])),
        "{answer}"
    );
    assert_eq!(answer["status"]["incomplete"], false);
    let elsewhere = client.alice("POST", rules, &json!({ "spec": { "namespace": "other" } })).await.json();
    assert!(!elsewhere["status"]["resourceRules"].as_array().unwrap().contains(&rule(
        "",
        &["pods"],
        &["list"]
    )));

    let ask = |attributes: Value| json!({ "spec": { "user": "system:node:n", "groups": ["system:nodes"], "resourceAttributes": attributes } });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let list = |selector: Value| json!({ "verb": "list", "resource": "pods", "fieldSelector": selector });
    let requirement = |value: &str| json!({ "key": "spec.nodeName", "operator": "In", "values": [value] });
    for (selector, allowed) in [
        (json!({ "rawSelector": "spec.nodeName=n" }), true),
        (json!({ "rawSelector": "spec.nodeName=m" }), false),
        (json!({ "requirements": [requirement("n")] }), true),
        (json!({ "requirements": [requirement("m")] }), false),
    ] {
        let answer = client.admin("POST", path, &ask(list(selector.clone()))).await;
        assert_eq!(answer["status"]["allowed"], allowed, "{selector}");
        assert_eq!(answer["status"].get("evaluationError"), None, "{selector}");
    }
    let unread = client.admin("POST", path, &ask(list(json!({ "rawSelector": "what" })))).await;
    assert_eq!(
        unread["status"]["evaluationError"],
        "spec.resourceAttributes.fieldSelector ignored due to parse error"
    );
    let invalid = client.send(ADMIN_TOKEN, "POST", path, &ask(list(json!({})))).await;
    assert_eq!(invalid.status, 422, "{}", invalid.text());
    server.stop().await;
}

#[tokio::test]
async fn a_node_reads_the_secrets_of_its_pods_only() {
    let server = TestServer::builder()
        .memory()
        .without_controllers()
        .token("n", "system:node:n", "system:nodes")
        .start()
        .await
        .unwrap();
    let mut client = Client::open(&server).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    for name in ["mounted", "other"] {
        client.admin("POST", secrets, &json!({ "metadata": { "name": name } })).await;
    }
    client
        .admin(
            "POST",
            "/api/v1/namespaces/default/serviceaccounts",
            &json!({ "metadata": { "name": "default" } }),
        )
        .await;
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": {
            "nodeName": "n",
            "containers": [{ "name": "c", "image": "i" }],
            "volumes": [{ "name": "s", "secret": { "secretName": "mounted" } }],
        },
    });
    let get = async |client: &mut Client, name: &str| {
        client.send("n", "GET", &format!("{secrets}/{name}"), &Value::Null).await.status
    };
    assert_eq!(get(&mut client, "mounted").await, 403);
    client.admin("POST", "/api/v1/namespaces/default/pods", &pod).await;
    let mut status = 0;
    for _ in 0..500 {
        status = get(&mut client, "mounted").await;
        if status == 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!((status, get(&mut client, "other").await), (200, 403));
    server.stop().await;
}

#[tokio::test]
async fn other_modes_can_be_chosen() {
    let server =
        TestServer::builder().memory().flag("--authorization-mode=AlwaysAllow").start().await.unwrap();
    let mut client = Client::open(&server).await;
    assert_eq!(client.alice("GET", "/api/v1/secrets", &Value::Null).await.status, 200);
    server.stop().await;
    let server =
        TestServer::builder().memory().flag("--authorization-mode=AlwaysDeny").start().await.unwrap();
    let mut client = Client::open(&server).await;
    let refused = client.alice("GET", "/api", &Value::Null).await;
    assert!(
        refused.text().contains("cannot get path \\\"/api\\\": Everything is forbidden."),
        "{}",
        refused.text()
    );
    assert_eq!(client.admin("GET", "/api", &Value::Null).await["kind"], "APIVersions");
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        for token in ["", ALICE_TOKEN] {
            let refused = client.send(token, "GET", path, &Value::Null).await;
            assert_eq!(refused.status, 403, "{path}: {}", refused.text());
            let expected = format!("cannot get path \\\"{path}\\\": Everything is forbidden.");
            assert!(refused.text().contains(&expected), "{}", refused.text());
        }
        assert_eq!(client.send(ADMIN_TOKEN, "GET", path, &Value::Null).await.status, 200, "{path}");
    }
    server.stop().await;
    for (mode, reason) in
        [("RBAC,RBAC", "more than once"), ("Zork", "Zork"), ("ABAC", "--authorization-policy-file")]
    {
        let refused = refusal(&[&format!("--authorization-mode={mode}")]).await;
        assert!(refused.contains(reason), "{mode}: {refused}");
    }
}
