//! Managed fields of Kubernetes' own kinds: what their schemas say of lists and structs, as managers see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use registry_core::api::Object;
use registry_core::apply::{Conversions, FieldManager, Reset, reset_fields};
use registry_core::context::Budget;
use registry_core::{Resource, ResourceType};
use resources::api::core::configmaps::ConfigMaps;
use resources::api::core::pods::Pods;
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T00:00:00Z";

/// The object in the schema's form, with defaults.
fn conformed(resource: &ResourceType, mut value: Value) -> Object {
    let schema = resource.schema();
    value["apiVersion"] = resource.group_version().api_version().into();
    value["kind"] = resource.kind.kind.into();
    schema.conform(&mut value, &mut Vec::new()).expect("it fits");
    schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
    let mut object = Object::from_value(value).expect("an object");
    resource.strategy.apply_defaults(&mut object);
    object
}

fn blank(resource: &ResourceType) -> Object {
    let mut value = resource.new_object().into_value();
    resource.schema().conform(&mut value, &mut Vec::new()).expect("it fits");
    Object::from_value(value).expect("an object")
}

fn manager<'a>(resource: &ResourceType, blank: &'a Object) -> FieldManager<'a> {
    FieldManager {
        kind: resource.kind,
        api_version: "v1",
        subresource: "",
        schema: resource.schema(),
        reset: Reset::Fields(reset_fields(resource, "")),
        blank,
        versions: None,
        conversions: Conversions::default(),
        budget: None,
    }
}

fn pod() -> Object {
    let probe = json!({"httpGet": {"path": "/healthz", "port": "http"}, "initialDelaySeconds": 3});
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example.com/web:1", "args": ["--verbose"],
            "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443, "name": "https"}],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "livenessProbe": probe, "readinessProbe": probe,
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "conf", "mountPath": "/etc/conf"}],
        })
    };
    conformed(
        &Pods::TYPE.instantiate(),
        json!({
            "metadata": {
                "name": "web", "namespace": "n", "labels": {"app": "web", "tier": "front"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true}],
                "finalizers": ["example.com/hold"],
            },
            "spec": {
                "containers": [container("main"), container("sidecar")],
                "volumes": [{"name": "data", "emptyDir": {}}, {"name": "conf", "configMap": {"name": "conf"}}],
                "tolerations": [{"key": "a", "operator": "Exists"}],
                "nodeSelector": {"disk": "ssd"},
            },
        }),
    )
}

fn config_map() -> Object {
    let data: serde_json::Map<String, Value> =
        (0..12).map(|number| (format!("key-{number}"), "v".repeat(96).into())).collect();
    conformed(
        &ConfigMaps::TYPE.instantiate(),
        json!({"metadata": {"name": "c", "labels": {"a": "b"}}, "data": data}),
    )
}

#[test]
fn a_pods_fields_are_managed_by_its_lists_keys() {
    let pods = Pods::TYPE.instantiate();
    let blank = blank(&pods);
    let mut pod = pod();
    manager(&pods, &blank).track_update(None, &mut pod, "creator", NOW).unwrap();
    let fields = pod.get(&["metadata", "managedFields"]).expect("managers")[0]["fieldsV1"].clone();
    assert_eq!(
        fields["f:metadata"],
        json!({
            "f:finalizers": {".": {}, "v:\"example.com/hold\"": {}},
            "f:labels": {".": {}, "f:app": {}, "f:tier": {}},
            "f:ownerReferences": {".": {}, "k:{\"uid\":\"u\"}": {}},
        })
    );
    let spec = &fields["f:spec"];
    assert_eq!((&spec["f:tolerations"], &spec["f:nodeSelector"]), (&json!({}), &json!({})));
    let main = &spec["f:containers"]["k:{\"name\":\"main\"}"];
    assert_eq!(
        main["f:ports"],
        json!({
            ".": {},
            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {}},
            "k:{\"containerPort\":443,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {}},
        })
    );
    assert_eq!(main["f:env"]["k:{\"name\":\"B\"}"]["f:valueFrom"], json!({".": {}, "f:fieldRef": {}}));
    assert_eq!(
        main["f:volumeMounts"]["k:{\"mountPath\":\"/data\"}"],
        json!({".": {}, "f:mountPath": {}, "f:name": {}})
    );
    assert_eq!(main["f:args"], json!({}));
}

/// Measures the cost of tracking. It prints the cost, and asserts nothing. Needs optimised code.
#[test]
#[ignore = "a measurement: run it by name, optimised, with --nocapture"]
fn cost_of_tracking() {
    for (what, resource, object) in [
        ("ConfigMap", ConfigMaps::TYPE.instantiate(), config_map()),
        ("Pod", Pods::TYPE.instantiate(), pod()),
    ] {
        let blank = blank(&resource);
        let manager = manager(&resource, &blank);
        let bytes = serde_json::to_vec(&object).expect("JSON").len();
        let mut live = object.clone();
        manager.track_update(None, &mut live, "creator", NOW).unwrap();
        live.set(&["metadata", "uid"], "u".into());
        let mut changed = live.clone();
        changed.set(&["metadata", "labels", "x"], "y".into());
        let create = measure(&object, |object| manager.track_update(None, object, "creator", NOW).unwrap());
        let update =
            measure(&changed, |object| manager.track_update(Some(&live), object, "editor", NOW).unwrap());
        let applied = measure(&object, |object| {
            *object = manager.apply(Some(&live), object, "creator", true, NOW).unwrap().expect("forced");
        });
        println!(
            "{what} of {bytes} bytes: create {create:.1} µs, update {update:.1} µs, apply {applied:.1} µs"
        );
    }
}

/// Microseconds of one call in the quietest of many rounds, copies of the object not counted.
fn measure(object: &Object, mut work: impl FnMut(&mut Object)) -> f64 {
    const ROUNDS: u32 = 200;
    const CALLS: u32 = 16;
    let round = |_| {
        let mut copies: Vec<Object> = (0..CALLS).map(|_| object.clone()).collect();
        let begin = std::time::Instant::now();
        copies.iter_mut().for_each(&mut work);
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
