//! Workloads that are stored as `apps/v1beta…` or `extensions/v1beta1`.

use serde_json::{Value, json};

use super::{check_read, versions};
use crate::api::apps::daemonsets::DaemonSets;
use crate::api::apps::deployments::Deployments;
use crate::api::apps::replicasets::ReplicaSets;
use crate::api::apps::statefulsets::StatefulSets;

const ROLLBACK: &str = "deprecated.deployment.rollback.to";
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// Returns the fields of a workload of one container, with other fields of its spec.
fn workload(spec: &Value) -> Value {
    let template = json!({
        "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    let mut whole = json!({ "template": template });
    for (name, value) in spec.as_object().unwrap() {
        whole[name] = value.clone();
    }
    json!({ "spec": whole })
}

#[test]
fn workloads_have_the_defaults_of_their_version() {
    let labels = json!({ "app": "a" });
    let like_template = json!({ "matchLabels": labels });
    let rolling = |amount: &Value| json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": amount, "maxUnavailable": amount } });
    for (versions, api_version, spec, expected) in [
        (
            versions::<Deployments>(),
            "extensions/v1beta1",
            json!({ "rollbackTo": { "revision": 3 } }),
            json!({ "metadata": { "labels": labels, "annotations": { ROLLBACK: "3" } }, "spec": {
                "selector": like_template, "strategy": rolling(&json!(1)), "progressDeadlineSeconds": 2_147_483_647,
                "revisionHistoryLimit": 2_147_483_647, "replicas": 1, "rollbackTo": null,
            }}),
        ),
        (
            versions::<Deployments>(),
            "extensions/v1beta1",
            json!({ "strategy": { "type": "Recreate" }, "selector": { "matchLabels": { "b": "c" } }, "rollbackTo": {} }),
            json!({ "metadata": { "annotations": { ROLLBACK: "0" } }, "spec": {
                "selector": { "matchLabels": { "app": null, "b": "c" } }, "strategy": { "type": "Recreate", "rollingUpdate": null },
            }}),
        ),
        (
            versions::<Deployments>(),
            "apps/v1beta1",
            json!({}),
            json!({ "metadata": { "labels": labels, "annotations": null }, "spec": {
                "selector": like_template, "strategy": rolling(&json!("25%")), "progressDeadlineSeconds": 600,
                "revisionHistoryLimit": 2,
            }}),
        ),
        (
            versions::<Deployments>(),
            "apps/v1beta2",
            json!({ "selector": like_template }),
            json!({ "metadata": { "labels": null }, "spec": { "revisionHistoryLimit": 10 } }),
        ),
        (
            versions::<ReplicaSets>(),
            "extensions/v1beta1",
            json!({}),
            json!({ "metadata": { "labels": labels }, "spec": { "selector": like_template, "replicas": 1 } }),
        ),
        (
            versions::<DaemonSets>(),
            "extensions/v1beta1",
            json!({ "templateGeneration": 4 }),
            json!({ "metadata": { "annotations": { GENERATION: "4" } }, "spec": {
                "updateStrategy": { "type": "OnDelete", "rollingUpdate": null }, "templateGeneration": null, "selector": like_template,
            }}),
        ),
        (
            versions::<DaemonSets>(),
            "apps/v1beta2",
            json!({ "selector": like_template }),
            json!({ "metadata": { "annotations": { GENERATION: "0" } }, "spec": { "updateStrategy": { "type": "RollingUpdate" } } }),
        ),
        (
            versions::<StatefulSets>(),
            "apps/v1beta1",
            json!({ "serviceName": "s" }),
            json!({ "metadata": { "labels": labels }, "spec": {
                "selector": like_template, "updateStrategy": { "type": "OnDelete", "rollingUpdate": null }, "serviceName": "s",
            }}),
        ),
    ] {
        check_read(&versions, api_version, &workload(&spec), &expected);
    }
}
