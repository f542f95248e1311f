use super::*;

#[tokio::test]
async fn an_update_keeps_what_no_client_changes_and_counts_the_rest() {
    let fixture = Fixture::new(&PLAIN);
    let made = fixture.create(widget("lion", &json!({}))).await.unwrap();
    let table = [
        (json!({"metadata": {"labels": {"a": "b"}}}), 1, 2),
        (json!({"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 5}}), 1, 2),
        (json!({"spec": {"color": "blue"}}), 2, 3),
        (json!({"spec": {"color": "blue"}, "metadata": {"generation": 77}}), 2, 3),
    ];
    for (more, generation, revision) in table {
        let updated = fixture.update("lion", widget("lion", &more)).await.unwrap();
        assert_eq!(updated.generation(), generation, "{more}");
        assert_eq!(updated.resource_version(), revision.to_string(), "{more}: a no-op writes nothing");
        assert_eq!(updated.uid(), made.uid());
        assert_eq!(
            updated.get(&["metadata", "creationTimestamp"]),
            made.get(&["metadata", "creationTimestamp"])
        );
        assert_eq!(updated.get(&["status"]), None, "only the status subresource writes it");
    }
}

#[tokio::test]
async fn an_update_of_another_state_or_object_is_refused() {
    let fixture = Fixture::new(&PICKY);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let table = [
        (
            json!({}),
            422,
            "widgets.example.com \"lion\" is invalid: metadata.resourceVersion: Invalid value: 0: must be \
             specified for an update",
        ),
        (
            json!({"metadata": {"resourceVersion": "9"}}),
            409,
            "Operation cannot be fulfilled on widgets.example.com \"lion\": the object has been modified; please \
             apply your changes to the latest version and try again",
        ),
        (
            json!({"metadata": {"resourceVersion": "zork"}}),
            500,
            "strconv.ParseUint: parsing \"zork\": invalid syntax",
        ),
        (
            json!({"metadata": {"resourceVersion": "+1"}}),
            500,
            "strconv.ParseUint: parsing \"+1\": invalid syntax",
        ),
        (
            json!({"metadata": {"resourceVersion": "18446744073709551616"}}),
            500,
            "strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
        ),
        (
            json!({"metadata": {"name": "tiger", "resourceVersion": "1"}}),
            400,
            "the name of the object (tiger) does not match the name on the URL (lion)",
        ),
        (
            json!({"metadata": {"namespace": "other", "resourceVersion": "1"}}),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            json!({"metadata": {"uid": "a", "resourceVersion": "1"}}),
            409,
            "Operation cannot be fulfilled on widgets.example.com \"lion\": StorageError: invalid object, Code: 4, \
             Key: /registry/widgets/zoo/lion, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: a, UID in object meta: ",
        ),
        (
            json!({"metadata": {"resourceVersion": "1"}, "spec": {"color": "red"}}),
            422,
            "Widget.example.com \"lion\" is invalid: spec.color: Invalid value: \"red\": too loud",
        ),
    ];
    for (more, code, message) in table {
        let refused = fixture.update("lion", widget("lion", &more)).await.unwrap_err();
        assert_eq!(refused.code, code, "{refused}");
        assert!(refused.message.starts_with(message), "{refused}");
    }
    let absent = fixture.update("tiger", widget("tiger", &json!({}))).await.unwrap_err();
    assert_eq!((absent.code, absent.message.as_str()), (404, "widgets.example.com \"tiger\" not found"));
    assert_eq!(fixture.storage.revision(), 1);
}

#[tokio::test]
async fn an_edit_is_made_again_from_the_state_that_came_between() {
    let fixture = Fixture::new(&PLAIN);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    fixture.storage.interfere(|object| object.set(&["spec", "color"], "gold".into()));
    let edited = fixture.edit("lion", |object| object.set(&["spec", "replicas"], 4.into())).await.unwrap();
    assert_eq!(edited.get_str(&["spec", "color"]), Some("gold"));
    assert_eq!(edited.get_i64(&["spec", "replicas"]), Some(4));
}

#[tokio::test]
async fn an_update_that_may_creates_what_is_absent() {
    let fixture = Fixture::new(&PLAIN);
    let make = |object: &mut Object| *object = widget("lion", &json!({}));
    let options = CreateOptions::default();
    let mut update = Edit(make);
    let outcome = fixture.store.update(&fixture.context, "lion", &mut update, &AdmitAll, &options).await;
    let (answer, created) = outcome.unwrap();
    let made = object_of(&answer);
    assert!(created);
    assert_eq!((made.generation(), made.resource_version(), made.uid().len()), (1, "1", 36));
}

#[tokio::test]
async fn times_of_managers_alone_are_no_change() {
    let fixture = Fixture::new(&PLAIN);
    let managed = |time: &str, manager: &str| json!({"metadata": {"managedFields": [{"manager": manager, "operation": "Update", "time": time}]}});
    fixture.create(widget("lion", &managed("2020-01-01T00:00:00Z", "a"))).await.unwrap();
    fixture.update("lion", widget("lion", &managed("2021-01-01T00:00:00Z", "a"))).await.unwrap();
    assert_eq!(fixture.storage.revision(), 1);
    fixture.update("lion", widget("lion", &managed("2021-01-01T00:00:00Z", "b"))).await.unwrap();
    assert_eq!(fixture.storage.revision(), 2);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let fixture = Fixture::new(&PLAIN);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let mut update = Replace(widget("lion", &json!({"spec": {"replicas": 9}})));
    let outcome = fixture.store.update(&fixture.context, "lion", &mut update, &AdmitAll, &dry_run()).await;
    let updated = object_of(&outcome.unwrap().0);
    assert_eq!(updated.get_i64(&["spec", "replicas"]), Some(9));
    assert_eq!((updated.generation(), updated.resource_version()), (2, "1"));
    assert_eq!(fixture.get("lion").await.unwrap().get_i64(&["spec", "replicas"]), Some(1));

    let mut update = Replace(widget("lion", &json!({"metadata": {"uid": "other"}})));
    let refused = fixture.store.update(&fixture.context, "lion", &mut update, &AdmitAll, &dry_run()).await;
    assert_eq!(refused.unwrap_err().code, 409);
}
