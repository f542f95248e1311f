//! The requests of the controllers in the server are recorded as those of their accounts.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{Audited, METADATA, events_in};

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_by_the_garbage_collector_is_recorded_as_that_of_its_account() {
    let audited = Audited::start(METADATA, &[]).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "5a1c"});
    let dependent = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dependent", "ownerReferences": [owner]},
    });
    audited.server.call("POST", "/api/v1/namespaces/default/configmaps", &dependent).await.unwrap();

    let begun = Instant::now();
    let deletion = loop {
        let events = events_in(&audited.log());
        let deletion = events.into_iter().find(|event| {
            event["verb"] == "delete"
                && event["objectRef"]["name"] == "dependent"
                && event["stage"] == "ResponseComplete"
        });
        if let Some(deletion) = deletion {
            break deletion;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no event of the deletion");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let account = "system:serviceaccount:kube-system:generic-garbage-collector";
    assert_eq!(deletion["user"]["username"], account);
    assert_eq!(deletion["userAgent"], "kube-controller-manager");
    assert_eq!(deletion["requestURI"], "/api/v1/namespaces/default/configmaps/dependent");
    assert_eq!(deletion["responseStatus"]["code"], 200);
}
