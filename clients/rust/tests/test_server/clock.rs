//! The time that tests advance.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use orlop_test::TestServer;
use serde_json::{Value, json};

use crate::support::{object, until};

#[tokio::test]
async fn events_expire_after_an_hour() {
    let server = TestServer::start().await.unwrap();
    let events: Api<Event> = Api::default_namespaced(server.client());
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "Tested", "type": "Normal",
    });
    events.create(&PostParams::default(), &object(event)).await.unwrap();
    server.advance(Duration::from_mins(59));
    assert!(events.get_opt("e").await.unwrap().is_some());
    server.advance(Duration::from_mins(2));
    until("it expires", async || events.get_opt("e").await.unwrap().is_none()).await;
}

#[tokio::test]
async fn finished_jobs_are_deleted_when_their_time_has_come() {
    let server = TestServer::start().await.unwrap();
    let jobs: Api<Job> = Api::default_namespaced(server.client());
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job =
        json!({"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 3600, "template": template}});
    let made = jobs.create(&PostParams::default(), &object(job)).await.unwrap();
    let now = made.metadata.creation_timestamp;
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now});
    let conditions = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
    let status = json!({"status": {"startTime": now, "completionTime": now, "conditions": conditions}});
    jobs.patch_status("j", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    server.advance(Duration::from_mins(59));
    assert!(jobs.get_opt("j").await.unwrap().is_some());
    server.advance(Duration::from_mins(2));
    until("it is deleted", async || {
        let job = jobs.get_opt("j").await.unwrap();
        job.is_none_or(|job| job.metadata.deletion_timestamp.is_some())
    })
    .await;
}

#[tokio::test]
async fn tokens_expire_and_new_ones_are_valid() {
    let server = TestServer::start().await.unwrap();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    until("the account is there", async || {
        server.request("GET", &format!("{accounts}/default"), &Value::Null).await.is_ok()
    })
    .await;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}});
    let issue = async || {
        let answer = server.request("POST", &format!("{accounts}/default/token"), &request).await.unwrap();
        answer["status"]["token"].as_str().unwrap().to_owned()
    };
    let is_valid = async |token: &str| {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let answer =
            server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", &review).await.unwrap();
        answer["status"]["authenticated"] == true
    };
    let first = issue().await;
    server.advance(Duration::from_mins(59));
    assert!(is_valid(&first).await);
    server.advance(Duration::from_mins(2));
    assert!(!is_valid(&first).await);
    assert!(is_valid(&issue().await).await);
}
