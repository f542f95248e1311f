//! Server-side apply.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::scale::{managers_of_parent, managers_of_scale};
use super::super::{FieldManager, FieldSet, MANAGED_FIELDS, Reset};
use super::{
    SCHEMA, SECOND, THIRD, applied, apply, causes, created, manager, object, owners, stored, thing, updated,
};

fn spec(object: &super::Object) -> Value {
    object.get(&["spec"]).cloned().unwrap_or_default()
}

#[test]
fn fields_no_longer_applied_go_unless_another_manager_applies_them() {
    let first =
        applied(None, json!({"labels": {"k": "1", "l": "2"}, "text": "t", "names": ["a", "b"]}), "one");
    let both = applied(Some(&first), json!({"labels": {"l": "2"}, "names": ["b", "c"]}), "two");
    assert_eq!(spec(&both)["names"], json!(["a", "b", "c"]));

    let less = applied(Some(&both), json!({"labels": {"k": "1"}}), "one");
    assert_eq!(spec(&less), json!({"labels": {"k": "1", "l": "2"}, "names": ["b", "c"]}));
    assert_eq!(
        owners(&less),
        json!({
            "one": {"f:labels": {"f:k": {}}},
            "two": {"f:labels": {"f:l": {}}, "f:names": {"v:\"b\"": {}, "v:\"c\"": {}}},
        })
    );

    let none = applied(Some(&less), json!({}), "one");
    let gone = applied(Some(&none), json!({}), "two");
    assert_eq!(spec(&gone), json!({}));
}

#[test]
fn fields_that_others_updated_below_stay() {
    let first = applied(None, json!({"ports": [{"port": 1, "name": "a"}], "labels": {"a": "1"}}), "one");
    let two = updated(
        &first,
        json!({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}], "labels": {"a": "1", "b": "2"}}),
        "two",
    );
    let less = applied(Some(&two), json!({}), "one");
    assert_eq!(spec(&less), json!({"ports": [{"port": 2, "name": "b"}], "labels": {"b": "2"}}));
}

#[test]
fn keyed_lists_are_merged_in_the_applied_order() {
    let port = |number: i32| json!({"port": number});
    let first = applied(None, json!({"ports": [port(1), port(2), port(3)]}), "one");
    let two = applied(Some(&first), json!({"ports": [port(3), port(4), port(1)]}), "two");
    let order: Vec<Value> =
        spec(&two)["ports"].as_array().expect("ports").iter().map(|port| port["port"].clone()).collect();
    assert_eq!(order, [2, 3, 4, 1].map(Value::from));
    // Keys include their defaults; the other fields of an element have separate managers.
    let named = applied(Some(&two), json!({"ports": [{"port": 1, "protocol": "TCP", "name": "x"}]}), "three");
    assert_eq!(spec(&named)["ports"][3], json!({"port": 1, "protocol": "TCP", "name": "x"}));
}

#[test]
fn nested_lists_are_merged_at_every_level() {
    let deep = |inner: Value| json!({"deep": [{"name": "d", "inner": inner}]});
    let first = applied(None, deep(json!([{"port": 1, "name": "a"}])), "one");
    let two = applied(Some(&first), deep(json!([{"port": 2, "name": "b"}])), "two");
    assert_eq!(spec(&two), deep(json!([{"port": 1, "name": "a"}, {"port": 2, "name": "b"}])));
    let failure = apply(Some(&two), deep(json!([{"port": 1, "name": "z"}])), "two").unwrap_err();
    assert_eq!(
        failure.message,
        "Apply failed with 1 conflict: conflict with \"one\": \
         .spec.deep[name=\"d\"].inner[port=1,protocol=\"TCP\"].name"
    );
}

