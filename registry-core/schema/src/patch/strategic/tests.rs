use registry_meta::go_text;
use serde_json::json;

use super::*;

/// A minimal schema: a field name has the same type everywhere.
#[derive(Clone, Copy)]
struct ByName;

impl Typed<'static> for ByName {
    fn member(self, name: &str) -> Option<Member<'static, Self>> {
        let merge = PatchStrategy { merge: true, ..PatchStrategy::default() };
        let (strategy, merge_key) = match name {
            "containers" | "env" | "volumes" => (merge, Some("name")),
            "ports" => (merge, Some("containerPort")),
            "conditions" => (merge, Some("type")),
            "finalizers" => (merge, None),
            "unkeyed" => (merge, None),
            "replaced" => (PatchStrategy { replace: true, ..PatchStrategy::default() }, None),
            _ => (PatchStrategy::default(), None),
        };
        Some(Member { shape: Some(self), strategy, merge_key })
    }

    fn element(self) -> Option<Self> {
        Some(self)
    }
}

fn patched(value: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut result = value.clone();
    let outcome = apply_typed(&mut result, patch, Some(ByName));
    if outcome.is_err() {
        assert_eq!(&result, value, "a refused patch changes nothing: {patch}");
    }
    outcome.map(|()| result)
}

#[test]
fn maps_merge_and_directives_are_followed() {
    let table = [
        (json!({"a": 1, "b": {"c": 2}}), json!({"b": {"c": null, "d": 3}}), json!({"a": 1, "b": {"d": 3}})),
        (json!({"a": 1}), json!({}), json!({"a": 1})),
        (json!({"a": 1}), json!(null), json!({"a": 1})),
        (json!({"a": {"x": 1}}), json!({"a": {"$patch": "replace", "y": 2}}), json!({"a": {"y": 2}})),
        (json!({"a": {"x": 1}}), json!({"a": {"$patch": "delete"}}), json!({"a": {}})),
        (json!({"replaced": {"x": 1}}), json!({"replaced": {"y": 2}}), json!({"replaced": {"y": 2}})),
        (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
        (json!({"a": 1}), json!({"a": {"b": null, "c": 1}}), json!({"a": {"c": 1}})),
        (
            json!({}),
            json!({"a": {"b": null, "c": {"$patch": "delete"}, "d": [{"$patch": "delete"}, {"e": null}]}}),
            json!({"a": {"d": [{}]}}),
        ),
        // Only `$patch` is followed where there is no value.
        (
            json!({}),
            json!({"a": {"$retainKeys": ["b"], "$setElementOrder/c": []}}),
            json!({"a": {"$retainKeys": ["b"], "$setElementOrder/c": []}}),
        ),
        (json!({"a": 1}), json!({"b": {"$patch": "delete"}}), json!({"a": 1})),
        (
            json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        ),
    ];
    for (value, patch, expected) in table {
        assert_eq!(patched(&value, &patch).unwrap(), expected, "{value} + {patch}");
    }
}

#[test]
fn lists_merge_by_key_and_keep_their_order() {
    let pod = json!({"containers": [
        {"name": "a", "image": "1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "b", "image": "2"},
    ], "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]});
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|element| go_text::print(&element["name"])).collect()
    };
    let table: [(Value, &str, &[&str]); 9] = [
        (json!({"containers": [{"name": "new", "image": "x"}]}), "/containers", &["new", "a", "b"]),
        (json!({"containers": [{"name": "b", "image": "x"}]}), "/containers", &["a", "b"]),
        (json!({"containers": [{"$patch": "delete", "name": "a"}]}), "/containers", &["b"]),
        (json!({"containers": [{"$patch": "replace"}, {"name": "only"}]}), "/containers", &["only"]),
        (
            json!({"containers": [{"name": "a", "env": [{"name": "B", "value": "9"}, {"name": "C"}]}]}),
            "/containers/0/env",
            &["A", "B", "C"],
        ),
        (
            json!({"containers": [{"name": "a", "env": [{"$patch": "delete", "name": "A"}]}]}),
            "/containers/0/env",
            &["B"],
        ),
        (json!({"ports": [{"containerPort": 90, "name": "new"}]}), "/ports", &["new", "http", "<nil>"]),
        (json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}), "/containers", &["b", "a"]),
        (
            json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "n"}, {"name": "a"}], "containers": [{"name": "n"}, {"name": "zz", "$patch": "delete"}]}),
            "/containers",
            &["b", "n", "a"],
        ),
    ];
    for (patch, path, expected) in table {
        let result = patched(&pod, &patch).unwrap_or_else(|error| panic!("{patch}: {error}"));
        assert_eq!(names(result.pointer(path).unwrap()), expected, "{patch}");
    }
    let merged = patched(&pod, &json!({"containers": [{"name": "b", "image": "x"}]})).unwrap();
    assert_eq!(merged["containers"][1], json!({"name": "b", "image": "x"}));
    let retained =
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]});
    let before = json!({"volumes": [{"name": "v", "emptyDir": {}}]});
    assert_eq!(
        patched(&before, &retained).unwrap(),
        json!({"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]})
    );
    // Nothing in a new element is followed.
    let new = json!({"name": "n", "env": [{"name": "A", "$patch": "delete"}, {"name": "B", "value": null}]});
    let before = json!({"containers": [{"name": "a"}]});
    for patch in [json!({"containers": [new]}), json!({"containers": [{"$patch": "replace"}, new]})] {
        assert_eq!(patched(&before, &patch).unwrap()["containers"][0], new, "{patch}");
    }
    // The order contains elements that exist nowhere; elements that it does not contain keep their position.
    let partly = json!({"$setElementOrder/conditions": [{"type": "Ready"}, {"type": "X"}, {"type": "Init"}], "conditions": [{"type": "Ready", "reason": "x"}]});
    let status = json!({"conditions": [{"type": "Init"}, {"type": "Other"}, {"type": "Ready"}]});
    assert_eq!(
        patched(&status, &partly).unwrap(),
        json!({"conditions": [{"type": "Other"}, {"type": "Ready", "reason": "x"}, {"type": "Init"}]})
    );
}

#[test]
fn scalars_merge_as_sets() {
    let table = [
        (json!(["a"]), json!({"finalizers": ["b"]}), json!(["b", "a"])),
        (json!(["b", "a"]), json!({"finalizers": ["a"]}), json!(["b", "a"])),
        (json!(["a", "b"]), json!({"$deleteFromPrimitiveList/finalizers": ["a", "z"]}), json!(["b"])),
        (
            json!(["b"]),
            json!({"$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]}),
            json!(["c", "b"]),
        ),
        (json!(["a", "b", "c"]), json!({"$setElementOrder/finalizers": ["c", "a"]}), json!(["b", "c", "a"])),
        (json!([]), json!({"finalizers": ["a", "a"]}), json!(["a"])),
    ];
    for (before, patch, after) in table {
        let result = patched(&json!({"finalizers": before}), &patch).unwrap();
        assert_eq!(result["finalizers"], after, "{patch}");
    }
    let deletions = [
        (json!(["a", "b", "a"]), json!(["a", "z"]), json!(["b"])),
        (json!(["a"]), json!([]), json!(["a"])),
        (json!(["a"]), json!(["a"]), json!([])),
        (json!("text"), json!(["a"]), json!("text")),
        (json!(["a"]), json!("a"), json!(["a"])),
    ];
    for (before, deleted, after) in deletions {
        let patch = json!({"$deleteFromPrimitiveList/args": deleted});
        let result = patched(&json!({"args": before}), &patch).unwrap();
        assert_eq!(result["args"], after, "not merged: {before} {patch}");
    }
}

#[test]
fn contradictions_are_refused_in_kubernetes_words() {
    type Kind = fn(&PatchError) -> bool;
    let value = json!({"containers": [{"name": "c"}], "finalizers": ["a"], "unkeyed": [{"a": 1}], "m": {},
        "lists": {"all": [["a"]]}, "objects": [{"a": 1}]});
    let contradictory =
        |text: &str| (text.to_owned(), (|e| matches!(e, PatchError::Contradictory(_))) as Kind);
    let malformed = |text: &str| (text.to_owned(), (|e| matches!(e, PatchError::Malformed(_))) as Kind);
    let inapplicable = |text: &str| (text.to_owned(), (|e| matches!(e, PatchError::Inapplicable(_))) as Kind);
    let table = [
        (json!([]), malformed("json: cannot unmarshal array into Go value of type map[string]interface {}")),
        (
            json!({"$setElementOrder/containers": [{"name": "e"}], "containers": [{"image": "z", "name": "q"}]}),
            contradictory(
                "The order in patch list:\n[map[image:z name:q]]\n doesn't match $setElementOrder list:\n[map[name:e]]\n",
            ),
        ),
        (
            json!({"containers": [{"image": "z"}]}),
            contradictory("map: map[image:z] does not contain declared merge key: name"),
        ),
        (
            json!({"containers": [{"name": "c", "$patch": "zork"}]}),
            contradictory("unknown patch type: zork in map: map[$patch:zork name:c]"),
        ),
        (json!({"m": {"$patch": 5}}), contradictory("unknown patch type: 5 in map: map[$patch:5]")),
        (
            json!({"unkeyed": [{"a": 2}]}),
            contradictory("cannot merge lists without merge key for type struct"),
        ),
        (json!({"finalizers": [1]}), contradictory("list element types are not identical: [[a] [1]]")),
        (json!({"finalizers": [[]]}), contradictory("list element types are not identical: [[a] [[]]]")),
        (
            json!({"$setElementOrder/containers": "x"}),
            contradictory("expected a []interface {}, but received a string"),
        ),
        (json!({"$setElementOrder": []}), malformed("invalid patch format of setElementOrder list")),
        (json!({"$deleteFromPrimitiveList": []}), malformed("invalid patch format of primitive list")),
        (json!({"m": {"$retainKeys": 1}}), malformed("invalid patch format of retainKeys")),
        (json!({"m": {"$retainKeys": ["a"], "b": 1}}), malformed("invalid patch format of retainKeys")),
        (
            json!({"lists": {"$deleteFromPrimitiveList/all": [["a"]]}}),
            inapplicable("lists of lists are not supported"),
        ),
        (
            json!({"$deleteFromPrimitiveList/objects": [{"a": 1}]}),
            contradictory("cannot merge lists without merge key for type struct"),
        ),
        (
            json!({"$deleteFromPrimitiveList/objects": ["a"]}),
            contradictory("list element types are not identical: [[map[a:1]] [a]]"),
        ),
        (
            json!({"$setElementOrder/new": [], "new": []}),
            contradictory("no elements in any of the given slices"),
        ),
        (
            json!({"$setElementOrder/new": ["a", 1], "new": ["a", 1]}),
            contradictory("list element types are not identical: [[] [a 1]]"),
        ),
        (
            json!({"containers": [{"name": "c", "$patch": "merge"}]}),
            contradictory("merging lists cannot yet be specified in the patch"),
        ),
        (
            json!({"$setElementOrder/containers": [1], "containers": [{"name": "c"}]}),
            contradictory("expected a map[string]interface {}, but received a int64"),
        ),
    ];
    for (patch, (text, is_kind)) in table {
        let error = patched(&value, &patch).unwrap_err();
        assert_eq!(error.to_string(), text, "{patch}");
        assert!(is_kind(&error), "{patch}: {error:?}");
    }
}

#[test]
fn long_lists_merge_in_linear_time() {
    let started = std::time::Instant::now();
    let list =
        |from: usize| (from..from + 20_000).map(|n| json!({"name": n.to_string()})).collect::<Vec<_>>();
    let merged = patched(&json!({"containers": list(0)}), &json!({"containers": list(10_000)})).unwrap();
    assert_eq!(merged["containers"].as_array().unwrap().len(), 30_000);
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn compiled_schemas_say_what_is_merged() {
    use crate::TypeTable;
    use registry_meta::GroupVersionKind;

    let facts = "orlop facts 1
t - io.test.v1.Thing
 byName 5 e -
 items 3 e - merge name
 plain 2 e -
 sets 2 e - merge
s string - string
l 1 - - []string
l 4 - - []v1.Item
t - io.test.v1.Item
 name 1 - -
 value 1 e -
m 0 map[string]v1.Thing
k 0 test.io v1 Thing
";
    let kind = GroupVersionKind { group: "test.io", version: "v1", kind: "Thing" };
    let schema = std::sync::Arc::new(TypeTable::parse(facts).unwrap()).schema(kind).unwrap();
    let thing = json!({"items": [{"name": "a", "value": "1"}], "sets": ["x"], "plain": ["x"]});
    let change =
        json!({"items": [{"name": "a", "value": "2"}, {"name": "b"}], "sets": ["y"], "plain": ["y"]});
    let expected =
        json!({"items": [{"name": "a", "value": "2"}, {"name": "b"}], "sets": ["y", "x"], "plain": ["y"]});
    let mut value = json!({"byName": {"k": thing}, "items": thing["items"], "sets": thing["sets"], "plain": thing["plain"]});
    let mut patch = change.clone();
    patch["byName"] = json!({ "k": change });
    apply(&mut value, &patch, &schema).unwrap();
    let mut result = expected.clone();
    result["byName"] = json!({ "k": expected });
    assert_eq!(value, result);
}
