//! Rights that a request needs beside that of its method, with roles.

use apiserver::testing::{ALICE_TOKEN, TestServer};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::{Answer, Connection, Protocol, request};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";

/// A server on which alice has what each test grants.
struct Fixture {
    server: TestServer,
    connection: Connection,
}

impl Fixture {
    async fn start() -> Self {
        let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
        let connection = Connection::open(&server, Protocol::Http1).await;
        Self { server, connection }
    }

    /// Gives alice exactly these rules in the namespace `default`.
    async fn grant(&self, rules: Value) {
        self.bind("Role", &format!("{RBAC}/namespaces/default"), rules).await;
    }

    /// Gives alice exactly these rules in the whole cluster.
    async fn grant_everywhere(&self, rules: Value) {
        self.bind("ClusterRole", RBAC, rules).await;
    }

    /// Writes a role of a kind, below a path, with these rules, and its binding to alice.
    async fn bind(&self, kind: &str, below: &str, rules: Value) {
        let name = kind.to_lowercase();
        let role = json!({ "metadata": { "name": "r" }, "rules": rules });
        self.call("PUT", &format!("{below}/{name}s/r"), &role).await;
        let binding = json!({
            "metadata": { "name": "r" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "r" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
        });
        self.call("PUT", &format!("{below}/{name}bindings/r"), &binding).await;
    }

    /// Sends a request of an administrator, which succeeds.
    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.server.call(method, path, body).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    async fn alice(&mut self, method: &str, path: &str, media_type: &str, body: &Value) -> Answer {
        let user = ("authorization", &*format!("Bearer {ALICE_TOKEN}"));
        self.connection.send(request(method, path, &[user, ("content-type", media_type)], body)).await
    }

    async fn apply(&mut self, path: &str, body: &Value) -> Answer {
        self.alice("PATCH", &format!("{path}?fieldManager=t"), APPLY, body).await
    }

    /// Opens the WebSocket of a pod's subresource.
    async fn websocket(&mut self, path: &str) -> Answer {
        let request = Request::get(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {ALICE_TOKEN}"))
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header("sec-websocket-protocol", "v5.channel.k8s.io");
        self.connection.send(request.body(Full::default()).unwrap()).await
    }
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "b" } })
}

fn lease(name: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name }, "spec": {} })
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

fn assert_refused(answer: &Answer, message: &str) {
    assert_eq!((answer.status, &answer.json()["message"]), (403, &json!(message)), "{}", answer.text());
}

#[tokio::test]
async fn an_apply_that_creates_needs_the_right_to_create() {
    let mut fixture = Fixture::start().await;
    fixture.grant(json!([rule("", &["configmaps"], &["patch"])])).await;
    fixture.call("POST", MAPS, &map("present")).await;
    let refusal = r#"configmaps "new" is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "default""#;
    let new = format!("{MAPS}/new");
    let refused = fixture.apply(&new, &map("new")).await;
    assert_refused(&refused, refusal);
    let details = json!({ "name": "new", "kind": "configmaps" });
    assert_eq!((&refused.json()["reason"], &refused.json()["details"]), (&json!("Forbidden"), &details));
    let dry = fixture.alice("PATCH", &format!("{new}?fieldManager=t&dryRun=All"), APPLY, &map("new")).await;
    assert_refused(&dry, refusal);
    assert!(fixture.server.call("GET", &new, &Value::Null).await.unwrap_err().to_string().starts_with("404"));
    // Other patches create nothing, and an object that is there is changed with `patch` alone.
    let merged = fixture.alice("PATCH", &new, "application/merge-patch+json", &json!({})).await;
    assert_eq!(merged.status, 404, "{}", merged.text());
    let present = format!("{MAPS}/present");
    assert_eq!(fixture.apply(&present, &map("present")).await.status, 200);
    // What is wrong with the object, and its namespace, is found first.
    let mut wrong = map("new");
    wrong["data"] = json!({ "not a key": "" });
    assert_eq!(fixture.apply(&new, &wrong).await.status, 422);
    // The right may be for this name only, other than with POST.
    let mut named = rule("", &["configmaps"], &["create"]);
    named["resourceNames"] = json!(["new"]);
    fixture.grant(json!([rule("", &["configmaps"], &["patch"]), named])).await;
    assert_eq!(fixture.apply(&new, &map("new")).await.status, 201);
    assert_eq!(fixture.apply(&format!("{MAPS}/other"), &map("other")).await.status, 403);
    assert_eq!(fixture.alice("POST", MAPS, JSON, &map("other")).await.status, 403);
    fixture.server.stop().await;
}

