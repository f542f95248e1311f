use std::sync::Arc;

use http_body::Body as _;
use http_body_util::BodyExt;
use registry_core::storage::{Attributes, Entry, StoredObject};
use responses::negotiation::MetaVersion;

use super::*;

const HEAD: &[u8] = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"#;

const BUILTIN: ListHead<'_> = ListHead { json: HEAD, is_custom: false };

fn entry(name: &str, payload_bytes: usize) -> StoredObject {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","resourceVersion":"3"}},"data":{{"k":"{}"}}}}"#,
        "x".repeat(payload_bytes)
    );
    let key = format!("/registry/configmaps/default/{name}");
    Arc::new(Entry::new(key.into(), 3, json.into(), 38, Attributes::default()))
}

fn page(items: Vec<StoredObject>) -> ListPage {
    ListPage {
        revision: 9,
        items,
        continue_token: Some("abc".to_owned()),
        remaining: Some(5),
        ..ListPage::default()
    }
}

/// Returns the list as a serializer writes it.
fn expected(items: &[StoredObject], keeps_type: bool) -> Value {
    let items = items.iter().map(|entry| {
        let mut item: Value = serde_json::from_slice(entry.json()).unwrap();
        if !keeps_type {
            item.as_object_mut().unwrap().retain(|key, _| key != "apiVersion" && key != "kind");
        }
        item
    });
    json!({
        "kind": "ConfigMapList", "apiVersion": "v1",
        "metadata": {"resourceVersion": "9", "continue": "abc", "remainingItemCount": 5},
        "items": items.collect::<Vec<_>>(),
    })
}

async fn collect(body: ListBody) -> (Vec<usize>, Vec<u8>) {
    let body = body.begun().unwrap();
    let announced = body.size_hint().exact();
    let mut sizes = Vec::new();
    let mut all = Vec::new();
    let mut body = body;
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        sizes.push(data.len());
        all.extend_from_slice(&data);
    }
    assert!(
        announced.is_none_or(|size| size == all.len() as u64),
        "announced {announced:?}, sent {}",
        all.len()
    );
    (sizes, all)
}

#[tokio::test]
async fn lists_are_what_a_serializer_gives() {
    let sizes = [0, 10, 20_000, 1_000, 70_000, 70_000, 5];
    let items: Vec<_> = sizes.iter().enumerate().map(|(n, size)| entry(&format!("c{n}"), *size)).collect();
    for (form, keeps_type) in [(ItemForm::Tail, false), (ItemForm::Whole, true)] {
        let (_, bytes) = collect(json_body(HEAD, form, page(items.clone()))).await;
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value, expected(&items, keeps_type));
        assert!(bytes.starts_with(br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"abc","remainingItemCount":5},"items":[{"#));
    }
    let (_, empty) =
        collect(json_body(HEAD, ItemForm::Tail, ListPage { revision: 4, ..ListPage::default() })).await;
    assert_eq!(
        String::from_utf8(empty).unwrap(),
        r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"4"},"items":[]}"#
            .to_owned()
            + "\n"
    );
}

#[tokio::test]
async fn large_lists_come_in_bounded_pieces_and_share_large_items() {
    let items: Vec<_> = (0..2_000).map(|n| entry(&format!("c{n}"), 1_000)).collect();
    let (sizes, bytes) = collect(json_body(HEAD, ItemForm::Tail, page(items.clone()))).await;
    assert!(bytes.len() > 2_000_000);
    assert!(sizes.iter().all(|size| *size < 70 * 1024), "{sizes:?}");

    let large = entry("large", 100_000);
    let mut body = json_body(HEAD, ItemForm::Tail, page(vec![large.clone()]));
    body.frame().await.unwrap().unwrap();
    let shared = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let range = large.line().as_ptr_range();
    assert!(range.contains(&shared.as_ptr()), "the item was copied");
}

#[tokio::test]
async fn other_forms_of_the_same_list() {
    let items = vec![entry("a", 1), entry("b", 1)];
    let (_, bytes) =
        collect(json_body(HEAD, ItemForm::Partial(MetaVersion::V1.into()), page(items.clone()))).await;
    let partial: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(partial["kind"], "PartialObjectMetadataList");
    assert_eq!(partial["metadata"]["resourceVersion"], "9");
    assert_eq!(
        partial["items"][1],
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "b", "resourceVersion": "3"}})
    );

    let none = || ListPage { revision: 4, ..ListPage::default() };
    let (_, empty) = collect(json_body(HEAD, ItemForm::Partial(MetaVersion::V1.into()), none())).await;
    let empty: Value = serde_json::from_slice(&empty).unwrap();
    assert_eq!(empty["items"], Value::Null);
    assert_eq!(empty["metadata"], json!({"resourceVersion": "4"}));
    let (_, empty) =
        collect(yaml_body(BUILTIN, ItemForm::Partial(MetaVersion::V1.into()), none()).unwrap()).await;
    assert!(String::from_utf8(empty).unwrap().contains("items: null\n"));

    let (_, text) = collect(yaml_body(BUILTIN, ItemForm::Tail, page(items)).unwrap()).await;
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "apiVersion: v1\nitems:\n- data:\n    k: x\n  metadata:\n    name: a\n    resourceVersion: \"3\"\n- data:\n    k: x\n  metadata:\n    name: b\n    resourceVersion: \"3\"\nkind: ConfigMapList\nmetadata:\n  continue: abc\n  remainingItemCount: 5\n  resourceVersion: \"9\"\n"
    );
    let (_, none) = collect(yaml_body(BUILTIN, ItemForm::Tail, ListPage::default()).unwrap()).await;
    assert!(String::from_utf8(none).unwrap().contains("items: []\n"));
}

#[tokio::test]
async fn an_unreadable_object_fails_the_list() {
    let broken = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"broken":"#;
    let key = "/registry/configmaps/x".into();
    let broken = Arc::new(Entry::new(key, 3, broken.into(), 38, Attributes::default()));
    let all = || page(vec![entry("a", 1), broken.clone()]);
    let partial = || ItemForm::Partial(MetaVersion::V1.into());
    for body in [
        yaml_body(BUILTIN, ItemForm::Tail, all()).unwrap(),
        yaml_body(BUILTIN, partial(), all()).unwrap(),
        json_body(HEAD, partial(), all()),
    ] {
        let failure = body.begun().map(|_| ()).unwrap_err();
        assert_eq!(failure.code, 500);
        let expected = "the stored value of /registry/configmaps/x cannot be read";
        assert!(failure.message.contains(expected), "{failure}");
    }

    // After the first piece, the response breaks.
    let mut items: Vec<_> = (0..100).map(|n| entry(&format!("c{n}"), 1_000)).collect();
    items.push(broken.clone());
    let mut body = yaml_body(BUILTIN, ItemForm::Tail, page(items)).unwrap().begun().unwrap();
    let mut last = None;
    while let Some(frame) = body.frame().await {
        last = Some(frame);
        if last.as_ref().is_some_and(Result::is_err) {
            break;
        }
    }
    assert!(last.is_some_and(|last| last.is_err()));
}
