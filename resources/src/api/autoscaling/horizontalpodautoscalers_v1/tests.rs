use registry_core::resource::testing::assert_round_trips;

use super::*;

fn v2(spec: &Value, status: &Value) -> Object {
    let object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": spec, "status": status,
    });
    Object::from_value(object).unwrap()
}

fn v1_of(object: &Object) -> Object {
    HorizontalPodAutoscalersV1::from_hub(object.clone()).unwrap()
}

#[test]
fn a_cpu_target_is_one_number() {
    let object = v2(
        &json!({"maxReplicas": 3, "metrics": [metrics::cpu_target(&json!(55))]}),
        &json!({"currentReplicas": 1, "desiredReplicas": 2}),
    );
    let v1 = v1_of(&object);
    assert_eq!(v1.0["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 55}));
    assert_eq!(v1.annotations().count(), 0);
    assert_round_trips::<HorizontalPodAutoscalersV1>(&object);
    let bare = HorizontalPodAutoscalersV1::to_hub(Object::default()).unwrap();
    assert_eq!(bare.0["spec"]["metrics"], json!([metrics::cpu_target(&json!(80))]));
}

#[test]
fn all_else_travels_in_annotations_as_kubernetes_writes_them() {
    let selector = json!({"matchLabels": {"a": "b"}});
    let about = json!({"kind": "Ingress", "name": "i", "apiVersion": "networking.k8s.io/v1"});
    let metric = json!({"name": "rps", "selector": selector});
    let by_value = json!({"type": "Value", "value": "10"});
    let by_average = json!({"type": "AverageValue", "averageValue": "5"});
    let by_utilization = json!({"type": "Utilization", "averageUtilization": 60});
    let object = v2(
        &json!({
            "maxReplicas": 3,
            "metrics": [
                {"type": "Object", "object": {"describedObject": about, "metric": metric, "target": by_value}},
                {"type": "Pods", "pods": {"metric": {"name": "q"}, "target": by_average}},
                {"type": "Resource", "resource": {"name": "memory", "target": by_utilization}},
                {"type": "ContainerResource", "containerResource": {"container": "c", "name": "cpu", "target": by_utilization}},
                {"type": "External", "external": {"metric": metric, "target": by_average}},
                metrics::cpu_target(&json!(55)),
            ],
            "behavior": {"scaleUp": {
                "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}], "selectPolicy": "Max",
                "stabilizationWindowSeconds": 0, "tolerance": "100m",
            }},
        }),
        &json!({
            "currentReplicas": 1, "desiredReplicas": 2,
            "currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "1"}}},
                {"type": "External", "external": {"metric": metric, "current": {"value": "3", "averageValue": "1"}}},
                {"type": "Pods", "pods": {"metric": {"name": "q"}, "current": {"averageValue": "5"}}},
            ],
            "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "R"}],
        }),
    );
    assert_round_trips::<HorizontalPodAutoscalersV1>(&object);
    let v1 = v1_of(&object);
    assert_eq!(v1.0["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 55}));
    assert_eq!(v1.0["status"]["currentCPUUtilizationPercentage"], 7);
    let annotation = |name| v1.annotation(name).unwrap().to_owned();
    assert!(annotation(METRICS).starts_with(
        r#"[{"type":"Object","object":{"target":{"kind":"Ingress","name":"i","apiVersion":"networking.k8s.io/v1"},"metricName":"rps","targetValue":"10","selector""#
    ));
    assert_eq!(
        annotation(BEHAVIOR),
        r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"100m"},"ScaleDown":null}"#
    );
    assert_eq!(
        annotation(CONDITIONS),
        r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R"}]"#
    );
}

#[test]
fn annotations_that_cannot_be_read_say_nothing() {
    let mut object = Object::default();
    object.set(&["metadata", "annotations", METRICS], "nonsense".into());
    object.set(&["metadata", "annotations", "mine"], "stays".into());
    object.set(&["spec", "targetCPUUtilizationPercentage"], 40.into());
    let hub = HorizontalPodAutoscalersV1::to_hub(object).unwrap();
    assert_eq!(hub.0["spec"]["metrics"], json!([metrics::cpu_target(&json!(40))]));
    assert_eq!(hub.0["metadata"]["annotations"], json!({"mine": "stays"}));
}
