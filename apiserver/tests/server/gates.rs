//! Rules that belong to a feature gate, with the gate and without it.

use serde_json::{Value, json};

use crate::client::{self, Connection, Protocol, request};
use crate::servers::start;

const ACCOUNT: &str = "/api/v1/namespaces/default/serviceaccounts/robot";
const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_pod_that_is_bound_loses_its_nominated_node() {
    for (flags, nominated, changed) in [
        (&[][..], Value::Null, 422),
        (&["--feature-gates=ClearingNominatedNodeNameAfterBinding=false"], "n2".into(), 200),
        (&["--emulated-version=1.34"], "n2".into(), 200),
    ] {
        let server = start(flags).await;
        let mut admin = Connection::open(&server, Protocol::Http2).await;
        for (name, bindings) in [("a", format!("{PODS}/a/binding")), ("b", PODS.replace("pods", "bindings"))]
        {
            let pod = json!({
                "metadata": { "name": name },
                "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "c", "image": "i" }] },
            });
            let account = json!({ "metadata": { "name": "default" } });
            admin.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
            assert_eq!(admin.call("POST", PODS, &pod).await.status, 201);
            let status = format!("{PODS}/{name}/status");
            let nomination = |node: &str| json!({ "status": { "nominatedNodeName": node } });
            assert_eq!(admin.call("PATCH", &status, &nomination("n2")).await.status, 200);
            let binding = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": "n1" } });
            let bound = admin.call("POST", &bindings, &binding).await;
            assert_eq!(bound.status, 201, "{}", bound.text());
            let pod = admin.get(&format!("{PODS}/{name}"), Some("admin-token")).await.json();
            assert_eq!(
                (&pod["spec"]["nodeName"], &pod["status"]["nominatedNodeName"]),
                (&json!("n1"), &nominated)
            );
            let answer = admin.call("PATCH", &status, &nomination("n3")).await;
            assert_eq!(answer.status, changed, "{flags:?}: {}", answer.text());
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn a_token_is_requested_for_an_account_with_a_uid() {
    for (flags, expected) in [
        (&[][..], 409),
        (&["--feature-gates=TokenRequestServiceAccountUIDValidation=false"], 201),
        (&["--emulated-version=1.33"], 201),
    ] {
        let server = start(flags).await;
        let mut admin = Connection::open(&server, Protocol::Http2).await;
        let (accounts, _) = ACCOUNT.rsplit_once('/').unwrap();
        let account = admin.call("POST", accounts, &json!({ "metadata": { "name": "robot" } })).await.json();
        let uid = account["metadata"]["uid"].as_str().unwrap();
        let path = format!("{ACCOUNT}/token");
        for metadata in [json!({}), json!({ "uid": uid })] {
            let made = admin.call("POST", &path, &json!({ "metadata": metadata, "spec": {} })).await;
            assert_eq!((made.status, &made.json()["metadata"]["uid"]), (201, &json!(uid)), "{}", made.text());
        }
        let answer = admin.call("POST", &path, &json!({ "metadata": { "uid": "wrong" }, "spec": {} })).await;
        assert_eq!(answer.status, expected, "{}", answer.text());
        let why = format!(
            "the UID in the token request (wrong) does not match the UID of the service account ({uid})"
        );
        if expected == 409 {
            let message = format!(
                "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"robot\": {why}"
            );
            assert_eq!(answer.json()["message"], message);
        } else {
            assert_eq!(answer.json()["metadata"]["uid"], "wrong");
            assert!(answer.headers["warning"].to_str().unwrap().contains(&why), "{:?}", answer.headers);
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn an_http2_connection_ends_after_a_request_that_is_not_authenticated() {
    let anonymous: &[(&str, &str)] = &[];
    let refused = &[("authorization", "Bearer wrong")][..];
    for (flags, ends) in
        [(&[][..], true), (&["--feature-gates=UnauthenticatedHTTP2DOSMitigation=false"], false)]
    {
        let server = start(flags).await;
        for (headers, status) in [(anonymous, 200), (refused, 401)] {
            let stream = client::tls(&server, "h2").await;
            let mut connection = Connection::over(stream, Protocol::Http2).await;
            let mut answered = 0;
            while let Some(answer) =
                connection.try_send(request("GET", "/livez", headers, &Value::Null)).await
            {
                assert_eq!(answer.status, status);
                answered += 1;
                if answered == 200 {
                    break;
                }
            }
            assert!(answered > 0, "the request itself is answered");
            assert_eq!(answered < 200, ends, "{flags:?}: {answered}");
        }
        let mut known = Connection::over(client::tls(&server, "h2").await, Protocol::Http2).await;
        for _ in 0..50 {
            assert_eq!(known.get("/livez", Some("admin-token")).await.status, 200);
        }
        server.stop().await;
    }
}
