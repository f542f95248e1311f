use serde_json::json;

use super::*;

fn object(metadata: &Value) -> Object {
    Object::from_value(json!({ "metadata": metadata })).unwrap()
}

/// Formats each error as `field reason: detail`.
fn found(errors: &ErrorList) -> Vec<String> {
    errors
        .0
        .iter()
        .map(|error| format!("{} {}: {}", error.field, error.kind.reason(), error.detail))
        .collect()
}

/// Asserts the errors of valid metadata extended by `extra`, given as prefixes of their messages.
fn assert_created(extra: &Value, expected: &[&str]) {
    let mut metadata = json!({"name": "a", "namespace": "n"});
    for (key, value) in extra.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    let errors =
        validate_object_meta(&object(&metadata), true, NameRule::DnsSubdomain, &FieldPath::new("metadata"));
    assert_texts(extra, &errors, expected);
}

fn assert_texts(what: &Value, errors: &ErrorList, expected: &[&str]) {
    let texts = found(errors);
    assert_eq!(texts.len(), expected.len(), "{what}: {texts:#?}");
    for (text, expected) in texts.iter().zip(expected) {
        assert!(text.starts_with(expected), "{what}: {text}");
    }
}

#[test]
fn metadata_of_new_objects_is_validated() {
    let table: Vec<(Value, &[&str])> = vec![
        (json!({}), &[]),
        (json!({"name": ""}), &["metadata.name FieldValueRequired: name or generateName is required"]),
        (json!({"name": "Bad_Name!"}), &["metadata.name FieldValueInvalid: a lowercase RFC 1123 subdomain"]),
        (json!({"generateName": "web-"}), &[]),
        (json!({"generateName": "Web-"}), &["metadata.generateName FieldValueInvalid: a lowercase"]),
        (json!({"namespace": ""}), &["metadata.namespace FieldValueRequired: "]),
        (json!({"namespace": "a.b"}), &["metadata.namespace FieldValueInvalid: must not contain dots"]),
        (
            json!({"generation": -1}),
            &["metadata.generation FieldValueInvalid: must be greater than or equal to 0"],
        ),
        (
            json!({"labels": {"bad label!": "x"}}),
            &["metadata.labels FieldValueInvalid: name part must consist"],
        ),
        (
            json!({"labels": {"a": "bad value!"}}),
            &["metadata.labels FieldValueInvalid: a valid label must be"],
        ),
        (json!({"annotations": {"A.B/C": "any thing"}}), &[]),
        (
            json!({"annotations": {"": "x"}}),
            &[
                "metadata.annotations FieldValueInvalid: name part must be non-empty",
                "metadata.annotations FieldValueInvalid: name part must consist",
            ],
        ),
        (
            json!({"annotations": {"a": "x".repeat(MAX_ANNOTATIONS_BYTES)}}),
            &["metadata.annotations FieldValueTooLong: may not be more than 262144 bytes"],
        ),
        (
            json!({"finalizers": ["nodomain", "a b"]}),
            &["metadata.finalizers FieldValueInvalid: name part must consist"],
        ),
        (
            json!({"finalizers": ["orphan", "foregroundDeletion"]}),
            &[
                "metadata.finalizers FieldValueInvalid: finalizer orphan and foregroundDeletion cannot be both set",
            ],
        ),
        (
            json!({"managedFields": [{"operation": "Zork", "manager": "a\tb", "fieldsType": "X"}]}),
            &[
                "metadata.managedFields[0].operation FieldValueInvalid: must be `Apply` or `Update`",
                "metadata.managedFields[0].fieldsType FieldValueInvalid: must be `FieldsV1`",
                "metadata.managedFields[0].manager FieldValueInvalid: invalid character U+0009 (at position 1)",
            ],
        ),
    ];
    for (extra, expected) in table {
        assert_created(&extra, expected);
    }
    let cluster = validate_object_meta(
        &object(&json!({"name": "a/b", "namespace": "n"})),
        false,
        NameRule::PathSegment,
        &FieldPath::new("metadata"),
    );
    assert_eq!(
        found(&cluster),
        [
            "metadata.name FieldValueInvalid: may not contain '/'",
            "metadata.namespace FieldValueForbidden: not allowed on this type"
        ]
    );
}

