//! Which writes webhooks are called for: versions, subresources and namespaces.

use serde_json::json;

use crate::hook::{Reply, patched};
use crate::world::{Kind, MAPS, World, map};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_through_another_version_is_converted_and_back() {
    let mut world = World::start().await;
    let replace = || patched(&json!([{ "op": "replace", "path": "/spec/maxReplicas", "value": 5 }]));
    world.hook.on("equivalent", move |_| replace());
    world.hook.on("exact", |_| Reply::Response(json!({ "allowed": false })));
    let scalers = ("autoscaling", "v2", "horizontalpodautoscalers");
    let equivalent = world.webhook("equivalent", "CREATE", scalers);
    let mut exact = world.webhook("exact", "CREATE", scalers);
    exact["matchPolicy"] = "Exact".into();
    world.register(Kind::Mutating, "c", &[exact, equivalent]).await;
    let scaler = json!({
        "metadata": { "name": "web" },
        "spec": {
            "maxReplicas": 3, "targetCPUUtilizationPercentage": 70,
            "scaleTargetRef": { "kind": "Deployment", "name": "web", "apiVersion": "apps/v1" },
        },
    });
    let path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let made = world.expect(201, "POST", path, scaler).await;
    assert_eq!(made["apiVersion"], "autoscaling/v1");
    assert_eq!(
        (&made["spec"]["maxReplicas"], &made["spec"]["targetCPUUtilizationPercentage"]),
        (&json!(5), &json!(70))
    );
    let call = world.hook.calls("equivalent").pop().unwrap();
    assert_eq!((&call["kind"]["version"], &call["requestKind"]["version"]), (&json!("v2"), &json!("v1")));
    assert_eq!(
        (&call["resource"]["version"], &call["requestResource"]["version"]),
        (&json!("v2"), &json!("v1"))
    );
    assert_eq!(call["object"]["apiVersion"], "autoscaling/v2");
    assert_eq!(call["object"]["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 70);
    assert!(world.hook.calls("exact").is_empty());
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_resources_with_versions_and_subresources_are_sent() {
    let mut world = World::start().await;
    let version = |name: &str, is_storage: bool| {
        let spec = json!({ "type": "object", "properties": {
            "replicas": { "type": "integer" }, "color": { "type": "string", "default": "red" },
        }});
        let status = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
        json!({
            "name": name, "served": true, "storage": is_storage,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } },
            "subresources": {
                "status": {},
                "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
            },
        })
    };
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version("v1", true), version("v2", false)],
            "names": { "plural": "widgets", "kind": "Widget" },
        },
    });
    world.expect(201, "POST", CRDS, definition).await;
    let v2 = "/apis/example.com/v2/namespaces/default/widgets";
    let patch = json!([
        { "op": "remove", "path": "/spec/color" },
        { "op": "add", "path": "/spec/unknown", "value": 1 },
        { "op": "add", "path": "/spec/replicas", "value": 3 },
    ]);
    world.hook.on("main", move |_| patched(&patch));
    let main = world.webhook("main", "CREATE", ("example.com", "v1", "widgets"));
    let status = world.webhook("status", "UPDATE", ("*", "*", "widgets/status"));
    let scale = world.webhook("scale", "UPDATE", ("*", "*", "*/scale"));
    world.register(Kind::Mutating, "c", &[main, status, scale]).await;

    let widget = json!({
        "apiVersion": "example.com/v2", "kind": "Widget", "metadata": { "name": "a" }, "spec": { "color": "blue" },
    });
    let made = world.expect(201, "POST", v2, widget).await;
    assert_eq!(
        (&made["apiVersion"], &made["spec"]),
        (&json!("example.com/v2"), &json!({ "color": "red", "replicas": 3 }))
    );
    let call = world.hook.calls("main").pop().unwrap();
    assert_eq!(
        (&call["object"]["apiVersion"], &call["requestKind"]["version"]),
        (&json!("example.com/v1"), &json!("v2"))
    );

    world.expect(200, "PATCH", &format!("{v2}/a/status"), json!({ "status": { "replicas": 1 } })).await;
    let call = world.hook.calls("status").pop().unwrap();
    assert_eq!((&call["subResource"], &call["object"]["status"]["replicas"]), (&json!("status"), &json!(1)));
    world.expect(200, "PATCH", &format!("{v2}/a/scale"), json!({ "spec": { "replicas": 7 } })).await;
    let call = world.hook.calls("scale").pop().unwrap();
    let kind = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
    assert_eq!((&call["kind"], &call["resource"]["resource"]), (&kind, &json!("widgets")));
    assert_eq!(
        (&call["object"]["spec"]["replicas"], &call["oldObject"]["spec"]["replicas"]),
        (&json!(7), &json!(3))
    );
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_namespace_is_selected_by_its_labels() {
    let mut world = World::start().await;
    world.hook.on("refuse", |_| Reply::Response(json!({ "allowed": false })));
    let mut webhook = world.webhook("refuse", "*", ("", "v1", "*"));
    webhook["namespaceSelector"] = json!({ "matchLabels": { "guarded": "yes" } });
    // Objects of the cluster have no namespace whose labels could be selected.
    webhook["rules"][0]["scope"] = "Namespaced".into();
    world.register(Kind::Validating, "c", &[webhook]).await;
    let namespace = json!({ "metadata": { "name": "team", "labels": { "guarded": "yes" } } });
    world.expect(201, "POST", "/api/v1/namespaces", namespace).await;
    world.expect(400, "POST", "/api/v1/namespaces/team/configmaps", map("a")).await;
    world.expect(201, "POST", MAPS, map("a")).await;
    let plain = json!({ "metadata": { "labels": { "guarded": null } } });
    world.expect(200, "PATCH", "/api/v1/namespaces/team", plain).await;
    world.expect(201, "POST", "/api/v1/namespaces/team/configmaps", map("a")).await;
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_found_by_its_service() {
    let mut world =
        World::over(apiserver::testing::TestServer::builder().memory().reach_local_workloads()).await;
    let mut webhook = world.webhook("by-service", "CREATE", ("", "v1", "configmaps"));
    let service =
        json!({ "namespace": "default", "name": "hook", "path": "/by-service", "port": world.hook.port() });
    webhook["clientConfig"] = json!({ "service": service, "caBundle": world.hook.ca_bundle });
    world.register(Kind::Validating, "c", &[webhook]).await;
    let missing = world.expect(500, "POST", MAPS, map("a")).await;
    let url = format!("https://hook.default.svc:{}/by-service?timeout=1s", world.hook.port());
    let expected = format!(
        "failed calling webhook \"by-service.example.com\": failed to call webhook: Post \"{url}\": service \"hook\" not found"
    );
    assert_eq!(missing["details"]["causes"][0]["message"], expected);
    let service = json!({
        "metadata": { "name": "hook" }, "spec": { "type": "ExternalName", "externalName": "localhost" },
    });
    world.expect(201, "POST", "/api/v1/namespaces/default/services", service).await;
    world.expect(201, "POST", MAPS, map("a")).await;
    assert_eq!(world.hook.calls("by-service").len(), 1);
    world.server.stop().await;
}
