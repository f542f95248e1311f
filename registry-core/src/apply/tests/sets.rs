//! Sets and their JSON.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::fields_v1::WrittenSet;
use super::super::{FieldSet, PathElement};
use super::{SCHEMA, thing};

fn set(value: &Value) -> FieldSet<'_> {
    FieldSet::from_fields_v1(value).expect("a set")
}

#[test]
fn a_value_sets_its_leaves_elements_and_keys() {
    let value = thing(json!({
        "count": 1,
        "labels": {"a": "b"},
        "names": ["y", "x"],
        "ports": [{"port": 80, "name": "web"}, {"port": 53, "protocol": "UDP"}],
        "rules": ["r"],
        "where": {"row": 1},
        "deep": [{"name": "d", "inner": [{"port": 1}]}],
        "text": null,
    }))
    .into_value();
    let fields = FieldSet::from_value(&value, SCHEMA.root()).to_fields_v1();
    assert_eq!(
        fields["f:spec"],
        json!({
            "f:count": {},
            "f:labels": {"f:a": {}},
            "f:names": {"v:\"x\"": {}, "v:\"y\"": {}},
            "f:ports": {
                "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}},
                "k:{\"port\":53,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:protocol": {}},
            },
            "f:rules": {},
            "f:where": {},
            "f:deep": {"k:{\"name\":\"d\"}": {
                ".": {},
                "f:name": {},
                "f:inner": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            }},
            "f:text": {},
        })
    );
}

#[test]
fn differences_tell_parents_from_children() {
    let all = json!({"f:a": {".": {}, "f:b": {".": {}, "f:c": {}}}, "f:d": {}});
    let parent = json!({"f:a": {"f:b": {}}});
    let all = set(&all);
    let parent = set(&parent);
    assert_eq!(
        all.clone().difference(&parent).to_fields_v1(),
        json!({"f:a": {".": {}, "f:b": {"f:c": {}}}, "f:d": {}})
    );
    assert_eq!(all.clone().recursive_difference(&parent).to_fields_v1(), json!({"f:a": {}, "f:d": {}}));
    assert_eq!(all.leaves().to_fields_v1(), json!({"f:a": {"f:b": {"f:c": {}}}, "f:d": {}}));
    assert_eq!((all.len(), parent.len()), (4, 1));
}

#[test]
fn named_fields_are_structs_fields_and_not_keys_of_maps() {
    let value = json!({"f:spec": {"f:labels": {"f:a": {}}, "f:ports": {"k:{\"port\":1}": {"f:name": {}}}}});
    let named = set(&value).with_named_fields(SCHEMA.root()).to_fields_v1();
    assert_eq!(
        named,
        json!({"f:spec": {
            ".": {},
            "f:labels": {".": {}, "f:a": {}},
            "f:ports": {".": {}, "k:{\"port\":1}": {"f:name": {}}},
        }})
    );
}

#[test]
fn steps_that_are_unknown_are_passed_over_and_malformed_ones_refused() {
    assert_eq!(set(&json!({"z:1": {}, "f:a": {}})).to_fields_v1(), json!({"f:a": {}}));
    for malformed in ["a", "", "fa", "k:{", "v:", "i:x", "é"] {
        assert!(FieldSet::from_fields_v1(&json!({ malformed: {} })).is_err(), "{malformed}");
    }
}

fn element() -> impl Strategy<Value = PathElement<'static>> {
    let scalar = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a-z\"\\\\é ]{0,3}".prop_map(Value::from),
    ];
    let owned = |value: Value| std::borrow::Cow::Owned(value);
    prop_oneof![
        "[a-z.:\"]{0,3}".prop_map(|name| PathElement::Field(name.into())),
        scalar.clone().prop_map(move |value| PathElement::Value(owned(value))),
        (0_i64..9).prop_map(PathElement::Index),
        prop::collection::btree_map("[a-c]", scalar, 1..3).prop_map(move |key| PathElement::Key(
            key.into_iter().map(|(name, value)| (name.into(), owned(value))).collect()
        )),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet<'static>> {
    let paths = prop::collection::vec(prop::collection::vec(element(), 1..4), 0..12);
    paths.prop_map(|paths| {
        let mut set = FieldSet::default();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

#[test]
fn steps_are_written_as_go_writes_them() {
    let step = PathElement::Value(std::borrow::Cow::Owned("a<b>&c".into()));
    assert_eq!(step.to_key(), r#"v:"a\u003cb\u003e\u0026c""#);
    assert_eq!(PathElement::field("a<b").to_key(), "f:a<b");
    assert_eq!(PathElement::parse(&step.to_key()).unwrap(), step);
}

proptest! {
    /// An operation on the JSON form of a set has the same result as on the set.
    #[test]
    fn a_set_is_changed_in_writing_as_in_mind(a in field_set(), b in field_set()) {
        let written = WrittenSet::from_set(&a);
        let other = WrittenSet::from_set(&b);
        let mut changed = written.clone();
        changed.add(&b);
        prop_assert_eq!(changed.clone().into_value(), a.clone().union(b.clone()).to_fields_v1());
        prop_assert!(changed.covers(&written) && changed.covers(&other));
        changed.subtract(&b);
        prop_assert_eq!(changed.into_value(), a.clone().difference(&b).to_fields_v1());
        prop_assert_eq!(written.intersection(&b), a.intersection(&b));
        prop_assert_eq!(written.covers(&other), b.clone().difference(&a).is_empty());
        prop_assert_eq!(written.is_empty(), a.is_empty());
        prop_assert_eq!(written.to_set(), a.clone());
        b.for_each(&mut |path| assert_eq!(written.has(path), a.has(path)));
    }

    #[test]
    fn a_set_is_read_as_it_was_written(set in field_set()) {
        let written = set.to_fields_v1();
        let text = written.to_string();
        let again: Value = serde_json::from_str(&text).expect("JSON");
        let read = FieldSet::from_fields_v1(&again).expect("a set");
        prop_assert_eq!(&read, &set);
        prop_assert_eq!(read.to_fields_v1().to_string(), text);
    }

    #[test]
    fn the_algebra_of_sets_holds(a in field_set(), b in field_set()) {
        let only_a = a.clone().difference(&b);
        let both = a.intersection(&b);
        prop_assert_eq!(&only_a.clone().union(both.clone()), &a);
        prop_assert!(only_a.intersection(&b).is_empty());
        prop_assert_eq!(both, b.intersection(&a));
        prop_assert_eq!(a.clone().union(b.clone()), b.clone().union(a.clone()));
        a.for_each(&mut |path| assert!(a.has(path)));
        let mut members = 0;
        a.for_each(&mut |_| members += 1);
        prop_assert_eq!(members, a.len());
    }
}
