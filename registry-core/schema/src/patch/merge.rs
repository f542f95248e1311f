//! JSON merge patch, [RFC 7396](https://www.rfc-editor.org/rfc/rfc7396).

use serde_json::Value;

/// Applies a merge patch: objects are merged, null removes, everything else replaces.
///
/// In a new value, null members of objects are removed also below lists; the null elements of lists stay. As in
/// Kubernetes' library, something else that replaces an object keeps all its nulls.
pub fn apply(value: &mut Value, patch: &Value) {
    let Value::Object(map) = value else {
        *value = without_null_members(patch);
        return;
    };
    let Value::Object(patch) = patch else {
        value.clone_from(patch);
        return;
    };
    for (key, change) in patch {
        if change.is_null() {
            map.remove(key);
            continue;
        }
        match map.get_mut(key) {
            Some(current) => apply(current, change),
            None => {
                map.insert(key.clone(), without_null_members(change));
            }
        }
    }
}

fn without_null_members(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let members = map.iter().filter(|(_, member)| !member.is_null());
            members.map(|(key, member)| (key.clone(), without_null_members(member))).collect()
        }
        Value::Array(items) => items.iter().map(without_null_members).collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7396, appendix A, and behaviour that Kubernetes' clients rely on.
    #[test]
    fn merges_as_the_rfc_shows() {
        let table = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!({"a": 1}), json!({}), json!({"a": 1})),
            // Nulls below lists.
            (
                json!({}),
                json!({"a": [1, null, {"x": null, "y": [null, {"z": null}, [{"z": null}]]}]}),
                json!({"a": [1, null, {"y": [null, {}, [{}]]}]}),
            ),
            (json!({"a": null}), json!({"a": [{"x": null}]}), json!({"a": [{}]})),
            (json!({"a": 1}), json!({"a": [{"x": null}]}), json!({"a": [{}]})),
            (json!({"a": [{"x": 1}]}), json!({"a": [{"x": null}]}), json!({"a": [{}]})),
            (json!({"a": {"x": 1}}), json!({"a": {"y": [{"z": null}]}}), json!({"a": {"x": 1, "y": [{}]}})),
            (json!({"a": {}}), json!({"a": [{"x": null}]}), json!({"a": [{"x": null}]})),
        ];
        for (mut value, patch, expected) in table {
            let text = format!("{value} + {patch}");
            apply(&mut value, &patch);
            assert_eq!(value, expected, "{text}");
        }
    }
}
