use crate::registry::{ScaleStore, SubresourceStore};
use crate::rest::UpdatedObject;

use super::*;

async fn put(
    store: &dyn Updater,
    fixture: &Fixture,
    mut update: impl UpdatedObject,
) -> Result<Object, StatusError> {
    let options = CreateOptions::default();
    store
        .update(&fixture.context, "lion", &mut update, &AdmitAll, &options)
        .await
        .map(|(answer, _)| object_of(&answer))
}

#[tokio::test]
async fn a_status_update_changes_the_status_and_nothing_else() {
    let more =
        json!({"metadata": {"labels": {"new": "yes"}}, "spec": {"replicas": 9}, "status": {"replicas": 3}});
    // The kind decides whether the status subresource can change labels.
    for (resource, labels) in [(&PLAIN, None), (&PICKY, Some(&json!({"new": "yes"})))] {
        let fixture = Fixture::new(resource);
        let made = fixture.create(widget("lion", &json!({}))).await.unwrap();
        let status = SubresourceStore::status(fixture.store.clone());
        let mut sent = widget("lion", &more);
        sent.copy_field(&made, &["metadata", "resourceVersion"]);
        let updated = put(&*status, &fixture, Replace(sent)).await.unwrap();
        assert_eq!(updated.get_i64(&["status", "replicas"]), Some(3));
        assert_eq!(updated.get_i64(&["spec", "replicas"]), Some(1));
        assert_eq!(updated.get(&["metadata", "labels"]), labels);
        assert_eq!(updated.generation(), 1);
        assert_eq!(updated.uid(), made.uid());
    }
}

#[tokio::test]
async fn a_bad_status_is_refused_and_an_absent_object_has_none() {
    let fixture = Fixture::new(&PICKY);
    let status = SubresourceStore::status(fixture.store.clone());
    let reported = |object: &mut Object| object.set(&["status", "replicas"], (-1).into());
    assert_eq!(put(&*status, &fixture, Edit(reported)).await.unwrap_err().code, 404);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let refused = put(&*status, &fixture, Edit(reported)).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (422, Reason::Invalid));
}

fn scale(more: &Value) -> Object {
    let mut scale = widget("lion", more);
    scale.set_type("autoscaling/v1", "Scale");
    scale
}

#[tokio::test]
async fn a_scale_shows_and_sets_the_replicas() {
    let fixture = Fixture::new(&PLAIN);
    let selector = json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}}});
    let made = fixture.create(widget("lion", &selector)).await.unwrap();
    let store = ScaleStore::new(fixture.store.clone());
    let shown = store.get(&fixture.context, "lion", &GetOptions::default()).await.unwrap();
    let expected = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {
            "name": "lion", "namespace": "zoo", "uid": made.uid(), "resourceVersion": "1",
            "creationTimestamp": made.get(&["metadata", "creationTimestamp"]),
        },
        "spec": {"replicas": 2}, "status": {"replicas": 0, "selector": "app=a"},
    });
    assert_eq!(object_of(&shown).into_value(), expected);

    let updated = put(&*store, &fixture, Replace(scale(&json!({"spec": {"replicas": 5}})))).await.unwrap();
    assert_eq!(updated.get_i64(&["spec", "replicas"]), Some(5));
    let parent = fixture.get("lion").await.unwrap();
    assert_eq!((parent.get_i64(&["spec", "replicas"]), parent.generation()), (Some(5), 2));
}

#[tokio::test]
async fn a_scale_is_checked_against_its_object() {
    let fixture = Fixture::new(&PLAIN);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let store = ScaleStore::new(fixture.store.clone());
    let table = [
        (
            json!({"metadata": {"resourceVersion": "7"}}),
            409,
            "Operation cannot be fulfilled on widgets.example.com \"lion\": the object has been modified; please \
             apply your changes to the latest version and try again",
        ),
        (
            json!({"spec": {"replicas": -1}}),
            422,
            "Scale.autoscaling \"lion\" is invalid: spec.replicas: Invalid value: -1: must be greater than or \
             equal to 0",
        ),
        (
            json!({"metadata": {"name": "other"}}),
            400,
            "the name of the object (other) does not match the name on the URL (lion)",
        ),
        (
            json!({"metadata": {"uid": "a"}}),
            409,
            "Operation cannot be fulfilled on widgets.example.com \"lion\": StorageError: invalid object",
        ),
    ];
    for (more, code, message) in table {
        let refused = put(&*store, &fixture, Replace(scale(&more))).await.unwrap_err();
        assert_eq!(refused.code, code, "{refused}");
        assert!(refused.message.starts_with(message), "{refused}");
    }
}

#[tokio::test]
async fn an_unset_scale_can_be_set_but_not_shown() {
    let fixture = Fixture::new(&PLAIN);
    let mut unset = widget("lion", &json!({}));
    unset.remove(&["spec", "replicas"]);
    fixture.create(unset).await.unwrap();
    let store = ScaleStore::new(fixture.store.clone());
    let refused = store.get(&fixture.context, "lion", &GetOptions::default()).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (500, "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist")
    );
    let raise = |scale: &mut Object| scale.set(&["spec", "replicas"], 1.into());
    let raised = put(&*store, &fixture, Edit(raise)).await.unwrap();
    assert_eq!(raised.get_i64(&["spec", "replicas"]), Some(1));
}

#[tokio::test]
async fn a_scale_is_read_by_the_schema_of_scales() {
    use crate::rest::Storage;

    let store = ScaleStore::new(Fixture::new(&PLAIN).store);
    let mut sent = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "lion"},
        "spec": {"replicas": 3, "zork": 1},
    });
    let mut issues = Vec::new();
    store.schema().conform(&mut sent, &mut issues).unwrap();
    assert_eq!(sent["spec"], json!({"replicas": 3}));
    assert_eq!(issues, [crate::schema::FieldIssue::Unknown("spec.zork".to_owned())]);
    sent["spec"]["replicas"] = "many".into();
    assert!(store.schema().conform(&mut sent, &mut issues).is_err());
}
