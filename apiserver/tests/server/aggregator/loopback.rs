//! Extension servers and webhooks on the same machine: refused, unless `--allow-loopback-backends` is given.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::{
    API_SERVICES, Extension, SERVICES, api_service, api_service_path, flunders, local_service, reason,
};
use crate::custom_resources::{Client, condition};

/// Creates an APIService at an external name, and returns its condition once it has one.
async fn available(client: &mut Client, extension: &Extension, host: &str) -> (String, String) {
    let mut service = local_service("wardle");
    service["spec"]["externalName"] = host.into();
    client.expect(201, "POST", SERVICES, service).await;
    client.expect(201, "POST", API_SERVICES, api_service(extension, "wardle")).await;
    let found = client.until(&api_service_path(), |found| !condition(found, "Available").is_empty()).await;
    let (reason, message) = reason(&found);
    (reason.to_owned(), message.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loopback_address_is_refused_and_the_condition_names_address_rule_and_flag() {
    let extension = Extension::start("wardle").await;
    for (flag, host, expected) in [
        ("false", "127.0.0.1", "127.0.0.1 is a loopback address"),
        ("false", "localhost", " is a loopback address"),
        ("true", "169.254.169.254", "169.254.169.254 is a link-local address, which no backend may have"),
        ("true", "0.0.0.0", "0.0.0.0 is the unspecified address, which no backend may have"),
    ] {
        let builder = TestServer::builder().memory().flag(format!("--allow-loopback-backends={flag}"));
        let server = builder.start().await.unwrap();
        let mut client = Client::connect(&server).await;
        let (reason, message) = available(&mut client, &extension, host).await;
        assert_eq!(reason, "FailedDiscoveryCheck");
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.contains("--allow-loopback-backends"), flag == "false", "{message}");
        assert_eq!(client.send("GET", &flunders(), &Value::Null).await.status, 503);
        server.stop().await;
    }
    assert_eq!(extension.requests(), 0, "nothing has reached it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_flag_an_extension_server_on_this_machine_is_reached() {
    let extension = Extension::start("wardle").await;
    let server = TestServer::builder().memory().flag("--allow-loopback-backends").start().await.unwrap();
    let mut client = Client::connect(&server).await;
    available(&mut client, &extension, "localhost").await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "True").await;
    assert_eq!(client.get(&flunders()).await["target"], flunders());
    // Proxies of pods and services have rules of their own.
    let proxied = format!("{SERVICES}/wardle:{}/proxy/", extension.address.port());
    let refused = client.send("GET", &proxied, &Value::Null).await;
    assert!(refused.status >= 400, "{}", refused.text());
    // And the server itself is not a backend.
    let mut own = client.get(&api_service_path()).await;
    own["spec"]["service"]["port"] = server.address().port().into();
    client.expect(200, "PUT", &api_service_path(), own).await;
    let found = client.until(&api_service_path(), |found| condition(found, "Available") == "False").await;
    assert!(reason(&found).1.contains("is this server's own"), "{found}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_at_services_follow_the_same_rule() {
    for (is_allowed, expected) in [(false, "--allow-loopback-backends"), (true, "connection refused")] {
        let flag = format!("--allow-loopback-backends={is_allowed}");
        let server = TestServer::builder().memory().flag(flag).start().await.unwrap();
        let mut client = Client::connect(&server).await;
        client.expect(201, "POST", SERVICES, local_service("hook")).await;
        let webhook = json!({
            "metadata": { "name": "hook" },
            "webhooks": [{
                "name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                // Nobody listens on this port.
                "clientConfig": { "service": { "namespace": "default", "name": "hook", "port": 1 } },
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
                }],
            }],
        });
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        client.expect(201, "POST", path, webhook).await;
        let map = json!({ "metadata": { "generateName": "map-" } });
        let mut message = String::new();
        for _ in 0..1_000 {
            let answer = client.send("POST", "/api/v1/namespaces/default/configmaps", &map).await;
            message = answer.text();
            if answer.status == 500 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(message.contains("failed calling webhook") && message.contains(expected), "{message}");
        assert_eq!(message.contains("is a loopback address"), !is_allowed, "{message}");
        server.stop().await;
    }
}
