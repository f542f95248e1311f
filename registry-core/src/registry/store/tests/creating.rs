use super::*;

#[tokio::test]
async fn creation_sets_what_only_the_server_sets() {
    let fixture = Fixture::new(&PLAIN);
    let sent = widget(
        "lion",
        &json!({
            "metadata": {
                "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9,
                "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3, "selfLink": "/x",
            },
            "status": {"replicas": 7},
        }),
    );
    let made = fixture.create(sent).await.unwrap();
    assert_eq!(made.resource_version(), "1");
    assert_eq!(made.namespace(), "zoo");
    assert_eq!(made.generation(), 1);
    assert_eq!(made.uid().len(), 36);
    assert!(made.get_str(&["metadata", "creationTimestamp"]).unwrap().starts_with("20"));
    assert_ne!(made.get_str(&["metadata", "creationTimestamp"]), Some("2001-01-01T00:00:00Z"));
    for gone in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        assert_eq!(made.get(&["metadata", gone]), None, "{gone}");
    }
    assert_eq!(made.get(&["status"]), None);
    assert_eq!(fixture.get("lion").await.unwrap(), made);
}

#[tokio::test]
async fn objects_that_cannot_be_created_are_refused() {
    let fixture = Fixture::new(&PICKY);
    fixture.create(widget("taken", &json!({}))).await.unwrap();
    let table: &[(Value, u16, Reason, &str)] = &[
        (
            json!({"metadata": {"name": "taken"}}),
            409,
            Reason::AlreadyExists,
            "widgets.example.com \"taken\" already exists",
        ),
        (
            json!({"metadata": {"namespace": "other"}}),
            400,
            Reason::BadRequest,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            json!({"metadata": {"resourceVersion": "5"}}),
            500,
            Reason::Unknown,
            "resourceVersion should not be set on objects to be created",
        ),
        (
            json!({"spec": {"color": "red"}}),
            422,
            Reason::Invalid,
            "Widget.example.com \"new\" is invalid: spec.color: Invalid value: \"red\": too loud",
        ),
        (
            json!({"spec": {"replicas": 101}}),
            422,
            Reason::Invalid,
            "Widget.example.com \"new\" is invalid: spec.replicas: Invalid value: 101: spec.replicas in body should \
             be less than or equal to 100",
        ),
    ];
    for (more, code, reason, message) in table {
        let refused = fixture.create(widget("new", more)).await.unwrap_err();
        assert_eq!((refused.code, refused.reason, refused.message.as_str()), (*code, *reason, *message));
    }
    assert_eq!(fixture.storage.names(), ["taken"]);
}

#[tokio::test]
async fn keys_take_a_namespace_and_one_path_segment() {
    let fixture = Fixture::new(&PLAIN);
    let table = [
        ("", "lion", "Namespace parameter required."),
        ("zoo", "", "Name parameter required."),
        ("zoo", "a/b", "Name parameter invalid: \"a/b\": may not contain '/'"),
        ("zoo", "..", "Name parameter invalid: \"..\": may not be '..'"),
        ("a/b", "lion", "Namespace parameter invalid: \"a/b\": may not contain '/'"),
    ];
    for (namespace, name, message) in table {
        let refused = fixture.store.key(&RequestContext::system(namespace), name).unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (400, message));
    }
    assert_eq!(fixture.store.key(&fixture.context, "lion").unwrap(), "/registry/widgets/zoo/lion");
}

#[tokio::test]
async fn generated_names_are_tried_eight_times() {
    let fixture = Fixture::new(&PLAIN);
    let unnamed = || {
        let mut object = widget("", &json!({"metadata": {"generateName": "lion-"}}));
        object.remove(&["metadata", "name"]);
        object
    };
    fixture.storage.collide(7);
    let made = fixture.create(unnamed()).await.unwrap();
    assert!(made.name().starts_with("lion-") && made.name().len() == 10);

    fixture.storage.collide(8);
    let refused = fixture.create(unnamed()).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (409, Reason::AlreadyExists));
    assert!(
        refused
            .message
            .ends_with("already exists, the server was not able to generate a unique name for the object"),
        "{refused}"
    );
    assert_eq!(refused.details.unwrap().retry_after_seconds, 1);
}

#[tokio::test]
async fn a_name_that_is_being_deleted_is_still_taken() {
    let fixture = Fixture::new(&PLAIN);
    fixture.create(widget("lion", &json!({"metadata": {"finalizers": ["x.y/z"]}}))).await.unwrap();
    fixture.delete("lion", &DeleteOptions::default()).await.unwrap();
    let refused = fixture.create(widget("lion", &json!({}))).await.unwrap_err();
    assert_eq!(refused.message, "object is being deleted: widgets.example.com \"lion\" already exists");
}

#[tokio::test]
async fn a_dry_run_creates_nothing_and_finds_taken_names() {
    let fixture = Fixture::new(&PICKY);
    let create = |name: &str| {
        let object = widget(name, &json!({}));
        let store = fixture.store.clone();
        let context = &fixture.context;
        async move { store.create(context, object.into(), &AdmitAll, &dry_run()).await }
    };
    let made = object_of(&create("lion").await.unwrap());
    assert_eq!(made.resource_version(), "");
    assert_eq!(made.uid().len(), 36);
    assert_eq!(fixture.storage.revision(), 0);
    assert_eq!(fixture.context.take_warnings(), ["widgets are deprecated"]);

    fixture.create(widget("lion", &json!({}))).await.unwrap();
    assert_eq!(create("lion").await.unwrap_err().reason, Reason::AlreadyExists);
}

#[tokio::test]
async fn a_dry_run_accepts_a_resource_version_as_kubernetes_does() {
    let fixture = Fixture::new(&PLAIN);
    let mut object = widget("lion", &json!({}));
    object.set(&["metadata", "resourceVersion"], "5".into());
    let made = fixture.store.create(&fixture.context, object.into(), &AdmitAll, &dry_run()).await.unwrap();
    assert_eq!(object_of(&made).resource_version(), "5");
}

#[tokio::test]
async fn objects_live_as_long_as_the_operator_says() {
    let options = StoreOptions { time_to_live_seconds: Some(90), ..StoreOptions::default() };
    let fixture = Fixture::with_options(&PLAIN, options);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    assert_eq!(fixture.storage.last_time_to_live().unwrap().as_secs(), 90);
}

/// Admission that refuses everything.
struct Refuse;

#[async_trait]
impl ValidateObject for Refuse {
    async fn validate(
        &self,
        _: &RequestContext,
        new: Option<&Object>,
        _: Option<&Object>,
    ) -> Result<(), StatusError> {
        // The plug-in sees the object as it would be written.
        assert!(new.is_none_or(|object| object.uid().len() == 36 && object.namespace() == "zoo"));
        Err(StatusError::new(Reason::Forbidden, "no"))
    }
}

#[tokio::test]
async fn admission_has_the_last_word() {
    let fixture = Fixture::new(&PLAIN);
    let object = widget("lion", &json!({}));
    let refused =
        fixture.store.create(&fixture.context, object.into(), &Refuse, &CreateOptions::default()).await;
    assert_eq!(refused.unwrap_err().message, "no");
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let refused = fixture.store.delete(&fixture.context, "lion", &Refuse, &DeleteOptions::default()).await;
    assert_eq!(refused.unwrap_err().message, "no");
    assert_eq!(fixture.storage.names(), ["lion"]);
}
