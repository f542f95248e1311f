//! Jobs that have finished are deleted when their time has come, with their pods.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::world::{World, blocked_owner};

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_job_ends_after_its_time() {
    let world = World::start().await;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}});
    for (name, ttl_seconds) in [("soon", json!(1)), ("never", Value::Null), ("later", json!(3600))] {
        let spec = json!({"ttlSecondsAfterFinished": ttl_seconds, "template": template});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
        let job = world.create(jobs, &job).await;
        world.own(name, &[blocked_owner(&job)]).await;
        let path = format!("{jobs}/{name}");
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let earlier =
            (Timestamp::now() - SignedDuration::from_secs(9)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
        let mut ended = world.get(&path).await.unwrap();
        ended["status"] = json!({
            "startTime": earlier, "completionTime": now,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
        });
        world.call("PUT", &format!("{path}/status"), &ended).await.unwrap();
    }
    world.gone(&format!("{jobs}/soon")).await;
    world.gone("/api/v1/namespaces/default/configmaps/soon").await;
    for name in ["never", "later"] {
        assert!(world.get(&format!("{jobs}/{name}")).await.is_some());
    }
}
