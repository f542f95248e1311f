//! The same kind as an author's struct and as a custom resource: the same requests get the same answers.

use super::{Client, Convoy, Value, convoy, json, server};
use registry_core::resource::Resource as _;

const OWN: &str = "fleet.example.dev";
const CUSTOM: &str = "fleet.custom.dev";

/// A request to both kinds.
struct Case {
    /// The spec of the object before; `None` for creations.
    old: Option<Value>,
    new: Value,
    /// Why the struct is answered otherwise.
    difference: Option<&'static str>,
}

/// Values of the wrong type are refused when an object is decoded into the types of Kubernetes' own kinds, with 400, and
/// by the validation of custom resources, with 422.
const DECODING: Option<&str> = Some("decoded before it is validated");

fn created(new: Value, difference: Option<&'static str>) -> Case {
    Case { old: None, new, difference }
}

fn updated(old: Value, new: Value) -> Case {
    Case { old: Some(old), new, difference: None }
}

/// Returns good and bad values for every keyword.
fn cases() -> Vec<Case> {
    let truck = |name: &str| json!({"name": name});
    let with = |field: &str, value: Value| {
        let mut spec = json!({"maxTrucks": 5});
        spec[field] = value;
        spec
    };
    let mut cases = vec![
        created(json!({}), None),
        created(json!({"maxTrucks": 5}), None),
        created(json!({"maxTrucks": 60}), None),
        created(json!({"maxTrucks": 5, "replicas": 6}), None),
        created(json!({"maxTrucks": 5, "owner": "nobody"}), None),
        created(json!({"maxTrucks": 5, "owner": "nobody", "replicas": 9}), None),
        created(json!({"maxTrucks": 5, "unknown": 1}), None),
        updated(json!({"maxTrucks": 5}), json!({"maxTrucks": 60})),
        updated(json!({"maxTrucks": 5, "color": "Red"}), json!({"maxTrucks": 5, "color": "Blue"})),
        updated(json!({"maxTrucks": 5, "color": "Red"}), json!({"maxTrucks": 5})),
        updated(json!({"maxTrucks": 5}), json!({"maxTrucks": 5, "color": "Blue"})),
        updated(json!({"maxTrucks": 5}), json!({"replicas": 1})),
    ];
    for (field, values) in [
        ("owner", vec![json!("ada"), json!("a"), json!("A"), json!(""), json!("a".repeat(21)), json!("é")]),
        ("replicas", vec![json!(0), json!(5), json!(-1), json!(91)]),
        ("color", vec![json!("Red"), json!("red"), json!("")]),
        ("address", vec![json!("10.0.0.1"), json!("10.0.0"), json!("::1")]),
        ("axles", vec![json!(3), json!(0), json!(4), json!(-3)]),
        ("tags", vec![json!([]), json!(["a", "b"]), json!(["a", "a"])]),
        (
            "trucks",
            vec![
                json!([truck("a"), truck("b")]),
                json!([truck("a"), truck("a")]),
                json!([truck("a"), truck("b"), truck("c"), truck("d")]),
                json!([{}]),
                json!([{"name": "a", "load": 41}]),
                json!([{"name": "a", "load": 40}, {"name": "b", "load": 400}]),
            ],
        ),
        ("weights", vec![json!({"a": "1"}), json!({"a": "1", "b": "2", "c": "3"})]),
    ] {
        cases.extend(values.into_iter().map(|value| created(with(field, value), None)));
    }
    for (field, value) in [
        ("owner", json!(1)),
        ("replicas", json!("1")),
        ("replicas", json!(1.5)),
        ("trucks", json!({})),
        ("trucks", json!([1])),
        ("tags", json!("a")),
        ("weights", json!({"a": true})),
        ("weights", json!([])),
    ] {
        cases.push(created(with(field, value), DECODING));
    }
    cases
}

fn definition() -> Value {
    let schema = (Convoy::TYPE.schema)();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("convoys.{CUSTOM}")},
        "spec": {
            "group": CUSTOM, "scope": "Namespaced",
            "names": {"plural": "convoys", "singular": "convoy", "kind": "Convoy", "listKind": "ConvoyList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema.definition().unwrap().schema()},
            }],
        },
    })
}

/// Sends a case to the kind of a group; returns the status, the reason, the causes, and the spec if it was accepted.
async fn answer(client: &mut Client, group: &str, case: &Case) -> Value {
    let path = format!("/apis/{group}/v1/namespaces/default/convoys");
    let object = |spec: &Value| {
        let mut object = convoy("a", spec);
        object["apiVersion"] = format!("{group}/v1").into();
        object
    };
    let answer = match &case.old {
        None => client.send("POST", &format!("{path}?dryRun=All"), &object(&case.new)).await,
        Some(old) => {
            let stored = client.expect(201, "POST", &path, object(old)).await;
            let mut new = object(&case.new);
            new["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
            let answer = client.send("PUT", &format!("{path}/a?dryRun=All"), &new).await;
            client.expect(200, "DELETE", &format!("{path}/a"), Value::Null).await;
            answer
        }
    };
    let body = answer.json();
    let message = body["message"].as_str().unwrap_or_default().replace(group, "GROUP");
    json!({
        "code": answer.status, "reason": body["reason"], "causes": body["details"]["causes"],
        "message": message, "spec": body["spec"],
    })
}

#[tokio::test]
async fn a_struct_is_answered_as_a_custom_resource() {
    let (server, mut client) = server().await;
    client.define(definition()).await;
    let mut unexpected = Vec::new();
    let mut accepted = 0;
    for case in cases() {
        let own = answer(&mut client, OWN, &case).await;
        let custom = answer(&mut client, CUSTOM, &case).await;
        accepted += usize::from(own["code"] == 200 || own["code"] == 201);
        if (own == custom) == case.difference.is_some() {
            let (old, new) = (&case.old, &case.new);
            unexpected.push(format!("{old:?} {new}\n  own    {own}\n  custom {custom}"));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    assert!(accepted > 10, "{accepted}");
    server.stop().await;
}