#[test]
fn others_fields_are_conflicts_until_forced() {
    let live = applied(
        Some(&created(json!({"count": 1}), "creator")),
        json!({"rules": ["r"], "where": {"row": 1, "shelf": "s"}, "text": "t"}),
        "one",
    );
    let wanted = json!({"count": 2, "rules": ["r"], "where": {"row": 2}, "text": "u"});
    let failure = apply(Some(&live), wanted.clone(), "two").unwrap_err();
    assert_eq!((failure.code, failure.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        causes(&failure),
        [
            (".spec.count", "conflict with \"creator\" using zoo.example.dev/v1"),
            (".spec.text", "conflict with \"one\""),
            (".spec.where", "conflict with \"one\""),
        ]
    );
    assert_eq!(
        failure.message,
        "Apply failed with 3 conflicts: conflicts with \"creator\" using zoo.example.dev/v1:\n- .spec.count\n\
         conflicts with \"one\":\n- .spec.text\n- .spec.where"
    );
    let forced = manager().apply(Some(&live), &thing(wanted), "two", true, THIRD).unwrap().expect("forced");
    assert_eq!(spec(&forced)["where"], json!({"row": 2}), "an atomic struct is replaced");
    assert_eq!(
        owners(&forced),
        json!({
            "one": {"f:rules": {}},
            "two": {"f:count": {}, "f:rules": {}, "f:text": {}, "f:where": {}},
        })
    );
}

#[test]
fn agreeing_is_no_conflict_and_has_no_time() {
    let first = applied(None, json!({"count": 1}), "one");
    let two = manager()
        .apply(Some(&first), &thing(json!({"count": 1})), "two", false, THIRD)
        .unwrap()
        .expect("agreed");
    assert_eq!(owners(&two), json!({"one": {"f:count": {}}, "two": {"f:count": {}}}));
    let times: Vec<Option<&Value>> = two
        .get(MANAGED_FIELDS)
        .and_then(Value::as_array)
        .expect("entries")
        .iter()
        .map(|entry| entry.get("time"))
        .collect();
    assert_eq!(times, [None, Some(&SECOND.into())]);
}

#[test]
fn an_object_without_managers_is_somebodys_before_it_is_first_applied() {
    let live = stored(thing(json!({"count": 1, "text": "t"})));
    let failure = apply(Some(&live), json!({"count": 2}), "one").unwrap_err();
    assert_eq!(
        causes(&failure),
        [(".spec.count", "conflict with \"before-first-apply\" using zoo.example.dev/v1")]
    );
    let agreed = applied(Some(&live), json!({"count": 1}), "one");
    assert_eq!(
        owners(&agreed),
        json!({"one": {"f:count": {}}, "before-first-apply": {"f:count": {}, "f:text": {}}})
    );
}

#[test]
fn kubectl_takes_over_what_it_applied_on_the_client() {
    let last = thing(json!({"count": 1, "text": "t"})).into_value().to_string();
    let mut live = thing(json!({"count": 1, "text": "changed"}));
    live.set(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"], last.into());
    manager().track_update(None, &mut live, "kubectl-client-side-apply", SECOND).unwrap();
    let live = stored(live);

    let failure = apply(Some(&live), json!({"count": 2, "text": "u"}), "kubectl").unwrap_err();
    assert_eq!(causes(&failure).len(), 1, "only what is no longer as it was applied");
    assert_eq!(causes(&failure)[0].0, ".spec.text");
    assert!(apply(Some(&live), json!({"count": 2}), "other").is_err());

    let taken = applied(Some(&live), json!({"count": 2}), "kubectl");
    assert_eq!(spec(&taken)["count"], 2);
    let refreshed =
        taken.get_str(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]);
    assert_eq!(refreshed, Some(format!("{}\n", thing(json!({"count": 2})).into_value()).as_str()));
}

#[test]
fn objects_that_do_not_fit_are_refused_in_kubernetes_words() {
    let refuse = |spec: Value| apply(None, spec, "one").unwrap_err().message;
    let lead = "failed to create typed patch object (/a; zoo.example.dev/v1, Kind=Thing): ";
    let table = [
        (json!({"zork": 1}), ".spec.zork: field not declared in schema"),
        (json!({"text": 5}), ".spec.text: expected string, got &value.valueUnstructured{Value:5}"),
        (json!({"count": "x"}), ".spec.count: expected numeric (int or float), got string"),
        (json!({"labels": [1]}), ".spec.labels: expected map, got &{[1]}"),
        (json!({"ports": {"a": "b"}}), ".spec.ports: expected list, got &{map[a:b]}"),
        (
            json!({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}),
            ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
        ),
        (
            json!({"deep": [{}]}),
            ".spec.deep: element 0: associative list with keys has an element that omits all key fields \
             [\"name\"] (and doesn't have default values for any key fields)",
        ),
        (
            json!({"count": true, "text": []}),
            "errors:\n  .spec.count: expected numeric (int or float), got bool\n  \
             .spec.text: expected string, got &value.valueUnstructured{Value:[]interface {}{}}",
        ),
    ];
    for (spec, text) in table {
        assert_eq!(refuse(spec), format!("{lead}{text}"));
    }
    let mut other = thing(json!({}));
    other.set_type("v2", "Thing");
    let refusal = manager().apply(None, &other, "one", false, SECOND).unwrap().unwrap_err();
    assert_eq!((refusal.code, refusal.message.as_str()), (400, "invalid object type: /v2, Kind=Thing"));
    let managed = object(json!({"metadata": {"managedFields": []}}));
    let refusal = manager().apply(None, &managed, "one", false, SECOND).unwrap().unwrap_err();
    assert_eq!((refusal.code, refusal.message.as_str()), (400, "metadata.managedFields must be nil"));
}

#[test]
fn resets_are_nobodys_however_applied() {
    let status = FieldManager {
        subresource: "status",
        reset: Reset::Fields(FieldSet::from_paths([["spec"].as_slice()])),
        ..manager()
    };
    let live = applied(None, json!({"count": 1}), "one");
    let wanted = object(json!({"spec": {"count": 9}, "status": {"phase": "Ready"}}));
    let new = status.apply(Some(&live), &wanted, "controller", false, THIRD).unwrap().expect("no conflict");
    let entries = new.get(MANAGED_FIELDS).and_then(Value::as_array).expect("entries");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {"f:phase": {}}}));
    assert_eq!(entries[1]["subresource"], "status");
}

