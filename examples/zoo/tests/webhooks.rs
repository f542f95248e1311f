//! Admission webhooks that are registered at a main server and called by the zoo behind it, for its own kinds, over TLS.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "helpers of tests fail as tests do"
)]
#![allow(dead_code, reason = "the webhook is that of other tests, which use more of it")]

use std::time::{Duration, Instant};

use apiserver::ServerBuilder;
use apiserver::testing::{CallError, TestCluster};
use serde_json::{Value, json};

#[path = "../../../apiserver/tests/support/hook.rs"]
mod hook;
#[path = "../../../apiserver/tests/support/tls_server.rs"]
mod tls_server;

use hook::{Hook, Reply, patched};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";
const ENCLOSURES: &str = "/apis/zoo.example.dev/v1/namespaces/default/enclosures";
/// The label of the objects that prove that a configuration is in force.
const PROBE: &str = "probe";
/// Maximum time until the zoo has followed a change of the main server.
const PATIENCE: Duration = Duration::from_secs(40);

/// A main server with the zoo behind it, and a webhook.
struct World {
    cluster: TestCluster,
    hook: Hook,
}

/// The kind of a configuration.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Mutating,
    Validating,
}

// === impl World ===

impl World {
    /// Starts the servers. The webhook is also the service `default/hook`, which the zoo reaches on this machine.
    async fn start() -> Self {
        let maps = [&zoo::STORAGE_MAP];
        let cluster =
            TestCluster::start_customized(&maps, ServerBuilder::reach_local_workloads).await.unwrap();
        let world = Self { cluster, hook: Hook::start().await };
        let service = json!({
            "metadata": { "name": "hook" }, "spec": { "type": "ExternalName", "externalName": "localhost" },
        });
        world.done("POST", "/api/v1/namespaces/default/services", &service).await;
        world
    }

    /// Sends a request to the main server, which must succeed.
    async fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.cluster.main().call(method, path, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Sends a request to the main server, which must be refused with this status. Returns the message.
    async fn refused(&self, status: u16, method: &str, path: &str, body: &Value) -> String {
        let CallError::Refused { status: found, body } =
            self.cluster.main().call(method, path, body).await.unwrap_err()
        else {
            panic!("{method} {path} is not refused")
        };
        assert_eq!(found, status, "{method} {path}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["message"].as_str().unwrap().to_owned()
    }

    /// Returns a webhook at this path, called at its URL for an operation on a resource of the zoo.
    fn webhook(&self, path: &str, operation: &str, resource: &str) -> Value {
        let rule = json!({
            "operations": [operation], "apiGroups": ["zoo.example.dev"], "apiVersions": ["v1"], "resources": [resource],
        });
        json!({
            "name": format!("{path}.example.com"),
            "rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 10,
            "clientConfig": { "url": self.hook.url(path), "caBundle": self.hook.ca_bundle },
        })
    }

    /// Returns such a webhook that is called through its service.
    fn webhook_of_service(&self, path: &str, operation: &str, resource: &str) -> Value {
        let mut webhook = self.webhook(path, operation, resource);
        let service = json!({
            "namespace": "default", "name": "hook", "path": format!("/{path}"), "port": self.hook.port(),
        });
        webhook["clientConfig"] = json!({ "service": service, "caBundle": self.hook.ca_bundle });
        webhook
    }

    /// Registers webhooks, and waits until the zoo calls them.
    async fn register(&self, kind: Kind, webhooks: &[Value]) {
        let name = format!("{PROBE}-{kind:?}").to_lowercase();
        let mut probe = self.webhook(&name, "CREATE", "enclosures");
        probe["objectSelector"] = json!({ "matchLabels": { PROBE: name } });
        // The first one: a mutating webhook sees what those before it have changed.
        let webhooks: Vec<&Value> = [&probe].into_iter().chain(webhooks).collect();
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind:?}WebhookConfiguration"),
            "metadata": { "name": name }, "webhooks": webhooks,
        });
        let path = format!("{CONFIGURATIONS}/{}webhookconfigurations", format!("{kind:?}").to_lowercase());
        self.done("POST", &path, &configuration).await;
        let mut probed = enclosure(PROBE, 1);
        probed["metadata"]["labels"] = json!({ PROBE: name });
        let begun = Instant::now();
        while self.hook.calls(&name).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{name} is never in force");
            // Other webhooks may refuse it.
            let _ = self.cluster.main().call("POST", &format!("{ENCLOSURES}?dryRun=All"), &probed).await;
        }
    }

    /// Returns the last request that a path has received.
    fn last_call(&self, path: &str) -> Value {
        self.hook.calls(path).pop().unwrap_or_else(|| panic!("{path} was not called"))
    }
}

