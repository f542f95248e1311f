use std::sync::Arc;

use serde_json::json;

use crate::TypeTable;
use registry_meta::GroupVersionKind;

use super::*;

mod upstream;

/// A schema with every sort of field.
const FACTS: &str = include_str!("../../../../tests/decoder_fuzz/messages.facts");

fn schema(kind: &'static str) -> Schema {
    let table = Arc::new(TypeTable::parse(FACTS).unwrap());
    table.schema(GroupVersionKind { group: "", version: "v1", kind }).unwrap()
}

fn limits() -> Limits<'static> {
    Limits::default()
}

fn round(value: &Value) -> Value {
    let schema = schema("Everything");
    let bytes = encode(value, &schema, "v1", "Everything").unwrap();
    decode(&bytes, &limits(), |api_version, kind| {
        assert_eq!((api_version, kind), ("v1", "Everything"));
        Some(&schema)
    })
    .unwrap()
}

#[test]
fn one_of_everything_comes_back() {
    let value = json!({
        "apiVersion": "v1", "kind": "Everything",
        "blob": "AAEC", "blobs": {"a": "", "b": "/w=="}, "count": 0, "extra": {"e": ["x", ""]}, "flag": true,
        "inner": {"name": "n", "size": -3}, "list": [{"size": 0}, {"name": "m", "size": 7}],
        "micro": "1969-12-31T23:59:59.999999Z", "nested": "deep", "nestedSize": -1, "numbers": [0, 5, -1],
        "port": "http", "quantity": "500m", "raw": {"any": [1, null, {"k": "v"}]}, "ratio": 0.5,
        "time": "1900-01-02T03:04:05Z",
    });
    assert_eq!(round(&value), value);
}

#[test]
fn zeros_are_written_and_shown_as_go_does() {
    let schema = schema("Everything");
    let message = encode_message(&json!({}), &schema).unwrap();
    let zeros = [0x28, 0, 0x32, 4, 0x0a, 0, 0x10, 0, 0x4a, 4, 0x0a, 0, 0x10, 0]; // flag, inner, nested
    let port = [0x5a, 6, 8, 0, 0x10, 0, 0x1a, 0];
    let raw_and_time = [0x6a, 0, 0x7a, 0];
    assert_eq!(*message, [&zeros[..], &port, &raw_and_time].concat());
    let shown = json!({"inner": {"size": 0}, "list": null, "port": 0, "raw": null});
    assert_eq!(Value::Object(decode_message(&message, &schema, &limits()).unwrap()), shown);
    // Fields that other encoders omit are filled in.
    assert_eq!(Value::Object(decode_message(&[], &schema, &limits()).unwrap()), shown);
}

#[test]
fn values_of_other_types_are_errors_that_name_their_fields() {
    let cases = [
        (json!({"flag": "true"}), "flag: this string is not a boolean"),
        (json!({"count": "1"}), "count: this string is not an integer"),
        (json!({"count": 1.5}), "count: this number is not an integer"),
        (json!({"numbers": [1, {}]}), "numbers.1: an object is not an integer"),
        (json!({"ratio": "0.5"}), "ratio: this string is not a number"),
        (json!({"inner": {"name": 1}}), "inner.name: this number is not a string"),
        (json!({"inner": []}), "inner: a list is not an object"),
        (json!({"list": {}}), "list: an object is not a list"),
        (
            json!({"list": [{"size": 4_294_967_296_u64}]}),
            "list.0.size: this number is not an integer of 32 bits",
        ),
        (json!({"blobs": []}), "blobs: a list is not an object"),
        (json!({"blobs": {"a": "%"}}), "blobs.a: this string is not base64"),
        (json!({"extra": {"e": "x"}}), "extra.e: this string is not a list"),
        (json!({"extra": {"e": ["x", 1]}}), "extra.e.1: this number is not a string"),
        (json!({"nested": true}), "nested: this boolean is not a string"),
        (json!({"port": true}), "port: this boolean is not an integer"),
        (json!({"time": "noon"}), "time: this string is not a time"),
        (json!({"quantity": true}), "quantity: this boolean is not a string"),
    ];
    for (value, expected) in cases {
        let error = encode_message(&value, &schema("Everything")).unwrap_err();
        assert_eq!(error.to_string(), expected, "{value}");
    }
    // A quantity may be a number, as in Go.
    assert_eq!(round(&json!({"quantity": 2}))["quantity"], "2");
}

