//! Webhooks that change objects.

use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use serde_json::{Value, json};

use crate::hook::{Reply, patched};
use crate::world::{Kind, MAPS, World, map};

const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");

/// Answers as a webhook that is written with kube-rs does: it adds a label, or refuses what is called `refused`.
fn kube_rs(request: &Value) -> Reply {
    let review =
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request });
    let review: AdmissionReview<DynamicObject> = serde_json::from_value(review).unwrap();
    let request: AdmissionRequest<DynamicObject> = review.try_into().unwrap();
    let mut response = AdmissionResponse::from(&request);
    if request.name == "refused" {
        response = response.deny("not this name");
    } else {
        let labels = json!([
            { "op": "add", "path": "/metadata/labels", "value": {} },
            { "op": "add", "path": "/metadata/labels/by", "value": request.user_info.username },
        ]);
        response = response.with_patch(serde_json::from_value(labels).unwrap()).unwrap();
    }
    Reply::Body(200, serde_json::to_string(&response.into_review()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_of_kube_rs_labels_and_refuses() {
    let mut world = World::start().await;
    world.hook.on("label", kube_rs);
    let webhook = world.webhook("label", "CREATE", CONFIG_MAPS);
    world.register(Kind::Mutating, "c", &[webhook]).await;

    let mut sent = map("a");
    sent["unknown"] = json!(1);
    let made = world.expect(201, "POST", &format!("{MAPS}?fieldManager=me"), sent).await;
    assert_eq!(made["metadata"]["labels"], json!({ "by": "admin" }));
    assert_eq!(world.get(&format!("{MAPS}/a")).await["metadata"]["labels"], json!({ "by": "admin" }));
    let call = world.hook.calls("label").pop().unwrap();
    let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
    let resource = json!({ "group": "", "version": "v1", "resource": "configmaps" });
    for (field, expected) in [
        ("kind", &kind),
        ("requestKind", &kind),
        ("resource", &resource),
        ("requestResource", &resource),
        ("name", &json!("a")),
        ("namespace", &json!("default")),
        ("operation", &json!("CREATE")),
        ("dryRun", &json!(false)),
        ("oldObject", &Value::Null),
        ("query", &json!("timeout=1s")),
    ] {
        assert_eq!(&call[field], expected, "{field}");
    }
    assert_eq!(call["userInfo"]["username"], "admin");
    assert!(call["userInfo"]["groups"].as_array().unwrap().contains(&json!("system:masters")));
    let options = json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me" });
    assert_eq!(call["options"], options);
    assert_eq!(
        (&call["object"]["kind"], &call["object"]["data"]),
        (&json!("ConfigMap"), &json!({ "a": "1" }))
    );
    assert_eq!(call["object"]["unknown"], Value::Null);

    let refused = world.expect(400, "POST", MAPS, map("refused")).await;
    let denied = "admission webhook \"label.example.com\" denied the request: not this name";
    assert_eq!(refused["message"], denied);
    let dry = world.expect(201, "POST", &format!("{MAPS}?dryRun=All"), map("dry")).await;
    assert_eq!(dry["metadata"]["labels"]["by"], "admin");
    let call = world.hook.calls("label").pop().unwrap();
    assert_eq!((&call["dryRun"], &call["options"]["dryRun"]), (&json!(true), &json!(["All"])));
    let metrics = world.send("GET", "/metrics", &Value::Null).await.text();
    let counted = "apiserver_admission_webhook_request_total{code=\"200\",name=\"label.example.com\",operation=\"CREATE\",rejected=\"false\",type=\"admit\"} ";
    assert!(metrics.contains(counted), "{metrics}");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_object_has_the_form_of_its_schema_and_defaults() {
    let mut world = World::start().await;
    world.hook.on("sidecar", |_| {
        patched(&json!([
            { "op": "add", "path": "/spec/containers/-", "value": { "name": "side", "image": "i", "oops": 1 } },
            { "op": "add", "path": "/oops", "value": 1 },
        ]))
    });
    world.hook.on("mistyped", |_| patched(&json!([{ "op": "add", "path": "/data", "value": [1] }])));
    let pods = world.webhook("sidecar", "CREATE", ("", "v1", "pods"));
    let maps = world.webhook("mistyped", "UPDATE", CONFIG_MAPS);
    world.register(Kind::Mutating, "c", &[pods, maps]).await;
    let pod = json!({
        "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "main", "image": "i" }] },
    });
    let made = world.expect(201, "POST", "/api/v1/namespaces/default/pods", pod).await;
    let side = &made["spec"]["containers"][1];
    assert_eq!(
        (&side["terminationMessagePath"], &side["oops"]),
        (&json!("/dev/termination-log"), &Value::Null)
    );
    assert_eq!(made["oops"], Value::Null);

    world.expect(201, "POST", MAPS, map("a")).await;
    let failed = world.expect(500, "PUT", &format!("{MAPS}/a"), map("a")).await;
    assert_eq!(failed["reason"], "InternalError");
    assert!(failed["message"].as_str().unwrap().contains("cannot unmarshal array"), "{failed}");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_may_not_change_what_others_may_not() {
    let mut world = World::start().await;
    let managers = json!([{ "manager": "x", "operation": "Steal" }]);
    for (path, pointer, value) in [
        ("status", "/status", json!({ "phase": "Failed" })),
        ("uid", "/metadata/uid", json!("mine")),
        ("managers", "/metadata/managedFields", managers),
        ("kind", "/kind", json!("Secret")),
        ("version", "/apiVersion", json!("v2")),
        ("name", "/metadata/name", json!("other")),
        ("namespace", "/metadata/namespace", json!("kube-system")),
        ("all", "", json!({})),
    ] {
        let patch = json!([{ "op": "replace", "path": pointer, "value": value }]);
        let patch = if path == "status" || path == "uid" || path == "managers" {
            json!([{ "op": "add", "path": pointer, "value": value }])
        } else {
            patch
        };
        world.hook.on(path, move |_| patched(&patch));
        let mut webhook = world.webhook(path, "*", ("", "v1", "*"));
        webhook["objectSelector"] = json!({ "matchLabels": { "case": path } });
        world.register(Kind::Mutating, path, &[webhook]).await;
    }
    let namespace = |case: &str| json!({ "metadata": { "name": case, "labels": { "case": case } } });
    let made = world.expect(201, "POST", "/api/v1/namespaces", namespace("status")).await;
    assert_eq!(made["status"]["phase"], "Active", "the status is not written through the object");
    let labelled = |case: &str, name: &str| {
        let mut object = map(name);
        object["metadata"]["labels"] = json!({ "case": case });
        object
    };
    let made = world.expect(201, "POST", MAPS, labelled("uid", "uid")).await;
    assert_ne!(made["metadata"]["uid"], "mine");
    let answer =
        world.send("POST", &format!("{MAPS}?fieldManager=me"), &labelled("managers", "managers")).await;
    assert_eq!(answer.json()["metadata"]["managedFields"][0]["manager"], "me", "{}", answer.text());
    let warning = answer.headers["warning"].to_str().unwrap();
    assert!(warning.contains(".metadata.managedFields was in an invalid state after admission"), "{warning}");
    for (case, status) in [("kind", 500), ("version", 500), ("all", 500), ("namespace", 400)] {
        let failed = world.expect(status, "POST", MAPS, labelled(case, case)).await;
        assert!(!failed["message"].as_str().unwrap().is_empty(), "{case}: {failed}");
    }
    // An object that is created may get another name, one that is updated may not.
    world.expect(201, "POST", MAPS, map("plain")).await;
    let failed = world.send("PUT", &format!("{MAPS}/plain"), &labelled("name", "plain")).await;
    assert!((400..500).contains(&failed.status), "{}", failed.text());
    world.expect(404, "GET", &format!("{MAPS}/other"), Value::Null).await;
    world.expect(404, "GET", "/api/v1/namespaces/kube-system/configmaps/namespace", Value::Null).await;
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_called_again_after_later_changes_if_it_wants() {
    let mut world = World::start().await;
    let append = |text: &'static str| {
        move |request: &Value| {
            let before = request["object"]["data"]["order"].as_str().unwrap_or_default();
            patched(&json!([{ "op": "add", "path": "/data/order", "value": format!("{before}{text}") }]))
        }
    };
    world.hook.on("again", append("a"));
    world.hook.on("once", append("b"));
    world.hook.on("last", append("c"));
    let [mut again, once, mut last] =
        ["again", "once", "last"].map(|path| world.webhook(path, "CREATE", CONFIG_MAPS));
    again["reinvocationPolicy"] = "IfNeeded".into();
    last["reinvocationPolicy"] = "IfNeeded".into();
    // The configurations are ordered by name.
    world.register(Kind::Mutating, "2", &[last]).await;
    world.register(Kind::Mutating, "1", &[again, once]).await;
    let made = world.expect(201, "POST", MAPS, map("a")).await;
    // The last one is called again because the first one, called again, has changed the object.
    let order = made["data"]["order"].as_str().unwrap();
    assert!(order.starts_with("abca"), "{order}");
    assert!(!order[3..].contains('b'), "a webhook that does not ask for it is not called again: {order}");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletions_and_connections_are_shown_and_not_changed() {
    let mut world = World::start().await;
    let refuse_patch = || patched(&json!([{ "op": "add", "path": "/data", "value": {} }]));
    world.hook.on("patches", move |_| refuse_patch());
    world.hook.on("exec", |request| {
        let command = request["object"]["command"][0].as_str().unwrap_or_default().to_owned();
        Reply::Response(json!({ "allowed": false, "status": { "code": 403, "message": command } }))
    });
    let watch = world.webhook("watch", "DELETE", CONFIG_MAPS);
    let mut patches = world.webhook("patches", "DELETE", CONFIG_MAPS);
    patches["objectSelector"] = json!({ "matchLabels": { "case": "patch" } });
    let exec = world.webhook("exec", "CONNECT", ("", "v1", "pods/exec"));
    world.register(Kind::Mutating, "c", &[watch, patches, exec]).await;

    world.expect(201, "POST", MAPS, map("a")).await;
    world.expect(200, "DELETE", &format!("{MAPS}/a?gracePeriodSeconds=0"), Value::Null).await;
    let call = world.hook.calls("watch").pop().unwrap();
    assert_eq!((&call["object"], &call["oldObject"]["metadata"]["name"]), (&Value::Null, &json!("a")));
    assert_eq!((&call["name"], &call["options"]["kind"]), (&json!("a"), &json!("DeleteOptions")));
    assert_eq!(call["options"]["gracePeriodSeconds"], 0);

    let mut labelled = map("b");
    labelled["metadata"]["labels"] = json!({ "case": "patch" });
    world.expect(201, "POST", MAPS, labelled).await;
    let failed = world.expect(500, "DELETE", &format!("{MAPS}/b"), Value::Null).await;
    let text = "Internal error occurred: admission webhook \"patches.example.com\" attempted to modify the object, which is not supported for this operation";
    assert_eq!(failed["message"], text);

    let path = "/api/v1/namespaces/default/pods/web/exec?command=ls&stdout=true";
    let refused = world.expect(403, "POST", path, Value::Null).await;
    assert_eq!(refused["message"], "admission webhook \"exec.example.com\" denied the request: ls");
    let call = world.hook.calls("exec").pop().unwrap();
    assert_eq!((&call["kind"]["kind"], &call["subResource"]), (&json!("PodExecOptions"), &json!("exec")));
    assert_eq!(call["object"]["kind"], "PodExecOptions");
    assert_eq!(
        (&call["name"], &call["oldObject"], &call["options"]),
        (&json!("web"), &Value::Null, &Value::Null)
    );
    world.server.stop().await;
}
