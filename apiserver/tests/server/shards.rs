//! Lists and watches of shards: `shardSelector`, with the feature ShardedListAndWatch.

use std::collections::BTreeSet;

use registry_core::codec::protobuf;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::client::{ADMIN, request};
use crate::custom_resources::Client;
use crate::servers::{start, start_over};

const GATE: &str = "--feature-gates=ShardedListAndWatch=true";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LOW: &str = "'0x0000000000000000', '0x8000000000000000'";
const HIGH: &str = "'0x8000000000000000', '0x10000000000000000'";

/// Returns a list's path with a selector of the shard of these hashes.
fn path_of_shard(path: &str, field: &str, hashes: &str) -> String {
    let text = format!("shardRange(object.metadata.{field},{hashes})");
    format!("{path}?shardSelector={}", text.replace(' ', "").replace('\'', "%27"))
}

fn names(list: &Value) -> BTreeSet<String> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Creates objects; returns their names.
async fn filled(client: &mut Client) -> BTreeSet<String> {
    for number in 0..20 {
        let map = json!({ "metadata": { "name": format!("m{number}"), "labels": { "odd": (number % 2).to_string() } } });
        client.expect(201, "POST", CONFIG_MAPS, map).await;
    }
    names(&client.get(CONFIG_MAPS).await)
}

