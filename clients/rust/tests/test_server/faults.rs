//! Failures by rule.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use orlop_test::{Fault, TestServer, Verb};
use serde_json::{Value, json};

use crate::support::{code, config_map, create, maps, pairs, present};

#[tokio::test]
async fn an_update_conflicts_exactly_twice() {
    let server = TestServer::start().await.unwrap();
    let map = create(&server, "a", "1").await;
    let conflicts = server.faults().on(Verb::Update, "configmaps").times(2).conflict();
    let maps = maps(&server);
    let update = async || maps.replace("a", &PostParams::default(), &map).await;
    for _ in 0..2 {
        let kube::Error::Api(status) = update().await.unwrap_err() else { panic!("no answer") };
        assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
        assert_eq!(
            status.message,
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the \
             latest version and try again"
        );
    }
    update().await.unwrap();
    assert_eq!(conflicts.hits(), 2);
}

#[tokio::test]
async fn a_rule_is_for_the_requests_that_it_names() {
    let server = TestServer::start().await.unwrap();
    create(&server, "a", "1").await;
    create(&server, "b", "1").await;
    let faults = server.faults();
    let named = faults.on(Verb::Get, "configmaps").namespace("default").name("a").status(418);
    let others = [
        faults.on(Verb::Get, "configmaps").namespace("elsewhere").status(500),
        faults.on(Verb::Get, "configmaps").user("alice").status(500),
        faults.on(Verb::Get, "configmaps").user_agent("kubectl").status(500),
        faults.on(Verb::Get, "configmaps.example.com").status(500),
        faults.on(Verb::Get, "configmaps/status").status(500),
        faults.on(Verb::Delete, "*").status(500),
    ];
    let maps = maps(&server);
    assert_eq!(code(&maps.get("a").await.unwrap_err()), 418);
    maps.get("b").await.unwrap();
    assert_eq!(named.hits(), 1);
    assert_eq!(others.each_ref().map(Fault::hits), [0; 6]);

    let alice = server.user("alice").bound_to("view").client().await.unwrap();
    let alice: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::default_namespaced(alice);
    assert_eq!(code(&alice.get("b").await.unwrap_err()), 500);
    assert_eq!(code(&maps.delete("b", &DeleteParams::default()).await.unwrap_err()), 500);
    named.remove();
    maps.get("a").await.unwrap();
    faults.clear();
    alice.get("b").await.unwrap();
}

#[tokio::test]
async fn concurrent_requests_share_the_number_of_a_rule() {
    let server = TestServer::start().await.unwrap();
    let rule = server.faults().on(Verb::Create, "configmaps").times(7).status(500);
    let maps = maps(&server);
    let post = PostParams::default();
    let objects: Vec<_> = (0..20).map(|number| config_map(&format!("m{number}"), "1")).collect();
    let created = futures::future::join_all(objects.iter().map(|map| maps.create(&post, map))).await;
    assert_eq!(created.iter().filter(|created| created.is_err()).count(), 7);
    assert_eq!((rule.hits(), present(&server).await.len()), (7, 13));
}

#[tokio::test]
async fn refusals_say_when_to_come_back() {
    let server = TestServer::start().await.unwrap();
    let retry_after = Duration::from_millis(1500);
    server.faults().on(Verb::List, "configmaps").times(1).too_many_requests(retry_after);
    // The client of kube-rs would come back by itself.
    let refused = server.request("GET", "/api/v1/configmaps", &Value::Null).await.unwrap_err();
    assert!(refused.reason.starts_with("429"), "{refused}");
    for part in ["\"reason\":\"TooManyRequests\"", "\"retryAfterSeconds\":2"] {
        assert!(refused.reason.contains(part), "{refused}");
    }
    server.request("GET", "/api/v1/configmaps", &Value::Null).await.unwrap();
}

#[tokio::test]
async fn a_delayed_request_is_handled_or_refused_by_a_later_rule() {
    let server = TestServer::start().await.unwrap();
    create(&server, "a", "1").await;
    let delay = Duration::from_millis(200);
    let delayed = server.faults().on(Verb::Get, "configmaps").delay(delay);
    server.faults().on(Verb::Get, "configmaps").name("b").status(500);
    let maps = maps(&server);
    for (name, is_found) in [("a", true), ("b", false)] {
        let begun = Instant::now();
        assert_eq!(maps.get(name).await.is_ok(), is_found);
        assert!(begun.elapsed() >= delay);
    }
    assert_eq!(delayed.hits(), 2);
}