#[test]
fn messages_of_other_encoders_are_read() {
    let schema = schema("Everything");
    let read = |message: &[u8]| decode_message(message, &schema, &limits()).map(Value::Object);
    // Packed numbers, twice; a message in two parts; unknown fields of every type; the last of two scalars.
    let message = [
        &[0x52, 2, 1, 2, 0x52, 1, 3][..],
        &[0x32, 3, 0x0a, 1, b'n', 0x32, 2, 0x10, 9],
        &[0xa0, 6, 1, 0xa1, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0xa2, 6, 1, 0, 0xa5, 6, 0, 0, 0, 0],
        &[0xa3, 6, 8, 1, 0x0b, 0x0c, 0xa4, 6],
        &[0x18, 1, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
    ]
    .concat();
    let value = read(&message).unwrap();
    assert_eq!(value["numbers"], json!([1, 2, 3]));
    assert_eq!(value["inner"], json!({"name": "n", "size": 9}));
    assert_eq!(value["count"], -1);
    for (hostile, why) in [
        (&[0x0a, 5, 1][..], "unexpected EOF"),
        (&[0x0a], "unexpected EOF"),
        (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "unexpected EOF"),
        (&[0xff; 11], "proto: integer overflow"),
        (&[0, 0], "proto: illegal tag 0 (wire type 0)"),
        (&[0x0e], "proto: illegal wireType 6"),
        (&[0x08, 1], "proto: wrong wireType = 0 for field blob"),
        (&[0xa4, 6], "proto: unexpected end of group"),
        (&[0xa3, 6], "unexpected EOF"),
        (&[0x5a, 2, 8, 7], "impossible IntOrString.Type"),
        (&[0x42, 11, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x10], "unexpected EOF"),
        (&[0x71, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f], "json: unsupported value: inf"),
    ] {
        assert_eq!(read(hostile).unwrap_err().to_string(), why, "{hostile:x?}");
    }
    assert!(read(&[0x6a, 3, 0x0a, 1, b'{']).is_err(), "raw JSON that is none");
    assert!(read(&[0x62, 3, 0x0a, 1, b'x']).is_err(), "a quantity that is none");
}

#[test]
fn no_time_of_an_accepted_object_makes_it_unreadable() {
    // The last day of the range, which nearly all code calls "never", and both of its ends.
    for time in
        ["0000-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "9999-12-30T22:00:01Z", "9999-12-31T23:59:59Z"]
    {
        let micro = time.replace('Z', ".999999Z");
        let value = round(&json!({"time": time, "micro": micro}));
        assert_eq!((value["time"].as_str(), value["micro"].as_str()), (Some(time), Some(&*micro)));
    }
    // Seconds since 1970, as in Go.
    let message = encode_message(&json!({"time": "9999-12-31T23:59:59Z"}), &schema("Everything")).unwrap();
    let seconds = [0x7a, 9, 8, 0xff, 0x82, 0xd1, 0xff, 0xaf, 0x07, 0x10, 0];
    assert!(message.windows(seconds.len()).any(|part| part == seconds), "{message:x?}");

    // At rest of an earlier version of this server.
    for time in ["-9999-01-02T01:59:59Z", "-0001-12-31T22:00:00Z"] {
        let value = round(&json!({"time": time, "micro": time.replace('Z', ".000000Z")}));
        assert_eq!(value["time"], "0000-01-01T00:00:00Z", "{time}");
        assert_eq!(value["micro"], "0000-01-01T00:00:00.000000Z", "{time}");
    }

    // Of kube-apiserver, whose times have any number of seconds and nanoseconds.
    let schema = schema("Everything");
    let number = |number: i64| {
        let mut bytes = Vec::new();
        super::writer::write_varint(&mut bytes, number.cast_unsigned());
        bytes
    };
    for (seconds, nanos, expected) in [
        (i64::MIN, 0, "0000-01-01T00:00:00.000000Z"),
        (-62_167_219_201, 0, "0000-01-01T00:00:00.000000Z"),
        (-1, 999_999_000, "1969-12-31T23:59:59.999999Z"),
        (0, -1000, "1969-12-31T23:59:59.999999Z"),
        (0, 2_000_001_000, "1970-01-01T00:00:02.000001Z"),
        (253_402_300_800, 0, "9999-12-31T23:59:59.999999Z"),
        (i64::MAX, i64::from(i32::MAX), "9999-12-31T23:59:59.999999Z"),
    ] {
        let time = [&[8][..], &number(seconds), &[0x10], &number(nanos)].concat();
        let length = u8::try_from(time.len()).unwrap();
        let message = [&[0x7a, length][..], &time, &[0x42, length], &time].concat();
        let value = Value::Object(decode_message(&message, &schema, &limits()).unwrap());
        assert_eq!(value["micro"], expected, "{seconds} {nanos}");
        assert!(encode_message(&value, &schema).is_ok(), "{value}");
    }
}

#[test]
fn small_bytes_do_not_become_large_trees() {
    let schema = schema("Everything");
    let message = [0x3a, 0].repeat(100_000);
    let refused = decode_message(&message, &schema, &limits());
    assert!(refused.is_ok(), "one value filled in for two bytes is fair");
    let table = FACTS.replace(" size 1 - 2", " size 1 - 2\n sizf 1 - 3\n sizg 1 - 4");
    let table = Arc::new(TypeTable::parse(&table).unwrap());
    let schema = table.schema(GroupVersionKind { group: "", version: "v1", kind: "Everything" }).unwrap();
    assert!(decode_message(&message, &schema, &limits()).is_err());
}

#[test]
fn envelopes_are_opened_and_refused() {
    let bytes = envelope("apps/v1", "Deployment", b"abc");
    let opened = Envelope::parse(&bytes).unwrap();
    assert_eq!(opened, Envelope { api_version: "apps/v1", kind: "Deployment", message: b"abc" });
    let refused = Envelope::parse(b"garbage").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    );
    let unknown = decode(&bytes, &limits(), |_, _| None::<&Schema>).unwrap_err();
    assert_eq!(unknown.to_string(), "no kind \"Deployment\" is registered for version \"apps/v1\"");
    assert!(Envelope::parse(b"k8s\0\x0a\x7f").is_err());
    assert_eq!(Envelope::parse(b"").unwrap_err().to_string(), "empty data");
    assert_eq!(Envelope::parse(b"k8s\0").unwrap_err().to_string(), "empty body");
}

#[test]
fn lists_and_watch_events_hold_the_same_messages() {
    let schema = schema("Inner");
    let item = encode_message(&json!({"name": "n", "size": 1}), &schema).unwrap();
    let metadata =
        ListMetadata { resource_version: "7", continue_token: "c", remaining: Some(300), shard: "" };
    let frame = ListFrame::new("v1", "InnerList", &metadata, 2 * item_len(item.len()));
    let mut list = frame.prefix.clone();
    for _ in 0..2 {
        begin_item(&mut list, item.len());
        list.extend_from_slice(&item);
    }
    list.extend_from_slice(frame.suffix);
    let opened = Envelope::parse(&list).unwrap();
    assert_eq!(opened.kind, "InnerList");
    let expected = [
        &[0x0a, 11, 0x0a, 0, 0x12, 1, b'7', 0x1a, 1, b'c', 0x20, 0xac, 2][..],
        &[0x12, 5, 0x0a, 1, b'n', 0x10, 1, 0x12, 5, 0x0a, 1, b'n', 0x10, 1],
    ]
    .concat();
    assert_eq!(opened.message, expected);

    let mut frames = Vec::new();
    watch_frame(&mut frames, "ADDED", "v1", "Inner", &item);
    let envelope = envelope("v1", "Inner", &item);
    let inner = u8::try_from(envelope.len()).unwrap();
    let event = [&[0x0a, 5][..], b"ADDED", &[0x12, inner + 2, 0x0a, inner], &envelope].concat();
    let len = u32::try_from(event.len()).unwrap().to_be_bytes();
    assert_eq!(frames, [&len[..], &event].concat());

    for len in [0, 80, 128, 20_000] {
        let message = vec![7; len];
        let mut frame = Vec::new();
        watch_frame(&mut frame, "MODIFIED", "v1", "Inner", &message);
        let mut event = Reader::new(&frame[4..]);
        assert_eq!(event.len(), u32::from_be_bytes(*frame.first_chunk().unwrap()) as usize);
        assert_eq!(event.key().unwrap().unwrap().number, 1);
        assert_eq!(event.bytes().unwrap(), b"MODIFIED");
        assert_eq!(event.key().unwrap().unwrap().number, 2);
        let mut extension = Reader::new(event.bytes().unwrap());
        assert_eq!(extension.key().unwrap().unwrap().number, 1);
        assert_eq!(Envelope::parse(extension.bytes().unwrap()).unwrap().message, message);
        assert_eq!((event.len(), extension.len()), (0, 0));
    }
}