#[tokio::test]
async fn an_update_that_creates_needs_the_right_to_create() {
    let mut fixture = Fixture::start().await;
    fixture.grant(json!([rule("coordination.k8s.io", &["leases"], &["update"])])).await;
    let new = format!("{LEASES}/new");
    let refused = fixture.alice("PUT", &new, JSON, &lease("new")).await;
    assert_refused(
        &refused,
        r#"leases.coordination.k8s.io "new" is forbidden: User "alice" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default""#,
    );
    fixture.grant(json!([rule("coordination.k8s.io", &["leases"], &["update", "create"])])).await;
    assert_eq!(fixture.alice("PUT", &new, JSON, &lease("new")).await.status, 201);
    fixture.grant(json!([rule("coordination.k8s.io", &["leases"], &["update"])])).await;
    let stored = fixture.call("GET", &new, &Value::Null).await;
    let replaced = fixture.alice("PUT", &new, JSON, &stored).await;
    assert_eq!(replaced.status, 200, "an object that is there is replaced: {}", replaced.text());
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_role_in_a_namespace_does_not_create_the_namespace() {
    let mut fixture = Fixture::start().await;
    fixture.grant(json!([rule("", &["namespaces"], &["*"])])).await;
    let namespace =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    // The path is inside of the namespace, in which alice holds everything.
    let body = namespace("default");
    assert_eq!(fixture.apply("/api/v1/namespaces/default", &body).await.status, 200);
    let role = json!({ "metadata": { "name": "patcher" }, "rules": [rule("", &["namespaces"], &["patch"])] });
    fixture.call("POST", &format!("{RBAC}/clusterroles"), &role).await;
    let binding = json!({
        "metadata": { "name": "patcher" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "patcher" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
    });
    fixture.call("POST", &format!("{RBAC}/clusterrolebindings"), &binding).await;
    let refused = fixture.apply("/api/v1/namespaces/blue", &namespace("blue")).await;
    assert_refused(
        &refused,
        r#"namespaces "blue" is forbidden: User "alice" cannot create resource "namespaces" in API group "" at the cluster scope"#,
    );
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_custom_resource_is_created_by_an_apply_with_the_right_to_create() {
    let mut fixture = Fixture::start().await;
    let definition = json!({
        "metadata": { "name": "ships.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "ships", "singular": "ship", "kind": "Ship", "listKind": "ShipList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            } }],
        },
    });
    fixture.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    fixture.grant(json!([rule("example.com", &["ships"], &["get", "patch"])])).await;
    let ship = "/apis/example.com/v1/namespaces/default/ships/a";
    let body = json!({ "apiVersion": "example.com/v1", "kind": "Ship", "metadata": { "name": "a" }, "x": 1 });
    let mut refused = fixture.apply(ship, &body).await;
    for _ in 0..500 {
        if refused.status != 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        refused = fixture.apply(ship, &body).await;
    }
    assert_refused(
        &refused,
        r#"ships.example.com "a" is forbidden: User "alice" cannot create resource "ships" in API group "example.com" in the namespace "default""#,
    );
    fixture.grant(json!([rule("example.com", &["ships"], &["create", "patch"])])).await;
    assert_eq!(fixture.apply(ship, &body).await.status, 201);
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_websocket_into_a_pod_needs_the_right_to_create() {
    let mut fixture = Fixture::start().await;
    let account = json!({ "metadata": { "name": "default" } });
    fixture.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
    let pod =
        json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    fixture.call("POST", "/api/v1/namespaces/default/pods", &pod).await;
    for stream in ["exec", "attach", "portforward"] {
        let path = format!("/api/v1/namespaces/default/pods/web/{stream}?command=ls&ports=80");
        let resource = format!("pods/{stream}");
        fixture.grant(json!([rule("", &[&resource], &["get"])])).await;
        assert_refused(&fixture.websocket(&path).await, "pods \"web\" is forbidden: ");
        // A pod that does not exist is not told from one that does.
        let absent = path.replace("/web/", "/absent/");
        assert_refused(&fixture.websocket(&absent).await, "pods \"absent\" is forbidden: ");
        fixture.grant(json!([rule("", &[&resource], &["get", "create"])])).await;
        let opened = fixture.websocket(&path).await;
        assert_eq!(opened.status, 400, "{}", opened.text());
        assert!(opened.text().contains("does not have a host assigned"), "{}", opened.text());
        // POST needs nothing but `create`.
        fixture.grant(json!([rule("", &[&resource], &["create"])])).await;
        assert_eq!(fixture.alice("POST", &path, JSON, &Value::Null).await.status, 400);
        let refused = fixture.websocket(&path).await;
        assert!(refused.text().contains("cannot get resource"), "{}", refused.text());
    }
    // A proxy is asked for with the right of its method.
    fixture.grant(json!([rule("", &["pods/proxy", "pods/log"], &["get"])])).await;
    for path in ["proxy", "log"] {
        let answer = fixture.websocket(&format!("/api/v1/namespaces/default/pods/web/{path}")).await;
        assert_ne!(answer.status, 403, "{path}: {}", answer.text());
    }
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_watch_of_a_name_shows_no_other_object() {
    let mut fixture = Fixture::start().await;
    let mut named = rule("", &["secrets"], &["list", "watch"]);
    named["resourceNames"] = json!(["own"]);
    fixture.grant(json!([named])).await;
    for name in ["own", "other"] {
        let secret = json!({ "metadata": { "name": name }, "stringData": { "a": "b" } });
        fixture.call("POST", "/api/v1/namespaces/default/secrets", &secret).await;
    }
    let path = "/api/v1/watch/namespaces/default/secrets";
    for selector in
        ["", "&fieldSelector=metadata.name%3Down", "&fieldSelector=metadata.name%3Down%2Ctype%3DOpaque"]
    {
        let url = format!("{path}/own?timeoutSeconds=1{selector}");
        let answer = fixture.alice("GET", &url, JSON, &Value::Null).await;
        assert_eq!(answer.status, 200, "{selector}: {}", answer.text());
        let shown = [r#""name":"own""#, r#""name":"other""#].map(|name| answer.text().contains(name));
        assert_eq!(shown, [true, false], "{selector}: {}", answer.text());
    }
    for selector in [
        "metadata.name%3Dother",
        "metadata.name%3D%3Dother",
        "metadata.name%21%3Down",
        "metadata.name%3Dother%2Cmetadata.name%3Down",
        "type%3DOpaque",
        "metadata.namespace%3Ddefault",
        "metadata.name%3Dother&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    ] {
        let url = format!("{path}/own?timeoutSeconds=1&fieldSelector={selector}");
        let answer = fixture.alice("GET", &url, JSON, &Value::Null).await;
        assert_eq!(answer.status, 400, "{selector}: {}", answer.text());
        assert_eq!(answer.json()["message"], "fieldSelector metadata.name doesn't match requested name");
    }
    let refused = fixture.alice("GET", &format!("{path}/other?timeoutSeconds=1"), JSON, &Value::Null).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    fixture.server.stop().await;
}

#[tokio::test]
async fn the_prefix_of_watches_is_for_get() {
    let mut fixture = Fixture::start().await;
    fixture.grant(json!([rule("", &["configmaps"], &["watch"])])).await;
    fixture.call("POST", MAPS, &map("a")).await;
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let path = "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=1";
        let answer = fixture.alice(method, path, JSON, &map("a")).await;
        assert_eq!(answer.status, 405, "{method}: {}", answer.text());
    }
    fixture.server.stop().await;
}

/// Returns a policy whose expressions see secrets, or a binding of it.
fn about_secrets(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": name }, "spec": spec,
    })
}

