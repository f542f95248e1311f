use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use registry_core::codec::protobuf::{Envelope, item_len};
use registry_core::storage::{Attributes, EncodingBudget, Entry};
use responses::negotiation::MetaVersion;

use super::*;

fn messages(budget: &Arc<EncodingBudget>) -> Messages {
    Messages::for_metadata(MetaVersion::V1, budget.clone()).unwrap()
}

fn entry(name: &str, annotation_bytes: usize) -> StoredObject {
    let text = "x".repeat(annotation_bytes);
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"annotations":{{"a":"{text}"}},"name":"{name}"}}}}"#
    );
    Arc::new(Entry::new(name.into(), 3, json.into(), 38, Attributes::default()))
}

/// Returns the pieces of a list's body, and checks that they have the announced size.
async fn pieces(messages: &Messages, items: &[StoredObject]) -> Vec<Bytes> {
    let page = ListPage { items: items.to_vec(), ..ListPage::default() };
    let items_len = items_len(messages, &page).await.unwrap();
    let frame = ListFrame::new("v1", "PodList", &ListMetadata::default(), items_len);
    let size = frame.prefix.len() + items_len + frame.suffix.len();
    let mut body = body(frame, messages.clone(), page, items_len);
    let mut pieces = Vec::new();
    while let Some(piece) = body.frame().await {
        pieces.push(piece.unwrap().into_data().unwrap());
    }
    assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), size);
    pieces
}

#[tokio::test]
async fn lists_come_in_pieces_whether_their_messages_are_kept_or_not() {
    let items: Vec<_> = (0..300).map(|n| entry(&format!("c{n}"), n * 100)).collect();
    let large = Arc::new(EncodingBudget::new(usize::MAX));
    let none = Arc::new(EncodingBudget::new(0));
    let kept = messages(&large);
    let made_twice = messages(&none);
    let again = pieces(&made_twice, &items).await;
    let all = pieces(&kept, &items).await;
    assert!(all.len() > 100 && all.iter().all(|piece| piece.len() < 100_000));
    assert_eq!(all.concat(), again.concat());
    assert_eq!(Envelope::parse(&all.concat()).unwrap().kind, "PodList");
    assert!(large.used_bytes() > 4_000_000);
    assert_eq!(none.used_bytes(), 0);

    // The next list, and the next watcher, get the same bytes.
    let last = kept.message(&Item::stored(&items[299])).unwrap();
    let shared = |pieces: &[Bytes]| pieces.iter().any(|piece| piece.as_ptr() == last.as_ptr());
    assert!(shared(&all) && shared(&pieces(&kept, &items).await) && !shared(&again));
    let len = item_len(last.len());
    assert!(len > last.len() && last.len() > 29_900);
    drop(items);
    assert_eq!(large.used_bytes(), 0);
}
