use super::*;

/// Records its calls.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl FinishHook for Diary {
    fn finish(self: Box<Self>, committed: bool) {
        self.note(format!("finish {committed}"));
    }
}

#[async_trait]
impl StoreHooks for Diary {
    async fn begin_create(
        &self,
        _: &RequestContext,
        object: &mut Object,
        _: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.note("begin create");
        object.set(&["spec", "address"], "10.0.0.1".into());
        Ok(Some(Box::new(self.clone())))
    }

    async fn begin_update(
        &self,
        _: &RequestContext,
        _: &mut Object,
        _: &Object,
        _: bool,
        _: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        self.note("begin update");
        Ok(Some(Box::new(self.clone())))
    }

    fn after_create(&self, object: &StoredObject) {
        self.note(format!("created at {}", object.revision));
    }

    fn after_update(&self, object: &StoredObject) {
        self.note(format!("updated at {}", object.revision));
    }

    async fn after_delete(&self, object: &StoredObject) {
        self.note(format!("deleted at {}", object.revision));
    }
}

fn hooks(hooks: impl StoreHooks) -> Arc<dyn StoreHooks> {
    Arc::new(hooks)
}

fn hooked(resource: &'static ResourceDescription) -> (Fixture, Diary) {
    let fixture = Fixture::new(resource);
    let diary = Diary::default();
    fixture.store.attach_hooks(&hooks(diary.clone()));
    (fixture, diary)
}

#[tokio::test]
async fn a_committed_write_is_told_once() {
    let (fixture, diary) = hooked(&PLAIN);
    let made = fixture.create(widget("lion", &json!({"metadata": {"finalizers": ["x.y/a"]}}))).await.unwrap();
    assert_eq!(made.get_str(&["spec", "address"]), Some("10.0.0.1"));
    assert_eq!(diary.take(), ["begin create", "finish true", "created at 1"]);

    fixture.storage.interfere(|object| object.set(&["spec", "color"], "gold".into()));
    fixture.edit("lion", |object| object.set(&["spec", "replicas"], 4.into())).await.unwrap();
    let lost_a_race = ["begin update", "finish false", "begin update", "finish true", "updated at 3"];
    assert_eq!(diary.take(), lost_a_race);

    fixture.edit("lion", |_| ()).await.unwrap();
    assert_eq!(diary.take(), ["begin update", "finish false"], "nothing was changed");

    fixture.delete("lion", &DeleteOptions::default()).await.unwrap();
    assert_eq!(diary.take(), [""; 0], "it waits for its finalizer");
    fixture.edit("lion", |object| object.set_finalizers(Vec::new())).await.unwrap();
    assert_eq!(diary.take(), ["begin update", "finish true", "deleted at 5"]);
}

#[tokio::test]
async fn reservations_of_writes_that_fail_are_given_back() {
    let (fixture, diary) = hooked(&PICKY);
    let given_back = ["begin create", "finish false"];
    fixture.create(widget("lion", &json!({"spec": {"color": "red"}}))).await.unwrap_err();
    assert_eq!(diary.take(), given_back);
    fixture
        .store
        .create(&fixture.context, widget("lion", &json!({})).into(), &AdmitAll, &dry_run())
        .await
        .unwrap();
    assert_eq!(diary.take(), given_back);
    fixture.storage.collide(1);
    fixture.create(widget("lion", &json!({}))).await.unwrap_err();
    assert_eq!(diary.take(), given_back);
}

#[tokio::test]
async fn a_graceful_end_is_told_once() {
    let (fixture, diary) = hooked(&GRACEFUL);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    diary.take();
    let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    fixture.delete("lion", &now).await.unwrap();
    assert_eq!(diary.take(), ["deleted at 3"]);
}

/// Refuses every creation.
struct Refusing;

#[async_trait]
impl StoreHooks for Refusing {
    async fn begin_create(
        &self,
        _: &RequestContext,
        _: &mut Object,
        _: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        Err(StatusError::bad_request("not now"))
    }
}

#[tokio::test]
async fn several_hooks_are_called_in_turn_and_a_refusal_releases_those_before_it() {
    let (fixture, first) = hooked(&PLAIN);
    let second = Diary(first.0.clone());
    fixture.store.attach_hooks(&hooks(second));
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let both = ["begin create", "begin create", "finish true", "finish true", "created at 1", "created at 1"];
    assert_eq!(first.take(), both);

    fixture.store.attach_hooks(&hooks(Refusing));
    fixture.create(widget("bear", &json!({}))).await.unwrap_err();
    assert_eq!(first.take(), ["begin create", "begin create", "finish false", "finish false"]);
}