#[test]
fn owner_references_are_validated() {
    let owner = |changed: &Value| {
        let mut owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": "u"});
        for (key, value) in changed.as_object().unwrap() {
            owner[key] = value.clone();
        }
        owner
    };
    let table: Vec<(Value, &[&str])> = vec![
        (json!([owner(&json!({}))]), &[]),
        (
            json!([owner(&json!({"apiVersion": ""}))]),
            &["metadata.ownerReferences.apiVersion FieldValueInvalid: version must not be empty"],
        ),
        (
            json!([owner(&json!({"apiVersion": "a/b/c"}))]),
            &["metadata.ownerReferences.apiVersion FieldValueInvalid: version"],
        ),
        (
            json!([owner(&json!({"name": "", "uid": "", "kind": ""}))]),
            &[
                "metadata.ownerReferences.kind FieldValueInvalid: must not be empty",
                "metadata.ownerReferences.name FieldValueInvalid: must not be empty",
                "metadata.ownerReferences.uid FieldValueInvalid: must not be empty",
            ],
        ),
        (
            json!([owner(&json!({"apiVersion": "v1", "kind": "Event"}))]),
            &[
                "metadata.ownerReferences FieldValueInvalid: /v1, Kind=Event is disallowed from being an owner",
            ],
        ),
        (
            json!([owner(&json!({"controller": true})), owner(&json!({"controller": true, "name": "p"}))]),
            &[
                "metadata.ownerReferences FieldValueInvalid: Only one reference can have Controller set to true. Found \"true\" in references for ReplicaSet/o and ReplicaSet/p",
            ],
        ),
    ];
    for (references, expected) in table {
        assert_created(&json!({ "ownerReferences": references }), expected);
    }
}

#[test]
fn changes_of_metadata_are_validated() {
    let old = json!({
        "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 2,
        "creationTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["x.y/f"],
    });
    let mut deleting = old.clone();
    deleting["deletionTimestamp"] = "2020-01-02T00:00:00Z".into();
    let table: Vec<(&Value, Value, &[&str])> = vec![
        (&old, json!({"finalizers": ["x.y/f", "x.y/g"], "generation": 3, "resourceVersion": "2"}), &[]),
        (&old, json!({"creationTimestamp": "2020-01-01T01:00:00+01:00"}), &[]),
        (
            &old,
            json!({"resourceVersion": ""}),
            &["metadata.resourceVersion FieldValueInvalid: must be specified for an update"],
        ),
        (&old, json!({"generation": 1}), &["metadata.generation FieldValueInvalid: must not be decremented"]),
        (
            &old,
            json!({"name": "b", "namespace": "m", "uid": "v"}),
            &[
                "metadata.name FieldValueInvalid: field is immutable",
                "metadata.namespace FieldValueInvalid: field is immutable",
                "metadata.uid FieldValueInvalid: field is immutable",
            ],
        ),
        (
            &old,
            json!({"creationTimestamp": null}),
            &["metadata.creationTimestamp FieldValueInvalid: field is immutable"],
        ),
        (
            &old,
            json!({"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}),
            &[
                "metadata.deletionTimestamp FieldValueInvalid: field is immutable",
                "metadata.deletionGracePeriodSeconds FieldValueInvalid: field is immutable",
            ],
        ),
        (&deleting, json!({"finalizers": []}), &[]),
        (
            &deleting,
            json!({"finalizers": ["x.y/f", "x.y/h", "x.y/g"]}),
            &[
                "metadata.finalizers FieldValueForbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x.y/g\", \"x.y/h\"}",
            ],
        ),
        (&old, json!({"labels": {"a": "-"}}), &["metadata.labels FieldValueInvalid: a valid label"]),
    ];
    for (old, change, expected) in table {
        let mut new = old.clone();
        for (key, value) in change.as_object().unwrap() {
            new[key] = value.clone();
        }
        let errors = validate_object_meta_update(&object(&new), &object(old), &FieldPath::new("metadata"));
        assert_texts(&change, &errors, expected);
    }
}
