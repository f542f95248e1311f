//! `/statusz` and `/flagz`: who may read them, and in which forms.

use apiserver::testing::TestServer;
use serde_json::Value;

use crate::client::{Answer, Connection, Protocol, request};

async fn get(server: &TestServer, path: &str, token: &str, accept: &str) -> Answer {
    let headers = [("authorization", &*format!("Bearer {token}")), ("accept", accept)];
    let mut connection = Connection::open(server, Protocol::Http2).await;
    connection.send(request("GET", path, &headers, &Value::Null)).await
}

#[tokio::test]
async fn monitors_read_the_state_and_the_flags_as_text_or_objects() {
    let server = TestServer::builder()
        .memory()
        .flag("--request-timeout=50s")
        .token("monitor", "monitor", "system:monitoring")
        .start()
        .await
        .unwrap();
    for path in ["/statusz", "/flagz"] {
        assert_eq!(get(&server, path, "alice-token", "").await.status, 403, "{path}");
        let kind = if path == "/statusz" { "Statusz" } else { "Flagz" };
        let text = get(&server, path, "monitor", "").await;
        assert_eq!(
            (text.status, &text.headers["content-type"]),
            (200, &"text/plain; charset=utf-8".parse().unwrap())
        );
        let head = format!(
            "\napiserver {}\nWarning: This endpoint is not meant to be machine parseable",
            &path[1..]
        );
        assert!(text.text().starts_with(&head), "{}", text.text());

        let object = format!("application/json;as={kind};g=config.k8s.io;v=v1beta1");
        let answer = get(&server, path, "monitor", &object).await;
        assert_eq!(
            (answer.status, &answer.headers["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        assert!(!answer.headers.contains_key("warning"));
        let json = answer.json();
        assert_eq!((&json["kind"], &json["apiVersion"]), (&kind.into(), &"config.k8s.io/v1beta1".into()));
        assert_eq!(json["metadata"]["name"], "apiserver");

        let old = get(&server, path, "monitor", &object.replace("v1beta1", "v1alpha1")).await;
        assert_eq!(old.json()["apiVersion"], "config.k8s.io/v1alpha1");
        let warning = format!(
            "299 - \"This version of the {} endpoint is deprecated. Please use a newer version.\"",
            &path[1..]
        );
        assert_eq!(old.headers["warning"], *warning);
        let yaml = get(&server, path, "monitor", &object.replace("json", "yaml")).await;
        assert!(yaml.text().contains(&format!("kind: {kind}\n")), "{}", yaml.text());
        let refused = get(&server, path, "monitor", "application/json").await;
        assert_eq!((refused.status, &refused.json()["reason"]), (406, &"NotAcceptable".into()));
    }
    let status = get(&server, "/statusz", "monitor", "text/plain").await.text();
    assert!(
        status.contains(concat!(
            "\nBinary version:  1.36.2+orlop.",
            env!("CARGO_PKG_VERSION"),
            "\nEmulation version:  1.36\nPaths:  /flagz "
        )),
        "{status}"
    );
    let flags = get(&server, "/flagz", "monitor", "text/plain").await.text();
    assert!(flags.contains("\nrequest-timeout=50s\n") && flags.contains("\nevent-ttl=1h\n"), "{flags}");
    server.stop().await;
}
