use std::convert::Infallible;
use std::io::Read;

use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::json;

use super::*;

#[test]
fn pretty_is_what_serde_gives_in_any_pieces() {
    let value = json!({"a": [], "b": {}, "c": [1, {"d": "x\\\"{,:}"}], "e": {"f": null, "g": [[true]]}});
    let expected = serde_json::to_string_pretty(&value).unwrap();
    let compact = value.to_string();
    for size in [1, 3, compact.len()] {
        let mut pretty = Pretty::default();
        let pieces: Vec<u8> =
            compact.as_bytes().chunks(size).flat_map(|piece| pretty.indent(piece)).collect();
        assert_eq!(String::from_utf8(pieces).unwrap(), expected);
    }
}

#[tokio::test]
async fn gzip_streams_decompress_to_the_same() {
    let pieces: Vec<Bytes> = (0..50).map(|n| Bytes::from(format!("piece {n} ").repeat(1000))).collect();
    let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
    let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    let body = StreamBody::new(futures::stream::iter(frames));
    let encoding = Encoding { pretty: false, gzip: true };
    let compressed = EncodedBody::new(body, encoding).collect().await.unwrap().to_bytes();
    assert!(compressed.len() < whole.len() / 10);
    let mut decompressed = Vec::new();
    flate2::read::GzDecoder::new(&*compressed).read_to_end(&mut decompressed).unwrap();
    assert_eq!(decompressed, whole);

    let empty = EncodedBody::new(Full::<Bytes>::default(), encoding).collect().await.unwrap().to_bytes();
    let mut decompressed = Vec::new();
    flate2::read::GzDecoder::new(&*empty).read_to_end(&mut decompressed).unwrap();
    assert!(decompressed.is_empty());
}

#[tokio::test]
async fn other_tasks_run_while_a_large_frame_is_compressed() {
    let content = Bytes::from("compressible ".repeat(TURN_BYTES));
    let mut body = EncodedBody::new(Full::new(content.clone()), Encoding { pretty: false, gzip: true });
    let compression = tokio::spawn(async move {
        let mut turns = 0;
        let mut compressed = Vec::new();
        while let Some(frame) = std::future::poll_fn(|task| {
            turns += 1;
            Pin::new(&mut body).poll_frame(task)
        })
        .await
        {
            compressed.extend(frame.unwrap().into_data().unwrap());
        }
        (turns, compressed)
    });
    // The runtime has one thread: this task runs in the first pause.
    tokio::task::yield_now().await;
    assert!(!compression.is_finished());
    let (turns, compressed) = compression.await.unwrap();
    assert!(turns >= content.len() / TURN_BYTES, "{turns} turns");
    let mut decompressed = Vec::new();
    flate2::read::GzDecoder::new(&*compressed).read_to_end(&mut decompressed).unwrap();
    assert_eq!(decompressed, content);
}