async fn every_object_is_in_one_shard(client: &mut Client) {
    let all = filled(client).await;
    let low = client.get(&path_of_shard(CONFIG_MAPS, "uid", LOW)).await;
    let high = client.get(&path_of_shard(CONFIG_MAPS, "uid", HIGH)).await;
    let shown = format!("shardRange(object.metadata.uid, {LOW})");
    assert_eq!(low["metadata"]["shardInfo"], json!({ "selector": shown }));
    assert!(!names(&low).is_empty() && !names(&high).is_empty());
    assert!(names(&low).is_disjoint(&names(&high)));
    assert_eq!(&names(&low) | &names(&high), all);

    // Page by page, with a selector of labels, and at a revision.
    let path = path_of_shard(CONFIG_MAPS, "uid", LOW);
    let (mut seen, mut next) = (BTreeSet::new(), String::new());
    loop {
        let page = client.get(&format!("{path}&limit=3&continue={next}")).await;
        assert!(names(&page).len() <= 3);
        seen.extend(names(&page));
        match page["metadata"]["continue"].as_str() {
            Some(token) => token.clone_into(&mut next),
            None => break,
        }
    }
    assert_eq!(seen, names(&low));
    let odd = names(&client.get(&format!("{path}&labelSelector=odd=1")).await);
    let all_odd = names(&client.get(&format!("{CONFIG_MAPS}?labelSelector=odd=1")).await);
    assert_eq!(odd, &all_odd & &names(&low));
    let version = low["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("{path}&resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(names(&client.get(&exact).await), names(&low));

    // By namespace all objects of one namespace are in the same shard.
    let shards = [LOW, HIGH].map(|hashes| path_of_shard(CONFIG_MAPS, "namespace", hashes));
    let mut counts = Vec::new();
    for shard in &shards {
        counts.push(names(&client.get(shard).await).len());
    }
    counts.sort_unstable();
    assert_eq!(counts, [0, all.len()]);
}

#[tokio::test]
async fn lists_of_shards_from_the_cache_have_every_object_once() {
    let server = start(&[GATE]).await;
    every_object_is_in_one_shard(&mut Client::connect(&server).await).await;
}

#[tokio::test]
async fn lists_of_shards_from_etcd_have_every_object_once() {
    let etcd = Etcd::start().await.unwrap();
    let server = start_over(&etcd, &[GATE, "--watch-cache=false"]).await;
    every_object_is_in_one_shard(&mut Client::connect(&server).await).await;
}

#[tokio::test]
async fn a_watch_of_a_shard_shows_its_objects_to_their_end() {
    let etcd = Etcd::start().await.unwrap();
    for cache in ["true", "false"] {
        let server = start_over(&etcd, &[GATE, &format!("--watch-cache={cache}")]).await;
        let mut client = Client::connect(&server).await;
        let path = format!("{CONFIG_MAPS}?labelSelector=cache={cache}");
        let version = client.get(&path).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        for number in 0..10 {
            let name = format!("w{cache}{number}");
            let map = json!({ "metadata": { "name": name, "labels": { "cache": cache } } });
            client.expect(201, "POST", CONFIG_MAPS, map).await;
        }
        let query = format!("&labelSelector=cache={cache}");
        let low = names(&client.get(&format!("{}{query}", path_of_shard(CONFIG_MAPS, "uid", LOW))).await);
        for number in 0..10 {
            let path = format!("{CONFIG_MAPS}/w{cache}{number}");
            client
                .apply(
                    &format!("{path}?fieldManager=test"),
                    &json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" } }),
                )
                .await;
            client.expect(200, "DELETE", &path, Value::Null).await;
        }
        let watch = path_of_shard(CONFIG_MAPS, "uid", LOW);
        let watch = format!("{watch}{query}&watch=1&timeoutSeconds=1&resourceVersion={version}");
        let events = client.send("GET", &watch, &Value::Null).await.text();
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let seen = events.filter(|event| event["type"] == kind);
            let seen = seen.map(|event| event["object"]["metadata"]["name"].as_str().unwrap().to_owned());
            assert_eq!(seen.collect::<BTreeSet<_>>(), low, "{kind} with cache {cache}");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn other_forms_of_lists_and_deletions_keep_to_the_shard() {
    let server = start(&[GATE]).await;
    let mut client = Client::connect(&server).await;
    let all = filled(&mut client).await;
    let (low, high) = (path_of_shard(CONFIG_MAPS, "uid", LOW), path_of_shard(CONFIG_MAPS, "uid", HIGH));
    let count = names(&client.get(&low).await).len();
    let text = format!("shardRange(object.metadata.uid, {LOW})");

    let accept = ("accept", "application/vnd.kubernetes.protobuf");
    let answer = client.0.send(request("GET", &low, &[ADMIN, accept], &Value::Null)).await;
    let envelope = protobuf::Envelope::parse(&answer.body).unwrap();
    let shown = [
        &[0x2a, u8::try_from(text.len() + 2).unwrap(), 0x0a, u8::try_from(text.len()).unwrap()],
        text.as_bytes(),
    ]
    .concat();
    assert!(envelope.message.windows(shown.len()).any(|bytes| bytes == shown), "the list names its shard");

    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = client.0.send(request("GET", &low, &[ADMIN, accept], &Value::Null)).await.json();
    assert_eq!(table["rows"].as_array().unwrap().len(), count);
    assert_eq!(table["metadata"]["shardInfo"], Value::Null, "as in Kubernetes");

    client.expect(200, "DELETE", &low, Value::Null).await;
    assert_eq!(names(&client.get(CONFIG_MAPS).await), names(&client.get(&high).await));
    assert_eq!(names(&client.get(CONFIG_MAPS).await).len(), all.len() - count);
}

#[tokio::test]
async fn a_selector_that_is_none_is_refused_and_without_the_feature_ignored() {
    let server = start(&[GATE]).await;
    let mut client = Client::connect(&server).await;
    for (selector, reason) in [
        (
            "shardRange(object.metadata.uid,0,1)",
            "invalid shard selector: hexStart must be a string literal, got int64",
        ),
        ("%20", "invalid shard selector: empty shard selector is not allowed"),
        ("shardRange(", "invalid shard selector: CEL parse error: "),
    ] {
        for watch in ["", "&watch=1"] {
            let path = format!("{CONFIG_MAPS}?shardSelector={selector}{watch}");
            let status = client.expect(500, "GET", &path, Value::Null).await;
            assert!(status["message"].as_str().unwrap().starts_with(reason), "{status}");
        }
    }
    client.get(&format!("{CONFIG_MAPS}?shardSelector=")).await;

    let server = start(&[]).await;
    let mut client = Client::connect(&server).await;
    let all = filled(&mut client).await;
    let list = client.get(&path_of_shard(CONFIG_MAPS, "uid", LOW)).await;
    assert_eq!((names(&list), &list["metadata"]["shardInfo"]), (all, &Value::Null));
    client.get(&format!("{CONFIG_MAPS}?shardSelector=nonsense(")).await;
}
