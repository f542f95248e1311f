use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn patched(value: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut result = value.clone();
    let outcome = JsonPatch::parse(patch).and_then(|patch| patch.apply(&mut result, &Budget::default()));
    if outcome.is_err() {
        assert_eq!(&result, value, "a refused patch changes nothing: {patch}");
    }
    outcome.map(|()| result)
}

#[test]
fn operations_do_what_they_say() {
    let value = json!({"data": {"k": "v", "l": "w"}, "list": [1, 2, 3], "a/b": {"m~n": 1}});
    let table = [
        (json!([]), json!({})),
        (json!(null), json!({})),
        (
            json!([{"op": "add", "path": "/data/new", "value": "1"}]),
            json!({"data": {"k": "v", "l": "w", "new": "1"}}),
        ),
        (json!([{"op": "add", "path": "/data/q"}]), json!({"data": {"k": "v", "l": "w", "q": null}})),
        (json!([{"op": "add", "path": "/list/-", "value": 4}]), json!({"list": [1, 2, 3, 4]})),
        (json!([{"op": "add", "path": "/list/0", "value": 0}]), json!({"list": [0, 1, 2, 3]})),
        (json!([{"op": "add", "path": "/list/3", "value": 4}]), json!({"list": [1, 2, 3, 4]})),
        (json!([{"op": "add", "path": "/list/-1", "value": 4}]), json!({"list": [1, 2, 3, 4]})),
        (json!([{"op": "remove", "path": "/list/-1"}]), json!({"list": [1, 2]})),
        (json!([{"op": "replace", "path": "/list/1", "value": [9]}]), json!({"list": [1, [9], 3]})),
        (json!([{"op": "remove", "path": "/data/k"}]), json!({"data": {"l": "w"}})),
        (json!([{"op": "replace", "path": "/a~1b/m~0n", "value": 2}]), json!({"a/b": {"m~n": 2}})),
        (
            json!([{"op": "move", "from": "/data/k", "path": "/data/m"}]),
            json!({"data": {"l": "w", "m": "v"}}),
        ),
        (
            json!([{"op": "copy", "from": "/data", "path": "/data/c"}]),
            json!({"data": {"k": "v", "l": "w", "c": {"k": "v", "l": "w"}}}),
        ),
        (
            json!([{"op": "test", "path": "/data/k", "value": "v"}, {"op": "replace", "path": "/data/k", "value": "3"}]),
            json!({"data": {"k": "3", "l": "w"}}),
        ),
        (
            json!([{"op": "copy", "from": "/data/absent", "path": "/data/k"}]),
            json!({"data": {"k": null, "l": "w"}}),
        ),
        (json!([{"op": "test", "path": "/absent", "value": null}]), json!({})),
        (json!([{"op": "test", "path": "", "value": value}]), json!({})),
        (json!([{"op": "test", "path": "/list", "value": [1, 2, 3]}]), json!({})),
    ];
    for (patch, changed) in table {
        let mut expected = value.clone();
        for (key, part) in changed.as_object().unwrap() {
            expected[key] = part.clone();
        }
        assert_eq!(patched(&value, &patch).unwrap(), expected, "{patch}");
    }
}