#[tokio::test]
async fn new_watches_end_or_expire() {
    let server = TestServer::start().await.unwrap();
    create(&server, "a", "1").await;
    let maps = maps(&server);
    let open = async || maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    server.faults().on(Verb::Watch, "configmaps").times(1).end_watch();
    assert!(open().await.next().await.is_none());
    server.faults().on(Verb::Watch, "configmaps").times(1).expire_watch();
    let mut expired = open().await;
    let Some(Ok(WatchEvent::Error(status))) = expired.next().await else { panic!("no error") };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert!(expired.next().await.is_none());
    assert!(matches!(open().await.next().await, Some(Ok(WatchEvent::Added(_)))));
}

#[tokio::test]
async fn open_watches_end_or_expire() {
    let server = TestServer::start().await.unwrap();
    let version = create(&server, "a", "1").await.metadata.resource_version.unwrap();
    let maps = maps(&server);
    let open = async || maps.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    let (mut first, mut second) = (open().await, open().await);
    let watches = || server.faults().on(Verb::Watch, "configmaps").namespace("default");
    assert_eq!(watches().name("other").end_open_watches(), 0);
    assert_eq!(watches().expire_open_watches(), 2);
    for watch in [&mut first, &mut second] {
        let Some(Ok(WatchEvent::Error(status))) = watch.next().await else { panic!("no error") };
        assert_eq!(status.code, 410);
        assert!(watch.next().await.is_none());
    }
    let mut third = open().await;
    assert_eq!(watches().end_open_watches(), 1);
    assert!(third.next().await.is_none());
    assert_eq!(watches().end_open_watches(), 0, "none is left");
}

#[tokio::test]
async fn objects_are_stale_until_the_rule_ends() {
    let server = TestServer::start().await.unwrap();
    let maps = maps(&server);
    let map = create(&server, "a", "1").await;
    create(&server, "gone", "1").await;
    let past = server.snapshot().await.unwrap().revision();
    let patch = Patch::Merge(json!({"data": {"value": "2"}}));
    let patched = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    create(&server, "b", "1").await;
    maps.delete("gone", &DeleteParams::default()).await.unwrap();

    let stale = server.faults().on(None, "configmaps").stale(past);
    assert_eq!(maps.get("a").await.unwrap(), map);
    assert_eq!(code(&maps.get("b").await.unwrap_err()), 404);
    assert!(maps.get_opt("gone").await.unwrap().is_some());
    assert_eq!(present(&server).await, pairs(&[("a", "1"), ("gone", "1")]));
    assert_eq!(stale.hits(), 4);
    // An update of the old state conflicts, and one of the new state is made.
    assert_eq!(code(&maps.replace("a", &PostParams::default(), &map).await.unwrap_err()), 409);
    maps.replace("a", &PostParams::default(), &patched).await.unwrap();
    stale.remove();
    assert_eq!(maps.get("a").await.unwrap().data, patched.data);
}

#[tokio::test]
async fn lists_are_stale_until_the_rule_ends() {
    let server = TestServer::start().await.unwrap();
    create(&server, "a", "1").await;
    let past = server.snapshot().await.unwrap().revision();
    let patch = Patch::Merge(json!({"data": {"value": "2"}}));
    maps(&server).patch("a", &PatchParams::default(), &patch).await.unwrap();
    create(&server, "b", "1").await;
    let stale = server.faults().on(Verb::List, "configmaps").stale(past);
    assert_eq!(present(&server).await, pairs(&[("a", "1")]));
    stale.remove();
    assert_eq!(present(&server).await, pairs(&[("a", "2"), ("b", "1")]));
}

#[tokio::test]
async fn a_state_that_is_not_reached_yet_is_refused() {
    let server = TestServer::start().await.unwrap();
    create(&server, "a", "1").await;
    let path = "/api/v1/namespaces/default/configmaps";
    for future in [server.snapshot().await.unwrap().revision() + 1_000, u64::MAX] {
        let stale = server.faults().on(None, "configmaps").stale(future);
        // Not with kube's client, which repeats requests that are answered so.
        for path in [path.to_owned(), format!("{path}/a"), format!("{path}/absent")] {
            let refused = server.request("GET", &path, &Value::Null).await.unwrap_err().to_string();
            assert!(refused.contains("Too large resource version"), "{path} at {future}: {refused}");
        }
        stale.remove();
    }
    assert_eq!(present(&server).await, pairs(&[("a", "1")]));
}
