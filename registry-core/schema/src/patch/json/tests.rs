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
    let absent = "operation does not apply: doc is missing";
    let scalar = "replace operation value must be object or array: %!w(<nil>)";
    let index = |at: i32| format!("Unable to access invalid index: {at}: invalid index referenced");
    let table = [
        (
            json!({"op": "add", "path": "/binaryData/q", "value": "x"}),
            format!("add {absent} path: \"/binaryData/q\": missing value"),
        ),
        (
            json!({"op": "replace", "path": "/nope/x", "value": "1"}),
            format!("replace {absent} path: /nope/x: missing value"),
        ),
        (
            json!({"op": "replace", "path": "/list/7", "value": "x"}),
            format!("replace {absent} key: /list/7: missing value"),
        ),
        (json!({"op": "replace", "path": "", "value": "text"}), scalar.to_owned()),
        (json!({"op": "replace", "path": "", "value": null}), scalar.to_owned()),
        (json!({"op": "replace", "path": ""}), scalar.to_owned()),
        (
            json!({"op": "replace", "path": "x", "value": {}}),
            format!("replace {absent} path: x: missing value"),
        ),
        (json!({"op": "add", "path": "", "value": {}}), format!("add {absent} path: \"\": missing value")),
        (json!({"op": "remove", "path": ""}), format!("remove {absent} path: \"\": missing value")),
        (
            json!({"op": "move", "from": "", "path": "/a"}),
            format!("move {absent} from path: : missing value"),
        ),
        (
            json!({"op": "copy", "from": "", "path": "/a"}),
            format!("copy {absent} from path: : missing value"),
        ),
        (
            json!({"op": "copy", "from": "/data", "path": ""}),
            format!("copy {absent} destination path: : missing value"),
        ),
        (
            json!({"op": "test", "path": "", "value": {"data": {"k": "v"}}}),
            "testing value  failed: test failed".to_owned(),
        ),
        (json!({"op": "test", "path": ""}), "testing value  failed: test failed".to_owned()),
        (json!({"op": "add", "path": "x", "value": {}}), format!("add {absent} path: \"x\": missing value")),
        (
            json!({"op": "add", "path": "/text/a", "value": 1}),
            format!("add {absent} path: \"/text/a\": missing value"),
        ),
        (
            json!({"op": "move", "from": "/nope/x", "path": "/a"}),
            format!("move {absent} from path: /nope/x: missing value"),
        ),
        (
            json!({"op": "copy", "from": "/nope/x", "path": "/a"}),
            format!("copy {absent} from path: /nope/x: missing value"),
        ),
        (
            json!({"op": "move", "from": "/data", "path": "/data/inside"}),
            format!("move {absent} destination path: /data/inside: missing value"),
        ),
        (
            json!({"op": "test", "path": "/nope/x", "value": 1}),
            "test operation does not apply: is missing path: /nope/x: missing value".to_owned(),
        ),
        (
            json!({"op": "remove", "path": "/data/zzz"}),
            "error in remove for path: '/data/zzz': Unable to remove nonexistent key: zzz: missing value"
                .to_owned(),
        ),
        (
            json!({"op": "move", "from": "/absent", "path": "/a"}),
            "error in move for path: 'absent': Unable to remove nonexistent key: absent: missing value"
                .to_owned(),
        ),
        (
            json!({"op": "remove", "path": "/list/-2"}),
            format!("error in remove for path: '/list/-2': {}", index(-2)),
        ),
        (
            json!({"op": "move", "from": "/list/5", "path": "/a"}),
            format!("error in move for path: '5': {}", index(5)),
        ),
        (
            json!({"op": "copy", "from": "/list/9", "path": "/a"}),
            format!("error in copy for from: '/list/9': {}", index(9)),
        ),
        (
            json!({"op": "test", "path": "/list/x", "value": 1}),
            "error in test for path: '/list/x': strconv.Atoi: parsing \"x\": invalid syntax".to_owned(),
        ),
        (
            json!({"op": "add", "path": "/list/x", "value": 1}),
            "error in add for path: '/list/x': value was not a proper array index: 'x': \
             strconv.Atoi: parsing \"x\": invalid syntax"
                .to_owned(),
        ),
        (
            json!({"op": "add", "path": "/list/2", "value": 1}),
            format!("error in add for path: '/list/2': {}", index(2)),
        ),
        (
            json!({"op": "test", "path": "/data/k", "value": "w"}),
            "testing value /data/k failed: test failed".to_owned(),
        ),
        (
            json!({"op": "test", "path": "/absent", "value": 1}),
            "testing value /absent failed: test failed".to_owned(),
        ),
        (
            json!({"op": "copy", "path": "/a"}),
            "copy operation failed to decode from: missing value".to_owned(),
        ),
        (json!({"op": "add", "value": "1"}), "add operation failed to decode path: missing value".to_owned()),
        (json!({"op": "zork", "path": "/a"}), "Unexpected kind: zork".to_owned()),
        (json!({"path": "/a"}), "Unexpected kind: unknown".to_owned()),
        (json!(null), "Unexpected kind: unknown".to_owned()),
    ];
    for (operation, message) in table {
        let first = json!({"op": "add", "path": "/data/n1", "value": "1"});
        let error = patched(&value, &json!([first, operation])).unwrap_err();
        let refused = matches!(error, PatchError::Inapplicable(_) | PatchError::TestFailed { .. });
        assert!(refused, "{operation}: {error:?}");
        assert_eq!(error.to_string(), message, "{operation}");
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
        let error = patched(&json!({}), &patch).unwrap_err();
        assert!(matches!(error, PatchError::Malformed(_)), "{error:?}");
        assert_eq!(error.to_string(), message);
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
    let copies = "the copies of a JSON patch may add 3145728 bytes at most";
    let messages = [
        "The allowed maximum operations in a JSON patch is 10000, got 10001",
        copies,
        copies,
        "the JSON patch takes too many steps",
        "/b/a would nest more than 128 levels",
    ];
    for ((value, patch), message) in bombs.into_iter().zip(messages) {
        let error = patched(&value, &patch).unwrap_err();
        assert!(matches!(error, PatchError::TooLarge(_)), "{error:?}");
        assert_eq!(error.to_string(), message);
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let all = repeated(json!({"op": "add", "path": "/a", "value": 1}), MAX_OPERATIONS);
    assert_eq!(patched(&json!({}), &all).unwrap(), json!({"a": 1}));
}