#[test]
fn an_operation_that_does_not_apply_changes_nothing() {
    let value = json!({"data": {"k": "v"}, "list": [1], "text": "x"});
    for operation in [
        json!({"op": "add", "path": "/binaryData/q", "value": "x"}),
        json!({"op": "replace", "path": "/nope/x", "value": "1"}),
        json!({"op": "replace", "path": "/list/7", "value": "x"}),
        json!({"op": "add", "path": "", "value": {}}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "move", "from": "", "path": "/a"}),
        json!({"op": "copy", "from": "", "path": "/a"}),
        json!({"op": "copy", "from": "/data", "path": ""}),
        json!({"op": "replace", "path": "", "value": "text"}),
        json!({"op": "replace", "path": "", "value": null}),
        json!({"op": "replace", "path": ""}),
        json!({"op": "replace", "path": "x", "value": {}}),
        json!({"op": "test", "path": "", "value": {"data": {"k": "v"}}}),
        json!({"op": "test", "path": ""}),
        json!({"op": "test", "path": "x", "value": {}}),
        json!({"op": "add", "path": "x", "value": {}}),
        json!({"op": "remove", "path": "/data/zzz"}),
        json!({"op": "remove", "path": "/list/-2"}),
        json!({"op": "add", "path": "/list/x", "value": 1}),
        json!({"op": "add", "path": "/list/2", "value": 1}),
        json!({"op": "add", "path": "/text/a", "value": 1}),
        json!({"op": "test", "path": "/data/k", "value": "w"}),
        json!({"op": "test", "path": "/absent", "value": 1}),
        json!({"op": "copy", "path": "/a"}),
        json!({"op": "copy", "from": "/absent/below", "path": "/a"}),
        json!({"op": "copy", "from": "/list/1", "path": "/a"}),
        json!({"op": "move", "from": "/absent", "path": "/a"}),
        json!({"op": "move", "from": "/data", "path": "/data/inside"}),
        json!({"op": "add", "value": "1"}),
        json!({"op": "zork", "path": "/a"}),
        json!({"path": "/a"}),
        json!(null),
    ] {
        let first = json!({"op": "add", "path": "/data/n1", "value": "1"});
        let error = patched(&value, &json!([first, operation])).unwrap_err();
        let refused = matches!(error, PatchError::Inapplicable(_) | PatchError::TestFailed(_));
        assert!(refused, "{operation}: {error:?}");
    }
}

#[test]
fn the_whole_document_is_replaced_and_changed_further() {
    let value = json!({"data": {"k": "v"}, "list": [1]});
    let replace = |value: &Value| json!({"op": "replace", "path": "", "value": value});
    let table = [
        (json!([replace(&json!({"a": 1}))]), json!({"a": 1})),
        (json!([replace(&json!({}))]), json!({})),
        (json!([replace(&json!(["x"]))]), json!(["x"])),
        (
            json!([
                {"op": "test", "path": "", "value": value},
                replace(&json!({"a": {"b": 1}})),
                {"op": "add", "path": "/a/c", "value": 2},
                {"op": "test", "path": "", "value": {"a": {"b": 1, "c": 2}}},
                replace(&json!([])),
                {"op": "add", "path": "/-", "value": "last"},
            ]),
            json!(["last"]),
        ),
    ];
    for (patch, expected) in table {
        assert_eq!(patched(&value, &patch), Ok(expected), "{patch}");
    }
    let text = "replace operation value must be object or array: %!w(<nil>)";
    assert_eq!(patched(&value, &json!([replace(&json!(1))])), Err(PatchError::Inapplicable(text.to_owned())));
}

#[test]
fn other_documents_are_malformed_patches() {
    let table = [
        (
            json!({"op": "add"}),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            json!(["x"]),
            "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp",
        ),
        (
            json!([{"op": 1}]),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
    ];
    for (patch, message) in table {
        assert_eq!(patched(&json!({}), &patch), Err(PatchError::Malformed(message.to_owned())));
    }
}

#[test]
fn cost_is_bounded() {
    let repeated = |operation: Value, times: usize| Value::Array(vec![operation; times]);
    let started = Instant::now();
    let long_list = json!({"l": vec![0; 300_000]});
    let bombs = [
        (json!({}), repeated(json!({"op": "add", "path": "/a", "value": 1}), MAX_OPERATIONS + 1)),
        (json!({"a": ["x"]}), repeated(json!({"op": "copy", "from": "/a", "path": "/a/-"}), 40)),
        (json!({"a": "x".repeat(1 << 20)}), repeated(json!({"op": "copy", "from": "/a", "path": "/b"}), 4)),
        (long_list, repeated(json!({"op": "add", "path": "/l/0", "value": 1}), MAX_OPERATIONS)),
        (
            json!({"a": 1}),
            json!(
                (0..3000)
                    .flat_map(|_| [
                        json!({"op": "add", "path": "/b", "value": {}}),
                        json!({"op": "move", "from": "/a", "path": "/b/a"}),
                        json!({"op": "move", "from": "/b", "path": "/a"}),
                    ])
                    .collect::<Vec<_>>()
            ),
        ),
    ];
    for (value, patch) in bombs {
        let error = patched(&value, &patch).unwrap_err();
        assert!(matches!(error, PatchError::TooLarge(_)), "{error:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let all = repeated(json!({"op": "add", "path": "/a", "value": 1}), MAX_OPERATIONS);
    assert_eq!(patched(&json!({}), &all).unwrap(), json!({"a": 1}));
}
