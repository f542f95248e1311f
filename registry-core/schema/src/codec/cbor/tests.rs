use std::sync::Arc;

use serde_json::json;

use crate::TypeTable;
use registry_meta::GroupVersionKind;

use super::*;

fn read(bytes: &[u8]) -> Result<Value, String> {
    decode(bytes, &Limits::default()).map_err(|error| error.to_string())
}

#[test]
fn trees_come_back() {
    let value = json!({
        "kind": "A", "z": [], "list": [1, -1, 0, 23, 24, 255, 65536, i64::MAX, i64::MIN, true, null, "ü"],
        "floats": [0.5, 1.1, 1e300, 65504.5, 5.960_464_477_539_063e-8, 3.25e-6], "map": {"b": {}, "a": {"x": ""}},
    });
    let bytes = encode(&value, None);
    assert!(bytes.starts_with(MAGIC));
    assert_eq!(read(&bytes), Ok(value));
}

#[test]
fn the_encoding_is_kubernetes() {
    let table =
        "orlop facts 1\ns bytes - []uint8\nm 0 map[string][]uint8\nt - a.b.C\n data 1 e 1\nk 2 - v1 C\n";
    let table = Arc::new(TypeTable::parse(table).unwrap());
    let schema = table.schema(GroupVersionKind { group: "", version: "v1", kind: "C" }).unwrap();
    let value = json!({"data": {"aa": "AAE=", "b": "/w=="}, "kind": "C"});
    let expected = [
        &[0xd9, 0xd9, 0xf7, 0xa2, 0x44][..],
        b"data",
        &[0xa2, 0x41, b'b', 0xd6, 0x41, 0xff, 0x42, b'a', b'a', 0xd6, 0x42, 0, 1, 0x44],
        b"kind",
        &[0x41, b'C'],
    ]
    .concat();
    let bytes = encode(&value, Some(&schema));
    assert_eq!(*bytes, expected);
    assert_eq!(read(&bytes), Ok(value));
    let shortest = [
        (json!(0.5), &[0xf9, 0x38, 0][..]),
        (json!(-65504.0), &[0xf9, 0xfb, 0xff]),
        (json!(5.960_464_477_539_063e-8), &[0xf9, 0, 1]),
        (json!(2.980_232_238_769_531_3e-8), &[0xfa, 0x33, 0, 0, 0]),
        (json!(100_000.5), &[0xfa, 0x47, 0xc3, 0x50, 0x40]),
        (json!(1.1), &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]),
    ];
    for (value, expected) in shortest {
        assert_eq!(encode(&value, None)[3..], *expected, "{value}");
    }
}

#[test]
fn other_encodings_are_read() {
    for (bytes, expected) in [
        (&[0xbf, 0x61, b'a', 0x9f, 1, 0xff, 0xff][..], json!({"a": [1]})),
        (&[0x7f, 0x61, b'a', 0x61, b'b', 0xff], json!("ab")),
        (&[0x5f, 0x41, b'a', 0x41, b'b', 0xff], json!("ab")),
        (&[0xd5, 0x42, 0xff, 0xfe], json!("__4")),
        (&[0xd6, 0x42, 0xff, 0xfe], json!("//4=")),
        (&[0xd7, 0x42, 0xff, 0xfe], json!("fffe")),
        (&[0xc0, 0x61, b'x'], json!("x")),
        (&[0xf7], json!(null)),
        (&[0xfb, 0x40, 0, 0, 0, 0, 0, 0, 0], json!(2)),
    ] {
        assert_eq!(read(bytes), Ok(expected), "{bytes:x?}");
    }
}

#[test]
fn bodies_without_an_object_are_refused() {
    let deep = [[0x81].repeat(200), vec![0]].concat();
    let deep_tags = [[0xc0].repeat(200), vec![0]].concat();
    for (bytes, why) in [
        (&[][..], "cbor: unexpected EOF"),
        (&[0xa2, 0x41, b'a', 1, 0x41, b'a', 2], "cbor: found duplicate map key \"a\""),
        (&[0xa1, 1, 1], "cbor: u8 where a string is expected"),
        (&[0x01, 0x02], "cbor: 1 bytes of extraneous data starting at index 1"),
        (&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "cbor: unexpected EOF"),
        (&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "cbor: unexpected EOF"),
        (&[0xf9, 0x7c, 0], "cbor: a number JSON does not have"),
        (&[0xff], "cbor: break has no place in an object"),
        (&[0xe0], "cbor: simple has no place in an object"),
        (&deep, "exceeded max depth"),
        (&deep_tags, "exceeded max depth"),
    ] {
        assert_eq!(read(bytes), Err(why.to_owned()), "{bytes:x?}");
    }
    for hostile in [&[0x62, 0xff, 0xff][..], &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]] {
        assert!(read(hostile).is_err(), "{hostile:x?}");
    }
}

#[test]
fn lists_and_watches_are_made_of_the_same_parts() {
    let item = json!({"metadata": {"name": "x"}});
    let Value::Object(head) = json!({"kind": "L", "metadata": {}}) else { return };
    let mut list = list_prefix(&head, "items", 2);
    write_item(&mut list, &item, None);
    write_item(&mut list, &item, None);
    assert_eq!(read(&list), Ok(json!({"kind": "L", "metadata": {}, "items": [item, item]})));
    let Value::Object(mut object) = item.clone() else { return };
    object.insert("kind".to_owned(), "A".into());
    object.insert("apiVersion".to_owned(), "v1".into());
    let fields = encode_fields(&object, None);
    assert_eq!(read(&fields), Ok(item));
    let mut events = Vec::new();
    begin_watch_event(&mut events, "ADDED");
    events.extend_from_slice(MAGIC);
    write_object(&mut events, "v1", "A", &fields);
    assert_eq!(read(&events), Ok(json!({"type": "ADDED", "object": object})));
}
