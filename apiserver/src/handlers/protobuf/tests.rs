use http_body_util::BodyExt;
use registry_core::codec::protobuf::{Envelope, item_len};
use serde_json::json;

use super::*;

#[tokio::test]
async fn lists_come_in_pieces_of_the_size_announced() {
    let items: Vec<Bytes> = (0..300_u16).map(|n| vec![7; usize::from(n) * 10].into()).collect();
    let items_len = items.iter().map(|item| item_len(item.len())).sum();
    let frame = ListFrame::new("v1", "PodList", &ListMetadata::default(), items_len);
    let size = frame.prefix.len() + items_len + frame.suffix.len();
    let mut body = MessagesBody::new(frame, items, size);
    let (mut all, mut pieces) = (Vec::new(), 0);
    while let Some(piece) = body.frame().await {
        all.extend_from_slice(&piece.unwrap().into_data().unwrap());
        pieces += 1;
    }
    assert_eq!((all.len(), pieces > 3), (size, true));
    assert_eq!(Envelope::parse(&all).unwrap().kind, "PodList");
}

#[test]
fn statuses_have_protobuf_and_strangers_do_not() {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 404});
    let bytes = envelope(&status, None).unwrap();
    assert_eq!(Envelope::parse(&bytes).unwrap().kind, "Status");
    assert_eq!(envelope(&json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1"}), None), None);
    assert_eq!(envelope(&json!({"kind": "Enclosure", "apiVersion": "zoo.example.dev/v1"}), None), None);
    assert_eq!(envelope(&json!({}), None), None);
}
