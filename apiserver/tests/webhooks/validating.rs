//! Webhooks that allow or refuse.

use std::time::{Duration, Instant};

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol, request};
use crate::hook::{Reply, allowed, patched};
use crate::world::{Kind, MAPS, World, map};

const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_the_answer_with_its_warnings() {
    let mut world = World::start().await;
    world.hook.on("refuse", |_| {
        let status = json!({ "code": 418, "reason": "Teapot", "message": "short and stout", "details": { "kind": "pots" } });
        Reply::Response(json!({ "allowed": false, "status": status, "warnings": ["it is hot", "it is hot"] }))
    });
    let refuse = world.webhook("refuse", "CREATE", CONFIG_MAPS);
    world.register(Kind::Validating, "c", &[refuse]).await;
    let answer = world.send("POST", MAPS, &map("a")).await;
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "admission webhook \"refuse.example.com\" denied the request: short and stout",
        "reason": "Teapot", "details": { "kind": "pots" }, "code": 418,
    });
    assert_eq!((answer.status, answer.json()), (418, expected));
    assert_eq!(answer.headers["warning"], "299 - \"it is hot\"");
    assert_eq!(answer.headers.get_all("warning").iter().count(), 1);

    world.hook.on("refuse", |_| Reply::Response(json!({ "allowed": false })));
    let refused = world.expect(400, "POST", MAPS, map("a")).await;
    assert_eq!(
        refused["message"],
        "admission webhook \"refuse.example.com\" denied the request without explanation"
    );
    world.hook.on("refuse", |_| patched(&json!([])));
    let refused = world.expect(500, "POST", MAPS, map("a")).await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.ends_with("validating webhook may not return response.patch"), "{message}");
    world.hook.on("refuse", |_| allowed());
    world.expect(201, "POST", MAPS, map("a")).await;
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_called_at_once_after_the_mutating_ones() {
    let mut world = World::start().await;
    let slowly = || Reply::After(Duration::from_millis(600), Box::new(allowed()));
    let names = ["slow1", "slow2", "slow3"];
    let webhooks = names.map(|name| {
        world.hook.on(name, move |_| slowly());
        let mut webhook = world.webhook(name, "CREATE", CONFIG_MAPS);
        webhook["timeoutSeconds"] = 10.into();
        webhook["objectSelector"] = json!({ "matchLabels": { "case": "slow" } });
        webhook
    });
    world.hook.on("label", |_| {
        patched(&json!([{ "op": "add", "path": "/metadata/labels", "value": { "case": "slow" } }]))
    });
    let label = world.webhook("label", "CREATE", CONFIG_MAPS);
    world.register(Kind::Validating, "v", &webhooks).await;
    world.register(Kind::Mutating, "m", &[label]).await;
    let begun = Instant::now();
    world.expect(201, "POST", MAPS, map("a")).await;
    assert!(begun.elapsed() < Duration::from_millis(1_200), "one after the other takes 1,800 ms");
    for name in names {
        let call = world.hook.calls(name).pop().unwrap();
        assert_eq!(call["object"]["metadata"]["labels"]["case"], "slow");
        assert!(call["object"]["metadata"]["uid"].is_string(), "the object as it would be stored");
    }
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_and_collections_show_the_old_object() {
    let mut world = World::start().await;
    let all = world.webhook("all", "*", CONFIG_MAPS);
    world.register(Kind::Validating, "c", &[all]).await;
    world.expect(201, "POST", MAPS, map("a")).await;
    world.expect(200, "PATCH", &format!("{MAPS}/a"), json!({ "data": { "a": "2" } })).await;
    let call = world.hook.calls("all").pop().unwrap();
    assert_eq!((&call["operation"], &call["options"]["kind"]), (&json!("UPDATE"), &json!("UpdateOptions")));
    assert_eq!((&call["oldObject"]["data"]["a"], &call["object"]["data"]["a"]), (&json!("1"), &json!("2")));

    world.expect(201, "POST", MAPS, map("b")).await;
    let before = world.hook.calls("all").len();
    world.expect(200, "DELETE", MAPS, Value::Null).await;
    let calls = world.hook.calls("all").split_off(before);
    let mut names: Vec<&str> =
        calls.iter().map(|call| call["oldObject"]["metadata"]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert!(names.contains(&"a") && names.contains(&"b"), "{names:?}");
    assert!(calls.iter().all(|call| call["name"].is_null() && call["operation"] == "DELETE"));
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn match_conditions_decide_after_the_rules() {
    let mut world = World::start().await;
    world.hook.on("refuse", |_| Reply::Response(json!({ "allowed": false })));
    let conditioned = |world: &World, case: &str, policy: &str, expressions: &[&str]| {
        let mut webhook = world.webhook("refuse", "CREATE", CONFIG_MAPS);
        let condition = |(at, text): (usize, &&str)| json!({ "name": format!("c{at}"), "expression": text });
        webhook["matchConditions"] = expressions.iter().enumerate().map(condition).collect();
        webhook["objectSelector"] = json!({ "matchLabels": { "case": case } });
        webhook["name"] = json!(format!("{case}.example.com"));
        webhook["failurePolicy"] = policy.into();
        webhook
    };
    let webhooks = [
        conditioned(&world, "no", "Fail", &["object.metadata.name == 'zzz'"]),
        conditioned(&world, "yes", "Fail", &["request.userInfo.username == 'admin'", "oldObject == null"]),
        conditioned(&world, "may", "Fail", &["authorizer.requestResource.check('create').allowed()"]),
        conditioned(&world, "broken", "Fail", &["object.nothing.at.all == 1"]),
        conditioned(&world, "ignored", "Ignore", &["object.nothing.at.all == 1"]),
    ];
    world.register(Kind::Validating, "c", &webhooks).await;
    for (case, status, text) in [
        ("no", 201, ""),
        ("yes", 400, "denied the request"),
        ("may", 400, "denied the request"),
        (
            "broken",
            403,
            "configmaps \"broken\" is forbidden: expression 'object.nothing.at.all == 1' resulted in error: no such key: nothing",
        ),
        ("ignored", 201, ""),
    ] {
        let mut object = map(case);
        object["metadata"]["labels"] = json!({ "case": case });
        let answer = world.send("POST", MAPS, &object).await;
        assert_eq!(answer.status, status, "{case}: {}", answer.text());
        assert!(answer.text().contains(&text.replace('"', "\\\"")), "{case}: {}", answer.text());
    }
    world.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_just_started_skips_no_webhook() {
    let first = TestServer::builder();
    let mut world = World::over(first).await;
    world.hook.on("refuse", |_| Reply::Response(json!({ "allowed": false })));
    let refuse = world.webhook("refuse", "CREATE", CONFIG_MAPS);
    world.register(Kind::Validating, "c", &[refuse]).await;
    let directory = world.server.directory().clone();
    let World { server, hook, .. } = world;
    server.stop().await;
    let mut again = World::over(TestServer::builder().directory(&directory)).await;
    let refused = again.expect(400, "POST", MAPS, map("a")).await;
    assert!(refused["message"].as_str().unwrap().contains("denied the request"), "{refused}");
    assert!(!hook.calls("refuse").is_empty());
    again.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_for_one_user_hold_up_nobody_else() {
    const AT_ONCE: usize = 4;
    let builder = TestServer::builder().memory().webhook_calls(AT_ONCE);
    let mut world = World::over(builder.token("hog-token", "hog", "system:masters")).await;
    let is_of_hog = |request: &Value| request["userInfo"]["username"] == "hog";
    world.hook.on("slow", move |request| if is_of_hog(request) { Reply::Hang } else { allowed() });
    let mut slow = world.webhook("slow", "CREATE", CONFIG_MAPS);
    slow["timeoutSeconds"] = json!(30);
    world.register(Kind::Validating, "c", &[slow]).await;
    let calls_of_hog = |world: &World| world.hook.calls("slow").iter().filter(|call| is_of_hog(call)).count();

    let mut flood = tokio::task::JoinSet::new();
    for number in 0..AT_ONCE + 2 {
        let mut connection = Connection::open(&world.server, Protocol::Http2).await;
        flood.spawn(async move {
            let hog = [("authorization", "Bearer hog-token")];
            connection.send(request("POST", MAPS, &hog, &map(&format!("hog-{number}")))).await.status
        });
    }
    while calls_of_hog(&world) < AT_ONCE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.expect(201, "POST", MAPS, map("other")).await;
    assert_eq!(calls_of_hog(&world), AT_ONCE, "further calls wait for their turn");
    assert!(flood.try_join_next().is_none(), "no write is answered");

    // A client that leaves gives its turns back.
    world.hook.on("slow", |_| allowed());
    flood.shutdown().await;
    let mut connection = Connection::open(&world.server, Protocol::Http2).await;
    let hog = [("authorization", "Bearer hog-token")];
    let answered = connection.send(request("POST", MAPS, &hog, &map("last"))).await;
    assert_eq!(answered.status, 201, "{}", answered.text());
    world.server.stop().await;
}