#[tokio::test]
async fn the_parameters_of_a_policy_need_the_right_to_read_them() {
    const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1";
    let mut fixture = Fixture::start().await;
    let resources = [
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    ];
    let all = rule("admissionregistration.k8s.io", &resources, &["*"]);
    let secrets = |verbs: &[&str]| rule("", &["secrets"], verbs);
    let constraints = json!({ "resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
    }] });
    let secret_kind = json!({ "apiVersion": "v1", "kind": "Secret" });
    let mutation =
        json!([{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "Object{}" } }]);
    let named = json!({ "name": "s", "namespace": "default", "parameterNotFoundAction": "Deny" });
    let selected = json!({ "selector": {}, "namespace": "default", "parameterNotFoundAction": "Deny" });
    for (family, spec, actions) in [
        (
            "Validating",
            json!({ "matchConstraints": constraints, "validations": [{ "expression": "true" }] }),
            json!({ "validationActions": ["Deny"] }),
        ),
        (
            "Mutating",
            json!({ "matchConstraints": constraints, "mutations": mutation, "reinvocationPolicy": "Never" }),
            json!({}),
        ),
    ] {
        let (policies, bindings) = (
            format!("{POLICIES}/{}admissionpolicies", family.to_lowercase()),
            format!("{POLICIES}/{}admissionpolicybindings", family.to_lowercase()),
        );
        let policy = |name: &str, param_kind: &Value| {
            let mut spec = spec.clone();
            spec["paramKind"] = param_kind.clone();
            about_secrets(&format!("{family}AdmissionPolicy"), name, &spec)
        };
        let binding = |name: &str, policy: &str, reference: &Value| {
            let mut spec = actions.clone();
            spec["policyName"] = policy.into();
            spec["paramRef"] = reference.clone();
            about_secrets(&format!("{family}AdmissionPolicyBinding"), name, &spec)
        };
        fixture.grant_everywhere(json!([all])).await;

        // A policy needs `get` on all objects of the kind, however it is written.
        let refused = fixture.alice("POST", &policies, JSON, &policy("p", &secret_kind)).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        let user = "&{alice alice [system:authenticated] map[]}";
        let text = format!(
            "{family}AdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: spec.paramKind: Forbidden: user {user} \
             must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)"
        );
        assert_eq!(refused.json()["message"], text);
        let path = format!("{policies}/p");
        assert_eq!(fixture.apply(&path, &policy("p", &secret_kind)).await.status, 422);
        assert_eq!(fixture.alice("POST", &policies, JSON, &policy("p", &Value::Null)).await.status, 201);
        let patch = json!({ "spec": { "paramKind": secret_kind } });
        let merge = "application/merge-patch+json";
        assert_eq!(fixture.alice("PATCH", &path, merge, &patch).await.status, 422);
        assert_eq!(fixture.alice("PATCH", &format!("{path}?dryRun=All"), merge, &patch).await.status, 422);
        fixture.grant_everywhere(json!([all, secrets(&["get"])])).await;
        assert_eq!(fixture.alice("PATCH", &path, merge, &patch).await.status, 200);

        // A binding needs `get` on the object, or `list` on those that it selects, by the policy that it names.
        fixture.grant_everywhere(json!([all])).await;
        let relabel = json!({ "metadata": { "labels": { "a": "b" } } });
        assert_eq!(fixture.alice("PATCH", &path, merge, &relabel).await.status, 200, "the kind is as before");
        for (reference, verb) in [(&named, "get"), (&selected, "list")] {
            let refused = fixture.alice("POST", &bindings, JSON, &binding(verb, "p", reference)).await;
            assert_eq!(refused.status, 422, "{}", refused.text());
            // Kubernetes passes the arguments of this text in the other order for mutating policies.
            let (subject, permission) = match family {
                "Mutating" => (verb.to_owned(), format!("\"{user}\"")),
                _ => (user.to_owned(), format!("\"{verb}\"")),
            };
            let text = format!(
                "spec.paramRef: Forbidden: user {subject} does not have {permission} permission on the object referenced by paramRef"
            );
            assert!(refused.text().contains(&text.replace('"', "\\\"")), "{}", refused.text());
            fixture.grant_everywhere(json!([all, secrets(&[verb])])).await;
            let created = fixture.alice("POST", &bindings, JSON, &binding(verb, "p", reference)).await;
            assert_eq!(created.status, 201, "{}", created.text());
            fixture.grant_everywhere(json!([all])).await;
        }
        // Of a policy that is not there, everything may be the parameters.
        fixture.grant_everywhere(json!([all, secrets(&["get"])])).await;
        let refused = fixture.alice("POST", &bindings, JSON, &binding("b", "later", &named)).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(
            refused.text().contains("unable to get policy later to determine minimum required permissions")
        );
        let patch = json!({ "spec": { "policyName": "later" } });
        let moved = fixture.alice("PATCH", &format!("{bindings}/get"), merge, &patch).await;
        assert_ne!(moved.status, 200, "{}", moved.text());
        // The administrator is not asked.
        fixture.call("POST", &bindings, &binding("b", "later", &named)).await;
    }
    fixture.server.stop().await;
}