fn enclosure(name: &str, animals: i32) -> Value {
    json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure",
        "metadata": { "name": name }, "spec": { "species": "penguin", "animals": animals },
    })
}

fn with_labels(mut object: Value, labels: &Value) -> Value {
    object["metadata"]["labels"] = labels.clone();
    object
}

fn denied(message: &str) -> Reply {
    Reply::Response(json!({ "allowed": false, "status": { "code": 403, "message": message } }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mutating_webhook_changes_objects_of_own_kinds() {
    let world = World::start().await;
    world.hook.on("mutate", |_| {
        patched(&json!([
            { "op": "add", "path": "/metadata/labels", "value": { "by": "webhook" } },
            { "op": "replace", "path": "/spec/species", "value": "LION" },
            { "op": "add", "path": "/spec/keeper", "value": "ada" },
            { "op": "add", "path": "/spec/unknown", "value": 1 },
        ]))
    });
    let mutate = world.webhook_of_service("mutate", "CREATE", "enclosures");
    let scale = world.webhook("scale", "UPDATE", "enclosures/scale");
    world.register(Kind::Mutating, &[mutate, scale]).await;

    let made = world.done("POST", &format!("{ENCLOSURES}?fieldManager=me"), &enclosure("north", 2)).await;
    assert_eq!(made["metadata"]["labels"], json!({ "by": "webhook" }));
    // The strategy of the kind runs afterwards.
    assert_eq!(made["spec"], json!({ "species": "lion", "animals": 2, "keeper": "ada" }));
    assert_eq!(world.done("GET", &format!("{ENCLOSURES}/north"), &Value::Null).await["spec"], made["spec"]);

    let call = world.last_call("mutate");
    let kind = json!({ "group": "zoo.example.dev", "version": "v1", "kind": "Enclosure" });
    let resource = json!({ "group": "zoo.example.dev", "version": "v1", "resource": "enclosures" });
    let options = json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me" });
    for (field, expected) in [
        ("kind", &kind),
        ("requestKind", &kind),
        ("resource", &resource),
        ("name", &json!("north")),
        ("namespace", &json!("default")),
        ("operation", &json!("CREATE")),
        ("dryRun", &json!(false)),
        ("options", &options),
        ("oldObject", &Value::Null),
    ] {
        assert_eq!(&call[field], expected, "{field}");
    }
    assert_eq!(call["object"]["spec"], json!({ "species": "penguin", "animals": 2 }));
    // The user of the main server, not the main server itself.
    assert!(call["userInfo"]["groups"].as_array().unwrap().contains(&json!("system:masters")), "{call}");
    assert_ne!(call["userInfo"]["username"], "front-proxy-client");

    // In another version the object is converted for the webhook, and back.
    let beta = json!({
        "apiVersion": "zoo.example.dev/v1beta1", "kind": "Enclosure",
        "metadata": { "name": "south" }, "spec": { "inhabitant": "penguin", "headcount": 3 },
    });
    let made = world.done("POST", &ENCLOSURES.replace("v1", "v1beta1"), &beta).await;
    assert_eq!(made["spec"], json!({ "inhabitant": "lion", "headcount": 3, "caretaker": "ada" }));
    let call = world.last_call("mutate");
    assert_eq!((&call["kind"], &call["requestKind"]["version"]), (&kind, &json!("v1beta1")));
    assert_eq!(call["object"]["spec"], json!({ "species": "penguin", "animals": 3 }));

    let path = format!("{ENCLOSURES}/north/scale");
    let mut scaled = world.done("GET", &path, &Value::Null).await;
    scaled["spec"]["replicas"] = 7.into();
    world.done("PUT", &path, &scaled).await;
    let call = world.last_call("scale");
    assert_eq!((&call["kind"]["kind"], &call["subResource"]), (&json!("Scale"), &json!("scale")));
    let replicas = [&call["oldObject"]["spec"]["replicas"], &call["object"]["spec"]["replicas"]];
    assert_eq!(replicas, [&json!(2), &json!(7)]);
    world.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validating_webhook_refuses_objects_of_own_kinds_that_it_is_about() {
    let world = World::start().await;
    for path in ["crowded", "guarded", "labelled", "keepers"] {
        world.hook.on(path, move |request| {
            denied(&format!("{path}: not {}", request["name"].as_str().unwrap_or_default()))
        });
    }
    world.hook.on("keep", |request| {
        let animals = &request["oldObject"]["spec"]["animals"];
        if *animals == 0 { hook::allowed() } else { denied(&format!("{animals} animals live in it")) }
    });
    let mut crowded = world.webhook("crowded", "*", "enclosures");
    crowded["matchConditions"] = json!([
        { "name": "many", "expression": "request.operation != 'DELETE' && object.spec.animals > 10" },
        { "name": "is-no-administrator",
          "expression": "!authorizer.group('').resource('secrets').check('get').allowed()" },
    ]);
    let mut many = world.webhook_of_service("keepers", "CREATE", "enclosures");
    many["matchConditions"] = json!([{ "name": "many", "expression": "object.spec.animals > 100" }]);
    let mut guarded = world.webhook("guarded", "CREATE", "enclosures");
    guarded["namespaceSelector"] = json!({ "matchLabels": { "guarded": "yes" } });
    let mut labelled = world.webhook("labelled", "*", "enclosures");
    labelled["objectSelector"] = json!({ "matchExpressions": [{ "key": "closed", "operator": "Exists" }] });
    let keep = world.webhook("keep", "DELETE", "enclosures");
    world.register(Kind::Validating, &[crowded, many, guarded, labelled, keep]).await;
    let text = |path: &str, name: &str| {
        format!("admission webhook \"{path}.example.com\" denied the request: {path}: not {name}")
    };

    // Conditions: of the object, and of the user, whom the main server judges.
    world.done("POST", ENCLOSURES, &enclosure("few", 2)).await;
    world.done("POST", ENCLOSURES, &enclosure("some", 20)).await;
    let message = world.refused(403, "POST", ENCLOSURES, &enclosure("many", 200)).await;
    assert_eq!(message, text("keepers", "many"));
    assert!(world.hook.calls("crowded").is_empty());
    let kubectl = world.cluster.kubectl();
    kubectl.run("create clusterrole zoo --verb=* --resource=enclosures.zoo.example.dev").await;
    kubectl.run("create clusterrolebinding zoo --clusterrole=zoo --user=jane").await;
    let as_jane =
        kubectl.fail(r#"patch enclosure some --type=merge -p {"spec":{"keeper":"jane"}} --as=jane"#).await;
    assert!(as_jane.contains(&text("crowded", "some")), "{as_jane}");
    assert_eq!(world.last_call("crowded")["userInfo"]["username"], "jane");

    // Labels of the object.
    let closed = json!({ "metadata": { "labels": { "closed": "today" } } });
    let labelled = with_labels(enclosure("labelled", 1), &closed["metadata"]["labels"]);
    let message = world.refused(403, "POST", ENCLOSURES, &labelled).await;
    assert_eq!(message, text("labelled", "labelled"));

    // Labels of the namespace, at the main server, followed by the zoo.
    let africa = ENCLOSURES.replace("default", "africa");
    world.done("POST", "/api/v1/namespaces", &json!({ "metadata": { "name": "africa" } })).await;
    world.done("POST", &africa, &enclosure("lions", 2)).await;
    kubectl.run("label namespace africa guarded=yes").await;
    let dry_run = format!("{africa}?dryRun=All");
    let begun = Instant::now();
    while world.cluster.main().call("POST", &dry_run, &enclosure("giraffes", 2)).await.is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the label is never known");
    }
    let message = world.refused(403, "POST", &africa, &enclosure("giraffes", 2)).await;
    assert_eq!(message, text("guarded", "giraffes"));
    world.done("POST", ENCLOSURES, &enclosure("giraffes", 2)).await;

    // A deletion shows the former object.
    let path = format!("{ENCLOSURES}/few");
    let message = world.refused(403, "DELETE", &path, &Value::Null).await;
    assert_eq!(message, "admission webhook \"keep.example.com\" denied the request: 2 animals live in it");
    kubectl.run("scale enclosure few --replicas=0").await;
    world.done("DELETE", &path, &Value::Null).await;
    world.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_patch_that_cannot_be_used_is_the_error_of_kubernetes() {
    let world = World::start().await;
    let wrong = [
        (
            "mistyped",
            json!([{ "op": "replace", "path": "/spec/animals", "value": "many" }]),
            "Internal error occurred: json: cannot unmarshal string into Go struct field EnclosureSpec.spec.animals of type int32",
        ),
        (
            "misplaced",
            json!([{ "op": "replace", "path": "/spec", "value": [1] }]),
            "Internal error occurred: json: cannot unmarshal array into Go struct field Enclosure.spec of type v1.EnclosureSpec",
        ),
        (
            "missing",
            json!([{ "op": "remove", "path": "/spec/keeper" }]),
            "Internal error occurred: error in remove for path: '/spec/keeper': Unable to remove nonexistent key: keeper: \
             missing value",
        ),
        (
            "unlisted",
            json!({ "op": "add", "path": "/spec/keeper", "value": "ada" }),
            "Internal error occurred: failed calling webhook \"unlisted.example.com\": received undecodable patch in \
             webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
    ];
    let mut webhooks = Vec::new();
    for (case, patch, _) in &wrong {
        let patch = patch.clone();
        world.hook.on(case, move |_| patched(&patch));
        let mut webhook = world.webhook(case, "CREATE", "enclosures");
        webhook["objectSelector"] = json!({ "matchLabels": { "case": case } });
        webhooks.push(webhook);
    }
    // Valid JSON of the right types is validated like the object of a client.
    world
        .hook
        .on("invalid", |_| patched(&json!([{ "op": "replace", "path": "/spec/animals", "value": -1 }])));
    let mut invalid = world.webhook("invalid", "CREATE", "enclosures");
    invalid["objectSelector"] = json!({ "matchLabels": { "case": "invalid" } });
    webhooks.push(invalid);
    world.register(Kind::Mutating, &webhooks).await;

    let of_case = |case: &str| with_labels(enclosure(case, 2), &json!({ "case": case }));
    for (case, _, expected) in &wrong {
        assert_eq!(world.refused(500, "POST", ENCLOSURES, &of_case(case)).await, *expected, "{case}");
        let absent = format!("{ENCLOSURES}/{case}");
        world.refused(404, "GET", &absent, &Value::Null).await;
    }
    let message = world.refused(422, "POST", ENCLOSURES, &of_case("invalid")).await;
    assert!(
        message.contains("spec.animals: Invalid value: -1: must be greater than or equal to 0"),
        "{message}"
    );
    world.cluster.stop().await;
}