#[test]
fn a_path_that_changes_little_gives_its_managers_no_more() {
    let names = FieldManager {
        subresource: "rename",
        reset: Reset::AllBut(&[&["spec", "ports", "*", "name"], &["spec", "labels"]]),
        ..manager()
    };
    let live = applied(None, json!({"ports": [{"port": 80, "name": "web"}]}), "one");
    let spec = json!({"count": 9, "labels": {"a": "b"}, "ports": [{"port": 80, "name": "http"}]});
    let wanted = object(json!({"spec": spec}));
    let managed = json!({"f:spec": {
        "f:labels": {"f:a": {}},
        "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}},
    }});
    let new = names.apply(Some(&live), &wanted, "two", true, THIRD).unwrap().expect("forced");
    assert_eq!(new.get(MANAGED_FIELDS).unwrap()[1]["fieldsV1"], managed);
    let mut updated = live.clone();
    updated.set(&["spec"], spec.clone());
    names.track_update(Some(&live), &mut updated, "three", THIRD).unwrap();
    let names_and_labels = json!({"f:spec": {
        "f:labels": {".": {}, "f:a": {}},
        "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:name": {}}},
    }});
    assert_eq!(updated.get(MANAGED_FIELDS).unwrap()[1]["fieldsV1"], names_and_labels);
}

#[test]
fn a_scale_shows_and_moves_the_managers_of_the_count() {
    let parent = applied(None, json!({"count": 1, "text": "t"}), "one");
    let path = &["spec", "count"];
    let shown = managers_of_scale(&parent, path, "autoscaling/v1").expect("a manager");
    assert_eq!(shown[0]["apiVersion"], "autoscaling/v1");
    assert_eq!(shown[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(managers_of_parent(&parent, path, Some(&shown)).as_ref(), parent.get(MANAGED_FIELDS));

    let moved = json!([{"manager": "hpa", "operation": "Apply", "apiVersion": "autoscaling/v1",
        "subresource": "scale", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
    let managers = managers_of_parent(&parent, path, Some(&moved)).expect("managers");
    assert_eq!(managers[0]["manager"], "hpa");
    assert_eq!(managers[0]["fieldsV1"], json!({"f:spec": {"f:count": {}}}));
    assert_eq!(managers[1]["fieldsV1"], json!({"f:spec": {"f:text": {}}}));
}

fn timeless(object: &super::Object) -> Value {
    let mut value = object.clone().into_value();
    for entry in value["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        entry.as_object_mut().expect("an entry").remove("time");
    }
    value
}

/// Generates specs from few names and values, so that two specs have much in common.
fn specs() -> impl Strategy<Value = Value> {
    let letters = || prop::collection::btree_map("[a-c]", "[xy]", 0..3);
    let names = prop::collection::btree_set("[a-d]", 0..4);
    let ports = prop::collection::btree_map(1_i32..4, "[pq]", 0..3);
    (letters(), names, ports, prop::option::of(0_i32..3), prop::option::of("[rs]")).prop_map(
        |(labels, names, ports, count, rule)| {
            let ports: Vec<Value> =
                ports.into_iter().rev().map(|(port, name)| json!({"port": port, "name": name})).collect();
            let mut spec = json!({"labels": labels, "names": names, "ports": ports});
            if let Some(count) = count {
                spec["count"] = count.into();
            }
            if let Some(rule) = rule {
                spec["rules"] = json!([rule]);
            }
            spec
        },
    )
}

proptest! {
    #[test]
    fn applying_again_changes_nothing(first in specs(), second in specs()) {
        let live = applied(None, first, "one");
        let forced = manager().apply(Some(&live), &thing(second.clone()), "two", true, SECOND).unwrap();
        let two = stored(forced.expect("forced"));
        let again = manager().apply(Some(&two), &thing(second), "two", false, THIRD).unwrap().expect("nothing new");
        // Empty maps are not stored, so applying them again updates the time and nothing else.
        prop_assert_eq!(timeless(&again), timeless(&two));
    }

    #[test]
    fn applied_fields_are_in_the_object(first in specs(), second in specs()) {
        let live = applied(None, first, "one");
        let forced = manager().apply(Some(&live), &thing(second.clone()), "two", true, SECOND).unwrap().expect("forced");
        let there = forced.into_value();
        let wanted = thing(second).into_value();
        let there = FieldSet::from_value(&there, SCHEMA.root());
        let missing = FieldSet::from_value(&wanted, SCHEMA.root()).leaves().difference(&there);
        let bare = FieldSet::from_paths([["spec", "labels"].as_slice()]);
        prop_assert!(missing.clone().difference(&bare).is_empty(), "{missing}");
    }

    #[test]
    fn alone_a_manager_gets_what_it_applies(first in specs(), second in specs()) {
        let fresh = applied(None, second.clone(), "one");
        let changed = applied(Some(&applied(None, first, "one")), second, "one");
        let sorted = |object: &super::Object| {
            let value = object.clone().into_value();
            FieldSet::from_value(&value, SCHEMA.root()).to_fields_v1()
        };
        prop_assert_eq!(sorted(&changed)["f:spec"].clone(), sorted(&fresh)["f:spec"].clone());
    }
}
