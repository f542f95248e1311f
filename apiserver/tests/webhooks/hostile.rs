//! Webhooks that do what they should not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hook::{Reply, allowed, patched};
use crate::world::{GROUP, Kind, MAPS, World, map};

const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");

fn review(response: &Value) -> Reply {
    let review =
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
    Reply::Body(200, review.to_string())
}

/// The name of a bad webhook, what it answers, and a part of the error.
type Bad = (&'static str, fn(&Value) -> Reply, &'static str);

fn bad() -> Vec<Bad> {
    vec![
        (
            "hang",
            |_| Reply::Hang,
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        ),
        ("close", |_| Reply::Close, "EOF"),
        ("panic", |_| Reply::Panic, "EOF"),
        ("redirect", |_| Reply::Redirect, "the server responded with the status code 307"),
        ("huge", |_| Reply::Endless(64 << 20), "the answer is larger than"),
        (
            "fail",
            |_| Reply::Body(500, "out of order".to_owned()),
            "has prevented the request from succeeding",
        ),
        (
            "garbage",
            |_| Reply::Body(200, "garbage".to_owned()),
            "invalid character 'g' looking for beginning of value",
        ),
        ("empty", |_| Reply::Body(200, String::new()), "unexpected end of JSON input"),
        ("deep", |_| Reply::Body(200, "[".repeat(1 << 20)), "json parse error"),
        ("nothing", |_| Reply::Body(200, "{}".to_owned()), "webhook response was absent"),
        ("uid", |_| review(&json!({ "uid": "other", "allowed": true })), "expected response.uid="),
        (
            "untyped",
            |request| {
                Reply::Body(
                    200,
                    json!({ "response": { "uid": request["uid"], "allowed": true } }).to_string(),
                )
            },
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            "patch",
            |_| Reply::Response(json!({ "allowed": true, "patchType": "JSONPatch", "patch": "e30=" })),
            "received undecodable patch in webhook response",
        ),
        (
            "type",
            |_| {
                Reply::Response(
                    json!({ "allowed": true, "patchType": "Merge", "patch": "W3sib3AiOiJ0ZXN0In1d" }),
                )
            },
            "unsupported patch type \"Merge\"",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_call_fails_the_write_or_is_ignored() {
    let mut world = World::start().await;
    for policy in ["Fail", "Ignore"] {
        let webhooks: Vec<Value> = bad()
            .into_iter()
            .map(|(name, behavior, _)| {
                world.hook.on(name, behavior);
                let mut webhook = world.webhook(name, "CREATE", CONFIG_MAPS);
                let case = format!("{name}-{policy}");
                webhook["objectSelector"] = json!({ "matchLabels": { "case": case } });
                webhook["failurePolicy"] = policy.into();
                // An unoptimized server reads slowly.
                webhook["timeoutSeconds"] = if name == "huge" { 30 } else { 1 }.into();
                webhook
            })
            .collect();
        world.register(Kind::Mutating, &policy.to_lowercase(), &webhooks).await;
    }
    for (name, _, expected) in bad() {
        let mut object = map(name);
        object["metadata"]["labels"] = json!({ "case": format!("{name}-Fail") });
        let failed = world.expect(500, "POST", MAPS, object.clone()).await;
        let message = failed["message"].as_str().unwrap();
        let prefix = format!("Internal error occurred: failed calling webhook \"{name}.example.com\": ");
        assert!(message.starts_with(&prefix) && message.contains(expected), "{name}: {message}");
        assert_eq!(failed["details"]["causes"][0]["message"], message["Internal error occurred: ".len()..]);
        object["metadata"]["labels"] = json!({ "case": format!("{name}-Ignore") });
        world.expect(201, "POST", MAPS, object).await;
    }
    let metrics = world.send("GET", "/metrics", &Value::Null).await.text();
    assert!(
        metrics.contains(
            "apiserver_admission_webhook_fail_open_count{name=\"hang.example.com\",type=\"admit\"} 1"
        )
    );
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_made_again_when_the_kept_connection_was_closed() {
    let mut world = World::start().await;
    let has_closed = AtomicBool::new(false);
    world.hook.on("kept", move |request| {
        let closes = request["name"] == "b" && !has_closed.swap(true, Ordering::SeqCst);
        if closes { Reply::Close } else { allowed() }
    });
    let webhook = world.webhook("kept", "CREATE", CONFIG_MAPS);
    world.register(Kind::Validating, "c", &[webhook]).await;
    for name in ["a", "b"] {
        world.expect(201, "POST", MAPS, map(name)).await;
    }
    let calls = world.hook.calls("kept");
    let calls_for = |name: &str| calls.iter().filter(|call| call["name"] == name).count();
    assert_eq!((calls_for("a"), calls_for("b")), (1, 2), "{calls:?}");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_patch_that_does_not_apply_fails_the_write_whatever_the_policy() {
    let mut world = World::start().await;
    world.hook.on("patch", |_| patched(&json!([{ "op": "remove", "path": "/nothing/at/all" }])));
    let mut webhook = world.webhook("patch", "CREATE", CONFIG_MAPS);
    webhook["failurePolicy"] = "Ignore".into();
    world.register(Kind::Mutating, "c", &[webhook]).await;
    let failed = world.expect(500, "POST", MAPS, map("a")).await;
    assert_eq!(failed["reason"], "InternalError");
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_calls_itself_ends() {
    let mut world = World::start().await;
    let ca = kube::config::Kubeconfig::read_from(world.server.kubeconfig_path()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(ca, &options);
    let client = kube::Client::try_from(config.await.unwrap()).unwrap();
    // Each call creates another object first, which is sent to the webhook too.
    world.hook.on("loop", move |request| {
        let client = client.clone();
        let name = format!("{}x", request["name"].as_str().unwrap());
        tokio::spawn(async move {
            let body = map(&name).to_string().into_bytes();
            let request = http::Request::post(MAPS).header("content-type", "application/json");
            let _ = client.request_text(request.body(body).unwrap()).await;
        });
        Reply::Hang
    });
    let webhook = world.webhook("loop", "CREATE", CONFIG_MAPS);
    world.register(Kind::Validating, "c", &[webhook]).await;
    let begun = Instant::now();
    world.expect(500, "POST", MAPS, map("a")).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    world.unregister(Kind::Validating, "c").await;
    world.expect(201, "POST", MAPS, map("b")).await;
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_not_called_for_their_own_configuration() {
    let mut world = World::start().await;
    world.hook.on("refuse", |_| Reply::Response(json!({ "allowed": false })));
    for kind in [Kind::Mutating, Kind::Validating] {
        let mut refuse = world.webhook("refuse", "*", ("*", "*", "*/*"));
        // Everything but the probe and the server's own writes.
        refuse["matchConditions"] = json!([{ "name": "own", "expression": "request.resource.resource != 'leases' && !('probe' in object.metadata.?labels.orValue({}))" }]);
        refuse["failurePolicy"] = "Ignore".into();
        let name = format!("{kind:?}").to_lowercase();
        world.register(kind, &name, &[refuse]).await;
        world.expect(400, "POST", MAPS, map("a")).await;
        let (plural, _) = kind.names();
        let path = format!("{GROUP}/{plural}/{name}");
        world.expect(200, "PATCH", &path, json!({ "metadata": { "labels": { "a": "b" } } })).await;
        world.unregister(kind, &name).await;
        world.expect(201, "POST", &format!("{MAPS}?dryRun=All"), map("a")).await;
    }
    world.server.stop().await;
}
